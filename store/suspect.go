package store

import (
	"context"
	"fmt"
	"time"

	"headway/job"
	"headway/weburl"
)

// Suspects is an optional interface of stores that many workers share: it finds URLs that
// crash workers.
//
// Usually nothing is recorded about a request before it is sent. When a worker is declared
// dead, the store records the time for its slots. The next owner cannot know which URLs
// were in flight, so it watches the first URLs of each queue there: it records each one
// before it is requested, and again when its response was processed. A URL that is being
// watched when a worker is declared dead is a suspect. Owners request at most one suspect
// at a time. After MaxDeaths it is quarantined.
//
// A worker that leaves or abandons its slots is alive, so its requests have done no harm:
// nothing becomes a suspect by that.
type Suspects interface {
	// Watch records that the worker has processed the responses of URLs (done) and then
	// that it is about to request others (begun). A request must not be sent before Watch
	// has returned. A URL that is done is no longer a suspect. Each list has at most
	// MaxWatched URLs. ErrFenced says that the worker was declared dead.
	Watch(ctx context.Context, w WorkerID, begun, done []Suspect) error
	// Suspicions returns what is suspect in slots, those with the most deaths first, at
	// most MaxSuspects. The owner of a slot reads it before it requests anything there.
	Suspicions(ctx context.Context, slots []Slot) (Suspicions, error)
}

const (
	// MaxDeaths is after how many deaths of workers a URL is quarantined. The first is one
	// at which it may have been in flight, at the others it was watched.
	MaxDeaths = 3
	// MaxWatched is how many URLs one call of Watch begins or completes.
	MaxWatched = 1000
	// MaxSuspects is how many suspects are read at a time.
	MaxSuspects = 10_000
)

// Suspect is a URL that is watched, or was when a worker died.
type Suspect struct {
	Job    job.ID
	URL    weburl.URL
	Deaths int // of workers that may have had it in flight; ignored by Watch
}

// Quarantined reports whether the URL must not be requested again.
func (s *Suspect) Quarantined() bool { return s.Deaths >= MaxDeaths }

// Suspicions is what is suspect in some slots.
type Suspicions struct {
	Died map[Slot]time.Time // when an owner of the slot was last declared dead, if ever
	URLs []Suspect
}

// CheckWatched reports invalid arguments of Watch. An engine calls it first.
func CheckWatched(lists ...[]Suspect) error {
	for _, list := range lists {
		if len(list) > MaxWatched {
			return fmt.Errorf("watch %d URLs, at most %d", len(list), MaxWatched)
		}
		for i := range list {
			if list[i].URL.IsZero() {
				return fmt.Errorf("watch a URL of job %d: it is empty", list[i].Job)
			}
		}
	}
	return nil
}
