package control_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"headway/ask"
	"headway/politeness"
	"headway/store"
	"headway/visit"
)

const shop = "http://shop.example"

func slow(by time.Duration) ask.Question {
	return ask.Question{Kind: ask.KindSlow, Host: shop, Delay: ask.Seconds(by), By: "ann"}
}

// TestOrderInMemory changes the state of a host at once, and answers when that is stored.
func TestOrderInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newWorker(t)
		defer d.close()
		d.live(shop)
		d.mail.order(1, slow(10*time.Second))
		d.run(tick + commit/2)
		if v, _ := d.cfg.Frontier.View(shop); v.State.Asked() != 10*time.Second || len(d.mail.replies) > 0 {
			t.Errorf("before the commit: interval %v, replies %v", v.State.Asked(), d.mail.replies)
		}
		d.run(commit)
		if want := []string{"stored " + shop, "logged slow", "replied 1"}; !slices.Equal(d.events, want) || d.kept(shop).Asked() != 10*time.Second {
			t.Errorf("%q, stored %v", d.events, d.kept(shop).Asked())
		}
		c := d.mail.replies["1"].Change
		if c == nil || c.Host != shop || c.By != "ann" || c.Worker != self || !strings.HasSuffix(c.Before, "operator minimum 0s") || !strings.HasSuffix(c.After, "operator minimum 10s") {
			t.Errorf("%+v", c)
		}
		if len(d.mail.logged) != 1 || d.mail.logged[0].Host != shop || d.mail.logged[0].Worker != self || d.mail.logged[0].After != c.After {
			t.Errorf("%+v", d.mail.logged)
		}
	})
}

// TestOrders applies each order, one after the other.
func TestOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSolo(t)
		defer d.close()
		d.live(shop)
		learned := "learned 0s, floor 0s, operator minimum "
		for i, c := range []struct {
			kind          ask.Kind
			before, after string
		}{
			{ask.KindPause, learned + "0s", "paused, " + learned + "0s"},
			{ask.KindSlow, "paused, " + learned + "0s", "paused, " + learned + "3s"},
			{ask.KindResume, "paused, " + learned + "3s", learned + "3s"},
			{ask.KindForget, learned + "3s", learned + "3s"},
		} {
			id := fmt.Sprint(i)
			d.mail.put(id, ask.Question{Kind: c.kind, Host: shop, Delay: ask.Seconds(3 * time.Second)})
			d.run(2 * commit)
			if got := d.mail.replies[id].Change; got == nil || got.Before != c.before || got.After != c.after || got.Worker != 0 {
				t.Errorf("%s: %+v", c.kind, d.mail.replies[id])
			}
		}
	})
}

// TestOrderAtRest changes the stored state of a host that is not in memory, and answers
// when that is stored. An unknown host starts with the order.
func TestOrderAtRest(t *testing.T) {
	for _, known := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			d := newWorker(t)
			defer d.close()
			before := "operator minimum 0s"
			if known {
				before = "operator minimum 3s"
				d.keep(shop, 3*time.Second)
			}
			d.mail.order(1, slow(10*time.Second))
			d.run(tick + read + commit/2)
			if len(d.mail.replies) > 0 {
				t.Errorf("replied before it was stored: %v", d.mail.replies)
			}
			d.run(commit)
			if want := []string{"stored " + shop, "logged slow", "replied 1"}; !slices.Equal(d.events, want) || d.kept(shop).Asked() != 10*time.Second {
				t.Errorf("%q, stored %v", d.events, d.kept(shop).Asked())
			}
			if c := d.mail.replies["1"].Change; c == nil || !strings.HasSuffix(c.Before, before) || !strings.HasSuffix(c.After, "operator minimum 10s") {
				t.Errorf("%+v", c)
			}
			// It is stored with the host and no longer queued.
			if s := d.load(shop, politeness.New(shop)); s.Asked() != 0 {
				t.Errorf("applied again at %v", s.Asked())
			}
		})
	}
}

// TestOrderWhileLoading applies an order to a host that is being loaded while the order is
// stored: the older state does not undo it.
func TestOrderWhileLoading(t *testing.T) {
	for name, loaded := range map[string]time.Duration{"before it is stored": read / 2, "after that": read + 3*commit/2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newWorker(t)
				defer d.close()
				d.schedule(shop)
				d.mail.order(1, slow(10*time.Second))
				d.run(tick + loaded)
				if s := d.load(shop, politeness.New(shop)); s.Asked() != 10*time.Second {
					t.Errorf("loaded with %v", s.Asked())
				}
				d.run(5 * commit)
				if v, _ := d.cfg.Frontier.View(shop); v.State.Asked() != 10*time.Second || d.mail.replies["1"].Change == nil {
					t.Errorf("interval %v, replies %+v", v.State.Asked(), d.mail.replies)
				}
			})
		})
	}
}

