package answer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"headway/ask"
	"headway/job"
	"headway/scope"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// Limits of what [ExplainWhy] reads and lists.
const (
	maxChain = 32     // pages on the way back to a seed
	maxNear  = 5      // similar URLs listed for one that was never seen
	maxLook  = 10_000 // URLs of a host compared for similarity
	maxTrail = 50_000 // URLs replayed to find the trap rule
)

// WhyQuestion is one URL with the data to explain it.
type WhyQuestion struct {
	Text  string     // as typed
	URL   weburl.URL // normalised
	Steps []weburl.Step

	Store store.Reader
	Job   store.Job
	Spec  CrawlSpec // the latest specification of the crawl
	Now   time.Time

	// Running locates the URL in the running crawl; nil if none runs.
	Running func(ctx context.Context, u weburl.URL) (*ask.URL, error)
	// OptedOut returns the opt-out entry that covers the URL, "" for none; nil if
	// there is no list.
	OptedOut func(u weburl.URL) string
}

// Why is everything known about how one URL ended, or why it has not.
type Why struct {
	URL   string          `json:"url"`
	Typed string          `json:"typed,omitempty"` // if it was another spelling
	Steps []CanonicalStep `json:"canonical_steps,omitempty"`
	Crawl WhyCrawl        `json:"crawl"`

	// Seen says that the crawl has seen the URL. Out-of-scope URLs may only be
	// counted: then Counted is set, and how the URL was found is not known.
	Seen    bool          `json:"seen"`
	Counted bool          `json:"counted_only,omitempty"`
	Outcome visit.Outcome `json:"outcome,omitempty"` // empty if it was never seen
	Reason  visit.Reason  `json:"reason,omitempty"`
	Rule    string        `json:"rule,omitempty"` // what decided, in words
	By      string        `json:"decided_by,omitempty"`
	SeenAt  time.Time     `json:"seen_at,omitzero"`
	EndedAt time.Time     `json:"ended_at,omitzero"`

	Found    *Discovery     `json:"found,omitempty"`
	Scope    *ScopeVerdict  `json:"scope,omitempty"`
	Robots   *RobotsExcerpt `json:"robots,omitempty"`
	Budget   *Ceiling       `json:"budget,omitempty"` // the limit that decided
	Attempts []Attempt      `json:"attempts,omitempty"`
	Evidence []Evidence     `json:"evidence,omitempty"`
	Wait     *Waiting       `json:"wait,omitempty"`
	Now      *Recheck       `json:"would_it_pass_now,omitempty"`
	Near     []NearURL      `json:"near,omitempty"`
	Story    []string       `json:"story"` // the same in plain sentences
}

// WhyCrawl is the crawl that was queried.
type WhyCrawl struct {
	Job     job.ID    `json:"job"`
	State   job.State `json:"state"`
	Reason  string    `json:"reason,omitempty"`
	Running bool      `json:"running"`
}

