package e2e

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"headway/job"
	"headway/lab"
	"headway/store"
	"headway/store/sqlite"
	"headway/visit"
)

// exchange is a request as both sides saw it, by one clock. On a busy machine only
// some of these times have a certain order: the lab stamps a request when it handles
// it and a response before it writes it; the crawl stamps a request when it has
// written it and the end of a response when it has read it.
type exchange struct {
	url           string
	status        int
	after         time.Duration // Retry-After of a refusal
	start, answer time.Time     // by the lab
	sent, end     time.Time     // by the crawl
}

// lag is how much later the lab handled a request than the crawl had sent it; negative
// if the lab was first.
func (x *exchange) lag() time.Duration { return x.start.Sub(x.sent) }

// left is a time at which the request had certainly been sent.
func (x *exchange) left() time.Time {
	if x.start.Before(x.sent) {
		return x.start
	}
	return x.sent
}

// exchanges matches the records of crawls with the log of the lab: each page request
// is in both, once. They are listed by host, in the lab's order.
func (w *world) exchanges(dirs ...string) map[string][]exchange {
	w.Helper()
	recorded := map[string][]*visit.Visit{}
	for _, dir := range dirs {
		w.attempts(dir, recorded)
	}
	for _, list := range recorded {
		slices.SortFunc(list, func(a, b *visit.Visit) int { return a.Timing.Sent.Compare(b.Timing.Sent) })
	}
	log := w.lab.Log()
	slices.SortStableFunc(log, func(a, b lab.Request) int { return a.Start.Compare(b.Start) })
	all := map[string][]exchange{}
	for _, r := range log {
		if r.Target == "/robots.txt" || strings.HasPrefix(r.Target, "/sitemap") {
			continue // not recorded one by one
		}
		url := r.Host + r.Target
		if len(recorded[url]) == 0 {
			w.Errorf("%s was requested at %v, and the crawl has no record of it", url, r.Start)
			continue
		}
		v := recorded[url][0]
		recorded[url] = recorded[url][1:]
		x := exchange{url: url, status: r.Status, start: r.Start, answer: r.Answer, sent: v.Timing.Sent, end: v.Timing.Sent.Add(v.Timing.Total)}
		// A failed request may have been given up while the lab was about to respond, and so
		// may one that is in flight when the crawl ends: it has no status, and is deferred.
		givenUp := v.Outcome == visit.Failed || v.Outcome == visit.Deferred && v.Answer.Status == 0
		if !givenUp && (v.Answer.Status != r.Status || x.end.Before(x.answer)) {
			w.Errorf("%s answered %d at %v; the crawl read %d until %v", url, r.Status, x.answer, v.Answer.Status, x.end)
		}
		if n, err := strconv.Atoi(v.Answer.RetryAfter); err == nil {
			x.after = time.Duration(n) * time.Second
		}
		all[r.Host] = append(all[r.Host], x)
	}
	for url, left := range recorded {
		if len(left) > 0 {
			w.Errorf("%s was requested %d times more than the lab has seen", url, len(left))
		}
	}
	return all
}

// attempts adds all requests that a crawl recorded, by URL.
func (w *world) attempts(dir string, all map[string][]*visit.Visit) {
	w.Helper()
	view, err := sqlite.OpenView(w.Context(), w.dir+"/"+dir)
	if err != nil {
		w.Fatal(err)
	}
	defer view.Close()
	add := func(v *visit.Visit) {
		if v != nil && !v.Timing.Sent.IsZero() {
			all[v.Item.URL.String()] = append(all[v.Item.URL.String()], v)
		}
	}
	jobs, err := view.JobList(w.Context(), 0, 10)
	if err != nil {
		w.Fatal(err)
	}
	for _, j := range jobs {
		for _, h := range w.lab.Hosts() {
			w.attemptsOf(view, j.ID, strings.TrimSuffix(h.URL, "/"), add)
		}
	}
}

