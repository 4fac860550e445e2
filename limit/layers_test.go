package limit

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// combination is one way in which the layers can set one limit: 0 means not set, -1 a quota that is
// used up.
type combination struct{ safety, plan, usage, job int64 }

// combinations lists all ways in which each layer sets nothing, something strict, something looser or
// the same as another.
func combinations(n Name) []combination {
	const strict, loose = 50, 100
	amounts, quotas := []int64{0, strict, loose}, []int64{0, -1, strict, loose}
	if n != Pages && n != Bytes {
		quotas = []int64{0}
	}
	var list []combination
	for _, s := range amounts {
		for _, p := range amounts {
			for _, u := range quotas {
				for _, j := range amounts {
					list = append(list, combination{s, p, u, j})
				}
			}
		}
	}
	return list
}

// layers are the layers of a combination, for one limit.
func (c combination) layers(n Name) []Layer {
	var list []Layer
	for level, amount := range map[Level]int64{Safety: c.safety, Plan: c.plan, Usage: c.usage, Job: c.job} {
		l := Layer{Level: level}
		switch n {
		case Pages:
			l.Limits.Pages = amount
		case Bytes:
			l.Limits.Bytes = amount
		case Requests:
			l.Limits.Requests = amount
		case Time:
			l.Limits.Time = time.Duration(amount) * time.Second
		}
		list = append(list, l)
	}
	return list
}

