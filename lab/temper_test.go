package lab

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestTempers drives each profile through its served host, in virtual time, and checks
// the responses. A profile without a case fails.
func TestTempers(t *testing.T) {
	const s = time.Second
	// visits is a series of page requests at a fixed interval, shown as the first
	// digit of each status: 2 page, 4 refused, 5 failed.
	type visits struct {
		every time.Duration
		want  string // one digit per request; a trailing "…" means that more may follow
	}
	cases := map[string]visits{
		"plain":       {0, "2222222222"},
		"shop":        {250 * time.Millisecond, "2224242424"},
		"docs":        {2 * s, "22222"},
		"blog":        {0, "22222"},
		"heavy":       {0, "222"},
		"window":      {s / 2, strings.Repeat("2", 60) + strings.Repeat("4", 60) + "222"},
		"silent":      {250 * time.Millisecond, "2224242424"},
		"bursty":      {0, strings.Repeat("2", 50) + "444"},
		"tightening":  {100 * time.Millisecond, strings.Repeat("2", 51) + "4444444442"},
		"relaxing":    {s / 2, strings.Repeat("24", 30) + "2222222"},
		"dated":       {s / 2, "222424242"},
		"behind":      {s / 2, "222424242"},
		"refusing":    {time.Hour, "44444"},
		"maintenance": {5 * s, "22555222222"},
		"flapping":    {5 * s, "225222522252"},
		"bad-page":    {0, "2222222522"},
		"search":      {100 * time.Millisecond, "22222222222222222224222222222422222222242"},
		"dropping":    {250 * time.Millisecond, "222222"},
		"waf":         {s, "2244444"},
		"waf-soft":    {s, "22222222"},
		"calendar":    {0, "222"}, "facets": {0, "222"}, "sessions": {0, "222"}, "maze": {0, "222"},
		"redirects": {0, "222"}, "forbidden": {0, "222"}, "orphans": {0, "222"}, "million": {0, "222"}, "laughs": {0, "222"},
		"expired": {0, "222"}, "wrong-name": {0, "222"}, "self-signed": {0, "222"}, "museum": {0, "222"}, "hidden-text": {0, "222"},
		// Tested in detail below.
		"slow": {0, "2"}, "flaky": {0, ""}, "noisy": {0, ""}, "noisy-429": {0, ""}, "fragile": {0, "2"}, "strained": {0, "2"}, "queue": {0, "2"}, "cdn": {0, "2"}, "varnish": {0, "2"},
	}
	for _, kind := range RobotsKinds() {
		cases["robots-"+kind.Name] = visits{0, "222"}
	}
	for _, temper := range Tempers() {
		test, ok := cases[temper.Name]
		if !ok {
			t.Errorf("temper %s has no case", temper.Name)
			continue
		}
		t.Run(temper.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := mustNew(t, Config{Hosts: []HostSpec{{Name: "x", Temper: temper}}})
				var got strings.Builder
				for i := range len(test.want) {
					at := time.Now()
					fmt.Fprint(&got, ask(l, "http://x.lab.test"+l.web.paths[i%temper.Site.Pages]).Code/100)
					time.Sleep(test.every - time.Since(at))
				}
				if got.String() != test.want {
					t.Errorf("got  %s\nwant %s", &got, test.want)
				}
			})
		})
	}
}

// atOnce sends n requests at the same time and counts statuses; took is when the last
// response arrived.
func atOnce(t *testing.T, l *Lab, n int) (codes map[int]int, took time.Duration) {
	t.Helper()
	answers := make(chan int, n)
	began := time.Now()
	for i := range n {
		go func() { answers <- ask(l, l.Seeds()[0]+l.web.paths[i%l.web.hosts[0].site.Pages][1:]).Code }()
	}
	codes = map[int]int{}
	for range n {
		codes[<-answers]++
	}
	return codes, time.Since(began)
}

func only(t *testing.T, name string) *Lab {
	t.Helper()
	specs, err := Select(name)
	if err != nil {
		t.Fatal(err)
	}
	return mustNew(t, Config{Hosts: specs})
}

func TestTempersUnderLoad(t *testing.T) {
	for _, test := range []struct {
		name  string
		n     int
		codes string
		took  time.Duration
	}{
		{"fragile", 10, "map[200:4 502:6]", 50 * time.Millisecond},
		{"strained", 10, "map[200:10]", 500 * time.Millisecond},
		{"queue", 60, "map[200:51 502:9]", 5100 * time.Millisecond},
		{"queue", 1, "map[200:1]", 100 * time.Millisecond},
	} {
		t.Run(fmt.Sprint(test.name, test.n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				codes, took := atOnce(t, only(t, test.name), test.n)
				if fmt.Sprint(codes) != test.codes || took != test.took {
					t.Errorf("%v after %v, want %s after %v", codes, took, test.codes, test.took)
				}
			})
		})
	}
}

