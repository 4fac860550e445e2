package fetch

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"headway/internal/vectors"
)

func TestRetryAfterVectors(t *testing.T) {
	type row struct {
		Name       string
		Target     string
		Status     int
		RetryAfter []string `json:"retry_after"`
		Date       *string
		Now        time.Time
		Budget     int64 `json:"job_budget_seconds"`
		Hold       int64 `json:"existing_hold_seconds"`
		Expect     struct {
			Action Action
			Wait   *int64 `json:"wait_seconds"`
			Scope  WaitScope
		}
		Why, Source string
	}
	rows := vectors.Rows[row](t, "retry-after.json")
	passed := 0
	for _, r := range rows {
		ok := t.Run(r.Name, func(t *testing.T) {
			q := RetryInput{
				Status: r.Status, RetryAfter: r.RetryAfter, Now: r.Now,
				Budget: time.Duration(r.Budget) * time.Second, Hold: time.Duration(r.Hold) * time.Second,
			}
			if r.Date != nil {
				q.Date = *r.Date
			}
			want := RetryDecision{Action: r.Expect.Action, Scope: r.Expect.Scope}
			if r.Expect.Wait != nil {
				want.Wait = time.Duration(*r.Expect.Wait) * time.Second
			}
			if got := ReadRetryAfter(q); got != want {
				t.Errorf("%+v, want %+v (%s)", got, want, r.Why)
			}
		})
		if ok {
			passed++
		}
	}
	vectors.Count(t, "retry-after.json", passed, 58)
}

func TestParseDate(t *testing.T) {
	now := time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)
	tests := []struct{ in, want string }{
		{"Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z"},
		{"Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37Z"},
		{"Sun Nov  6 08:49:37 1994", "1994-11-06T08:49:37Z"},
		{"Sun Nov 16 08:49:37 1994", "1994-11-16T08:49:37Z"},
		{"Thursday, 01-Jan-76 00:00:00 GMT", "2076-01-01T00:00:00Z"},
		{"Thursday, 01-Jan-77 00:00:00 GMT", "1977-01-01T00:00:00Z"},
		{"Sat, 31 Dec 2016 23:59:60 GMT", "2017-01-01T00:00:00Z"},
		{"Thu, 29 Feb 2024 00:00:00 GMT", "2024-02-29T00:00:00Z"},
		{"Sat, 29 Feb 2025 00:00:00 GMT", ""},
		{"Sun, 00 Nov 1994 08:49:37 GMT", ""},
		{"Sun, 06 Nov 1994 24:00:00 GMT", ""},
		{"Sun, 06 Nov 1994 08:60:00 GMT", ""},
		{"Sun, 6 Nov 1994 08:49:37 GMT", ""},
		{"Sun, 06 nov 1994 08:49:37 GMT", ""},
		{"Sun, 06 Nov 1994 08:49:37 gmt", ""},
		{"Sun, 06 Nov 1994 08:49:37 PST", ""},
		{"Sunday, 06-Nov-94 08:49:37 PST", ""},
		{"Sun, 06 Nov 1994 08:49:37.5 GMT", ""},
		{"Sun, 06 Nov 1994 08:49:3x GMT", ""},
		{"Son, 06 Nov 1994 08:49:37 GMT", ""},
		{"Sun,06 Nov 1994 08:49:37 GMT", ""},
		{"1994-11-06T08:49:37Z", ""},
		{"", ""},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			got, ok := parseDate(tt.in, now)
			if ok != (tt.want != "") || ok && got.Format(time.RFC3339) != tt.want {
				t.Errorf("%v, %v, want %q", got, ok, tt.want)
			}
		})
	}
}

func TestRetryAfterBeyondVectors(t *testing.T) {
	now := time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)
	tests := []struct {
		name string
		q    RetryInput
		want RetryDecision
	}{
		{"no budget waits long", RetryInput{Status: 503, RetryAfter: []string{"31536000"}, Budget: NoBudget}, RetryDecision{ActionWait, 365 * 24 * time.Hour, ScopeHost}},
		{"no budget does not wait for ever", RetryInput{Status: 503, RetryAfter: []string{strings.Repeat("9", 30)}, Budget: NoBudget}, RetryDecision{ActionGiveUp, 0, ScopeHost}},
		{"two dates in a line", RetryInput{
			Status: 503, Budget: time.Hour,
			RetryAfter: []string{"Sun, 15 Nov 2026 10:01:00 GMT, Sunday, 15-Nov-26 10:02:00 GMT, Sun Nov 15 10:00:30 2026, 5"},
		}, RetryDecision{ActionWait, 2 * time.Minute, ScopeHost}},
		{"a weekday alone", RetryInput{Status: 503, Budget: time.Hour, RetryAfter: []string{"Sun,"}}, RetryDecision{Action: ActionBackoff, Scope: ScopeHost}},
		{"a server error backs off", RetryInput{Status: 500, Budget: time.Hour}, RetryDecision{Action: ActionBackoff, Scope: ScopeHost}},
		{"a hold does not delay a follow-up", RetryInput{Status: 302, Hold: time.Hour, Budget: time.Hour, RetryAfter: []string{"1"}}, RetryDecision{ActionWait, time.Second, ScopeURL}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.q.Now = now
			if got := ReadRetryAfter(tt.q); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

// FuzzRetryAfter: no input panics, waits are never negative, and a date that net/http
// accepts is not read as another one.
func FuzzRetryAfter(f *testing.F) {
	f.Add(429, "120", "Sun, 15 Nov 2026 10:00:00 GMT")
	f.Add(503, "Sun, 15 Nov 2026 10:02:00 GMT, 5", "")
	f.Add(503, "Sunday, 15-Nov-26 10:01:00 GMT", "Sun Nov 15 10:01:00 2026")
	f.Add(301, "99999999999999999999", "x")
	now := time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, status int, value, date string) {
		q := RetryInput{Status: status, RetryAfter: []string{value}, Date: date, Now: now, Budget: 24 * time.Hour}
		a := ReadRetryAfter(q)
		if a.Wait < 0 || a.Wait > q.Budget || a.Action != ActionWait && a.Wait != 0 {
			t.Errorf("%+v for %+v", a, q)
		}
		if (a.Action == ActionNone) != (a.Scope == ScopeNone) {
			t.Errorf("%+v for %+v", a, q)
		}
		if got, ok := parseDate(value, now); ok && got.Second() != 0 {
			other, err := http.ParseTime(value)
			if err != nil || other.Year()%100 != got.Year()%100 || other.YearDay() != got.YearDay() || other.Hour() != got.Hour() {
				t.Errorf("%q is %v here and %v, %v elsewhere", value, got, other, err)
			}
		}
		q.Budget = math.MaxInt64
		if b := ReadRetryAfter(q); a.Action == ActionWait && b != a {
			t.Errorf("a larger budget turned %+v into %+v", a, b)
		}
	})
}
