package view_test

import (
	"time"

	"headway"
	"headway/ask"
	"headway/frontier"
	"headway/internal/view"
	"headway/job"
	"headway/limit"
	"headway/store"
	"headway/visit"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return noon.Add(d) }

// host is a host in the list of the slowest.
func host(name string, pace time.Duration, source string, change ...func(*ask.Host)) ask.Host {
	h := ask.Host{Host: "https://" + name, Pace: ask.Seconds(pace), Source: source, Base: ask.Seconds(200 * time.Millisecond), State: "pace", Until: at(42*time.Second + pace/2), Queued: 12}
	for _, c := range change {
		c(&h)
	}
	return h
}

// share is part of host time.
func share(state frontier.State, hosts int, part float64) frontier.Share {
	return frontier.Share{State: state, Hosts: hosts, Part: part, Spent: time.Duration(part * float64(time.Hour))}
}

func ended(o visit.Outcome, r visit.Reason) store.Ending { return store.Ending{Outcome: o, Reason: r} }

// running is a crawl in progress.
func running() view.Model {
	return view.Model{
		Title: "https://shop.example/ and 39 more", Now: at(42 * time.Second), Began: noon,
		Progress: &headway.Progress{
			At: at(42 * time.Second), Elapsed: 42 * time.Second, Rate: 71.2,
			Counts: store.Counts{Waiting: 3204, Ended: map[store.Ending]int64{
				ended(visit.Fetched, ""): 1702, ended(visit.Redirected, ""): 61, ended(visit.Dead, ""): 22, ended(visit.Throttled, ""): 9,
				ended(visit.Skipped, visit.RobotsDisallow): 88, ended(visit.Skipped, visit.OutOfScope): 31, ended(visit.Skipped, visit.TrapPath): 17,
				ended(visit.Failed, visit.Timeout): 3,
			}},
			Spent:    limit.Use{Pages: 1733, Requests: 1902, Bytes: 48_300_000, Time: 42 * time.Second},
			Frontier: frontier.Stats{Hosts: 40, Working: 40, Ready: 3, InFlight: 14, Items: 900},
			Shares: []frontier.Share{
				share(frontier.Fetching, 14, 0.118), share(frontier.Waiting(visit.WaitPace), 20, 0.462), share(frontier.Waiting(visit.WaitCrawlDelay), 5, 0.309),
				share(frontier.Waiting(visit.WaitInFlight), 1, 0.096), share(frontier.Waiting(visit.WaitRobots), 0, 0.002), share(frontier.Waiting(visit.WaitStorage), 0, 0.013),
			},
			Slowest: []ask.Host{
				host("docs.example", 2*time.Second, "crawl_delay", func(h *ask.Host) { h.State = "crawl_delay" }),
				host("shop.example", 520*time.Millisecond, "learned", func(h *ask.Host) {
					h.Floor, h.Incidents, h.Queued, h.More = ask.Seconds(500*time.Millisecond), 3, 64, true
				}),
				host("blog.example", 200*time.Millisecond, "base", func(h *ask.Host) { h.InFlight, h.State = 2, "fetching" }),
				host("a-host-with-a-rather-long-name.of.a.deep.subdomain.example", 200*time.Millisecond, "base"),
				host("old.example", 200*time.Millisecond, "operator", func(h *ask.Host) { h.Paused = true }),
			},
			LastCommit: 3 * time.Millisecond,
		},
	}
}

// with changes a model.
func with(m view.Model, change func(m *view.Model, p *headway.Progress)) view.Model {
	change(&m, m.Progress)
	return m
}

// ceilings are limits that a job set.
func ceilings(l limit.Limits) []limit.Ceiling {
	return limit.Resolve(limit.Layer{Level: limit.Job, Limits: l}).Ceilings()
}