// TestOrderMoves leaves an order to the next owner if the host moves while its state is
// read.
func TestOrderMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newWorker(t)
		defer d.close()
		d.mail.order(1, slow(10*time.Second))
		d.run(tick + read/2)
		d.foreign["shop.example"] = true
		d.run(poll)
		if len(d.mail.replies) > 0 || len(d.commits) > 0 || len(d.mail.logged) > 0 {
			t.Errorf("%+v, %+v", d.mail.replies, d.commits)
		}
		if s := d.load(shop, politeness.New(shop)); s.Asked() != 0 {
			t.Errorf("the order still waits: %v", s.Asked())
		}
	})
}

// TestUnreadableHost answers with an error if the stored state is unreadable, and drops the
// order.
func TestUnreadableHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newWorker(t)
		defer d.close()
		d.stored[shop] = store.Host{Host: shop, Politeness: []byte("?")}
		d.mail.order(1, slow(time.Second))
		d.run(2 * read)
		if a := d.mail.replies["1"]; !strings.HasPrefix(a.Error, "the stored state of "+shop) {
			t.Errorf("%+v", a)
		}
		if s := d.load(shop, politeness.New(shop)); s.Asked() != 0 {
			t.Errorf("the order still waits: %v", s.Asked())
		}
	})
}

// TestNotOwner does not answer for hosts of other workers, and reads again soon.
func TestNotOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newWorker(t)
		defer d.close()
		d.foreign["shop.example"] = true
		d.mail.order(1, ask.Question{Kind: ask.KindHosts, Host: shop})
		d.mail.order(2, ask.Question{Kind: ask.KindURL, URL: shop + "/1"})
		d.mail.order(3, slow(time.Second))
		d.run(time.Second)
		if len(d.mail.replies) > 0 || d.mail.reads < 2 {
			t.Errorf("read %d times, %+v", d.mail.reads, d.mail.replies)
		}
		delete(d.foreign, "shop.example")
		d.run(time.Minute)
		if a := d.mail.replies; len(a) != 3 || a["1"].Error == "" || a["2"].URL.Where != ask.PlaceStored || a["3"].Change == nil {
			t.Errorf("%+v", a)
		}
	})
}

// TestNotUnderstood answers messages that are not questions.
func TestNotUnderstood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newWorker(t)
		defer d.close()
		d.mail.send(1, "{")
		d.mail.send(2, `{"kind":"sing"}`)
		d.mail.send(3, `{"kind":"hosts","host":"::"}`)
		d.mail.send(4, `{"kind":"stop_discovery"}`)
		d.run(time.Second)
		for id, want := range map[string]string{"1": "invalid request", "2": `unknown request "sing"`, "3": "", "4": "headway job drain"} {
			if a := d.mail.replies[id]; a.Error == "" || !strings.Contains(a.Error, want) {
				t.Errorf("%s: %+v", id, a)
			}
		}
	})
}

// TestRefusedOrders rejects invalid orders in a crawl on one machine.
func TestRefusedOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSolo(t)
		defer d.close()
		d.mail.put("name", ask.Question{Kind: ask.KindPause, Host: "shop"})
		d.mail.put("negative", slow(-time.Second))
		d.mail.put("long", slow(politeness.MaxInterval+time.Second))
		d.mail.put("workers", ask.Question{Kind: ask.KindWorkers})
		d.mail.put("drain", ask.Question{Kind: ask.KindDrain})
		d.mail.put("url", ask.Question{Kind: ask.KindURL, URL: "::"})
		d.run(time.Second)
		for _, id := range []string{"name", "negative", "long", "workers", "drain", "url"} {
			if d.mail.replies[id].Error == "" {
				t.Errorf("%s: %+v", id, d.mail.replies[id])
			}
		}
		if len(d.commits) > 0 {
			t.Errorf("%+v", d.commits)
		}
	})
}

