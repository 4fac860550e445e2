package control

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"headway/ask"
	"headway/frontier"
	"headway/job"
	"headway/politeness"
	"headway/weburl"
)

// DescribeHost describes a host of the frontier for display.
func DescribeHost(v *frontier.View) ask.Host {
	var policy politeness.Policy
	if v.Policy != nil {
		policy = *v.Policy
	}
	h := ask.HostOf(v.Host, policy, v.State)
	h.Domain, h.State, h.Until, h.InFlight, h.Queued, h.More = v.Domain, v.Doing.String(), v.Until, v.InFlight, v.Queued, v.More
	return h
}

// findHosts describes the host that a question names, or all with work for its job.
func findHosts(f *frontier.Frontier, q ask.Question) ([]ask.Host, error) {
	if q.Host == "" {
		return listHosts(f, q.Job, q.Max), nil
	}
	v, ok := f.View(q.Host)
	if !ok {
		return nil, fmt.Errorf("host %s is not part of this crawl at the moment", q.Host)
	}
	return []ask.Host{DescribeHost(&v)}, nil
}

// listHosts describes the hosts with work for a job, slowest first; 0 is any job. Most
// limits how many hosts of all jobs are considered; 0 is [ask.MaxHosts].
func listHosts(f *frontier.Frontier, id job.ID, most int) []ask.Host {
	views := f.Slowest(min(cmp.Or(most, ask.MaxHosts), ask.MaxHosts))
	list := make([]ask.Host, 0, len(views))
	for i := range views {
		h := DescribeHost(&views[i])
		if id != 0 {
			jobs := f.Jobs(h.Host)
			if !slices.Contains(jobs, id) {
				continue
			}
			if len(jobs) > 1 {
				h.Queued, h.More = 0, true // they are not counted per job
			}
		}
		list = append(list, h)
	}
	return list
}

// findURL says where a waiting URL of a job is.
func findURL(f *frontier.Frontier, id job.ID, raw string, now func() time.Time) (*ask.URL, error) {
	u, err := weburl.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	a := &ask.URL{URL: u.String(), Where: ask.PlaceStored}
	sent, since, ok := f.Find(id, u)
	if ok {
		v, _ := f.View(u.Host())
		h := DescribeHost(&v)
		a.Where, a.Wait, a.Until, a.Host = ask.PlaceQueued, v.Reason, v.Until, &h
	}
	if sent {
		a.Where, a.Wait, a.Until = ask.PlaceInFlight, "", time.Time{}
		if !since.IsZero() {
			a.InFlight = ask.Seconds(now().Sub(since))
		}
	}
	return a, nil
}
