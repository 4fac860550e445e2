package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"headway/ask"
	"headway/lab"
)

// deadline is when a test gives up waiting. It judges no speed: a busy machine may be
// slow.
const deadline = 2 * time.Minute

// eventually waits for a condition, and fails if it never holds.
func (w *world) eventually(so func() bool) {
	w.Helper()
	// It depends on other processes, which report nothing here, so it is polled.
	for began := time.Now(); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > deadline {
			w.Fatalf("not so after %v", deadline)
		}
	}
}

// TestControl pauses, resumes and slows a host of a running crawl from another
// terminal. The lab sees the effect, and the log says who did what.
func TestControl(t *testing.T) {
	t.Parallel()
	const hosts, pages = 2, 30
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(hosts, site(pages))})
	crawl := w.crawl("run", "--preset", "owned", "--delay", "200ms", "--jitter", "0", "--sitemaps", "off")
	if err := crawl.Start(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(w.dir, "run")
	h := w.lab.Hosts()[0]
	name := strings.TrimSuffix(h.URL, "/")
	w.eventually(func() bool { return w.lab.Stats().Total.UniquePages > 4 })

	// While one host is paused the crawl cannot end, however long the orders take.
	other := w.lab.Stats().Total.Requests
	w.run(w.command("host", "pause", strings.TrimPrefix(name, "http://"), "--dir", dir), 0)
	paused := w.host(h).Requests
	w.eventually(func() bool { return w.lab.Stats().Total.Requests > other+5 })
	w.run(w.command("host", "slow", name, "soon", "--dir", dir), 2)
	w.run(w.command("host", "slow", "nobody.example", "5s", "--dir", dir), 2)
	w.run(w.command("host", "slow", "nobody.example", "5s", "--anyway", "--dir", dir), 0)
	w.run(w.command("host", "slow", name, "800ms", "--dir", dir), 0)
	slowed := time.Now()
	if now := w.host(h).Requests; now > paused+1 {
		t.Errorf("%d requests to a paused host", now-paused)
	}
	w.run(w.command("host", "resume", name, "--dir", dir), 0)
	w.run(w.command("stop", "--discovery", "--dir", dir), 0)
	if err := crawl.Wait(); err != nil && crawl.ProcessState.ExitCode() != 3 {
		t.Fatal(err)
	}
	list := w.exchanges("run")[name]
	for i := range list[1:] {
		want := 200 * time.Millisecond
		if list[i].sent.After(slowed) { // a request may have been in flight when the order came
			want = 800 * time.Millisecond
		}
		if gap := list[i+1].sent.Sub(list[i].sent); gap < want {
			t.Errorf("two requests left %v apart, want %v", gap, want)
		}
	}
	if last := list[len(list)-1]; !last.sent.After(slowed.Add(2 * 800 * time.Millisecond)) {
		t.Errorf("the last request left %v after the host was slowed: this shows nothing", last.sent.Sub(slowed))
	}
	// The crawl has ended: the order changes the stored state of the host.
	w.run(w.command("host", "pause", name, "--dir", dir), 0)
	w.run(w.command("host", "resume", name, "--dir", dir), 0)
	// The same command crawls the deferred URLs.
	w.run(w.crawl("run", "--preset", "owned", "--delay", "200ms", "--jitter", "0", "--sitemaps", "off"), 0)
	w.complete()
	w.clean()

	b, err := os.ReadFile(filepath.Join(dir, "control.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var got []ask.Kind
	for line := range strings.Lines(string(b)) {
		var c ask.Change
		if err := json.Unmarshal([]byte(line), &c); err != nil || c.By == "" || c.Before == "" || c.After == "" {
			t.Errorf("%s: %v", line, err)
		}
		got = append(got, c.Order)
	}
	want := []ask.Kind{ask.KindPause, ask.KindSlow, ask.KindSlow, ask.KindResume, ask.KindStopDiscovery, ask.KindPause, ask.KindResume}
	if len(got) != len(want) {
		t.Fatalf("logged %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("logged %v, want %v", got, want)
		}
	}
}