// screens are states of crawls, by name.
var screens = map[string]func() view.Model{
	"start": func() view.Model {
		return with(running(), func(m *view.Model, _ *headway.Progress) { m.Progress, m.Now = nil, at(400*time.Millisecond) })
	},
	"running": running,
	"throttled": func() view.Model {
		return with(running(), func(m *view.Model, p *headway.Progress) {
			m.Growing = true
			p.Rate = 0.04
			p.Frontier = frontier.Stats{Hosts: 1, Working: 1, InFlight: 0}
			p.Shares = []frontier.Share{share(frontier.Fetching, 0, 0.02), share(frontier.Waiting(visit.WaitHold), 1, 0.61), share(frontier.Waiting(visit.WaitPace), 0, 0.37)}
			p.Slowest = []ask.Host{host("shop.example", 8*time.Second, "learned", func(h *ask.Host) {
				h.State, h.HeldUntil, h.Refusing, h.Queued, h.More = "hold", at(102*time.Second), true, 64, true
			})}
		})
	},
	"idle": func() view.Model {
		return with(running(), func(m *view.Model, p *headway.Progress) {
			m.Idle = 12 * time.Second
			p.Rate = 0
			p.Frontier = frontier.Stats{Hosts: 2, Working: 2}
			p.Shares = []frontier.Share{
				share(frontier.Waiting(visit.WaitHold), 1, 0.5), share(frontier.Waiting(visit.WaitCrawlDelay), 1, 0.3), share(frontier.Waiting(visit.WaitRobots), 0, 0.2),
			}
			p.Slowest = []ask.Host{
				host("shop.example", 8*time.Second, "learned", func(h *ask.Host) { h.State, h.HeldUntil = "hold", at(122*time.Second) }),
				host("docs.example", 240*time.Second, "crawl_delay", func(h *ask.Host) { h.State, h.Until = "crawl_delay", at(300*time.Second) }),
			}
		})
	},
	"limit": func() view.Model {
		return with(running(), func(_ *view.Model, p *headway.Progress) {
			p.Ceilings = ceilings(limit.Limits{Pages: 2000, Time: 44 * time.Second, Bytes: 1e9})
		})
	},
	"draining": func() view.Model {
		return with(running(), func(m *view.Model, p *headway.Progress) { m.Interrupted, p.Stopping = true, "interrupted" })
	},
	"resumed": func() view.Model {
		return with(running(), func(_ *view.Model, p *headway.Progress) {
			p.Resumed, p.Before = true, limit.Use{Pages: 1201, Requests: 1350}
		})
	},
}

// report is the result of a crawl.
func report(state job.State, reason string) headway.Report {
	p := running().Progress
	c := p.Counts
	if state == job.Complete {
		c.Waiting = 0
	}
	return headway.Report{
		Job: 1, State: state, Reason: reason, Success: state.Success(), Counts: c, Spent: p.Spent, Elapsed: 91*time.Second + 234*time.Millisecond,
		Shares: p.Shares, Requests: 1902, Pages: 1733, Incidents: 4, Refusals: 18,
	}
}

// summaries are finished crawls, by name.
var summaries = map[string]func() view.Ended{
	"complete": func() view.Ended {
		return view.Ended{Report: report(job.Complete, "all URLs processed"), Dir: "headway-shop.example", Seed: "https://shop.example/"}
	},
	"partial": func() view.Ended {
		r := report(job.Partial, "max_pages")
		r.Errors = []string{"Job limit: Maximum 1733 pages per crawl"}
		return view.Ended{Report: r, Dir: "runs/shop of today", Named: true, Seed: "https://shop.example/"}
	},
	"blocked": func() view.Ended {
		r := report(job.Blocked, "robots.txt or a firewall blocks everything")
		r.Counts = store.Counts{Ended: map[store.Ending]int64{ended(visit.Skipped, visit.RobotsDisallow): 1}}
		r.Pages, r.Requests, r.Incidents, r.Refusals, r.Elapsed = 0, 1, 0, 0, 400*time.Millisecond
		return view.Ended{Report: r, Dir: "headway-shop.example", Seed: "https://shop.example/?a=1&b=2"}
	},
	"interrupted": func() view.Ended {
		return view.Ended{Report: report(job.Running, "interrupted"), Dir: "headway-shop.example", Seed: "https://shop.example/"}
	},
	"again": func() view.Ended {
		r := report(job.Failed, "no host could be reached")
		r.Again, r.Elapsed, r.Shares = true, 0, nil
		r.Counts = store.Counts{Ended: map[store.Ending]int64{ended(visit.Failed, visit.Connect): 1}}
		return view.Ended{Report: r, Dir: "headway-shop.example", Seed: "https://shop.example/"}
	},
}
