package answer

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"headway/ask"
	"headway/politeness"
	"headway/store"
)

// known is a stored host.
func known(t testing.TB, name string, waiting int64, change ...func(politeness.State) politeness.State) store.HostEntry {
	t.Helper()
	s := politeness.New(name)
	for _, c := range change {
		s = c(s)
	}
	text, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return store.HostEntry{Host: store.Host{Host: name, Politeness: text}, Waiting: waiting}
}

func learned(d time.Duration) func(politeness.State) politeness.State {
	return func(s politeness.State) politeness.State { return s.WithLearned(d) }
}

// noisy is a host that refuses now and then, whatever the pace.
func noisy(s politeness.State) politeness.State {
	p, _ := politeness.Preset("polite")
	now := noon.Add(-24 * time.Hour)
	ask := func(status int) {
		now = now.Add(time.Minute)
		s = p.Sent(s, now)
		s, _ = p.Observe(s, now.Add(sec/10), politeness.Answer{SentAt: now, Status: status, Latency: sec / 10})
	}
	for _, gap := range []int{100, 90, 80, 70} {
		for range gap {
			ask(200)
		}
		ask(503)
	}
	ask(200)
	return s
}

// noise is the finding for such a host.
const noise = "refusals do not depend on our pace: 1.2 % at 1.0 s and at "

func TestHostMentionsNoise(t *testing.T) {
	polite, _ := politeness.Preset("polite")
	e := known(t, "http://a.example", 1, noisy)
	h, err := NewHost(&e, polite, nil, noon)
	if err != nil || !strings.HasPrefix(h.Noise, noise) {
		t.Errorf("it says %q, %v", h.Noise, err)
	}
}

func TestNewHost(t *testing.T) {
	polite, _ := politeness.Preset("polite")
	owned, _ := politeness.Preset("owned")
	held := func(s politeness.State) politeness.State { return s.WithHold(noon, noon.Add(10*sec)) }
	for name, tc := range map[string]struct {
		entry  store.HostEntry
		policy politeness.Policy
		live   *ask.Host
		pace   time.Duration
		source string
		eta    time.Duration
		known  bool
	}{
		"nothing known":      {store.HostEntry{Host: store.Host{Host: "http://a.example"}, Waiting: 3}, polite, nil, sec, "base", 3 * sec, false},
		"learned":            {known(t, "http://a.example", 4, learned(2*sec)), polite, nil, 2 * sec, "learned", 8 * sec, true},
		"set by robots.txt":  {known(t, "http://a.example", 0, func(s politeness.State) politeness.State { return s.WithCrawlDelay(5 * sec) }), polite, nil, 5 * sec, "crawl_delay", 0, true},
		"set by an operator": {known(t, "http://a.example", 1, func(s politeness.State) politeness.State { return s.WithAsked(7 * sec) }), polite, nil, 7 * sec, "operator", 7 * sec, true},
		"held":               {known(t, "http://a.example", 2, held), polite, nil, sec, "base", 12 * sec, true},
		"paused":             {known(t, "http://a.example", 2, func(s politeness.State) politeness.State { return s.WithPaused(true) }), polite, nil, sec, "base", 0, true},
		"no pace, no guess":  {known(t, "http://a.example", 9), owned, nil, 0, "base", 0, true},
		"as the crawl says": {
			known(t, "http://a.example", 2, learned(2*sec)), polite,
			&ask.Host{Host: "http://a.example", State: "pace", Pace: ask.Seconds(3 * sec), Source: "learned", Queued: 5, Until: noon.Add(sec)},
			3 * sec, "learned", 16 * sec, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := NewHost(&tc.entry, tc.policy, tc.live, noon)
			if err != nil {
				t.Fatal(err)
			}
			if h.Pace.Duration() != tc.pace || h.Source != tc.source || h.ETA.Duration() != tc.eta || h.Known != tc.known || h.Host.Host != "http://a.example" {
				t.Errorf("got %+v", h)
			}
		})
	}
	bad := store.HostEntry{Host: store.Host{Host: "http://a.example", Politeness: []byte("nonsense")}}
	if _, err := NewHost(&bad, polite, nil, noon); err == nil || !strings.Contains(err.Error(), "a.example") {
		t.Errorf("a state that cannot be read: %v", err)
	}
}