// TestCombinations compares the result of every combination of layers with a readable list: the limit
// in force, and the message when it stops a crawl.
func TestCombinations(t *testing.T) {
	var b strings.Builder
	fmt.Fprintln(&b, "limit\tsafety\tplan\tusage\tjob\tin force\twhen met")
	word := func(amount int64) string {
		switch amount {
		case 0:
			return "-"
		case -1:
			return "used up"
		default:
			return fmt.Sprint(amount)
		}
	}
	for _, n := range []Name{Pages, Bytes, Requests, Time} {
		for _, c := range combinations(n) {
			got := Resolve(c.layers(n)...).Of(n)
			message := "-"
			if got.Limited() {
				message = got.Exceeded(got.Max).Error()
			}
			fmt.Fprintf(&b, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", n, word(c.safety), word(c.plan), word(c.usage), word(c.job), got, message)
		}
	}
	name := filepath.Join("testdata", "combinations.tsv")
	if *update {
		if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	got, wanted := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
	if len(got) != len(wanted) {
		t.Fatalf("%d lines, want %d", len(got), len(wanted))
	}
	for i := range got {
		if got[i] != wanted[i] {
			t.Errorf("line %d:\n got %s\nwant %s", i+1, got[i], wanted[i])
		}
	}
}

// TestUpgrade raises the plan and the quota of every combination: safety limits are never lifted, and
// nothing becomes stricter.
func TestUpgrade(t *testing.T) {
	for _, c := range combinations(Pages) {
		before := Resolve(c.layers(Pages)...).Of(Pages)
		for _, better := range []combination{{c.safety, 0, c.usage, c.job}, {c.safety, 1000, c.usage, c.job}, {c.safety, 1000, 1000, c.job}} {
			if better.plan == 1000 && c.plan == 0 || better.usage == 1000 && c.usage == 0 {
				continue // not an upgrade: there was no limit
			}
			after := Resolve(better.layers(Pages)...).Of(Pages)
			if c.safety > 0 && (!after.Limited() || after.Max > c.safety) {
				t.Errorf("%+v: %s after an upgrade", c, after)
			}
			if after.Limited() && after.Max < before.Max {
				t.Errorf("%+v: %s, and after an upgrade %s", c, before, after)
			}
		}
	}
}

func TestQuota(t *testing.T) {
	for name, tc := range map[string]struct {
		quota Quota
		left  string // for a crawl
		near  string // the month
		met   Name
	}{
		"none":                         {Quota{UsedPages: 7}, "max_pages none", "", ""},
		"fresh":                        {Quota{Pages: 100}, "max_pages 100 (usage)", "", ""},
		"begun":                        {Quota{Pages: 100, UsedPages: 79}, "max_pages 21 (usage)", "", ""},
		"near":                         {Quota{Pages: 100, UsedPages: 80}, "max_pages 20 (usage)", "max_pages: 80 % used, 80 of 100 (usage)", ""},
		"nearer":                       {Quota{Pages: 100, UsedPages: 96}, "max_pages 4 (usage)", "max_pages: 95 % used, 96 of 100 (usage)", ""},
		"used up":                      {Quota{Pages: 100, UsedPages: 100}, "max_pages 0 (usage)", "max_pages: reached, 100 of 100 (usage)", Pages},
		"overdrawn":                    {Quota{Pages: 100, UsedPages: 103}, "max_pages 0 (usage)", "max_pages: reached, 103 of 100 (usage)", Pages},
		"a crawl that goes on":         {Quota{Pages: 100, UsedPages: 60, HadPages: 50}, "max_pages 90 (usage)", "", ""},
		"one that goes on for nothing": {Quota{Pages: 100, UsedPages: 100, HadPages: 50}, "max_pages 50 (usage)", "max_pages: reached, 100 of 100 (usage)", Pages},
		"bytes":                        {Quota{Bytes: 100, UsedBytes: 100}, "max_pages none", "max_bytes: reached, 100 of 100 (usage)", Bytes},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Resolve(tc.quota.Layer()).Of(Pages).String(); got != tc.left {
				t.Errorf("a crawl has %q, want %q", got, tc.left)
			}
			list, met := tc.quota.Month()
			near := ""
			for _, w := range list {
				near += w.String()
			}
			if near != tc.near || met != tc.met {
				t.Errorf("the month: %q, %q met; want %q, %q", near, met, tc.near, tc.met)
			}
		})
	}
	over := Resolve(Layer{Safety, Limits{Pages: 50}}, Layer{Job, Limits{Pages: 100}}).UsedUp(Pages, 30)
	if got, want := over.Error(), "Usage limit: Maximum 30 pages left this month (requested: 100)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestJSON encodes and decodes limits. A limit below one millisecond must not become no limit.
func TestJSON(t *testing.T) {
	all := Limits{
		Pages: 1, Requests: 2, Time: 3 * time.Second, Depth: 4, Bytes: 5, PagesPerHost: 6, Patience: 7 * time.Minute,
		ConcurrentCrawls: 8, Hosts: 9, RequestsPerSecond: 10, Retention: 11 * time.Hour,
	}
	for name, tc := range map[string]struct {
		limits, want Limits
		text         string
	}{
		"none": {Limits{}, Limits{}, `{}`},
		"all": {all, all, `{"max_pages":1,"max_requests":2,"max_time_ms":3000,"max_depth":4,"max_bytes":5,"max_pages_per_host":6,"patience_ms":420000,` +
			`"max_concurrent_crawls":8,"max_hosts":9,"max_requests_per_second":10,"retention_ms":39600000}`},
		"used up": {Limits{Pages: -1, Time: -1}, Limits{Pages: -1, Time: -time.Millisecond}, `{"max_pages":-1,"max_time_ms":-1}`},
		"short":   {Limits{Time: 1}, Limits{Time: time.Millisecond}, `{"max_time_ms":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(tc.limits)
			if err != nil || string(text) != tc.text {
				t.Errorf("got %s, want %s (%v)", text, tc.text, err)
			}
			var back Limits
			if err := json.Unmarshal(text, &back); err != nil || back != tc.want {
				t.Errorf("got %+v, want %+v (%v)", back, tc.want, err)
			}
		})
	}
	shown, err := json.Marshal(all.Fields())
	want := `{"max_bytes":5,"max_concurrent_crawls":8,"max_depth":4,"max_hosts":9,"max_pages":1,"max_pages_per_host":6,"max_requests":2,"max_requests_per_second":10,` +
		`"max_time_seconds":3,"patience_seconds":420,"retention_seconds":39600}`
	if err != nil || string(shown) != want {
		t.Errorf("shown as %s, want %s (%v)", shown, want, err)
	}
	for _, n := range Names { // a new limit must be encoded, too
		if all.Of(n) == 0 {
			t.Errorf("%s is not among all limits", n)
		}
	}
}
