package lab

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"headway/lab/temper"
)

func TestRateLimitAndStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mustNew(t, Config{Hosts: Uniform(2, small(func(t *Temper) {
			t.Rules.Limits = []temper.Limit{{Rate: 1, Burst: 2}}
		}))})
		time.Sleep(time.Second)
		seed := l.Seeds()[0]
		codes := map[int]int{}
		for range 5 {
			w := ask(l, seed)
			codes[w.Code]++
			if w.Code == http.StatusTooManyRequests && w.Header().Get("Retry-After") != "1" {
				t.Fatal("Retry-After:", w.Header().Get("Retry-After"))
			}
			time.Sleep(100 * time.Millisecond)
		}
		ask(l, seed+"private/x.html")
		var st Stats
		if err := json.Unmarshal(ask(l, seed+"__lab/stats").Body.Bytes(), &st); err != nil {
			t.Fatal(err)
		}
		if codes[200] != 2 || codes[429] != 3 || st.Total.TooMany != 4 {
			t.Fatalf("codes %v, counted %d", codes, st.Total.TooMany)
		}
		h := st.PerHost[0]
		if h.Requests != 6 || h.PageRequests != 5 || h.PageAnswers != 2 || h.UniquePages != 1 || h.RobotsViolations != 1 {
			t.Errorf("counts: %+v", h)
		}
		if h.MinGapMS != 100 || h.MedianGapMS != 100 || h.GapP01MS != 100 || h.MinGapAnyMS != 100 {
			t.Errorf("gaps: %+v", h)
		}
		// The third request, at 0.2 s, was the first to be refused; those at 0.3, 0.4
		// and 0.5 s arrived within its Retry-After.
		if h.Refusals != 4 || h.FirstRefusalMS != 1200 || h.LastRefusalMS != 1500 || h.InsideRetryAfter != 3 {
			t.Errorf("refusals: %+v", h)
		}
		time.Sleep(time.Second) // the Retry-After of the last refusal is one second
		if w := ask(l, seed); w.Code != http.StatusOK || l.Stats().Total.InsideRetryAfter != 3 {
			t.Errorf("after the wait: %d, %d inside", w.Code, l.Stats().Total.InsideRetryAfter)
		}
	})
}

// TestRetryAfterCountsFromTheAnswer: requests that arrived before a refusal was sent do
// not count as violations.
func TestRetryAfterCountsFromTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mustNew(t, Config{Hosts: Uniform(1, small(func(t *Temper) {
			t.Rules.Limits = []temper.Limit{{Rate: 0.1, Burst: 1, Form: temper.RFC850Date}}
			t.Rules.Latency = temper.Constant(500 * time.Millisecond)
			t.Rules.Skew = time.Hour
		}))})
		seed := l.Seeds()[0]
		var wg sync.WaitGroup
		for i := range 4 { // at 0, 0.1, 0.2 and 0.3 s: the last three are refused from 0.6 s on
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 100 * time.Millisecond)
				ask(l, seed)
			})
		}
		wg.Wait()
		if h := l.Stats().Total; h.TooMany != 3 || h.InsideRetryAfter != 0 || h.MaxConcurrent != 4 {
			t.Errorf("before anyone knew: %+v", h)
		}
		ask(l, seed+"robots.txt")
		if h := l.Stats().Total; h.InsideRetryAfter != 1 {
			t.Errorf("robots.txt inside the wait is not counted: %+v", h)
		}
	})
}

func TestDateRetryAfterAgreesWithDate(t *testing.T) {
	l := mustNew(t, Config{Hosts: Uniform(1, small(func(t *Temper) {
		t.Rules.Outages = []temper.Outage{{RetryAfter: 90 * time.Second, Form: temper.ANSICDate}}
		t.Rules.Skew = -26 * time.Hour
	}))})
	w := ask(l, l.Seeds()[0])
	date, err1 := http.ParseTime(w.Header().Get("Date"))
	retry, err2 := http.ParseTime(w.Header().Get("Retry-After"))
	if err1 != nil || err2 != nil || retry.Sub(date) != 90*time.Second {
		t.Errorf("Date %v, Retry-After %v: %v %v", date, retry, err1, err2)
	}
	if skew := time.Since(date); skew < 25*time.Hour || skew > 27*time.Hour {
		t.Errorf("the clock is %v behind, want 26 h", skew)
	}
}

func TestMaxConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mustNew(t, Config{Hosts: Uniform(3, small(func(t *Temper) { t.Rules.Latency = temper.Constant(50 * time.Millisecond) }))})
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { ask(l, l.Seeds()[2]) })
		}
		synctest.Wait()
		if st := l.Stats(); st.Total.InFlight != 3 {
			t.Error("in flight:", st.Total.InFlight)
		}
		wg.Wait()
		if st := l.Stats(); st.Total.MaxConcurrent != 3 || st.Total.InFlight != 0 || st.SpanSeconds != 0.05 {
			t.Errorf("%+v", st)
		}
	})
}

