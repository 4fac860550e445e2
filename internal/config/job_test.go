package config

import (
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/spf13/pflag"

	"headway/politeness"
)

// serverLayers are the layers of a server with every kind of list.
func serverLayers(t testing.TB, environ ...string) *Layers {
	t.Helper()
	l, err := ReadLayers(pflag.NewFlagSet("server", pflag.ContinueOnError), append([]string{
		"HEADWAY_SEEDS=http://a.example", "HEADWAY_SCOPE_HOSTS=b.example", "HEADWAY_INCLUDE=/a/**\n/b/**", "HEADWAY_EXCLUDE=/c/**", "HEADWAY_CONTENT=text", "HEADWAY_FORMAT=csv,jsonl",
		"HEADWAY_OWNED=a.example", "HEADWAY_PACE_ADDRESS_RANGES=192.0.2.0/24", "HEADWAY_HEADER=X-A: b", "HEADWAY_ALLOW_PRIVATE=127.0.0.0/8:80", "HEADWAY_PORTS=8080,8081",
		"HEADWAY_FLEET_ARCHIVE_PRIVATE=127.0.0.0/8:80",
	}, environ...))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestSettingsOfJobs: the settings of a job are those that loading all layers gives, also
// for the second job of a preset; so are the errors.
func TestSettingsOfJobs(t *testing.T) {
	jobs := []Asked{
		nil,
		{"max_pages": {"7"}, "scope": {"domain"}, "include": {"/x/**"}, "exclude": {}, "content": {"markdown"}, "raw": {"true"}},
		{"pace.delay": {"3s"}, "backoff.failing_max": {"2h"}, "patience": {"5m"}, "failure_threshold": {"9"}},
		{"extract": {"name: {css: h1}\n"}},
		{"extract": {"none"}, "max_pages": {"many"}},
		{"max_pages": {"1", "2"}},
		{"max_pages": {"x"}, "scope": {"y"}, "pace.delay": {"z"}},
	}
	var presets []Asked
	for _, name := range politeness.PresetNames() {
		presets = append(presets, Asked{"preset": {name}}, Asked{"preset": {" " + name + " "}})
	}
	presets = append(presets, nil, Asked{"preset": {""}}, Asked{"preset": {"nosuch"}}, Asked{"preset": {"audit", "polite"}})
	for _, environ := range [][]string{nil, {"HEADWAY_PRESET=audit"}, {"HEADWAY_PACE_DELAY=4s", "HEADWAY_PATIENCE=2h"}, {"HEADWAY_MAX_PAGES=x"}, {"HEADWAY_PRESET=nosuch"}, {"HEADWAY_TIMEOUT=never"}} {
		l := serverLayers(t, environ...)
		for range 2 {
			for _, preset := range presets {
				for _, asked := range jobs {
					byJob, both := map[string]given{}, Asked{}
					for _, part := range []Asked{preset, asked} {
						for key, texts := range part {
							byJob[key], both[key] = given{texts: texts, source: "job", text: true}, texts
						}
					}
					want, no := l.job(byJob)
					got, err := l.Job(both)
					if fmt.Sprint(err) != fmt.Sprint(no) || !reflect.DeepEqual(got, want) {
						t.Fatalf("%v with %v: %+v, %v, want %+v, %v", both, environ, got, err, want, no)
					}
				}
			}
		}
		if n := len(l.byPreset); n > len(politeness.PresetNames()) {
			t.Errorf("the settings of %d presets are kept", n)
		}
	}
}

// TestSettingsOfJobsAreCopies: whoever changes the settings of a job changes no others.
func TestSettingsOfJobsAreCopies(t *testing.T) {
	l, rules := serverLayers(t), []string{"name: {css: h1}\n"}
	load := func() *Settings {
		s, err := l.Job(Asked{"extract": rules})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if n := scrawl(t, "Settings", reflect.ValueOf(load()).Elem()); n != 12 {
		t.Errorf("%d lists with entries, want 12: each has to be tested", n)
	}
	want, err := l.job(map[string]given{"extract": {texts: rules, source: "job", text: true}})
	if err != nil {
		t.Fatal(err)
	}
	if got := load(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v after a change, want %+v", got, want)
	}
}

// scrawl changes the entries of all lists in a value and returns their number. Rules are
// immutable.
func scrawl(t *testing.T, name string, v reflect.Value) (lists int) {
	t.Helper()
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			lists += scrawl(t, v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			v.Index(i).SetZero()
		}
		return min(v.Len(), 1)
	case reflect.Pointer, reflect.Map, reflect.Interface, reflect.Chan, reflect.Func:
		if name != "Extract" {
			t.Errorf("%s is a %s: clone has to copy it", name, v.Kind())
		}
	default:
		v.SetZero()
	}
	return lists
}

// TestSettingsOfJobsAtOnce loads the settings of jobs concurrently, for the race detector.
func TestSettingsOfJobsAtOnce(t *testing.T) {
	l := serverLayers(t)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			s, err := l.Job(Asked{"preset": {politeness.PresetNames()[i%2]}, "max_pages": {"7"}})
			if err != nil {
				t.Error(err)
				return
			}
			s.Include[0] = "changed"
		})
	}
	wg.Wait()
}

// BenchmarkJob loads the settings of a job, as a server does for each that it creates.
func BenchmarkJob(b *testing.B) {
	l, err := ReadLayers(pflag.NewFlagSet("server", pflag.ContinueOnError), nil)
	if err != nil {
		b.Fatal(err)
	}
	asked := Asked{"max_pages": {"3"}, "pace.delay": {"1s"}}
	for b.Loop() {
		if _, err := l.Job(asked); err != nil {
			b.Fatal(err)
		}
	}
}
