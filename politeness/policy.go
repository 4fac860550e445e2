package politeness

import (
	"errors"
	"fmt"
	"time"
)

// Policy says how to treat a host. Take one from [Preset], change fields as needed, and
// combine those of several jobs with [Merge]. A Policy is a plain value and holds nothing
// that was learned.
type Policy struct {
	Name string // the preset it came from, for people

	Base   time.Duration // the pace of a host that has never pushed back
	Spread time.Duration // random part on top of Base, drawn for each request
	Jitter int           // percent added at most to every pace and backoff, never subtracted

	InFlight int // maximum of requests in flight; the cap grows towards it

	Refusing   Backoff // hold after a refusal without a usable Retry-After
	Failing    Backoff // hold after a server error or a network error
	Refuses403 bool    // whether 403 is a refusal, as 429 and 503 always are

	Need        int  // clean responses before the first probe, and before steps are small again
	StepDoubles bool // whether incidents that follow closely take larger steps
	LatencyRise int  // percent of the baseline at which a median response time is an incident

	RefusalRetries   int // retries of a URL after refusals charged to it
	FailureRetries   int // retries after server and network errors
	FailureThreshold int // failures in a row that park a host for a job
	CancelAfter      int // 429s in a row at the maximum pace that cancel a job; 0 is never

	SharesAddress          bool // whether the second interval per address applies
	AllowUnreachableRobots bool // whether pages may be fetched while robots.txt cannot be read
}

// Backoff is a hold that doubles from Start to Max.
type Backoff struct{ Start, Max time.Duration }

// maxPolicyDuration bounds every duration of a policy. It keeps sums of milliseconds far from
// overflow.
const maxPolicyDuration = 7 * 24 * time.Hour

// maxInFlight bounds Policy.InFlight; beyond it a single host would exhaust
// the ports of one machine.
const maxInFlight = 10_000

// Validate reports every field that is out of range.
func (p Policy) Validate() error {
	var errs []error
	check := func(ok bool, field string, value any) {
		if !ok {
			errs = append(errs, fmt.Errorf("policy %s: %s %v is out of range", p.Name, field, value))
		}
	}
	duration := func(d time.Duration) bool { return d >= 0 && d <= maxPolicyDuration }
	check(duration(p.Base), "Base", p.Base)
	check(duration(p.Spread), "Spread", p.Spread)
	check(p.Jitter >= 0 && p.Jitter <= 100, "Jitter", p.Jitter)
	check(p.InFlight >= 1 && p.InFlight <= maxInFlight, "InFlight", p.InFlight)
	for _, b := range []struct {
		name string
		b    Backoff
	}{{"Refusing", p.Refusing}, {"Failing", p.Failing}} {
		check(b.b.Start > 0 && b.b.Start <= b.b.Max && duration(b.b.Max), b.name, b.b)
	}
	check(p.Need >= 1 && p.Need <= maxNeed, "Need", p.Need)
	check(p.LatencyRise > 100, "LatencyRise", p.LatencyRise)
	check(p.RefusalRetries >= 0, "RefusalRetries", p.RefusalRetries)
	check(p.FailureRetries >= 0, "FailureRetries", p.FailureRetries)
	check(p.FailureThreshold >= 1, "FailureThreshold", p.FailureThreshold)
	check(p.CancelAfter >= 0 && p.CancelAfter <= 255, "CancelAfter", p.CancelAfter)
	return errors.Join(errs...)
}

// Merge returns the policy for a host on which jobs of both policies have work: of each field
// the more careful value, so that no job makes a host be treated worse than another job
// allows. It is commutative and associative except for Name, which keeps the order of first
// mention. For what belongs to a URL or a job (retries, FailureThreshold, CancelAfter) use
// the job's own policy, not the merged one.
func Merge(p, q Policy) Policy {
	m := Policy{
		Name:                   p.Name,
		Base:                   max(p.Base, q.Base),
		Spread:                 0,
		Jitter:                 max(p.Jitter, q.Jitter),
		InFlight:               min(p.InFlight, q.InFlight),
		Refusing:               slower(p.Refusing, q.Refusing),
		Failing:                slower(p.Failing, q.Failing),
		Refuses403:             p.Refuses403 || q.Refuses403,
		Need:                   max(p.Need, q.Need),
		StepDoubles:            p.StepDoubles || q.StepDoubles,
		LatencyRise:            min(p.LatencyRise, q.LatencyRise),
		RefusalRetries:         min(p.RefusalRetries, q.RefusalRetries),
		FailureRetries:         min(p.FailureRetries, q.FailureRetries),
		FailureThreshold:       min(p.FailureThreshold, q.FailureThreshold),
		CancelAfter:            sooner(p.CancelAfter, q.CancelAfter),
		SharesAddress:          p.SharesAddress || q.SharesAddress,
		AllowUnreachableRobots: p.AllowUnreachableRobots && q.AllowUnreachableRobots,
	}
	// The slowest interval either would draw: Base up to Base+Spread.
	m.Spread = max(p.Base+p.Spread, q.Base+q.Spread) - m.Base
	if q.Name != p.Name {
		m.Name = p.Name + "+" + q.Name
	}
	return m
}

// slower returns the backoff that waits longer at either end.
func slower(a, b Backoff) Backoff {
	return Backoff{Start: max(a.Start, b.Start), Max: max(a.Max, b.Max)}
}

// sooner returns the smaller of two thresholds of which 0 means never.
func sooner(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// base is the shortest pace that the policy, the host's robots.txt and operators allow, in
// milliseconds.
func (p *Policy) base(s *State) int64 {
	return max(ceilMillis(p.Base), int64(s.crawlDelay), int64(s.asked))
}
