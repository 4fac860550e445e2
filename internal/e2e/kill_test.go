package e2e

import (
	"bufio"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"headway/internal/race"
	"headway/internal/stall"
	"headway/lab"
)

// TestKill kills a crawl at random times and runs the same command again. In the end
// it is complete, nothing is lost, and only requests that were in flight were
// repeated.
func TestKill(t *testing.T) {
	hosts, pages, kills, delay := 20, 60, 5, 200*time.Millisecond
	if full {
		hosts, pages, kills, delay = 200, 200, 20, 100*time.Millisecond
	}
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(hosts, site(pages, func(t *lab.Temper) { t.Site.CrawlDelay = delay }))})
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	ideal := time.Duration(pages) * delay
	args := []string{"--preset", "owned", "--jitter", "0", "--sitemaps", "off"}

	// Requests that were in flight, or answered and not committed, are repeated: a
	// commit takes at most a quarter of a second when the store keeps up and neither
	// the machine nor its disk stalls.
	commit := 250*time.Millisecond + race.Extra(750*time.Millisecond)
	disk := stall.StartDisk(t, w.dir)
	var inFlight int64
	for range kills {
		began, before := time.Now(), w.pageAnswers()
		cmd := w.crawl("run", args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		// Each host first gets the request that was in flight before. One that is in
		// flight at the third kill in a row is quarantined, so the test waits until it is
		// not: a host gets a second request only after the first has ended.
		w.eventually(func() bool {
			now := w.pageAnswers()
			for _, seed := range w.lab.Seeds() {
				if h := now[seed]; h.UniquePages < int64(pages) && h.PageAnswers < before[seed].PageAnswers+2 {
					return len(ended) > 0
				}
			}
			return true
		})
		select {
		case <-ended:
			t.Error("it ended before it was killed: the moments are badly chosen")
		case <-time.After(200*time.Millisecond + time.Duration(random.Int64N(int64(ideal)/int64(2*kills)))):
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-ended
			still := max(w.stalls.Between(began, time.Now()), disk.Between(began, time.Now()))
			inFlight += int64(hosts) * (1 + int64((commit+still)/delay))
		}
	}
	out := w.run(w.crawl("run", args...), 0)
	t.Log(out)
	w.complete()
	w.clean()
	s := w.lab.Stats()
	if repeats := s.Total.PageAnswers - s.Total.UniquePages; repeats > inFlight {
		t.Errorf("%d pages were fetched twice, at most %d were in flight", repeats, inFlight)
	} else {
		t.Logf("%d pages fetched twice in %d kills", repeats, kills)
	}
	if s.Total.MaxConcurrent > 1 {
		t.Errorf("%d requests at once to a host with a Crawl-delay", s.Total.MaxConcurrent)
	}
	w.gaps(delay)
	w.each(filepath.Join(w.dir, "run", "pages.jsonl"), int64(hosts*pages), delay)
}

// pageAnswers are the counters of the hosts, by seed.
func (w *world) pageAnswers() map[string]lab.HostStats {
	hosts := map[string]lab.HostStats{}
	for _, h := range w.lab.Stats().PerHost {
		hosts[strings.TrimSuffix(h.Host, "/")+"/"] = h
	}
	return hosts
}

// TestKillKeepsHold kills a crawl whose host has only responded that its robots.txt is
// unavailable. The next crawl keeps the hold of the first.
func TestKillKeepsHold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(1, site(5, func(t *lab.Temper) { t.Site.Robots = "500" }))})
	for range 3 {
		cmd := w.crawl("run")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.eventually(func() bool { return w.lab.Stats().Total.RobotsFetches > 0 })
		time.Sleep(1500 * time.Millisecond) // longer than the pace, which each run waits for first
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
	}
	if n := w.lab.Stats().Total.RobotsFetches; n != 1 {
		t.Errorf("robots.txt was requested %d times within seconds", n)
	}
}

// gaps allows only one gap in a hundred between page requests to be shorter than the
// delay by the lab's clock. A request that the lab handled late, because the machine
// stalled, looks closer to the next than it was.
func (w *world) gaps(delay time.Duration) {
	w.Helper()
	list := w.gapsByLab(delay)
	if len(list) == 0 {
		w.Fatal("no two requests arrived at a host")
	}
	w.atLeast("one gap in a hundred", float64(list[len(list)/100])/float64(time.Millisecond), delay, serverShare)
}

// gapsByLab are the gaps by the lab's clock, the shortest first, each with the time
// that the machine stalled before it.
func (w *world) gapsByLab(delay time.Duration) []time.Duration {
	arrived := map[string][]time.Time{}
	for _, r := range w.lab.Log() {
		if r.Target != "/robots.txt" {
			arrived[r.Host] = append(arrived[r.Host], r.Start)
		}
	}
	var list []time.Duration
	for _, at := range arrived {
		slices.SortFunc(at, time.Time.Compare)
		for i := 1; i < len(at); i++ {
			list = append(list, at[i].Sub(at[i-1])+w.stalls.Between(at[i-1].Add(-delay), at[i-1]))
		}
	}
	slices.Sort(list)
	return list
}

// each checks that there is one line for each page, and that requests were sent at
// least the delay apart on each host.
func (w *world) each(path string, pages int64, delay time.Duration) {
	w.Helper()
	f, err := os.Open(path)
	if err != nil {
		w.Fatal(err)
	}
	defer f.Close()
	seen := map[string]bool{}
	sent := map[string][]time.Time{}
	var fetched int64
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			URL, Outcome string
			Sent         time.Time
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			w.Fatalf("%s: %v", lines.Bytes(), err)
		}
		if seen[line.URL] {
			w.Errorf("%s stands twice in the file", line.URL)
		}
		seen[line.URL] = true
		if line.Outcome == "fetched" {
			fetched++
			host, _, _ := strings.Cut(strings.TrimPrefix(line.URL, "http://"), "/")
			sent[host] = append(sent[host], line.Sent)
		}
	}
	if err := lines.Err(); err != nil {
		w.Fatal(err)
	}
	if fetched != pages {
		w.Errorf("%d lines of fetched pages, want %d", fetched, pages)
	}
	for host, list := range sent {
		slices.SortFunc(list, time.Time.Compare)
		for i := 1; i < len(list); i++ {
			if gap := list[i].Sub(list[i-1]); gap < delay-time.Millisecond { // stamps are whole milliseconds
				w.Errorf("%s: two requests left %v apart, want %v", host, gap, delay)
			}
		}
	}
}
