package e2e

import (
	"strings"
	"testing"

	"headway/lab"
)

// TestContentHidden crawls the lab's pairs of pages with and without hidden text, and reads
// the texts in pages.jsonl: nothing hidden is in them, and nothing visible is missing.
func TestContentHidden(t *testing.T) {
	t.Parallel()
	hosts, err := lab.Select("hidden-text")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, lab.Config{Hosts: hosts})
	w.run(w.crawl("out", "--preset", "owned", "--sitemaps", "off", "--content", "text,markdown", "--format", "jsonl", "--quiet"), 0)
	w.clean()
	w.complete()
	pages := w.jsonlContents("out")
	front := strings.TrimSuffix(w.lab.Seeds()[0], "/")
	hidden, shown, leaks, lost, differ := 0, 0, 0, 0, 0
	for _, p := range lab.TextPairs() {
		with, ok := pages[front+p.WithPath]
		without, both := pages[front+p.WithoutPath]
		if !ok || !both {
			t.Errorf("%s: a page is missing: with %t, without %t", p.Name, ok, both)
			continue
		}
		sentences := p.Visible
		if p.Shown {
			shown++
			sentences = append([]string{p.Text}, sentences...)
		} else {
			hidden++
			if with != without {
				differ++
				t.Errorf("%s: the pages differ:\n%s\n---\n%s", p.Name, with.markdown, without.markdown)
			}
		}
		for kind, text := range map[string]string{"text": with.text, "Markdown": with.markdown} {
			if !p.Shown && containsAny(text, hiddenWords) {
				leaks++
				t.Errorf("%s: hidden text in the %s:\n%s", p.Name, kind, text)
			}
			for _, s := range sentences {
				if !strings.Contains(text, s) {
					lost++
					t.Errorf("%s: the %s has lost %q:\n%s", p.Name, kind, s, text)
				}
			}
		}
		for kind, text := range map[string]string{"text": without.text, "Markdown": without.markdown} {
			for _, s := range p.Visible {
				if !strings.Contains(text, s) {
					lost++
					t.Errorf("%s: without it, the %s has lost %q:\n%s", p.Name, kind, s, text)
				}
			}
		}
	}
	t.Logf("%d pairs with hidden text, %d with text that only looks hidden: %d leaks, %d visible sentences lost, %d pairs differ", hidden, shown, leaks, lost, differ)
	if hidden < 40 || shown < 10 {
		t.Errorf("%d and %d pairs, want 40 and 10", hidden, shown)
	}
}

// hiddenWords are words of the hidden text that no other sentence has.
var hiddenWords = []string{"Ignore", "instructions", "praise", "product", "answer"}

func containsAny(text string, words []string) bool {
	for _, word := range words {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}