func TestSlowAndFlaky(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := only(t, "slow")
		began := time.Now()
		for range 30 {
			ask(l, l.Seeds()[0])
		}
		if mean := time.Since(began) / 30; mean < 400*time.Millisecond || mean > 2*time.Second {
			t.Errorf("slow takes %v", mean)
		}
		l = only(t, "flaky")
		for i := range 1000 {
			if w := ask(l, l.Seeds()[0]+l.web.paths[i%100][1:]); w.Code == http.StatusServiceUnavailable && w.Header().Get("Retry-After") != "1" {
				t.Fatal("a flaky page says nothing about coming back")
			}
		}
		if n := l.Stats().Total.Errors5xx; n < 20 || n > 90 {
			t.Errorf("flaky failed %d of 1000 pages", n)
		}
	})
}

// TestNoise sends requests to hosts that refuse at random: the share and form are as
// configured, and the same after a reset.
func TestNoise(t *testing.T) {
	for name, want := range map[string]struct {
		status int
		after  string
	}{"noisy": {503, ""}, "noisy-429": {429, "1"}} {
		l := only(t, name)
		var runs [2]string
		for run := range runs {
			for i := range 2000 {
				w := ask(l, l.Seeds()[0]+l.web.paths[i%400][1:])
				if w.Code == http.StatusOK {
					continue
				}
				if after := w.Header().Get("Retry-After"); w.Code != want.status || after != want.after {
					t.Fatalf("%s answered %d with Retry-After %q", name, w.Code, after)
				}
				runs[run] += fmt.Sprint(i, " ")
			}
			if n := l.Stats().Total.Refusals; n < 10 || n > 40 {
				t.Errorf("%s refused %d of 2000 requests", name, n)
			}
			l.Reset()
		}
		if runs[0] != runs[1] {
			t.Errorf("%s refused %s, then %s", name, runs[0], runs[1])
		}
	}
}

// TestResetOverTCP needs a real connection to reset.
func TestResetOverTCP(t *testing.T) {
	specs, err := Select("dropping")
	if err != nil {
		t.Fatal(err)
	}
	l, c := start(t, Config{Hosts: specs})
	cut := 0
	for i := range 8 {
		resp, err := c.Get(l.Seeds()[0] + l.web.paths[i][1:])
		if err != nil {
			cut++
			continue
		}
		resp.Body.Close()
	}
	// A client may retry a reset connection by itself, so use the server's count.
	st := l.Stats().Total
	if cut == 0 || st.Unanswered < int64(cut) || st.PageAnswers != 5 {
		t.Errorf("%d connections were cut, counted %+v", cut, st)
	}
}

func TestSelect(t *testing.T) {
	specs, err := Select("shop", "docs")
	if err != nil || len(specs) != 2 || specs[0].Name != "shop.alder.test" || specs[1].Temper.Site.CrawlDelay != 2*time.Second {
		t.Errorf("%v %v", specs, err)
	}
	if _, err := Select("shop", "shoop"); err == nil || !strings.Contains(err.Error(), "shoop") || !strings.Contains(err.Error(), "flapping") {
		t.Errorf("an unknown temper: %v", err)
	}
	if temper, ok := FindTemper("robots-drip"); !ok || temper.Site.Robots != "drip" {
		t.Error("robots-drip is not in the table")
	}
	if _, ok := FindTemper("x"); ok {
		t.Error("x is in the table")
	}
}

func TestCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for style, want := range map[string]string{
			"cloudflare": "Cf-Cache-Status MISS HIT EXPIRED BYPASS",
			"varnish":    "X-Cache MISS HIT MISS MISS",
			"fastly":     "X-Cache MISS, MISS MISS, HIT MISS, MISS PASS, PASS",
			"cloudfront": "X-Cache Miss from cloudfront Hit from cloudfront RefreshHit from cloudfront Miss from cloudfront",
		} {
			l := mustNew(t, Config{Hosts: Uniform(1, small(func(t *Temper) { t.Site.Cache = style }))})
			header, _, _ := strings.Cut(want, " ")
			got := header
			visit := func(path, age string, took time.Duration) {
				began := time.Now()
				w := ask(l, l.Seeds()[0]+path)
				got += " " + w.Header().Get(header)
				if w.Header().Get("Age") != age || time.Since(began) != took || w.Code != http.StatusOK {
					t.Errorf("%s /%s: Age %q after %v", style, path, w.Header().Get("Age"), time.Since(began))
				}
			}
			visit("", "0", cacheCold)
			time.Sleep(30 * time.Second)
			visit("", "30", 0)
			time.Sleep(cacheTTL)
			visit("", "0", cacheCold)
			visit("s15/p15.html", "", cacheCold)
			if got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if h := l.Stats().Total; h.CacheHits != 1 || h.CacheMisses != 2 || h.CacheBypasses != 1 {
				t.Errorf("%s: %+v", style, h)
			}
		}
		if len(CacheStyles()) != 4 {
			t.Error("a style has no case")
		}
	})
}
