package committer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"headway/job"
	"headway/store"
	"headway/visit"
)

// segment is the archived exchanges of a job in a commit.
type segment struct {
	store.Segment
	data []byte
}

// archive writes the archived exchanges of a commit, one segment for each job, and references
// them in it. What a process that dies now has written is referenced by nothing.
func (c *Committer) archive(ctx context.Context, d *Done) error {
	segments, err := c.segments(d)
	if err != nil {
		return err
	}
	places := make(chan struct{}, maxUploads)
	errs := make([]error, len(segments))
	var group sync.WaitGroup
	for i, s := range segments {
		group.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			var began time.Time
			err := c.loop.RetryWith(ctx, func(ctx context.Context, err error) {
				c.cfg.OnSegment(ctx, len(s.data), time.Since(began), err)
			}, func() error {
				began = time.Now()
				return c.cfg.Archive.Put(ctx, s.Key, s.data)
			})
			if err != nil {
				errs[i] = fmt.Errorf("write segment %s of the archive: %w", s.Key, err)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// segments builds the segments of a commit, and references them.
func (c *Committer) segments(d *Done) ([]*segment, error) {
	var list []*segment
	byJob := map[job.ID]*segment{}
	n := 0 // of the next visit
	for i := range d.Entries {
		e := &d.Entries[i]
		if e.Visit == nil {
			continue
		}
		v := &d.Commit.Visits[n]
		if n++; e.Raw == nil {
			continue
		}
		s := byJob[v.Item.Job]
		if s == nil {
			s = &segment{Segment: store.Segment{
				Key: fmt.Sprintf("job-%d/%s-%d-%d-%s.warc.gz", v.Item.Job, d.Commit.At.UTC().Format("20060102T150405"), d.Commit.Worker, d.Commit.Number, rand.Text()),
				Job: v.Item.Job,
			}}
			var err error
			if s.data, err = c.cfg.Archive.Begin(s.Key, d.Commit.At); err != nil {
				return nil, err
			}
			byJob[s.Job], list = s, append(list, s)
		}
		v.Answer.Archived = visit.Archived{Segment: s.Key, Offset: int64(len(s.data)), Length: e.RawLen}
		s.data = append(s.data, e.Raw...)
	}
	for _, s := range list {
		s.Bytes = int64(len(s.data))
		d.Commit.Segments = append(d.Commit.Segments, s.Segment)
	}
	return list, nil
}
