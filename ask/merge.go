package ask

import (
	"cmp"
	"slices"
)

// maxSlowest is how many hosts a status lists.
const maxSlowest = 8

// add merges the answer of another worker.
func (a *Answer) add(b Answer) {
	a.Hosts = append(a.Hosts, b.Hosts...)
	a.Workers = append(a.Workers, b.Workers...)
	a.URL = cmp.Or(a.URL, b.URL)
	a.Change = cmp.Or(a.Change, b.Change)
	switch {
	case a.Status == nil:
		a.Status = b.Status
	case b.Status != nil:
		a.Status.add(b.Status)
	}
}

// add merges the status of another worker: counts and host time add up. What belongs to
// the job is the same for all workers.
func (s *Status) add(b *Status) {
	s.PID = 0
	if b.At.After(s.At) {
		s.At = b.At
	}
	s.Elapsed, s.Commit = max(s.Elapsed, b.Elapsed), max(s.Commit, b.Commit)
	s.Rate += b.Rate
	s.Hosts += b.Hosts
	s.Ready += b.Ready
	s.InFlight += b.InFlight
	s.Workers += b.Workers
	s.Discovery = s.Discovery && b.Discovery
	s.Stopping = cmp.Or(s.Stopping, b.Stopping)
	s.Slowest = append(s.Slowest, b.Slowest...)
	for _, w := range b.Warnings {
		if !slices.Contains(s.Warnings, w) {
			s.Warnings = append(s.Warnings, w)
		}
	}
	for _, x := range b.Shares {
		at := slices.IndexFunc(s.Shares, func(y Share) bool { return y.State == x.State })
		if at < 0 {
			s.Shares = append(s.Shares, x)
			continue
		}
		s.Shares[at].Hosts += x.Hosts
		s.Shares[at].Spent += x.Spent
	}
	for _, x := range b.Layers {
		at := slices.IndexFunc(s.Layers, func(y Layer) bool { return y.Name == x.Name })
		if at < 0 {
			s.Layers = append(s.Layers, x)
			continue
		}
		l := &s.Layers[at]
		l.Limit += x.Limit
		l.Use += x.Use
		l.Waiting += x.Waiting
		l.Waited += x.Waited
	}
}

// settle sorts and truncates the merged lists.
func (a *Answer) settle() {
	slices.SortFunc(a.Hosts, slowerFirst)
	slices.SortFunc(a.Workers, func(x, y Worker) int { return cmp.Compare(x.ID, y.ID) })
	if a.Status == nil {
		return
	}
	slowest := a.Status.Slowest
	slices.SortFunc(slowest, slowerFirst)
	a.Status.Slowest = slowest[:min(len(slowest), maxSlowest)]
	var all Seconds
	for _, s := range a.Status.Shares {
		all += s.Spent
	}
	for i := range a.Status.Shares {
		if s := &a.Status.Shares[i]; all > 0 {
			s.Part = float64(s.Spent) / float64(all)
		}
	}
}

// slowerFirst orders hosts by pace, then by name.
func slowerFirst(a, b Host) int {
	return cmp.Or(cmp.Compare(b.Pace, a.Pace), cmp.Compare(a.Host, b.Host))
}
