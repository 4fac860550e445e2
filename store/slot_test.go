package store

import (
	"fmt"
	"testing"
	"time"

	"headway/weburl"
)

func TestSlotOf(t *testing.T) {
	// A slot is stored permanently with every URL: the numbers must not change.
	for domain, want := range map[string]Slot{"example.com": 840, "github.io": 846, "": 739} {
		if got := SlotOf(weburl.Key{1, 2, 3}, domain); got != want {
			t.Errorf("%q is in slot %d, want %d", domain, got, want)
		}
	}
	const domains = 200 * SlotCount
	counts := make([]int, SlotCount)
	for i := range domains {
		counts[SlotOf(weburl.Key{7}, fmt.Sprintf("site%d.example", i))]++
	}
	for slot, n := range counts {
		if n < 120 || n > 280 { // 200 expected, 14 is one standard deviation
			t.Errorf("slot %d has %d domains, want about 200", slot, n)
		}
	}
	same := 0
	for i := range 1000 {
		d := fmt.Sprintf("site%d.example", i)
		if SlotOf(weburl.Key{1}, d) == SlotOf(weburl.Key{2}, d) {
			same++
		}
	}
	if same > 20 {
		t.Errorf("%d of 1000 domains are in the same slot under another key", same)
	}
}

func TestTerms(t *testing.T) {
	if err := DefaultTerms.Check(); err != nil {
		t.Error(err)
	}
	if got := (Terms{}).WithDefaults(); got != DefaultTerms {
		t.Errorf("%+v", got)
	}
	for name, terms := range map[string]Terms{
		"zero":                      {},
		"takes over before cancel":  {time.Second, 2 * time.Second, 5 * time.Second, 4 * time.Second},
		"cancels before it stops":   {time.Second, 3 * time.Second, 2 * time.Second, 4 * time.Second},
		"renews after it must stop": {3 * time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second},
	} {
		if terms.Check() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestTenure(t *testing.T) {
	sent := time.Now()
	tenure := NewTenure(Terms{}, sent)
	for _, tc := range []struct {
		after         time.Duration
		start, cancel bool
	}{
		{0, true, false},
		{DefaultTerms.Start - 1, true, false},
		{DefaultTerms.Start, false, false},
		{DefaultTerms.Cancel - 1, false, false},
		{DefaultTerms.Cancel, false, true},
		{time.Hour, false, true},
	} {
		if got := tenure.MayStart(sent.Add(tc.after)); got != tc.start {
			t.Errorf("after %v: may start %v", tc.after, got)
		}
		if got := tenure.MustCancel(sent.Add(tc.after)); got != tc.cancel {
			t.Errorf("after %v: must cancel %v", tc.after, got)
		}
	}
	if (Tenure{}).MayStart(sent) || !(Tenure{}).MustCancel(sent) {
		t.Error("without a renewal something is allowed")
	}
}

func TestWatch(t *testing.T) {
	var w Watch
	start := time.Now()
	still := func(after time.Duration, beats ...int64) string {
		var workers []Worker
		for i, b := range beats {
			if b >= 0 {
				workers = append(workers, Worker{ID: WorkerID(i), Heartbeat: b})
			}
		}
		return fmt.Sprint(w.Observe(start.Add(after), 30*time.Second, workers))
	}
	for _, step := range []struct {
		after time.Duration
		beats []int64
		want  string
	}{
		{0, []int64{5, 7}, "[]"},
		{20 * time.Second, []int64{5, 8}, "[]"},
		{29 * time.Second, []int64{5, 8, 1}, "[]"},
		{30 * time.Second, []int64{5, 8, 1}, "[0]"},
		{49 * time.Second, []int64{6, 8, 1}, "[]"}, // changed at last
		{50 * time.Second, []int64{6, 8, 1}, "[1]"},
		{55 * time.Second, []int64{6, -1, 1}, "[]"}, // gone
		{90 * time.Second, []int64{6, 8, 2}, "[0]"}, // back: counted as new
	} {
		if got := still(step.after, step.beats...); got != step.want {
			t.Errorf("at %v: %s stand still, want %s", step.after, got, step.want)
		}
	}
	if len(w.seen) != 3 {
		t.Errorf("%d workers are remembered", len(w.seen))
	}
	// A copy is independent.
	c := w.Clone()
	c.Observe(start.Add(100*time.Second), time.Second, nil)
	if len(w.seen) != 3 {
		t.Error("the copy shares memory")
	}
}
