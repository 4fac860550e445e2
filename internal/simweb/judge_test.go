package simweb_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"headway/lab"
	"headway/visit"
)

// judge checks a crawl from the servers' side and returns what was impolite, lost or
// invented. What the servers saw comes from the lab's log and counters; of the crawl's own
// records only the pace, hold and cap promised for each request are used. Virtual time is
// exact, so there is no tolerance.
func judge(w *world) (problems []string) {
	j := &judgement{
		promised: map[arrival][]sent{}, hosts: map[string]*seen{}, domains: map[string]time.Time{}, addresses: map[string]time.Time{},
		backoff: map[*host]time.Duration{}, lenient: map[string]bool{}, denials: map[instant]int{}, begin: w.begin,
	}
	for _, h := range w.hosts {
		j.backoff[h] = shortestBackoff(h, w.jobs)
		j.lenient["http://"+h.name] = slices.ContainsFunc(h.targets, func(t *target) bool { return t.job.policy.AllowUnreachableRobots })
	}
	first := map[*host]bool{}
	for _, s := range w.trace.sends {
		if !first[s.host] && s.path != "/robots.txt" {
			j.problem("%s%s is requested before robots.txt", s.host.name, s.path)
		}
		first[s.host] = true
		k := arrival{s.host.name, s.path, s.at.UnixNano()}
		j.promised[k] = append(j.promised[k], s)
	}
	log := w.web.Log()
	for i := range log {
		if r := &log[i]; r.Status >= http.StatusBadRequest {
			j.denials[instant{r.Host, r.Answer.UnixNano()}]++
		}
	}
	for _, r := range j.match(log) {
		j.request(r)
	}
	stats := w.web.Stats()
	if int(stats.Total.Requests) != len(log) {
		j.problem("%d requests, %d in the log", stats.Total.Requests, len(log))
	}
	for i := range stats.PerHost {
		j.counts(&stats.PerHost[i])
	}
	for _, h := range w.hosts {
		j.urls(h)
	}
	return j.problems
}

// shortestBackoff is the backoff of the least careful job after a refusal.
func shortestBackoff(h *host, jobs []*job) time.Duration {
	shortest := time.Duration(0)
	for _, q := range jobs {
		if d := q.policy.Refusing.Start; slices.Contains(q.hosts, h.name) && (shortest == 0 || d < shortest) {
			shortest = d
		}
	}
	return shortest
}

// arrival identifies a request: it arrives at the instant it is sent.
type arrival struct {
	host, path string
	at         int64
}

// instant is a moment at a host.
type instant struct {
	host string
	at   int64
}

// seen is what a host saw so far.
type seen struct {
	last     time.Time       // when the last request came
	underWay []lab.Request   // when the last one came, including that one
	refusal  time.Time       // when it last refused a request that came after an earlier refusal
	incident time.Time       // the same, unless only that target refuses
	served   bool            // whether it has served anything since
	refused  map[string]bool // targets it has refused
	ties     int64           // requests that came at the very instant of an error, and perhaps Retry-After
	most     int             // the highest cap promised
}

type judgement struct {
	promised map[arrival][]sent
	hosts    map[string]*seen
	backoff  map[*host]time.Duration // the shortest backoff after a refusal without Retry-After
	lenient  map[string]bool         // hosts whose robots.txt may be missing
	denials  map[instant]int         // error responses
	begin    time.Time
	problems []string

	domains, addresses map[string]time.Time // when the last request came
}

func (j *judgement) problem(format string, args ...any) {
	j.problems = append(j.problems, fmt.Sprintf(format, args...))
}

// decided is a request that a server saw and the decision behind it.
type decided struct {
	*lab.Request
	sent
}

// match finds the decision behind each request and sorts simultaneous ones by the order
// they were sent.
func (j *judgement) match(log []lab.Request) []decided {
	list := make([]decided, 0, len(log))
	for i := range log {
		r := &log[i]
		k := arrival{r.Host, r.Target, r.Start.UnixNano()}
		if len(j.promised[k]) == 0 {
			j.problem("%s%s at %v: no decision to send it", r.Host, r.Target, r.Start.Sub(j.begin))
			continue
		}
		list = append(list, decided{r, j.promised[k][0]})
		j.promised[k] = j.promised[k][1:]
	}
	slices.SortStableFunc(list, func(a, b decided) int { return cmp.Or(a.Start.Compare(b.Start), a.number-b.number) })
	return list
}

