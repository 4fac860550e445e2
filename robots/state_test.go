package robots

import (
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var day0 = time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)

// after is a time in a history.
type after struct {
	at     time.Duration
	answer Answer
}

func rules(body string) Answer { return Answer{Status: 200, File: Parse([]byte(body))} }

func TestPolicy(t *testing.T) {
	h := time.Hour
	d := 24 * h
	tests := []struct {
		name    string
		policy  Policy
		history []after
		ask     time.Duration
		access  Access
		conf    Confidence
		reason  Reason
		until   time.Duration // since day0; -1 for the zero time
	}{
		{"never asked", Policy{}, nil, 0, AccessUnknown, High, Unknown, -1},
		{"fresh rules until they expire", Policy{}, []after{{0, rules(someRules)}}, d - 1, AccessRules, High, "", d},
		{"expired rules have to be fetched first", Policy{}, []after{{0, rules(someRules)}}, d, AccessUnknown, High, Unknown, -1},
		{"expired absence too", Policy{}, []after{{0, Answer{Status: 404}}}, d, AccessUnknown, High, Unknown, -1},
		{"no file", Policy{}, []after{{0, Answer{Status: 404}}}, h, AccessAll, High, NoFile, d},
		{"file that asks nothing", Policy{}, []after{{0, rules("Sitemap: /s.xml")}}, h, AccessAll, High, NoRule, d},
		{"unreachable", Policy{}, []after{{0, Answer{Status: 503}}}, time.Second, AccessNone, High, Unreachable, MinRetry},
		{"unreachable, Retry-After", Policy{}, []after{{0, Answer{Status: 503, NotBefore: day0.Add(7200 * time.Second)}}}, h, AccessNone, High, Unreachable, 2 * h},
		{"Retry-After shorter than our own wait", Policy{}, []after{{0, Answer{Status: 429, NotBefore: day0.Add(time.Second)}}}, time.Second, AccessNone, High, Unreachable, MinRetry},
		{"a success without a parsed body", Policy{}, []after{{0, Answer{Status: 200}}}, time.Second, AccessNone, High, Unreachable, MinRetry},
		{"part of a file", Policy{}, []after{{0, Answer{Status: 206, File: Parse(nil)}}}, time.Second, AccessNone, High, Unreachable, MinRetry},
		{"304 that confirms nothing", Policy{}, []after{{0, Answer{Status: 304}}}, time.Second, AccessNone, High, Unreachable, MinRetry},
		{"304 ends an outage", Policy{}, []after{{0, rules(someRules)}, {25 * h, Answer{Status: 503}}, {26 * h, Answer{Status: 304}}}, 30 * h, AccessRules, High, "", 26*h + d},
		{"failure while fresh changes nothing", Policy{}, []after{{0, rules(someRules)}, {20 * h, Answer{Status: 503}}}, 23 * h, AccessRules, High, "", d},
		{"silence is counted from the end of freshness", Policy{}, []after{{0, rules(someRules)}, {20 * h, Answer{Status: 503}}, {25 * h, Answer{Status: 503}}}, 35 * h, AccessNone, High, Unreachable, 25*h + 2*MinRetry},
		{"then the copy speaks", Policy{}, []after{{0, rules(someRules)}, {20 * h, Answer{Status: 503}}, {25 * h, Answer{Status: 503}}}, 36 * h, AccessCached, Medium, "", 25*h + 2*MinRetry},
		{"silence ends before a long Retry-After", Policy{}, []after{{0, rules(someRules)}, {25 * h, Answer{Status: 503, NotBefore: day0.Add(9 * d)}}}, 30 * h, AccessNone, High, Unreachable, 37 * h},
		{"copy of exactly 30 days", Policy{}, []after{{0, rules(someRules)}, {25 * h, Answer{Fault: Network}}}, 30 * d, AccessCached, Medium, "", 25*h + MinRetry},
		{"copy a moment older", Policy{}, []after{{0, rules(someRules)}, {25 * h, Answer{Fault: Network}}}, 30*d + time.Millisecond, AccessNone, High, Unreachable, 25*h + MinRetry},
		{"copy that asks nothing, cached", Policy{}, []after{{0, rules("")}, {25 * h, Answer{Fault: Network}}}, 40 * h, AccessAll, Medium, NoRule, 25*h + MinRetry},
		{"404 is not a copy", Policy{}, []after{{0, Answer{Status: 404}}, {25 * h, Answer{Status: 500}}}, 40 * h, AccessNone, High, Unreachable, 25*h + MinRetry},
		{"clock set back by minutes", Policy{}, []after{{0, rules(someRules)}}, -30 * time.Minute, AccessRules, High, "", d},
		{"clock set back by days", Policy{}, []after{{0, rules(someRules)}}, -3 * d, AccessUnknown, High, Unknown, -1},

		{"allow: goes on", Policy{AllowUnreachable: true}, []after{{0, Answer{Fault: Network}}}, time.Second, AccessAll, Low, Unreadable, MinRetry},
		{"allow: not before asking", Policy{AllowUnreachable: true}, nil, 0, AccessUnknown, High, Unknown, -1},
		{"allow: with the copy at once", Policy{AllowUnreachable: true}, []after{{0, rules(someRules)}, {25 * h, Answer{Status: 503}}}, 25*h + 1, AccessCached, Low, "", 25*h + MinRetry},
		{"allow: fresh rules are sure", Policy{AllowUnreachable: true}, []after{{0, rules(someRules)}}, h, AccessRules, High, "", d},
		{"allow: copy too old", Policy{AllowUnreachable: true}, []after{{0, rules(someRules)}, {25 * h, Answer{Status: 503}}}, 31 * d, AccessAll, Low, Unreadable, 25*h + MinRetry},

		{"deny forbidden: 403", Policy{DenyForbidden: true}, []after{{0, Answer{Status: 403}}}, h, AccessNone, High, Forbidden, d},
		{"deny forbidden: 401", Policy{DenyForbidden: true}, []after{{0, Answer{Status: 401}}}, h, AccessNone, High, Forbidden, d},
		{"deny forbidden: 404 means no file", Policy{DenyForbidden: true}, []after{{0, Answer{Status: 404}}}, h, AccessAll, High, NoFile, d},
		{"deny forbidden: holds through a failure", Policy{DenyForbidden: true}, []after{{0, Answer{Status: 403}}, {h, Answer{Status: 500}}}, 2 * h, AccessNone, High, Forbidden, d},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s State
			for _, e := range tt.history {
				s = reload(t, tt.policy.Observe(s, day0.Add(e.at), e.answer))
			}
			v := tt.policy.Verdict(s, day0.Add(tt.ask))
			until := time.Time{}
			if tt.until >= 0 {
				until = day0.Add(tt.until)
			}
			if v.Access != tt.access || v.Confidence != tt.conf || v.Reason != tt.reason || !v.Until.Equal(until) {
				t.Errorf("got %s %s %q until %v\nwant %s %s %q until %v", v.Access, v.Confidence, v.Reason, v.Until, tt.access, tt.conf, tt.reason, until)
			}
		})
	}
}

