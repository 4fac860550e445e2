package headway_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"headway"
	"headway/ask"
	"headway/gauge"
	"headway/job"
	labtemper "headway/lab/temper"
	"headway/visit"
)

// post is a mailbox in memory.
type post struct {
	mu      sync.Mutex
	letters []ask.Message
	replies map[string]ask.Answer
	n       int
}

func (p *post) Receive(context.Context) ([]ask.Message, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	letters := p.letters
	p.letters = nil
	return letters, nil
}

func (p *post) Reply(_ context.Context, id string, a ask.Answer) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.replies == nil {
		p.replies = map[string]ask.Answer{}
	}
	p.replies[id] = a
	return nil
}

// ask sends a question and waits for its answer.
func (p *post) ask(q ask.Question) ask.Answer {
	p.mu.Lock()
	p.n++
	id := fmt.Sprint(p.n)
	p.letters = append(p.letters, ask.Message{ID: id, Question: q})
	p.mu.Unlock()
	for {
		time.Sleep(50 * time.Millisecond) // virtual time
		p.mu.Lock()
		a, ok := p.replies[id]
		p.mu.Unlock()
		if ok {
			return a
		}
	}
}

// withCrawl runs a crawl and a function in parallel.
func (s *simulated) withCrawl(do func(p *post)) headway.Report {
	p := &post{}
	s.cfg.Mail = p
	done := make(chan struct{})
	go func() {
		defer close(done)
		do(p)
	}()
	r := s.run()
	<-done
	return r
}

func host(i int) string { return fmt.Sprintf("http://h%d.site%d.example", i, i) }

// requests counts the requests to a host between two times.
func (s *simulated) requests(name string, from, to time.Time) (n int) {
	for _, r := range s.web.Log() {
		if strings.Contains(r.Host, strings.TrimPrefix(name, "http://")) && r.Start.After(from) && r.Start.Before(to) {
			n++
		}
	}
	return n
}

// TestPause stops sending to one host until it is resumed, however long that takes.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(t, 2, small(30))
		var paused, resumed time.Time
		var change, back ask.Answer
		var during []ask.Host
		r := s.withCrawl(func(p *post) {
			time.Sleep(5 * time.Second)
			change = p.ask(ask.Question{Kind: ask.KindPause, Host: host(0), By: "test"})
			time.Sleep(time.Second)
			paused = time.Now()
			during = p.ask(ask.Question{Kind: ask.KindHosts, Host: host(0)}).Hosts
			time.Sleep(time.Hour)
			resumed = time.Now()
			back = p.ask(ask.Question{Kind: ask.KindResume, Host: host(0), By: "test"})
		})
		s.fetched(r, 60)
		if n := s.requests(host(0), paused, resumed); n > 0 {
			t.Errorf("%d requests to a paused host", n)
		}
		if n := s.requests(host(1), paused, resumed); n < 20 {
			t.Errorf("%d requests to the other host in the meantime", n)
		}
		if len(during) != 1 || !during[0].Paused || during[0].State != string(visit.WaitHold) || !during[0].Until.IsZero() {
			t.Errorf("while paused: %+v", during)
		}
		if c := change.Change; c == nil || strings.HasPrefix(c.Before, "paused") || !strings.HasPrefix(c.After, "paused") || c.By != "test" {
			t.Errorf("paused: %+v", change)
		}
		if c := back.Change; c == nil || !strings.HasPrefix(c.Before, "paused") || strings.HasPrefix(c.After, "paused") {
			t.Errorf("resumed: %+v", back)
		}
	})
}

// TestSlow applies an operator's interval from the order until it is lifted, also to a host
// that is found later.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(t, 1, small(40))
		var slowed, lifted time.Time
		r := s.withCrawl(func(p *post) {
			time.Sleep(5 * time.Second)
			p.ask(ask.Question{Kind: ask.KindSlow, Host: host(0), Delay: ask.Seconds(10 * time.Second)})
			slowed = time.Now()
			time.Sleep(100 * time.Second)
			lifted = time.Now()
			p.ask(ask.Question{Kind: ask.KindSlow, Host: host(0)})
		})
		s.fetched(r, 40)
		if n := s.requests(host(0), slowed, lifted); n < 8 || n > 10 {
			t.Errorf("%d requests in 100 s at an interval of 10 s", n)
		}
		if r.Elapsed > 3*time.Minute {
			t.Errorf("took %v: the interval was not lifted", r.Elapsed)
		}
	})
}

