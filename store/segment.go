package store

import (
	"context"
	"fmt"
	"time"

	"headway/job"
)

// MaxSegments is how many segments one commit has at most, and how many keys one call of
// [Segments.KnownSegments] takes.
const MaxSegments = 1000

// SegmentGrace is how old an object of the archive must be to be deleted if no commit references
// it. The worker that wrote it has lost its lease long before, so that it cannot commit any
// more.
const SegmentGrace = 24 * time.Hour

// Segment is an object of the archive: the responses to the visits of one job in one commit. It
// is written before the commit, which references it.
type Segment struct {
	Key   string // its name in the archive
	Job   job.ID
	Bytes int64
}

// Segments is an optional interface of stores that many workers share: it keeps the segments
// that commits reference, until their job is dropped. Other stores reject a commit with
// segments.
type Segments interface {
	// KnownSegments returns those of the keys that are referenced, at most [MaxSegments] at
	// a time. No visit will ever reference another object that was written more than
	// [SegmentGrace] ago.
	KnownSegments(ctx context.Context, keys []string) (map[string]bool, error)
}

// checkSegments checks that every archived response is within a segment of its job, and that
// every segment has one.
func (c *Commit) checkSegments() error {
	if len(c.Segments) > MaxSegments {
		return fmt.Errorf("commit %d: %d segments, at most %d", c.Number, len(c.Segments), MaxSegments)
	}
	byKey := make(map[string]Segment, len(c.Segments))
	for _, s := range c.Segments {
		if s.Key == "" || s.Bytes <= 0 || byKey[s.Key].Key != "" {
			return fmt.Errorf("commit %d: segment %q of %d bytes", c.Number, s.Key, s.Bytes)
		}
		byKey[s.Key] = s
	}
	used := make(map[string]bool, len(c.Segments))
	for i := range c.Visits {
		v := &c.Visits[i]
		at := v.Answer.Archived
		if at.IsZero() {
			continue
		}
		if s := byKey[at.Segment]; s.Key == "" || s.Job != v.Item.Job || at.Offset < 0 || at.Length <= 0 || at.Length > s.Bytes-at.Offset {
			return fmt.Errorf("visit %s: bytes %d to %d of segment %q of another commit, another job or beyond its end", v.Item.URL, at.Offset, at.Offset+at.Length, at.Segment)
		}
		used[at.Segment] = true
	}
	if len(used) != len(c.Segments) {
		return fmt.Errorf("commit %d: %d of %d segments without a visit", c.Number, len(c.Segments)-len(used), len(c.Segments))
	}
	for i := range c.Retries {
		if !c.Retries[i].Visit.Answer.Archived.IsZero() {
			return fmt.Errorf("retry %s: responses to retries are not archived", c.Retries[i].Visit.Item.URL)
		}
	}
	return nil
}
