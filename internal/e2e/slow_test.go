package e2e

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"headway/answer"
	"headway/lab"
)

// TestSlow reads where the time of a crawl goes, while it runs and after its end. The crawl
// delay is long, so that a busy disk, on which each commit takes a second, takes less.
func TestSlow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(2, site(6, func(t *lab.Temper) { t.Site.CrawlDelay = 2 * time.Second }))})
	crawl := w.crawl("run", "--preset", "owned", "--quiet")
	if err := crawl.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- crawl.Wait() }()
	w.eventually(func() bool { // until it has started fetching
		_, err := os.Stat(w.dir + "/run/ask")
		return err == nil && w.lab.Stats().Total.PageAnswers > 2
	})
	// For a moment it may be the store, which is slow on a busy machine.
	var running answer.Slow
	w.eventually(func() bool {
		running = w.slow()
		return !running.Running || running.Now != nil && running.Now.State == "crawl_delay"
	})
	if !running.Running || running.Now == nil || running.Now.State != "crawl_delay" || running.SoFar.State != "crawl_delay" {
		t.Errorf("running: %+v, now %+v", running.SoFar, running.Now)
	}
	if running.Left == nil || running.Left.AtLeast == 0 || !strings.Contains(running.Sentence, "The last host to finish will be") {
		t.Errorf("running: %q, left %+v", running.Sentence, running.Left)
	}
	if running.MoreWorkers || !strings.Contains(running.Change, "Crawl-delay") || len(running.Layers) == 0 {
		t.Errorf("more workers would help: %v; change %q; layers %+v", running.MoreWorkers, running.Change, running.Layers)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	past := w.slow()
	if past.Running || past.State != "complete" || past.Now != nil || past.SoFar.State != "crawl_delay" || past.Left != nil {
		t.Errorf("ended: %+v", past)
	}
	if sum := total(past); sum < 0.999 || sum > 1.001 {
		t.Errorf("the parts make %.3f", sum)
	}
	if len(past.Slowest) != 2 || past.Slowest[0].Source != "crawl_delay" {
		t.Errorf("slowest hosts: %+v", past.Slowest)
	}
	t.Log(w.run(w.command("slow"), 0))
}

func total(s answer.Slow) (sum float64) {
	for _, p := range s.Parts {
		sum += p.Part
	}
	return sum
}

// slow is the output of headway slow.
func (w *world) slow() answer.Slow {
	w.Helper()
	var s answer.Slow
	if err := json.Unmarshal([]byte(w.run(w.command("slow", "--dir", "run", "--json"), 0)), &s); err != nil {
		w.Fatal(err)
	}
	return s
}
