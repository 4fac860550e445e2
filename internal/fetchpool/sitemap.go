package fetchpool

import (
	"time"

	"headway/frontier"
	"headway/internal/discovery"
	"headway/internal/exchange"
	"headway/output"
	"headway/parse"
	"headway/store"
	"headway/visit"
)

// Sitemap is the result of a sitemap request. The entries go to its [Listing].
type Sitemap struct {
	Request   frontier.Request
	Skipped   bool // it was not requested
	Answer    frontier.Answer
	Wire      int64
	LocalErr  error // a local error: nothing is known
	Sent      time.Time
	MaybeSent bool // it may have been sent, though it has a LocalErr
}

// sitemapChunk is how many entries are stored at a time.
const sitemapChunk = 2000

// fetchSitemap fetches a sitemap and passes on its entries. It reports whether that need
// not be repeated.
func (p *Pool) fetchSitemap(t *underway) (done bool) {
	r := t.Request
	l := Sitemap{Request: r}
	land := func() { p.loop.Post(func(now time.Time) { p.cfg.Handlers.Sitemap(now, l) }) }
	v := &visit.Visit{Item: visit.Item{Job: r.Job, URL: r.URL}}
	_, allowed, err := p.robotsAllow(t, v)
	if err != nil || !allowed {
		l.Skipped = true
		land()
		return err == nil
	}
	from, _ := p.requester(t, output.ForSitemap, visit.Item{Job: r.Job})
	s := from.Sitemap(t.Lease.Context(t.ctx), t.Host, r.URL)
	defer s.Close()
	l.MaybeSent = t.maybeSent.Load() > 0
	if s.LocalErr != nil {
		l.Sent, l.LocalErr = p.sentAt(s.Result), s.LocalErr
		land()
		return false
	}
	l.Answer, l.Wire = p.answer(&s.Answer), s.WireBytes
	l.Answer.Sent = l.MaybeSent
	l.Answer.Latency = 0 // latencies are compared among pages only
	land()
	switch {
	case s.Moved:
		to := s.To
		p.loop.Post(func(time.Time) { t.Listing.Moved(to) })
	case s.Success():
		return p.readSitemap(t, s)
	}
	return true
}

// readSitemap stores the entries in chunks, each before the next one is read. It reports
// whether all were stored.
func (p *Pool) readSitemap(t *underway, s *exchange.Sitemap) bool {
	at := t.Request.URL
	finder := store.SlotOf(p.cfg.Key, at.Domain())
	var chunk []discovery.Link
	stored := true
	nested, _, err := s.Read(at, func(e parse.Entry) bool {
		chunk = append(chunk, t.Job.Rules.Entry(t.Request.Job, at, e, finder))
		if len(chunk) == sitemapChunk {
			stored = p.storeLinks(t, chunk)
			chunk = nil
		}
		return stored
	})
	if !stored {
		return false
	}
	if err != nil {
		p.cfg.Log.Debug("cannot read the rest of a sitemap", "url", visit.Redact(at), "err", err)
	}
	if len(chunk) > 0 && !p.storeLinks(t, chunk) {
		return false
	}
	p.loop.Post(func(time.Time) { t.Listing.Nested(nested) })
	return true
}

// storeLinks passes links to the loop and waits until they are stored.
func (p *Pool) storeLinks(t *underway, links []discovery.Link) bool {
	stored := make(chan struct{})
	p.loop.Post(func(now time.Time) { t.Listing.Store(now, links, func() { close(stored) }) })
	select {
	case <-stored:
		return true
	case <-t.ctx.Done():
		return false
	}
}
