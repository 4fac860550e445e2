package engine

import (
	"context"
	"fmt"
	"time"

	"headway/internal/fetchpool"
	"headway/internal/loop"
	"headway/job"
	"headway/store"
	"headway/store/journal"
	"headway/visit"
	"headway/weburl"
)

// suspects handles pages that may crash the process: they were in flight when this process
// crashed before, or when a worker of the fleet died. In a fleet it records watched pages
// in the store before they are requested.
type suspects struct {
	*base
	store store.Suspects // nil if no other worker shares the store

	died        map[store.Slot]time.Time // when owners of our slots before us died
	quarantined map[suspectKey]bool      // at most store.MaxSuspects

	recording bool            // a call of Watch is under way
	begun     []watchedTask   // not sent until they are recorded
	done      []store.Suspect // to be recorded; at most as many as were begun
	waiting   int             // tasks not handed to the pool yet
}

// suspectKey identifies a URL of a job.
type suspectKey struct {
	job job.ID
	url weburl.URL
}

// watchedTask is a page request and its context.
type watchedTask struct {
	ctx  context.Context
	task fetchpool.Task
}

func newSuspects(b *base) *suspects {
	s := &suspects{base: b, died: map[store.Slot]time.Time{}, quarantined: map[suspectKey]bool{}}
	if !b.solo {
		s.store, _ = b.st.(store.Suspects)
	}
	return s
}

// addJournal takes the suspects of earlier crashes of a crawl on one machine.
func (s *suspects) addJournal(list []journal.Suspect) {
	for _, u := range list {
		if u.Quarantined() {
			s.quarantined[suspectKey{u.Job, u.URL}] = true
		}
	}
}

// addSlots takes what is suspect in new slots. It must be called before their hosts are
// loaded.
func (s *suspects) addSlots(slots []store.Slot, found store.Suspicions) {
	for _, slot := range slots {
		delete(s.died, slot)
		if at, ok := found.Died[slot]; ok {
			s.died[slot] = at
		}
	}
	var urls []weburl.URL
	for i := range found.URLs {
		u := &found.URLs[i]
		switch {
		case !u.Quarantined():
			urls = append(urls, u.URL)
		case len(s.quarantined) < store.MaxSuspects:
			s.quarantined[suspectKey{u.Job, u.URL}] = true
			s.log.Warn("URL quarantined: it was in flight when several workers died", "url", u.URL.String(), "job", u.Job, "deaths", u.Deaths)
		}
	}
	if len(urls) > 0 {
		s.log.Warn("URLs were in flight when a worker died, requesting them one at a time", "urls", len(urls))
		s.f.Suspect(urls)
	}
}

// quarantine returns the visit of a page that must not be requested again, nil for others.
func (s *suspects) quarantine(item visit.Item) *visit.Visit {
	if !s.quarantined[suspectKey{item.Job, item.URL}] {
		return nil
	}
	return &visit.Visit{Item: item, Outcome: visit.Failed, Reason: visit.Quarantined, Detail: "in flight at several crashes of the crawler"}
}

// start hands a watched page to the pool once it is recorded.
func (s *suspects) start(ctx context.Context, t fetchpool.Task) {
	if s.store == nil {
		s.pool.Start(ctx, t)
		return
	}
	s.begun = append(s.begun, watchedTask{ctx, t})
	s.waiting++
	s.record()
}

// finish records that a page did no harm, or has ended in quarantine.
func (s *suspects) finish(item *visit.Item) {
	delete(s.quarantined, suspectKey{item.Job, item.URL})
	if s.store != nil {
		s.done = append(s.done, store.Suspect{Job: item.Job, URL: item.URL})
		s.record()
	}
}

// record stores what has begun and what is done, one call at a time.
func (s *suspects) record() {
	if s.recording || len(s.begun)+len(s.done) == 0 {
		return
	}
	s.recording = true
	tasks, done := s.begun[:min(len(s.begun), store.MaxWatched)], s.done[:min(len(s.done), store.MaxWatched)]
	s.begun, s.done = s.begun[len(tasks):], s.done[len(done):]
	begun := make([]store.Suspect, len(tasks))
	for i := range tasks {
		it := &tasks[i].task.Request.Item
		begun[i] = store.Suspect{Job: it.Job, URL: it.URL}
	}
	st, worker, work := s.store, s.worker, s.workCtx
	loop.Do(work, s.loop, func(ctx context.Context) error {
		return st.Watch(ctx, worker, begun, done)
	}, func(now time.Time, err error) {
		s.recording = false
		s.waiting -= len(tasks)
		for i := range tasks {
			if err != nil {
				s.f.PutBack(now, tasks[i].task.Request)
			} else {
				s.pool.Start(tasks[i].ctx, tasks[i].task)
			}
		}
		if err != nil {
			s.loop.FailUnless(work, fmt.Errorf("record requests in flight: %w", err))
			return
		}
		s.record()
	})
}
