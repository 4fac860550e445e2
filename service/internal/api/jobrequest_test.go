package api

import (
	"encoding/json"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"headway/ask"
	"headway/internal/config"
	"headway/limit"
	"headway/store"
)

// TestEverySettingOfAJob requests every setting that a job may have with the API, and
// checks that it takes effect.
func TestEverySettingOfAJob(t *testing.T) {
	n := func(n int64) *int64 { return &n }
	s := func(n float64) *ask.Seconds { return new(ask.FromSeconds(n)) }
	yes := true
	r := JobRequest{
		Seeds: []string{"https://example.com/"}, Limits: limit.Fields{}, DryRun: true,
		JobSettings: JobSettings{
			Scope: "list", ScopeHosts: []string{"example.org"}, Include: []string{"/a/*"}, Exclude: []string{"re:b"}, Files: &yes, Sitemaps: "off", Content: []string{"text", "markdown"}, Links: &yes, Raw: &yes, Extract: "name: {css: h1}\n",
			Preset: "polite", Pace: &JobPace{s(1.5), s(0.01), n(3), n(2)}, Backoff: &JobBackoff{s(2), s(4), s(3), s(6)}, FailureThreshold: n(7), CancelAfter: n(9),
		},
	}
	for i := range limit.Rules {
		if rule := &limit.Rules[i]; rule.Asked {
			r.Limits[rule.Field()] = 60
		}
	}
	for _, v := range []reflect.Value{reflect.ValueOf(r), reflect.ValueOf(r.JobSettings)} {
		for i := range v.NumField() {
			if v.Field(i).IsZero() && v.Type().Field(i).Name != "Name" {
				t.Errorf("%s is not requested", v.Type().Field(i).Name)
			}
		}
	}
	spec := r.spec()
	var want []string
	for i := range config.Table {
		for j := range config.Table[i].Settings {
			if s := &config.Table[i].Settings[j]; s.OfJob() {
				want = append(want, s.Key)
			}
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(spec.Settings))); diff != "" {
		t.Errorf("settings of a job that the API does not ask for, or that are none: %s", diff)
	}
	set, err := config.LoadJob(pflag.NewFlagSet("test", pflag.ContinueOnError), nil, spec.Settings)
	if err != nil {
		t.Fatal(err)
	}
	if set.Extract.Text() != r.Extract {
		t.Errorf("rules %s", set.Extract)
	}
	if set.Pace.Delay != 1500*time.Millisecond || set.Limits.Time != time.Minute || set.Limits.Pages != 60 || !set.Files || set.Backoff.FailingMax != 6*time.Second {
		t.Errorf("settings %+v", set)
	}
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	a := &API{settings: func(asked config.Asked) (*config.Settings, error) {
		return config.LoadJob(pflag.NewFlagSet("test", pflag.ContinueOnError), nil, asked)
	}}
	back, err := a.requestOf(text, &store.Job{Layers: []limit.Layer{{Level: limit.Job, Limits: set.Limits}}})
	if diff := cmp.Diff(r, back); err != nil || diff != "" {
		t.Errorf("what is read is not what was sent: %v %s", err, diff)
	}
	bad := []byte(`{"seeds":["https://example.com/"],"settings":{"scope":["nowhere"]}}`)
	a.log = slog.New(slog.DiscardHandler)
	if back, err := a.requestOf(bad, &store.Job{}); err != nil || len(back.Seeds) != 1 || back.Scope != "" {
		t.Errorf("settings that are no longer valid: %+v, %v", back, err)
	}
	set.Limits.Pages, set.Limits.Time = 90, 90*time.Second
	extended := &store.Job{Layers: []limit.Layer{{Level: limit.Job, Limits: set.Limits}}}
	if back, err = a.requestOf(text, extended); err != nil || back.Limits["max_pages"] != 90 || back.Limits["max_time_seconds"] != 90 {
		t.Errorf("after an extension: %v, %v", back.Limits, err)
	}
}

// TestRate allows a burst, then the rate, and keeps a bounded number of keys.
func TestRate(t *testing.T) {
	r := newRates(Rate{PerSecond: 2, Burst: 3})
	now := time.Unix(1e9, 0)
	for i := range 3 {
		if _, ok := r.take(now, "a"); !ok {
			t.Fatalf("request %d of the burst was refused", i)
		}
	}
	if wait, ok := r.take(now, "a"); ok || wait != 500*time.Millisecond {
		t.Errorf("after the burst: %s, %v", wait, ok)
	}
	if _, ok := r.take(now, "b"); !ok {
		t.Error("another key was refused")
	}
	if _, ok := r.take(now.Add(500*time.Millisecond), "a"); !ok {
		t.Error("refused after the time that was named")
	}
	for i := range maxBuckets + 100 {
		r.take(now, string(rune(i+1000)))
	}
	if len(r.buckets) > maxBuckets {
		t.Errorf("%d keys are remembered", len(r.buckets))
	}
}