// TestCountsAreExact sends many concurrent requests over TCP, and adds up.
func TestCountsAreExact(t *testing.T) {
	const clients, each, hosts = 16, 150, 4
	l, c := start(t, Config{Log: clients * each * 2, Hosts: Uniform(hosts, small(func(t *Temper) {
		t.Site.MinKB, t.Site.MaxKB = 1, 2
		t.Rules.Limits = []temper.Limit{{Max: 300, Window: time.Hour}}
	}))})
	var wg sync.WaitGroup
	var mu sync.Mutex
	codes := map[int]int64{}
	bytes := int64(0)
	for k := range clients {
		wg.Go(func() {
			for i := range each {
				target := l.web.hosts[(k+i)%hosts].base
				switch i % 5 {
				case 0:
					target += "/robots.txt"
				case 1:
					target += "/private/x"
				case 2:
					target += "/nowhere"
				default:
					target += l.web.paths[(k*each+i)%40]
				}
				resp, text := get(t, c, target, "Accept-Encoding", "identity")
				mu.Lock()
				codes[resp.StatusCode]++
				bytes += int64(len(text))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	st := l.Stats()
	total := st.Total
	if total.Requests != clients*each || total.RobotsFetches != clients*each/5 || total.RobotsViolations != clients*each/5 || total.PageRequests != clients*each*2/5 {
		t.Errorf("requests by kind: %+v", total)
	}
	if total.TooMany != codes[429] || total.NotFound != codes[404] || total.Refusals != codes[429] || codes[429] == 0 {
		t.Errorf("counted %d and %d, clients saw %v", total.TooMany, total.NotFound, codes)
	}
	// The window serves exactly 300 per host, and robots.txt is never counted.
	if served := codes[200] + codes[404] - clients*each/5; served != hosts*300 {
		t.Errorf("%d requests passed the limits, want %d", served, hosts*300)
	}
	if total.BytesOut != bytes || st.BytesOut != bytes {
		t.Errorf("%d bytes counted, clients got %d", total.BytesOut, bytes)
	}
	if len(l.Log()) != clients*each {
		t.Errorf("log has %d lines", len(l.Log()))
	}
	var sum HostStats
	for i := range st.PerHost {
		sum.add(&st.PerHost[i])
	}
	if sum.Requests != total.Requests || sum.BytesOut != total.BytesOut || sum.UniquePages != total.UniquePages {
		t.Errorf("hosts add up to %+v, total is %+v", sum, total)
	}
}

func TestLogKeepsTheLast(t *testing.T) {
	l := mustNew(t, Config{Log: 3, Hosts: Uniform(1, small(nil))})
	for i := range 5 {
		ask(l, fmt.Sprintf("%sx%d?q", l.Seeds()[0], i))
	}
	lines := l.Log()
	if len(lines) != 3 || lines[0].Target != "/x2?q" || lines[2].Target != "/x4?q" || lines[2].Status != http.StatusNotFound {
		t.Errorf("%+v", lines)
	}
	off := mustNew(t, Config{Log: -1, Hosts: Uniform(1, small(nil))})
	ask(off, off.Seeds()[0])
	if len(off.Log()) != 0 {
		t.Error("a log that is off has lines")
	}
}

// TestClientDisconnects: a client that disconnects is counted, and not in flight.
func TestClientDisconnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mustNew(t, Config{Hosts: Uniform(1, small(func(t *Temper) { t.Rules.Latency = temper.Constant(time.Minute) }))})
		ctx, cancel := contextWithTimeout(t, time.Second)
		defer cancel()
		req := httptest.NewRequest(http.MethodGet, l.Seeds()[0], nil).WithContext(ctx)
		began := time.Now()
		l.Handler().ServeHTTP(httptest.NewRecorder(), req)
		if waited := time.Since(began); waited != time.Second {
			t.Error("the handler stayed for", waited)
		}
		if h := l.Stats().Total; h.Unanswered != 1 || h.InFlight != 0 || h.PageAnswers != 0 || l.Log()[0].Status != 0 {
			t.Errorf("%+v", h)
		}
	})
}

func TestHeadHasNoBytes(t *testing.T) {
	l, c := start(t, Config{Hosts: Uniform(1, small(nil))})
	resp, err := c.Head(l.Seeds()[0])
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if st := l.Stats().Total; resp.ContentLength < 5000 || st.BytesOut != 0 || st.PageAnswers != 1 || l.Log()[0].Method != http.MethodHead {
		t.Errorf("%d, %+v", resp.ContentLength, st)
	}
}

// reader is a client that checks the lab when it has read a response to its end, which
// may be before the handler returns.
type reader struct {
	*httptest.ResponseRecorder
	done func()
}

func (r reader) Write(p []byte) (int, error) {
	n, err := r.ResponseRecorder.Write(p)
	if strconv.Itoa(r.Body.Len()) == r.Header().Get("Content-Length") {
		r.done()
	}
	return n, err
}

// TestAnsweredIsNotInFlight: a client that has a response may send the next request at
// once, which must not count as two concurrent requests.
func TestAnsweredIsNotInFlight(t *testing.T) {
	for _, kb := range []int{1, 40, 300} {
		l := mustNew(t, Config{Hosts: Uniform(1, small(func(t *Temper) { t.Site.MinKB, t.Site.MaxKB = kb, kb }))})
		looked := false
		look := func() {
			looked = true
			if st := l.Stats().Total; st.InFlight != 0 || st.PageAnswers != 1 || st.BytesOut < int64(kb<<9) {
				t.Errorf("%d KB: %+v", kb, st)
			}
		}
		l.Handler().ServeHTTP(reader{httptest.NewRecorder(), look}, httptest.NewRequest(http.MethodGet, l.Seeds()[0], nil))
		if !looked {
			t.Error("the answer had no end")
		}
	}
}
