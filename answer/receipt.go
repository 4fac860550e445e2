package answer

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"headway/ask"
	"headway/politeness"
	"headway/store"
)

// ReceiptQuestion says which host a receipt is for, and what to include.
type ReceiptQuestion struct {
	Host    string
	Now     time.Time
	Since   time.Time    // earlier requests are not included
	Who     Who          // identity of the crawler
	Earlier string       // see [CourtesyFacts.Earlier]
	Orders  []ask.Change // of the operator, oldest first
	// Own leaves out the requests sent to the host by other crawls.
	Own bool
	// Older says that there are older crawls which are not included and may have
	// contacted the host, too.
	Older bool
	// MaxURLs limits the URLs that are counted; 0 means all.
	MaxURLs int
}

// ReadReceipt collects what crawls recorded about a host. The receipt is empty for a
// host that is part of none of them.
func ReadReceipt(ctx context.Context, q ReceiptQuestion, crawls ...*Crawl) (*Receipt, error) {
	c := NewCourtesy(false)
	facts := CourtesyFacts{Host: q.Host, MadeAt: q.Now, Who: q.Who, Earlier: q.Earlier, Robots: map[string]int{}}
	if q.Older {
		facts.Newest = len(crawls)
	}
	var knows *Crawl // knows the current state of the host; a running crawl if possible
	for _, one := range crawls {
		before := c.urls
		cut, err := one.eachVisit(ctx, &q, c)
		if err != nil {
			return nil, err
		}
		facts.Cut = facts.Cut || cut
		if c.urls == before {
			continue
		}
		facts.Running = facts.Running || one.Running
		if knows == nil || one.Running && !knows.Running {
			knows = one
		}
	}
	if knows != nil {
		if err := knows.addHostState(ctx, &q, c.Sums(), &facts); err != nil {
			return nil, err
		}
	}
	return c.Receipt(facts), nil
}

// addHostState adds the current state of a host and its pace changes.
func (c *Crawl) addHostState(ctx context.Context, q *ReceiptQuestion, sums []string, facts *CourtesyFacts) (err error) {
	for _, sum := range sums {
		size, err := robotsSize(ctx, c.Store, sum)
		if err != nil {
			return err
		}
		if size >= 0 {
			facts.Robots[sum] = size
		}
	}
	if facts.Paces, err = c.Store.PaceChanges(ctx, q.Host); err != nil {
		return err
	}
	facts.Paces = slices.DeleteFunc(facts.Paces, func(c store.PaceChange) bool { return c.At.Before(q.Since) })
	facts.Orders = slices.DeleteFunc(slices.Clone(q.Orders), func(c ask.Change) bool { return c.At.Before(q.Since) })
	stored, err := c.Store.Host(ctx, q.Host)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err == nil {
		state := politeness.New(q.Host)
		if err := state.UnmarshalBinary(stored.Politeness); err != nil {
			return fmt.Errorf("state of %s: %w", q.Host, err)
		}
		h := ask.HostOf(q.Host, c.Policy(q.Host), state)
		facts.Now = &h
		if !q.Own {
			facts.AllSent = state.Sends()
		}
	}
	if live, ok := c.live(ctx, q.Host)[q.Host]; ok {
		facts.Now = &live
	}
	return nil
}

// eachVisit adds all visits of a host, and the attempts before them. It reports whether
// there are more URLs than are counted.
func (c *Crawl) eachVisit(ctx context.Context, q *ReceiptQuestion, into *Courtesy) (cut bool, err error) {
	into.refuses403 = c.Policy(q.Host).Refuses403
	for list := (store.Query{Job: c.Job.ID, Host: q.Host, Max: store.MaxPage}); ; {
		if q.MaxURLs > 0 && into.urls >= q.MaxURLs {
			return true, nil
		}
		page, err := c.Store.List(ctx, list)
		if err != nil {
			return false, err
		}
		for i := range page.Entries {
			if v := page.Entries[i].Visit; v != nil {
				into.Add(v)
			}
		}
		into.urls += len(page.Entries)
		if page.Next == "" {
			break
		}
		list.After = page.Next
	}
	for list := (store.AttemptQuery{Job: c.Job.ID, Host: q.Host, Max: store.MaxPage}); ; {
		page, err := c.Store.Attempts(ctx, list)
		if err != nil {
			return false, err
		}
		for i := range page.Attempts {
			into.AddAttempt(&page.Attempts[i])
		}
		if page.Next == "" {
			return false, nil
		}
		list.After = page.Next
	}
}

// robotsSize returns the size of a robots.txt; -1 if it is no longer stored.
func robotsSize(ctx context.Context, r store.Reader, sum string) (int, error) {
	raw, err := hex.DecodeString(sum)
	if err != nil || len(raw) != 32 {
		return -1, fmt.Errorf("robots.txt %q: %w", sum, store.ErrCorrupt)
	}
	v, err := r.Robots(ctx, [32]byte(raw))
	if errors.Is(err, store.ErrNotFound) {
		return -1, nil
	}
	return len(v.Body), err
}