// TestOrderBeforeItsHost keeps an order for a host until it is found.
func TestOrderBeforeItsHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(t, 1, small(10))
		s.cfg.Seeds = append(s.cfg.Seeds, mustURL("http://nobody.example/"))
		var answers []ask.Answer
		s.withCrawl(func(p *post) {
			for _, q := range []ask.Question{
				{Kind: ask.KindSlow, Host: "http://later.example", Delay: ask.Seconds(time.Second)},
				{Kind: ask.KindSlow, Host: "not a host"},
				{Kind: ask.KindSlow, Host: host(0), Delay: ask.Seconds(-time.Second)},
				{Kind: ask.KindHosts, Host: "http://later.example"},
				{Kind: "sing"},
			} {
				answers = append(answers, p.ask(q))
			}
		})
		if c := answers[0].Change; c == nil || c.After != "when it is crawled: slow 1s" {
			t.Errorf("an order for an unknown host: %+v", answers[0])
		}
		for i, a := range answers[1:] {
			if a.Error == "" {
				t.Errorf("question %d was answered: %+v", i+1, a)
			}
		}
	})
}

// TestForget resets a learned pace, and keeps the timers that run.
func TestForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		temper := small(60)
		temper.Rules.Limits = []labtemper.Limit{{Rate: 0.5, Burst: 2}}
		s := newSimulated(t, 1, temper)
		var before, after ask.Host
		s.withCrawl(func(p *post) {
			for before.Learned == 0 {
				time.Sleep(time.Second)
				before = p.ask(ask.Question{Kind: ask.KindHosts, Host: host(0)}).Hosts[0]
			}
			p.ask(ask.Question{Kind: ask.KindForget, Host: host(0)})
			after = p.ask(ask.Question{Kind: ask.KindHosts, Host: host(0)}).Hosts[0]
		})
		if after.Learned != 0 || after.Floor != 0 || after.HeldUntil.Before(before.HeldUntil) || after.LastSent.Before(before.LastSent) {
			t.Errorf("before %+v, after %+v", before, after)
		}
	})
}

// TestStopDiscovery finishes what waits and defers what is found after that.
func TestStopDiscovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(t, 1, small(200))
		var status *ask.Status
		r := s.withCrawl(func(p *post) {
			time.Sleep(10 * time.Second)
			p.ask(ask.Question{Kind: ask.KindStopDiscovery})
			status = p.ask(ask.Question{Kind: ask.KindStatus}).Status
		})
		if r.State != job.Partial || r.Reason != "discovery was stopped" {
			t.Errorf("ended %s: %s", r.State, r.Reason)
		}
		var fetched, deferred int64
		for e, n := range r.Counts.Ended {
			switch e.Outcome {
			case visit.Fetched:
				fetched += n
			case visit.Deferred:
				deferred += n
			}
		}
		if fetched == 0 || fetched == 200 || deferred == 0 || r.Counts.Waiting != 0 {
			t.Errorf("%d fetched, %d deferred, %d wait", fetched, deferred, r.Counts.Waiting)
		}
		if status == nil || status.Discovery || status.Hosts != 1 || len(status.Layers) != len(gauge.Layers) || len(status.Slowest) != 1 {
			t.Errorf("status: %+v", status)
		}
		s.cfg.Continue, s.cfg.Mail = true, nil
		s.fetched(s.run(), 200)
	})
}

// TestAskURL asks where URLs are.
func TestAskURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		temper := small(30)
		temper.Rules.Latency = labtemper.Constant(8 * time.Second)
		s := newSimulated(t, 1, temper)
		var flying, queued, stored ask.Answer
		s.withCrawl(func(p *post) {
			time.Sleep(12 * time.Second) // robots.txt took 8 s, its home page is under way
			flying = p.ask(ask.Question{Kind: ask.KindURL, URL: host(0) + "/"})
			queued = p.ask(ask.Question{Kind: ask.KindURL, URL: host(0) + "/elsewhere"})
			stored = p.ask(ask.Question{Kind: ask.KindURL, URL: "http://other.example/"})
		})
		if u := flying.URL; u == nil || u.Where != ask.PlaceInFlight || u.InFlight.Duration() < time.Second {
			t.Errorf("in flight: %+v", flying.URL)
		}
		if u := queued.URL; u == nil || u.Where != ask.PlaceQueued || u.Host == nil {
			t.Errorf("queued: %+v", queued.URL)
		}
		if u := stored.URL; u == nil || u.Where != ask.PlaceStored {
			t.Errorf("of a host that is not there: %+v", stored.URL)
		}
	})
}