// request checks one request against what came before it.
func (j *judgement) request(r decided) {
	where, p := fmt.Sprintf("%s%s at %v", r.Host, r.Target, r.Start.Sub(j.begin)), r.sent
	h := j.hosts[r.Host]
	if h == nil {
		h = &seen{refused: map[string]bool{}}
		j.hosts[r.Host] = h
	}
	h.answered(r.Start)
	h.underWay = append(h.underWay, *r.Request)
	if gap := r.Start.Sub(h.last); !h.last.IsZero() && gap < max(p.Pace, p.Base) {
		j.problem("%s: %v after the request before, inside the pace of %v", where, gap, p.Pace)
	}
	j.second(where, "domain", j.domains, p.host.domain, r.Start, p.Domain)
	if p.host.address != "" {
		j.second(where, "address", j.addresses, p.host.address, r.Start, p.Address)
	}
	if r.Start.Before(p.HeldUntil) {
		j.problem("%s: inside a hold until %v", where, p.HeldUntil.Sub(j.begin))
	}
	// A request sent at the very instant another one is refused was decided before the
	// refusal could be known.
	others := j.denials[instant{r.Host, r.Start.UnixNano()}]
	if r.Status >= http.StatusBadRequest && r.Answer.Equal(r.Start) {
		others-- // itself
	}
	tie := others > 0
	if tie {
		h.ties++
	}
	if least := j.backoff[p.host]; p.host.silent && !tie && !h.incident.IsZero() && r.Start.Sub(h.incident) < least {
		j.problem("%s: %v after a refusal, inside the backoff of %v", where, r.Start.Sub(h.incident), least)
	}
	if n := len(h.underWay); n > p.Cap {
		j.problem("%s: %d at once, the cap is %d", where, n, p.Cap)
	}
	h.most = max(h.most, p.Cap)
	h.last = r.Start
}

// second checks an interval that hosts share.
func (j *judgement) second(where, what string, last map[string]time.Time, name string, at time.Time, least time.Duration) {
	if before, ok := last[name]; ok && at.Sub(before) < least {
		j.problem("%s: %v after the last request to its %s, inside the interval of %v", where, at.Sub(before), what, least)
	}
	last[name] = at
}

// answered processes the responses up to now.
//
// A refusal whose request came before the last refusal belongs to the same incident and
// starts no backoff of its own. Nor does a refusal of a target that was refused before
// while others are served: only that target is affected.
func (h *seen) answered(now time.Time) {
	slices.SortStableFunc(h.underWay, func(a, b lab.Request) int { return a.Answer.Compare(b.Answer) })
	for len(h.underWay) > 0 && !h.underWay[0].Answer.After(now) {
		r := h.underWay[0]
		h.underWay = h.underWay[1:]
		switch {
		case !refusal(r.Status):
			h.served = h.served || r.Start.After(h.incident)
		case r.Start.After(h.refusal):
			h.refusal = r.Answer
			if !h.served || !h.refused[r.Target] {
				h.incident, h.served = r.Answer, false
			}
			h.refused[r.Target] = true
		}
	}
}

func refusal(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

// counts checks the lab's own counters.
func (j *judgement) counts(c *lab.HostStats) {
	h := j.hosts[c.Host[len("http://"):]]
	if h == nil {
		h = &seen{}
	}
	if c.InsideRetryAfter > h.ties {
		j.problem("%s: %d requests inside an announced Retry-After", c.Host, c.InsideRetryAfter)
	}
	if c.BeforeRobots > 0 && !j.lenient[c.Host] || c.RobotsViolations > 0 {
		j.problem("%s: %d requests before robots.txt was requested, %d against it", c.Host, c.BeforeRobots, c.RobotsViolations)
	}
	if c.MaxConcurrent > h.most {
		j.problem("%s: %d at once, the cap was never above %d", c.Host, c.MaxConcurrent, h.most)
	}
	if c.InFlight != 0 {
		j.problem("%s: %d requests still under way", c.Host, c.InFlight)
	}
}

// urls checks that every wanted URL has one outcome.
func (j *judgement) urls(h *host) {
	for _, t := range h.targets {
		wait := visit.WaitIdle
		if t.ended() {
			wait = ""
		}
		if err := visit.Check(t.outcome, t.reason, wait); err != nil {
			j.problem("%s: %v", t.url, err)
		}
	}
}