func (w *world) attemptsOf(view *sqlite.View, id job.ID, host string, add func(*visit.Visit)) {
	w.Helper()
	for q := (store.Query{Job: id, Host: host, Max: store.MaxPage}); ; {
		page, err := view.List(w.Context(), q)
		if err != nil {
			w.Fatal(err)
		}
		for _, e := range page.Entries {
			add(e.Visit)
		}
		if q.After = page.Next; page.Next == "" {
			break
		}
	}
	for q := (store.AttemptQuery{Job: id, Host: host, Max: store.MaxPage}); ; {
		page, err := view.Attempts(w.Context(), q)
		if err != nil {
			w.Fatal(err)
		}
		for i := range page.Attempts {
			add(&page.Attempts[i])
		}
		if q.After = page.Next; page.Next == "" {
			break
		}
	}
}

// crossing is how long a busy machine may delay a thread between two consecutive
// steps, if nothing longer was measured. When a request was released is unknown, only
// when it had been sent: of some 20 that crossed a refusal at a load of 20 on two
// cores, one was sent 0.4 ms after the refusal was read.
const crossing = 20 * time.Millisecond

// honouredRefusals checks the same as clean, except that a request in flight may cross
// a refusal: each one that the lab counts inside a Retry-After had been sent before
// the crawl had read the refusal, with a tolerance of the longest lag of all requests.
func (w *world) honouredRefusals(dir string) {
	w.Helper()
	w.obedient()
	if w.lab.Stats().Total.InsideRetryAfter == 0 {
		return
	}
	var inside int64
	all, leave := w.exchanges(dir), crossing
	for _, list := range all {
		for i := range list {
			leave = max(leave, list[i].lag().Abs())
		}
	}
	for _, list := range all {
		for i := range list {
			x, counted := &list[i], false
			for _, r := range list {
				if r.after == 0 || x.start.Before(r.answer) || !x.start.Before(r.answer.Add(r.after)) {
					continue
				}
				counted = true
				if x.left().After(r.end.Add(leave)) {
					w.Errorf("%s got a request %v after %s had sent a Retry-After of %v", x.url, x.left().Sub(r.end), r.url, r.after)
				}
			}
			if counted {
				inside++
			}
		}
	}
	if n := w.lab.Stats().Total.InsideRetryAfter; n != inside {
		w.Errorf("%d requests came inside a Retry-After, %d are accounted for", n, inside)
		for _, h := range w.lab.Stats().PerHost {
			if h.InsideRetryAfter > 0 {
				w.Logf("%s: %d inside, %d refusals, %d of %d requests for robots.txt", h.Host, h.InsideRetryAfter, h.Refusals, h.RobotsFetches, h.Requests)
			}
		}
	}
	w.Logf("%d requests crossed a refusal on their way", inside)
}

// apart checks that the requests to each host were sent at least an interval apart, by
// whichever crawl.
func (w *world) apart(interval time.Duration, dirs ...string) {
	w.Helper()
	for host, list := range w.exchanges(dirs...) {
		slices.SortFunc(list, func(a, b exchange) int { return a.sent.Compare(b.sent) })
		for i := range list[1:] {
			if gap := list[i+1].sent.Sub(list[i].sent); gap < interval {
				w.Errorf("%s: two requests left %v apart, want %v", host, gap, interval)
			}
		}
	}
}

// moments are a start and an end.
type moments struct{ from, to time.Time }

// atMost is the maximum of these that overlap. One that ends when another begins does
// not.
func atMost(list []moments) int {
	type edge struct {
		at   time.Time
		step int
	}
	var edges []edge
	for _, m := range list {
		if m.from.Before(m.to) {
			edges = append(edges, edge{m.from, 1}, edge{m.to, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.step, b.step)) })
	now, most := 0, 0
	for _, e := range edges {
		now += e.step
		most = max(most, now)
	}
	return most
}