func TestRetryDoubles(t *testing.T) {
	var p Policy
	var s State
	now := day0
	var waits []time.Duration
	for range 12 {
		s = p.Observe(s, now, Answer{Status: 503})
		due := p.Due(s, now)
		waits = append(waits, due.Sub(now))
		now = due
	}
	want := MinRetry
	for i, w := range waits {
		if w != want {
			t.Errorf("wait %d is %v, want %v", i, w, want)
		}
		want = min(2*want, MaxRetry)
	}
	if s.FailingSince != day0 || s.Failures != 12 {
		t.Errorf("failing since %v, %d failures", s.FailingSince, s.Failures)
	}
}

func TestObserveKeepsValidators(t *testing.T) {
	var p Policy
	a := rules(someRules)
	a.ETag, a.LastModified = `"1"`, "Sun, 15 Nov 2026 10:00:00 GMT"
	s := p.Observe(State{}, day0, a)
	if s.ETag != a.ETag || s.LastModified != a.LastModified {
		t.Errorf("validators %q %q", s.ETag, s.LastModified)
	}
	s = p.Observe(s, day0.Add(25*time.Hour), Answer{Status: 304, ETag: `"2"`})
	if s.ETag != `"2"` || s.LastModified != a.LastModified {
		t.Errorf("after 304: validators %q %q", s.ETag, s.LastModified)
	}
	if gone := p.Observe(s, day0.Add(60*time.Hour), Answer{Status: 404}); gone.ETag != "" || !gone.Sum.IsZero() {
		t.Errorf("after 404: %+v", gone)
	}
	a.ETag = strings.Repeat("x", maxValidator+1)
	if long := p.Observe(State{}, day0, a); long.ETag != "" {
		t.Error("kept an ETag without bound")
	}
}

func TestForget(t *testing.T) {
	var p Policy
	s := p.Observe(State{}, day0, rules(someRules))
	lost := s.Forget()
	if due := p.Due(lost, day0); due.After(day0) {
		t.Errorf("due at %v, want at once", due)
	}
	if v := p.Verdict(lost, day0); v.Access != AccessUnknown {
		t.Errorf("access %s, want unknown", v.Access)
	}
	// In an outage the retry time is kept, and the host is not contacted.
	s = p.Observe(s, day0.Add(25*time.Hour), Answer{Status: 503})
	lost = s.Forget()
	if v := p.Verdict(lost, day0.Add(40*time.Hour)); v.Access != AccessNone || !p.Due(lost, day0).Equal(s.RetryAt) {
		t.Errorf("access %s, due %v", v.Access, p.Due(lost, day0))
	}
}