// TestLargeAnswer cuts an answer to the size of a message: the slowest hosts.
func TestLargeAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newWorker(t)
		defer d.close()
		const hosts = 5000
		for i := range hosts {
			d.schedule(fmt.Sprintf("http://%s%d.example", strings.Repeat("long-", 10), i))
		}
		d.live(shop)
		d.mail.order(1, ask.Question{Kind: ask.KindHosts, Job: open})
		d.mail.order(2, ask.Question{Kind: ask.KindPause, Host: shop})
		d.mail.order(3, slow(time.Minute))
		d.run(tick + 3*commit)
		d.mail.order(4, ask.Question{Kind: ask.KindHosts, Job: open})
		d.run(poll + time.Second)
		list := d.mail.replies["4"].Hosts
		if n := len(list); n < hosts/4 || n > hosts/2+1 || d.mail.size > store.MaxMessageBytes || d.mail.size < store.MaxMessageBytes/3 {
			t.Fatalf("%d hosts in %d bytes", n, d.mail.size)
		}
		if h := list[0]; h.Host != shop || !h.Paused || h.Pace.Duration() != time.Minute {
			t.Errorf("%+v", h)
		}
	})
}

// TestDrain drains a worker if it is the one addressed, and reports its status.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newWorker(t)
		defer d.close()
		d.mail.order(1, ask.Question{Kind: ask.KindDrain, Worker: self + 1})
		d.mail.order(2, ask.Question{Kind: ask.KindWorkers})
		d.run(time.Second)
		if a := d.mail.replies["1"]; d.drained > 0 || a.Workers != nil || a.Change != nil {
			t.Errorf("another worker is meant: %+v", a)
		}
		if a := d.mail.replies["2"]; len(a.Workers) != 1 || a.Workers[0].ID != self || a.Workers[0].Draining {
			t.Errorf("%+v", a)
		}
		d.mail.order(3, ask.Question{Kind: ask.KindDrain, Worker: self, By: "ann"})
		d.mail.order(4, ask.Question{Kind: ask.KindDrain})
		d.run(poll)
		first, again := d.mail.replies["3"], d.mail.replies["4"]
		if c := first.Change; c == nil || c.Before != "working" || c.After != "releases its slots and stops" || c.By != "ann" || c.Worker != self || !first.Workers[0].Draining {
			t.Errorf("%+v", first)
		}
		if c := again.Change; c == nil || c.Before != c.After || len(d.mail.logged) != 2 {
			t.Errorf("%+v, %+v", again, d.mail.logged)
		}
	})
}

// TestOrderBeforeItsHost keeps orders of a crawl on one machine until their host is loaded.
func TestOrderBeforeItsHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSolo(t)
		defer d.close()
		d.mail.put("slow", slow(10*time.Second))
		d.mail.put("pause", ask.Question{Kind: ask.KindPause, Host: shop})
		d.run(2 * commit)
		if c := d.mail.replies["slow"].Change; c == nil || c.Before != "not crawled yet" || c.After != "when it is crawled: slow 10s" {
			t.Errorf("%+v", c)
		}
		d.schedule(shop)
		if s := d.load(shop, politeness.New(shop)); s.Asked() != 10*time.Second || !s.Paused() {
			t.Errorf("loaded with %v, paused %v", s.Asked(), s.Paused())
		}
		d.run(2 * time.Minute)
		if s := d.kept(shop); s.Asked() != 10*time.Second || !s.Paused() {
			t.Errorf("stored: %v, paused %v", s.Asked(), s.Paused())
		}
		if s := d.load(shop, politeness.New(shop)); s.Paused() {
			t.Error("applied twice")
		}
	})
}

// TestTooManyOrders rejects orders beyond the queue's limit.
func TestTooManyOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSolo(t)
		defer d.close()
		const most = 10_000
		for i := range most + 1 {
			d.mail.put(fmt.Sprint(i), ask.Question{Kind: ask.KindPause, Host: fmt.Sprintf("http://h%d.example", i)})
		}
		d.run(time.Minute)
		if a := d.mail.replies[fmt.Sprint(most-1)]; a.Change == nil {
			t.Errorf("the last one: %+v", a)
		}
		if a := d.mail.replies[fmt.Sprint(most)]; a.Error == "" {
			t.Errorf("one too many: %+v", a)
		}
	})
}

