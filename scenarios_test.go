package headway_test

import (
	"testing"
	"time"

	"headway"
	"headway/job"
	"headway/lab"
	"headway/limit"
	"headway/scope"
	"headway/store"
	"headway/store/memory"
)

// scenarios are the crawls of [TestGolden]: first on one machine, then fleets.
var scenarios = []struct {
	name string
	play func(*testing.T) *simulated
}{
	{"pages", func(t *testing.T) *simulated {
		s := golden(t, farm(3, small(12))...)
		s.run()
		return s
	}},
	{"one-domain", func(t *testing.T) *simulated {
		s := golden(t, hostsOf("plain", "a.alder.example", "b.alder.example", "c.alder.example")...)
		s.run()
		return s
	}},
	{"sitemaps", func(t *testing.T) *simulated {
		temper := small(5)
		temper.Site.Orphans = 6
		s := golden(t, farm(2, temper)...)
		s.cfg.Sitemaps = headway.SitemapsAuto
		s.run()
		return s
	}},
	{"refusals", func(t *testing.T) *simulated {
		s := golden(t, tempers(12, "shop", "silent", "window", "flapping", "maintenance", "flaky", "noisy-429", "bad-page", "refusing", "waf")...)
		s.run()
		return s
	}},
	{"robots", func(t *testing.T) *simulated {
		var names []string
		for _, temper := range lab.Tempers() {
			if len(temper.Name) > 7 && temper.Name[:7] == "robots-" {
				names = append(names, temper.Name)
			}
		}
		s := golden(t, tempers(6, names...)...)
		s.patience(time.Minute)
		s.run()
		return s
	}},
	{"links", func(t *testing.T) *simulated {
		s := golden(t, tempers(8, "redirects", "calendar", "sessions", "forbidden", "docs")...)
		s.run()
		return s
	}},
	{"any-scope", func(t *testing.T) *simulated {
		s := golden(t, farm(6, small(4))...)
		s.cfg.Seeds, s.cfg.Scope.Mode = s.cfg.Seeds[:1], scope.Any
		s.cfg.Limits = limit.Resolve(limit.Layer{Level: limit.Job, Limits: limit.Limits{Hosts: 4}})
		s.run()
		return s
	}},
	{"page-limit", func(t *testing.T) *simulated {
		s := golden(t, farm(3, small(20))...)
		s.cfg.Limits = limit.Resolve(limit.Layer{Level: limit.Job, Limits: limit.Limits{Pages: 25, PagesPerHost: 10}})
		s.run()
		return s
	}},
	{"dead-hosts", func(t *testing.T) *simulated {
		s := golden(t, among("mixed", 2, 6, 8)...)
		s.patience(time.Minute)
		s.run()
		return s
	}},
	{"slow-hosts", func(t *testing.T) *simulated {
		s := golden(t, goodAndSlow(2, 8, 5, latency(4, 3*time.Second))...)
		s.cfg.Workers = 3
		s.run()
		return s
	}},
	{"dns-down", func(t *testing.T) *simulated {
		s := golden(t, farm(3, small(15))...)
		go func() {
			pass(5500 * time.Millisecond)
			s.dns.Store(true)
			pass(40 * time.Second)
			s.dns.Store(false)
		}()
		s.run()
		return s
	}},
	{"resumed", func(t *testing.T) *simulated {
		s := golden(t, farm(3, small(12))...)
		drain := make(chan struct{})
		s.cfg.Drain = drain
		go func() {
			pass(4300 * time.Millisecond)
			close(drain)
		}()
		s.run()
		s.cfg.Drain = nil
		s.run()
		return s
	}},
	{"owned", func(t *testing.T) *simulated {
		s := golden(t, farm(2, small(30))...)
		s.owned()
		s.run()
		return s
	}},
	{"leaves", func(t *testing.T) *simulated {
		temper := small(6)
		temper.Site.DeadLinks, temper.Site.CrossLinks = 4, 2
		s := golden(t, farm(3, temper)...)
		s.cfg.Seeds, s.cfg.Scope.Leaves = s.cfg.Seeds[:1], true
		s.run()
		return s
	}},
	{"since", func(t *testing.T) *simulated {
		temper := small(10)
		temper.Site.ChangeRate = 0.2
		s := golden(t, farm(2, temper)...)
		first := s.run()
		before := s.st
		s.st = memory.Open(memory.Config{Key: goldenKey})
		s.cfg.Store, s.cfg.Since = s.st, urlsOf(t.Context(), before, first.Job)
		s.web.NextEpoch()
		s.run()
		return s
	}},
	{"survey", func(t *testing.T) *simulated {
		s := golden(t, tempers(6, "shop", "docs", "maintenance", "robots-missing", "orphans")...)
		s.cfg.Sitemaps = headway.SitemapsAuto
		s.survey()
		return s
	}},
	{"fleet", func(t *testing.T) *simulated {
		f := goldenFleet(t, farm(8, small(6))...)
		f.cfg.Sitemaps = headway.SitemapsAuto
		return f.play(3, f.submit(0))
	}},
	{"fleet-jobs", func(t *testing.T) *simulated {
		f := goldenFleet(t, farm(6, small(5))...)
		f.plan(store.Plan{Name: "acme", Limits: limit.Limits{RequestsPerSecond: 3}})
		f.plan(store.Plan{Name: "other", Limits: limit.Limits{Pages: 12}})
		return f.play(2, f.request("acme", 0), f.request("acme", 10), f.request("other", 0))
	}},
	{"fleet-hosts", func(t *testing.T) *simulated {
		f := goldenFleet(t, farm(8, small(4))...)
		f.cfg.Seeds, f.cfg.Scope.Mode = f.cfg.Seeds[:2], scope.Any
		f.plan(store.Plan{Name: "acme", Limits: limit.Limits{Hosts: 4}})
		return f.play(2, f.request("acme", 0))
	}},
	{"fleet-moves", func(t *testing.T) *simulated {
		f := goldenFleet(t, farm(8, small(10))...)
		id := f.submit(0)
		workers := f.startAll(1)
		pass(4300 * time.Millisecond)
		workers = append(workers, f.start())
		pass(4300 * time.Millisecond)
		close(workers[0].drain)
		if err := <-workers[0].done; err != nil {
			t.Error(err)
		}
		f.await(id, time.Hour)
		f.drain(workers[1:])
		return f.simulated
	}},
	{"fleet-crash", func(t *testing.T) *simulated {
		f := goldenFleet(t, farm(8, small(10))...)
		f.cfg.Sitemaps = headway.SitemapsAuto
		id := f.submit(0)
		workers := f.startAll(3)
		pass(4300 * time.Millisecond)
		workers[0].crash()
		f.await(id, time.Hour)
		f.drain(workers[1:])
		return f.simulated
	}},
	{"fleet-opt-out", func(t *testing.T) *simulated {
		f := goldenFleet(t, farm(4, small(80))...)
		id := f.submit(0)
		workers := f.startAll(2)
		pass(20300 * time.Millisecond)
		f.optOut("site1.example")
		f.await(id, time.Hour)
		f.drain(workers)
		return f.simulated
	}},
	{"fleet-dry-run", func(t *testing.T) *simulated {
		temper := small(5)
		temper.Site.Orphans = 6
		f := goldenFleet(t, farm(3, temper)...)
		f.cfg.Sitemaps, f.cfg.DryRun = headway.SitemapsOnly, true
		return f.play(2, f.submit(0))
	}},
	{"fleet-refusals", func(t *testing.T) *simulated {
		f := goldenFleet(t, tempers(10, "shop", "silent", "flaky", "maintenance")...)
		return f.play(2, f.submit(0), f.submit(0))
	}},
	{"fleet-pause", func(t *testing.T) *simulated {
		f := goldenFleet(t, farm(4, small(10))...)
		id := f.request("", 0)
		workers := f.startAll(2)
		pass(5300 * time.Millisecond)
		f.set(id, job.Running, job.Paused)
		pass(20 * time.Second)
		f.set(id, job.Paused, job.Running)
		f.await(id, time.Hour)
		f.drain(workers)
		return f.simulated
	}},
}

// hostsOf returns hosts of one profile, each with a few pages.
func hostsOf(temper string, names ...string) (specs []lab.HostSpec) {
	for _, name := range names {
		h := tempers(8, temper)[0]
		h.Name = name
		specs = append(specs, h)
	}
	return specs
}

// tempers returns a host of each profile, with n pages.
func tempers(pages int, names ...string) (specs []lab.HostSpec) {
	for _, name := range names {
		t, ok := lab.FindTemper(name)
		if !ok {
			panic("no temper " + name)
		}
		t.Site.Pages, t.Site.MinKB, t.Site.MaxKB = pages, 1, 2
		specs = append(specs, lab.HostSpec{Name: name + ".example", Temper: t})
	}
	return specs
}

// play lets workers finish jobs.
func (f *fleet) play(workers int, ids ...job.ID) *simulated {
	list := f.startAll(workers)
	for _, id := range ids {
		f.await(id, time.Hour)
	}
	f.drain(list)
	return f.simulated
}

// set changes the state of a job.
func (f *fleet) set(id job.ID, from, to job.State) {
	f.Helper()
	if err := f.st.SetState(f.Context(), time.Now().UTC(), id, from, to, ""); err != nil {
		f.Fatal(err)
	}
}