func TestFreshness(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"":                                MaxFresh,
		"public":                          MaxFresh,
		"max-age=60":                      MinFresh,
		"max-age=7200":                    2 * time.Hour,
		"Max-Age = \"7200\"":              2 * time.Hour,
		"max-age=604800":                  MaxFresh,
		"max-age=99999999999999999999999": MaxFresh,
		"max-age=-1":                      MaxFresh,
		"max-age=soon":                    MaxFresh,
		"max-age=50000, max-age=40000":    40000 * time.Second,
		"no-store":                        MinFresh,
		"max-age=7200, no-cache":          MinFresh,
		"s-maxage=60":                     MaxFresh,
	} {
		if got := freshness(header); got != want {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
	}
}

func TestStateEncoding(t *testing.T) {
	var p Policy
	a := rules(someRules)
	a.ETag, a.LastModified = `W/"5f3a"`, "Sun, 15 Nov 2026 10:00:00 GMT"
	s := p.Observe(State{}, day0, a)
	s = p.Observe(s, day0.Add(25*time.Hour), Answer{Status: 503})
	data, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	// The stored form must stay readable: databases contain it.
	const want = "01010138ee13a89fd0de18fe5f1f192cb4179a600acc093eefb277f5a7f77660033e8f8084b2eabb6880f4e4bcbc6880ae9cc0bc6880ae9cc0bc68a0ca9dc0bc68ee070208572f2235663361221d53756e2c203135204e6f7620323032362031303a30303a303020474d54"
	if got := hex.EncodeToString(data); got != want {
		t.Errorf("encoded as\n%s, want\n%s", got, want)
	}
}

func TestStateEncodingRoundTrip(t *testing.T) {
	moment := rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "zero") {
			return time.Time{}
		}
		return stored(day0.Add(time.Duration(rapid.Int64Range(-1<<55, 1<<55).Draw(t, "offset"))))
	})
	rapid.Check(t, func(t *rapid.T) {
		s := State{
			Known:      rapid.SampledFrom([]Known{Nothing, Copy, Missing, Closed}).Draw(t, "known"),
			Binding:    rapid.Bool().Draw(t, "binding"),
			AnsweredAt: moment.Draw(t, "answered"), FreshUntil: moment.Draw(t, "fresh"), TriedAt: moment.Draw(t, "tried"),
			FailingSince: moment.Draw(t, "failing"), RetryAt: moment.Draw(t, "retry"),
			Status: rapid.IntRange(0, 999).Draw(t, "status"), Failures: rapid.IntRange(0, 1<<30).Draw(t, "failures"),
			ETag: validator(rapid.String().Draw(t, "etag")), LastModified: validator(rapid.String().Draw(t, "modified")),
		}
		if s.Known == Copy {
			copy(s.Sum[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "sum"))
		}
		data, err := s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var back State
		if err := back.UnmarshalBinary(data); err != nil || back != s {
			t.Fatalf("%v\n%+v came back as\n%+v", err, s, back)
		}
		for n := range data {
			if err := back.UnmarshalBinary(data[:n]); err == nil {
				t.Fatalf("the first %d of %d bytes were taken for a state", n, len(data))
			}
		}
	})
}

func TestStateEncodingRefuses(t *testing.T) {
	good, err := State{}.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"nothing":       {},
		"later version": append([]byte{2}, good[1:]...),
		"unknown kind":  append([]byte{1, 9}, good[2:]...),
		"trailing byte": append(append([]byte{}, good...), 0),
	} {
		s := State{Status: 7}
		if err := s.UnmarshalBinary(data); err == nil {
			t.Errorf("%s: no error", name)
		}
		if (s != State{Status: 7}) {
			t.Errorf("%s: the state was changed", name)
		}
	}
}

func FuzzState(f *testing.F) {
	var p Policy
	s := p.Observe(State{}, day0, rules(someRules))
	for _, s := range []State{{}, s, p.Observe(s, day0.Add(25*time.Hour), Answer{Status: 503})} {
		data, err := s.MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, int64(3600))
	}
	f.Fuzz(func(t *testing.T, data []byte, seconds int64) {
		var s State
		if s.UnmarshalBinary(data) != nil {
			return
		}
		reload(t, s)
		now := day0.Add(time.Duration(seconds%(1<<30)) * time.Second)
		v := p.Verdict(s, now)
		if (v.Access == AccessRules || v.Access == AccessCached) && s.Known != Copy {
			t.Fatalf("%s without a copy: %+v", v.Access, s)
		}
		for _, a := range []Answer{{Status: 503}, {Status: 404}, {Status: 304}, rules(someRules), {Fault: Redirects}} {
			n := p.Observe(s, now, a)
			reload(t, n)
			if due := p.Due(n, now); !due.After(now) && a.Status != 304 {
				t.Fatalf("due at once after %+v: %+v", a, n)
			}
		}
	})
}
