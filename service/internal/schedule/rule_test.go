package schedule

import (
	"strings"
	"testing"
	"time"

	"headway/answer"
	"headway/job"
	"headway/store"
)

// start is a Sunday.
var start = time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC)

func TestCheck(t *testing.T) {
	for text, wrong := range map[string]string{
		"30 4 * * 1":                            "",
		"* * * * *":                             "",
		"@daily":                                "",
		"@every 90m":                            "",
		"CRON_TZ=Europe/Berlin 30 2 * * *":      "",
		"TZ=America/New_York 0 9 * * 1-5":       "",
		"0 0 29 2 *":                            "",
		"@every 10s":                            "more often",
		"0 0 31 2 *":                            "never matches",
		"* * * *":                               "invalid cron expression",
		"* * * * * *":                           "invalid cron expression",
		"60 * * * *":                            "invalid cron expression",
		"whenever":                              "invalid cron expression",
		"":                                      "invalid cron expression",
		"TZ=0":                                  "time zone without",
		"CRON_TZ=Europe/Berlin":                 "time zone without",
		"CRON_TZ=Mars/Olympus 0 0 * * *":        "invalid cron expression",
		strings.Repeat("0,", 100) + "0 0 * * *": "bytes",
	} {
		err := Check(text, start)
		if wrong == "" && err != nil || wrong != "" && (err == nil || !strings.Contains(err.Error(), wrong)) {
			t.Errorf("%q: %v, want %q", text, err, wrong)
		}
	}
}

func TestMake(t *testing.T) {
	day := 24 * time.Hour
	for _, c := range []struct {
		name string
		s    store.Schedule
		due  time.Duration // from start; below zero for an error
	}{
		{"by cron", store.Schedule{Cron: "0 13 * * *"}, 30 * time.Minute},
		{"by what changes", store.Schedule{Every: day, Least: time.Hour, Most: 7 * day}, 0},
		{"by neither", store.Schedule{}, -1},
		{"by both", store.Schedule{Cron: "@daily", Every: day, Least: day, Most: day}, -1},
		{"by no cron", store.Schedule{Cron: "daily"}, -1},
		{"outside its bounds", store.Schedule{Every: time.Minute, Least: time.Hour, Most: day}, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.s.Tenant = "acme"
			s, err := Make(c.s, start)
			if (err != nil) != (c.due < 0) {
				t.Fatal(err)
			}
			if err == nil && (s.ID == "" || !s.CreatedAt.Equal(start) || s.DueAt.Sub(start) != c.due) {
				t.Errorf("made %+v", s)
			}
		})
	}
}

// TestNext: after a run, times that were missed are skipped.
func TestNext(t *testing.T) {
	for _, c := range []struct {
		name, cron string
		every      time.Duration
		now, want  time.Time
	}{
		{"hourly", "0 * * * *", 0, start, start.Add(30 * time.Minute)},
		{"at its very time", "30 12 * * *", 0, start, start.Add(24 * time.Hour)},
		{"after a week away", "@hourly", 0, start.Add(7*24*time.Hour + time.Minute), start.Add(7*24*time.Hour + 30*time.Minute)},
		{"in a time zone", "CRON_TZ=Europe/Berlin 0 14 * * *", 0, start, start.Add(30 * time.Minute)},
		{"after the clocks went forward", "CRON_TZ=Europe/Berlin 0 14 * * *", 0, start.AddDate(0, 0, 28), time.Date(2026, 3, 30, 12, 0, 0, 0, time.UTC)},
		{"after an interval", "", 6 * time.Hour, start, start.Add(6 * time.Hour)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Next(&store.Schedule{Cron: c.cron, Every: c.every}, c.now)
			if err != nil || !got.Equal(c.want) {
				t.Errorf("due %s, %v; want %s", got, err, c.want)
			}
		})
	}
}

func TestAdapt(t *testing.T) {
	for _, c := range []struct {
		name  string
		share float64
		every time.Duration
		want  time.Duration
	}{
		{"much changed", 0.5, 8 * time.Hour, 4 * time.Hour},
		{"just enough changed", busy, 8 * time.Hour, 4 * time.Hour},
		{"some changed", 0.05, 8 * time.Hour, 8 * time.Hour},
		{"hardly anything changed", calm, 8 * time.Hour, 16 * time.Hour},
		{"nothing changed", 0, 8 * time.Hour, 16 * time.Hour},
		{"not below the least", 1, 90 * time.Minute, time.Hour},
		{"not above the most", 0, 20 * time.Hour, 24 * time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := store.Schedule{Every: c.every, Least: time.Hour, Most: 24 * time.Hour}
			if got := adapt(&s, c.share); got != c.want {
				t.Errorf("every %s, want %s", got, c.want)
			}
		})
	}
}

// TestAdaptSettles follows a site of which a fixed share changes each hour, so that
// longer intervals see more changes. The interval settles.
func TestAdaptSettles(t *testing.T) {
	for _, hourly := range []float64{0.0005, 0.001, 0.004, 0.01, 0.04} {
		s := store.Schedule{Every: time.Hour, Least: time.Hour, Most: 30 * 24 * time.Hour}
		var kept int
		for range 30 {
			next := adapt(&s, min(1, hourly*s.Every.Hours()))
			if next == s.Every {
				kept++
			} else {
				kept = 0
			}
			s.Every = next
		}
		if seen := hourly * s.Every.Hours(); kept < 10 || seen > busy || seen < calm && s.Every < s.Most {
			t.Errorf("%.4f an hour: every %s, kept %d times, sees %.3f", hourly, s.Every, kept, seen)
		}
	}
}

func TestShare(t *testing.T) {
	change := func(k answer.ChangeKind, n int64) answer.Change { return answer.Change{Kind: k, Total: n} }
	for _, c := range []struct {
		name  string
		c     answer.Comparison
		share float64
		known bool
	}{
		{"nothing there", answer.Comparison{}, 0, false},
		{"nothing changed", answer.Comparison{Same: 10}, 0, true},
		{"each kind", answer.Comparison{Same: 5, Certain: true, Whole: true, Changes: []answer.Change{
			change(answer.PageNew, 1), change(answer.PageGone, 1), change(answer.PageDead, 1), change(answer.PageRecovered, 1), change(answer.PageChanged, 1),
		}}, 0.5, true},
		{"slower is no change, and not looked at is none", answer.Comparison{Same: 9, Changes: []answer.Change{
			change(answer.PageChanged, 1), change(answer.PageSlower, 9), change(answer.PageGone, 50), change(answer.PageLost, 3), change(answer.PageWaits, 3), change(answer.PageApart, 3),
		}}, 0.1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.c.After.State = job.Complete
			if share, known := shareOf(&c.c); share != c.share || known != c.known {
				t.Errorf("%v, %v; want %v, %v", share, known, c.share, c.known)
			}
		})
	}
}

// FuzzCheck: no expression panics or hangs, and a valid one is due again.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{"30 4 * * 1", "TZ=0", "@every 1h", "CRON_TZ=UTC */5 0-3 1,15 * ?", "TZ= * * * * *", "@every -1h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if Check(text, start) != nil {
			return
		}
		next, err := Next(&store.Schedule{Cron: text}, start)
		if err != nil || next.Sub(start) <= 0 {
			t.Errorf("%q passes, and is due at %s, %v", text, next, err)
		}
	})
}