func TestHostLister(t *testing.T) {
	hosts := []Host{
		{Host: ask.Host{Host: "http://a.example", Domain: "a.example", Pace: ask.Seconds(sec), Source: "base", State: "fetching", InFlight: 2}, Waiting: 10, ETA: ask.Seconds(10 * sec)},
		{Host: ask.Host{Host: "http://b.example", Domain: "b.example", Pace: ask.Seconds(4 * sec), Learned: ask.Seconds(4 * sec), Source: "learned", State: "hold", HeldUntil: noon.Add(time.Minute), Incidents: 3, Refusing: true}, Waiting: 2, ETA: ask.Seconds(68 * sec)},
		{Host: ask.Host{Host: "http://c.example", Domain: "c.example", Pace: ask.Seconds(2 * sec), Source: "crawl_delay", State: "crawl_delay", Until: noon.Add(sec), Failures: 1}, Waiting: 30, ETA: ask.Seconds(61 * sec)},
		{Host: ask.Host{Host: "http://d.example", Domain: "d.example", Pace: ask.Seconds(2 * sec), Source: "operator", Paused: true}},
	}
	for name, tc := range map[string]struct {
		q    HostQuery
		want string
	}{
		"by pace":              {HostQuery{}, "b c d a"},
		"by name":              {HostQuery{Sort: "name"}, "a b c d"},
		"by wait":              {HostQuery{Sort: "wait"}, "b c a d"},
		"by queue":             {HostQuery{Sort: "queue"}, "c a b d"},
		"by ETA":               {HostQuery{Sort: "eta"}, "b c a d"},
		"by incidents":         {HostQuery{Sort: "incidents"}, "b a c d"},
		"by failures":          {HostQuery{Sort: "failures"}, "c a b d"},
		"by what is in flight": {HostQuery{Sort: "in_flight"}, "a b c d"},
		"the first two":        {HostQuery{Max: 2}, "b c"},
		"only one":             {HostQuery{Max: 1, Sort: "name"}, "a"},
		"a part of the name":   {HostQuery{Filters: []string{"C.EX"}}, "c"},
		"by source":            {HostQuery{Filters: []string{"source=crawl_delay"}}, "c"},
		"by state":             {HostQuery{Filters: []string{"state=hold"}}, "b"},
		"by domain":            {HostQuery{Filters: []string{"domain=a.example"}}, "a"},
		"by host":              {HostQuery{Filters: []string{"host=d.e"}}, "d"},
		"waiting":              {HostQuery{Filters: []string{"waiting"}}, "b c a"},
		"held":                 {HostQuery{Filters: []string{"held"}}, "b"},
		"learned":              {HostQuery{Filters: []string{"learned"}}, "b"},
		"paused":               {HostQuery{Filters: []string{"paused"}}, "d"},
		"failing":              {HostQuery{Filters: []string{"failing"}}, "c"},
		"refusing":             {HostQuery{Filters: []string{"refusing"}}, "b"},
		"pushed back":          {HostQuery{Filters: []string{"incidents"}}, "b"},
		"all must hold":        {HostQuery{Filters: []string{"waiting", "failing"}}, "c"},
		"none":                 {HostQuery{Filters: []string{"nobody"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if err := tc.q.Check(); err != nil {
				t.Fatal(err)
			}
			l := NewHostLister(tc.q, noon, true, store.Job{})
			for _, h := range hosts {
				l.Add(h)
			}
			list := l.Hosts()
			var got []string
			for _, h := range list.Hosts {
				got = append(got, strings.TrimSuffix(strings.TrimPrefix(h.Host.Host, "http://"), ".example"))
			}
			if strings.Join(got, " ") != tc.want || list.Total != len(hosts) {
				t.Errorf("got %v of %d, want %s", got, list.Total, tc.want)
			}
		})
	}
	l := NewHostLister(HostQuery{Max: 1}, noon, true, store.Job{})
	for _, h := range hosts {
		l.Add(h)
	}
	if list := l.Hosts(); list.Matched != 4 || list.Waiting != 42 || list.Last != "http://b.example" || list.Longest.Duration() != 68*sec {
		t.Errorf("sums %+v", list)
	}
	for _, q := range []HostQuery{{Sort: "size"}, {Filters: []string{"colour=red"}}, {Filters: []string{""}}, {Max: -1}} {
		if q.Check() == nil {
			t.Errorf("%+v was let through", q)
		}
	}
}

// TestHostKeys pins the JSON keys.
func TestHostKeys(t *testing.T) {
	text, err := json.Marshal(Host{Host: ask.Host{Host: "http://a.example", Pace: ask.Seconds(sec)}, Waiting: 2, ETA: ask.Seconds(2 * sec)})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"host":"http://a.example"`, `"pace_seconds":1,`, `"source":`, `"in_flight":0`, `"waiting":2`, `"eta_guess_seconds":2`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}