// TestSoloStatus describes a crawl.
func TestSoloStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSolo(t)
		defer d.close()
		for i := range 20 {
			d.live(fmt.Sprintf("http://h%d.example", i))
		}
		d.mail.put("status", ask.Question{Kind: ask.KindStatus})
		d.mail.put("stop", ask.Question{Kind: ask.KindStopDiscovery, By: "ann"})
		d.mail.put("again", ask.Question{Kind: ask.KindStopDiscovery})
		d.mail.put("after", ask.Question{Kind: ask.KindStatus})
		d.run(time.Second)
		s := d.mail.replies["status"].Status
		if s.PID != os.Getpid() || s.Elapsed.Duration() != time.Minute || s.Rate != 2.5 || s.Pages != 40 || s.Requests != 50 || s.Bytes != 1000 || s.Seen != 46 || s.Waiting != 5 {
			t.Errorf("%+v", s)
		}
		if s.Hosts != 20 || s.Workers != 50 || len(s.Slowest) != 8 || s.Stopping != "interrupted" || len(s.Warnings) != 1 || !s.Discovery || len(s.Layers) != 1 || s.Layers[0].Use != 3 {
			t.Errorf("%+v", s)
		}
		if want := []ask.Count{{Outcome: visit.Fetched, N: 30}, {Outcome: visit.Skipped, Reason: visit.OptedOut, N: 9}, {Outcome: visit.Skipped, Reason: visit.OutOfScope, N: 2}}; !slices.Equal(s.Outcomes, want) {
			t.Errorf("%+v", s.Outcomes)
		}
		// Depth is not counted as usage.
		if want := []ask.Limit{{Name: "max_pages", Layer: "job", Max: 100, Used: 40}, {Name: "max_depth", Layer: "job", Max: 3}}; !slices.Equal(s.Limits, want) {
			t.Errorf("%+v", s.Limits)
		}
		stop, again := d.mail.replies["stop"].Change, d.mail.replies["again"].Change
		if stop.Before != "on" || stop.After != "stopped" || stop.By != "ann" || again.Before != "stopped" || d.mail.replies["after"].Status.Discovery {
			t.Errorf("%+v, %+v", stop, again)
		}
	})
}

// TestWorkerStatus describes a worker's part in a job, and nothing for a job it has not
// opened.
func TestWorkerStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newWorker(t)
		defer d.close()
		for i := range 20 {
			d.live(fmt.Sprintf("http://h%d.example", i))
		}
		d.mail.order(1, ask.Question{Kind: ask.KindStatus, Job: open})
		d.mail.order(2, ask.Question{Kind: ask.KindStatus, Job: open + 1})
		d.mail.order(3, ask.Question{Kind: ask.KindHosts, Job: open, Max: 3})
		d.mail.order(4, ask.Question{Kind: ask.KindHosts, Job: open + 1})
		d.run(time.Second)
		s := d.mail.replies["1"].Status
		if s.PID != 0 || s.Rate != 0 || s.Pages != 0 || s.Seen != 0 || s.Outcomes != nil || s.Hosts != 20 || len(s.Slowest) != 8 || !s.Discovery || len(s.Limits) != 2 || s.Limits[0].Used != 40 {
			t.Errorf("%+v", s)
		}
		hosts := 0
		for _, share := range s.Shares {
			hosts += share.Hosts
		}
		if hosts != 20 {
			t.Errorf("%d hosts in a state: %+v", hosts, s.Shares)
		}
		if a := d.mail.replies["2"]; a.Status != nil || a.Error != "" {
			t.Errorf("%+v", a)
		}
		if a, b := d.mail.replies["3"], d.mail.replies["4"]; len(a.Hosts) != 3 || len(b.Hosts) != 0 || b.Error != "" {
			t.Errorf("%+v, %+v", a, b)
		}
	})
}

// TestReadMail reads messages at every tick in a crawl on one machine. A worker polls, and
// reads at once after a notification.
func TestReadMail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSolo(t)
		defer d.close()
		d.run(10*time.Second + tick/2)
		if d.mail.reads != 40 {
			t.Errorf("a crawl on its own reads %d times", d.mail.reads)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		d := newWorker(t)
		defer d.close()
		d.run(tick + poll/2)
		if d.mail.reads != 1 {
			t.Errorf("a worker reads %d times", d.mail.reads)
		}
		d.ReadNow(d.cfg.Loop.Now())
		d.run(2 * tick)
		if d.mail.reads != 2 {
			t.Errorf("what was announced is read %d times", d.mail.reads-1)
		}
		d.run(2 * poll)
		if d.mail.reads != 4 {
			t.Errorf("a worker reads %d times", d.mail.reads)
		}
	})
}

// TestEnd stops reading messages with the crawl, even if the loop does not answer.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSolo(t)
		d.mail.put("1", slow(time.Second))
		d.ReadMail(d.work)
		synctest.Wait()
		d.close()
		if len(d.mail.replies) > 0 {
			t.Errorf("%+v", d.mail.replies)
		}
	})
}
