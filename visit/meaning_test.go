package visit

import (
	"slices"
	"strings"
	"testing"
)

// TestMeanings expects a sentence for every value of every closed set, and none for other values.
func TestMeanings(t *testing.T) {
	texts := map[string]string{}
	words := 0
	check := func(word string, m Meaning) {
		t.Helper()
		words++
		if m.Text == "" || m.By == "" || strings.HasSuffix(m.Text, ".") || strings.ContainsAny(m.Text, "|\n") {
			t.Errorf("%s: %+v", word, m)
		}
		if other := texts[m.Text]; other != "" {
			t.Errorf("%s and %s mean the same: %s", word, other, m.Text)
		}
		texts[m.Text] = word
	}
	for _, o := range Outcomes {
		check(string(o), o.Meaning())
		for _, r := range Reasons[o] {
			check(string(r), r.Meaning())
		}
	}
	for _, w := range Waits {
		check(string(w), w.Meaning())
	}
	for _, k := range EvidenceKinds {
		check(string(k), k.Meaning())
	}
	for _, c := range CacheVerdicts {
		check(string(c), c.Meaning())
	}
	all := len(outcomeMeanings) + len(reasonMeanings) + len(waitMeanings) + len(evidenceMeanings) + len(cacheMeanings)
	if words != all {
		t.Errorf("%d words, %d meanings", words, all)
	}
	if slices.Contains(Outcomes, "vanished") || Outcome("vanished").Meaning() != (Meaning{}) {
		t.Error("a word outside the set has a meaning")
	}
}
