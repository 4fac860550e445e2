package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"headway/content"
	"headway/fetch"
	"headway/internal/exchange"
	"headway/job"
	"headway/output"
	"headway/output/warc"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// maxVisits is the number of visits in a commit; their texts are limited by [store.MaxTexts].
const maxVisits = 500

// Config says what to read into which store.
type Config struct {
	Store   store.Store
	Agent   string // our product token in robots.txt
	Content content.Options
	Read    func() // called for each exchange; nil for none
}

// Result says what was read.
type Result struct {
	Job       job.ID
	Exchanges int64
	Pages     int64 // exchanges of pages
	Lost      int64 // of them, those whose body is in another file
}

// Run reads an archive to its end.
func Run(ctx context.Context, cfg Config, from *warc.Reader) (Result, error) {
	p := &player{cfg: cfg, st: cfg.Store, hosts: newHosts(), in: map[weburl.URL]bool{}}
	p.fetcher.decoder = fetch.NewDecoder(fetch.Config{})
	if err := p.open(ctx); err != nil {
		return p.result, fmt.Errorf("replay archive: %w", err)
	}
	for {
		x, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = p.play(ctx, x)
		}
		if err != nil {
			return p.result, err
		}
	}
	if err := p.flush(ctx); err != nil {
		return p.result, err
	}
	return p.result, p.st.Leave(ctx, p.commit.Worker)
}

// player reads exchanges into a store.
type player struct {
	cfg     Config
	st      store.Store
	fetcher fetcher
	hosts   *hosts
	leases  map[store.Slot]store.Lease
	commit  store.Commit // what is not stored yet
	in      map[weburl.URL]bool
	texts   int
	result  Result
}

// open creates the job and takes the whole store.
func (p *player) open(ctx context.Context) error {
	now := time.Now().UTC()
	worker, err := p.st.Join(ctx, now, "replay")
	if err != nil {
		return err
	}
	leases, err := p.st.Acquire(ctx, now, worker, store.SlotCount)
	if err != nil {
		return err
	}
	p.leases = make(map[store.Slot]store.Lease, len(leases))
	for _, l := range leases {
		p.leases[l.Slot] = l
	}
	p.commit.Worker = worker
	p.result.Job, err = p.st.CreateJob(ctx, store.Job{Name: "archive", State: job.Running, CreatedAt: now, StartedAt: now})
	return err
}

// play reads one exchange.
func (p *player) play(ctx context.Context, x *warc.Archived) error {
	p.result.Exchanges++
	if p.cfg.Read != nil {
		p.cfg.Read()
	}
	p.fetcher.x = x
	at := x.Timing.End()
	from := &exchange.Requester{
		Fetcher: &p.fetcher, Agent: p.cfg.Agent, Key: p.st.Key(), Content: p.cfg.Content, Keep: p.hosts.files.Put, Now: func() time.Time { return at },
		LocalErr: func(ctx context.Context, _ error) error { return context.Cause(ctx) },
	}
	switch x.Purpose {
	case output.ForRobots:
		p.hosts.learn(ctx, from, &x.Exchange)
		return nil
	case output.ForPage:
		return p.page(ctx, from, x)
	default:
		return nil
	}
}

// page adds the visit of a page.
func (p *player) page(ctx context.Context, from *exchange.Requester, x *warc.Archived) error {
	p.result.Pages++
	v := visit.Visit{Item: x.Item, Timing: x.Timing}
	v.Item.Job = p.result.Job
	v.Item.Validators = validatorsOf(x.Request)
	from.Rules = p.hosts.judge(&v, p.cfg.Agent)
	answer := from.Page(ctx, exchange.PageRequest(v.Item, exchange.Host{Home: x.Item.URL}), &v)
	defer answer.Close()
	if answer.LocalErr != nil {
		return answer.LocalErr
	}
	v.Links = nil // outputs from a store do not have them
	if x.Lost {
		p.result.Lost++
		v.Page, v.Detail = visit.Page{Signals: v.Page.Signals}, "the body is in an archive file that was not read"
	}
	if p.in[v.Item.URL] || len(p.commit.Visits) == maxVisits {
		if err := p.flush(ctx); err != nil {
			return err
		}
	}
	if v.Outcome == visit.NotModified {
		if err := p.recall(ctx, &v); err != nil {
			return err
		}
	}
	if p.texts+v.BulkSize() > store.MaxTexts {
		if err := p.flush(ctx); err != nil {
			return err
		}
	}
	p.in[v.Item.URL] = true
	p.commit.Visits = append(p.commit.Visits, v)
	p.texts += v.BulkSize()
	return nil
}

// recall copies what an earlier response of the archive says to a page that was not
// modified.
func (p *player) recall(ctx context.Context, v *visit.Visit) error {
	e, err := p.st.Lookup(ctx, v.Item.Job, v.Item.URL)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil || e.Visit == nil {
		return err
	}
	v.Recall(e.Visit)
	v.Page.Content, err = p.st.Content(ctx, v.Item.Job, v.Item.URL)
	return err
}

// flush stores the visits so far. A URL that was stored before is opened again: its last
// response counts.
func (p *player) flush(ctx context.Context) error {
	c := &p.commit
	if len(c.Visits) == 0 {
		return nil
	}
	now := time.Now().UTC()
	found, urls := make([]store.Found, len(c.Visits)), make([]weburl.URL, len(c.Visits))
	for i := range c.Visits {
		found[i], urls[i] = store.Found{Item: c.Visits[i].Item}, c.Visits[i].Item.URL
	}
	if _, err := p.st.Reopen(ctx, now, p.result.Job, urls); err != nil {
		return err
	}
	if _, err := p.st.Add(ctx, now, found); err != nil {
		return err
	}
	c.Number++
	c.At, c.Leases = now, c.Leases[:0]
	for _, s := range c.Slots(p.st.Key()) {
		c.Leases = append(c.Leases, p.leases[s])
	}
	if _, err := p.st.Commit(ctx, *c); err != nil {
		return fmt.Errorf("store pages of the archive: %w", err)
	}
	clear(c.Visits)
	clear(p.in)
	c.Visits, p.texts = c.Visits[:0], 0
	return nil
}

// validatorsOf reads those of a conditional request.
func validatorsOf(request []byte) visit.Validators {
	h, err := readHeader(request)
	if err != nil {
		return visit.Validators{}
	}
	return visit.Validators{ETag: h.Get("If-None-Match"), LastModified: h.Get("If-Modified-Since")}
}