// CanonicalStep is one step of normalising the typed URL.
type CanonicalStep struct {
	Reason string `json:"reason"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// Discovery is how a URL was found.
type Discovery struct {
	By    visit.FoundBy `json:"by"`
	On    string        `json:"on,omitempty"` // the page, sitemap or redirect with the link
	Depth int           `json:"depth"`
	Hops  int           `json:"hops,omitempty"`
	// Chain leads from On back to a seed, as far as known; Cut says that it is
	// incomplete.
	Chain []ChainLink `json:"chain,omitempty"`
	Cut   bool        `json:"chain_cut,omitempty"`
}

// ChainLink is one URL on the way back to a seed.
type ChainLink struct {
	URL   string        `json:"url"`
	By    visit.FoundBy `json:"by,omitempty"` // empty for a sitemap, which is not a URL of the crawl
	Depth int           `json:"depth"`
}

// ScopeVerdict is the scope decision on the URL.
type ScopeVerdict struct {
	In     bool         `json:"in"`
	Reason visit.Reason `json:"reason,omitempty"`
	Rule   string       `json:"rule"`
}

// Attempt is one request for the URL.
type Attempt struct {
	N           int           `json:"n"` // counted over the stored attempts
	Sent        time.Time     `json:"sent_at,omitzero"`
	Outcome     visit.Outcome `json:"outcome"`
	Reason      visit.Reason  `json:"reason,omitempty"`
	Status      int           `json:"status,omitempty"`
	Detail      string        `json:"detail,omitempty"`
	ContentType string        `json:"content_type,omitempty"`
	Location    string        `json:"location,omitempty"`
	RetryAfter  string        `json:"retry_after,omitempty"`
	Remote      string        `json:"remote,omitempty"`
	Protocol    string        `json:"protocol,omitempty"`
	Bytes       int64         `json:"bytes,omitempty"`
	DNS         ask.Seconds   `json:"dns_seconds"`
	Connect     ask.Seconds   `json:"connect_seconds"`
	TLS         ask.Seconds   `json:"tls_seconds"`
	FirstByte   ask.Seconds   `json:"first_byte_seconds"`
	Total       ask.Seconds   `json:"total_seconds"`
	Reused      bool          `json:"reused_connection,omitempty"`
}

// Waiting is what a pending URL waits for.
type Waiting struct {
	Reason   visit.Wait  `json:"reason"`
	Until    time.Time   `json:"until,omitzero"`  // next request to its host, if a time ends the wait
	Where    ask.Place   `json:"where,omitempty"` // if a crawl runs
	InFlight ask.Seconds `json:"in_flight_seconds,omitempty"`
	Live     bool        `json:"live"` // from the running crawl; otherwise derived from the store
	Note     string      `json:"note,omitempty"`
	Host     *ask.Host   `json:"host,omitempty"`
	Paused   bool        `json:"paused,omitempty"` // an operator has paused the host

	// Ahead is the number of URLs of its host that come before it, as far as counted:
	// see Least. Turn estimates when it is fetched: one pace for each. Both are absent if
	// no crawl runs, the host is paused, or only the response times set the rate.
	Ahead *int64    `json:"ahead,omitempty"`
	Least bool      `json:"ahead_at_least,omitempty"` // there are more than were counted
	Turn  time.Time `json:"turn_guess,omitzero"`
}

// NearURL is a URL of the crawl that is similar to the one in question.
type NearURL struct {
	URL     string        `json:"url"`
	Outcome visit.Outcome `json:"outcome"`
	Reason  visit.Reason  `json:"reason,omitempty"`
	How     string        `json:"how"` // what is similar
}

// explainer answers one question.
type explainer struct {
	WhyQuestion
	why   Why
	entry store.Entry
	rules *scope.Rules // nil if not all seeds are stored
	noise string       // the finding that refusals of the host do not depend on the pace
}

// ExplainWhy explains one URL. The error is that of the store, or of a running crawl that
// does not respond.
func ExplainWhy(ctx context.Context, q WhyQuestion) (*Why, error) {
	x := &explainer{WhyQuestion: q}
	x.why = Why{URL: q.URL.String(), Crawl: WhyCrawl{Job: q.Job.ID, State: q.Job.State, Reason: q.Job.Reason, Running: q.Running != nil}}
	if q.Text != x.why.URL {
		x.why.Typed = q.Text
	}
	for _, s := range q.Steps {
		x.why.Steps = append(x.why.Steps, CanonicalStep{s.Reason, s.Before, s.After})
	}
	if err := x.rebuildScope(ctx); err != nil {
		return nil, err
	}
	entry, err := q.Store.Lookup(ctx, q.Job.ID, q.URL)
	switch {
	case errors.Is(err, store.ErrNotFound):
		err = x.unseen(ctx)
	case err == nil:
		x.entry = entry
		err = x.seen(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := x.recheck(ctx); err != nil {
		return nil, err
	}
	x.writeStory()
	return &x.why, nil
}

// rebuildScope rebuilds the scope of the crawl, with the hosts that its seeds redirected
// to.
func (x *explainer) rebuildScope(ctx context.Context) error {
	rules, _, err := x.Spec.rules()
	if err != nil || rules == nil {
		return err
	}
	page, err := x.Store.List(ctx, store.Query{Job: x.Job.ID, Outcome: visit.Redirected, Max: store.MaxPage})
	if err != nil {
		return err
	}
	for i := range page.Entries {
		if e := &page.Entries[i]; e.Item.Depth == 0 && e.Visit != nil && !e.Visit.Answer.Location.IsZero() {
			rules.Widen(e.Item.URL, e.Visit.Answer.Location)
		}
	}
	x.rules = rules
	return nil
}

// seen explains a URL that the crawl has seen.
func (x *explainer) seen(ctx context.Context) error {
	e, w := &x.entry, &x.why
	w.Seen, w.Outcome, w.Reason, w.SeenAt, w.EndedAt = true, e.Outcome, e.Reason, e.SeenAt, e.EndedAt
	if err := x.discovery(ctx); err != nil {
		return err
	}
	x.scopeVerdict(e.Item.Depth, e.Item.Depth == 0)
	for i := range e.Attempts {
		w.Attempts = append(w.Attempts, attempt(&e.Attempts[i]))
	}
	if v := e.Visit; v != nil {
		w.Evidence = evidenceOf(v.Evidence)
		if !v.Timing.Sent.IsZero() || v.Answer.Status != 0 || v.Outcome == visit.Failed && v.Reason != visit.Quarantined {
			w.Attempts = append(w.Attempts, attempt(v))
		}
	} else if n := len(e.Attempts); n > 0 {
		w.Evidence = evidenceOf(e.Attempts[n-1].Evidence)
	}
	for i := range w.Attempts {
		w.Attempts[i].N = i + 1
	}
	if err := x.excerpt(ctx); err != nil {
		return err
	}
	switch e.Outcome {
	case visit.Pending:
		if err := x.wait(ctx); err != nil {
			return err
		}
		fallthrough
	case visit.Throttled, visit.ServerError, visit.Deferred:
		state, _, err := x.hostState(ctx)
		if err != nil {
			return err
		}
		x.noise = state.NoiseSentence()
	default:
	}
	return x.decide(ctx)
}

// discovery follows a URL back to its seed.
func (x *explainer) discovery(ctx context.Context) error {
	it := &x.entry.Item
	d := &Discovery{By: it.Found, Depth: it.Depth, Hops: it.Hops}
	x.why.Found = d
	if it.Via.IsZero() {
		return nil
	}
	d.On = visit.Redact(it.Via)
	been := []weburl.URL{it.URL}
	for via := it.Via; !via.IsZero(); {
		if len(d.Chain) == maxChain || slices.Contains(been, via) {
			d.Cut = true
			return nil
		}
		been = append(been, via)
		e, err := x.Store.Lookup(ctx, x.Job.ID, via)
		if errors.Is(err, store.ErrNotFound) {
			d.Chain = append(d.Chain, ChainLink{URL: visit.Redact(via)})
			return nil
		}
		if err != nil {
			return err
		}
		d.Chain = append(d.Chain, ChainLink{URL: visit.Redact(via), By: e.Item.Found, Depth: e.Item.Depth})
		via = e.Item.Via
	}
	return nil
}

// scopeVerdict applies the scope of the crawl.
func (x *explainer) scopeVerdict(depth int, seed bool) {
	if x.rules == nil {
		return
	}
	d := x.rules.Decide(x.URL, depth)
	if seed {
		d = x.rules.DecideSeed(x.URL)
	}
	x.why.Scope = &ScopeVerdict{In: d.In, Reason: visit.Reason(d.Reason), Rule: d.Rule}
}

// attempt converts a visit.
func attempt(v *visit.Visit) Attempt {
	a := Attempt{
		Sent: v.Timing.Sent, Outcome: v.Outcome, Reason: v.Reason, Status: v.Answer.Status, Detail: v.Detail,
		ContentType: v.Answer.ContentType, RetryAfter: v.Answer.RetryAfter, Remote: v.Answer.Remote, Protocol: v.Answer.Protocol, Bytes: v.Answer.WireBytes,
		DNS: ask.Seconds(v.Timing.DNS), Connect: ask.Seconds(v.Timing.Connect), TLS: ask.Seconds(v.Timing.TLS), FirstByte: ask.Seconds(v.Timing.FirstByte),
		Total: ask.Seconds(v.Timing.Total), Reused: v.Timing.Reused,
	}
	if !v.Answer.Location.IsZero() {
		a.Location = visit.Redact(v.Answer.Location)
	}
	return a
}

// wait finds out what a URL waits for: from the crawl if it runs, otherwise from the
// store.
func (x *explainer) wait(ctx context.Context) error {
	w := &Waiting{}
	x.why.Wait = w
	if x.Running != nil {
		u, err := x.Running(ctx, x.URL)
		if err != nil {
			return fmt.Errorf("query the running crawl: %w", err)
		}
		if u != nil {
			w.Live, w.Reason, w.Until, w.Where, w.InFlight, w.Host = true, u.Wait, u.Until, u.Where, u.InFlight, u.Host
			w.Paused = w.Host != nil && w.Host.Paused
			if w.Reason == "" {
				w.Reason = visit.WaitIdle
			}
			return x.estimateTurn(ctx)
		}
	}
	h, err := x.Store.Host(ctx, x.URL.Host())
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	state, known, err := x.hostState(ctx)
	if err != nil {
		return err
	}
	w.Paused = known && state.Paused()
	held := later(x.entry.Item.NotBefore, h.HoldUntil)
	switch {
	case x.Job.State == job.Partial || x.Job.State == job.Cancelled:
		w.Reason, w.Note = visit.WaitBudget, "the crawl ended as "+string(x.Job.State)+": "+x.Job.Reason
	case held.After(x.Now):
		w.Reason, w.Until, w.Note = visit.WaitHold, held, "the crawl is not running, and the host is on hold"
	case x.Running != nil:
		w.Reason, w.Note = visit.WaitIdle, "the crawl has just released it"
	default:
		w.Reason, w.Note = visit.WaitIdle, "the crawl is not running; run the same command to resume"
	}
	return nil
}

// estimateTurn counts the URLs before a queued one, and estimates when it is fetched.
func (x *explainer) estimateTurn(ctx context.Context) error {
	w := x.why.Wait
	if w.Where == ask.PlaceInFlight || w.Host == nil || w.Host.Paused || w.Host.Pace <= 0 {
		return nil
	}
	var ahead int64
	mine, passed := x.entry.Item.Rank(), false
	q := store.Query{Job: x.Job.ID, Host: x.URL.Host(), Outcome: visit.Pending, Max: maxLook / 10}
	for looked := 0; ; looked += q.Max {
		page, err := x.Store.List(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Entries {
			it := &page.Entries[i].Item
			switch rank := it.Rank(); {
			case it.URL == x.URL:
				passed = true // equal ranks are ordered by age
			case rank < mine, rank == mine && !passed:
				ahead++
			}
		}
		if q.After = page.Next; q.After == "" {
			break
		}
		if looked+q.Max >= maxLook {
			w.Least = true
			break
		}
	}
	w.Ahead = &ahead
	turn := later(x.Now, w.Until).Add(time.Duration(ahead) * w.Host.Pace.Duration())
	w.Turn = later(turn, x.entry.Item.NotBefore).UTC() // a retry has its own time
	return nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
