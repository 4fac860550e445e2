package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"headway/answer"
	"headway/internal/humanize"
)

// changeClasses are the colours of the kinds of change.
var changeClasses = map[answer.ChangeKind]string{
	answer.PageDead: "c10", answer.PageGone: "c1", answer.PageLost: "c3", answer.PageWaits: "c0", answer.PageApart: "c7",
	answer.PageNew: "c2", answer.PageRecovered: "c9", answer.PageChanged: "c5", answer.PageSlower: "c4",
	answer.PageExcluded: "c6", answer.PageIncluded: "c8",
}

// changes is the table of differences from an earlier crawl.
func changes(s *answer.Comparison) *Table {
	t := &Table{
		ID: "changes", Title: "Changed URLs",
		Columns: []Column{{Name: "URL", Link: true}, {Name: "change", Word: true}, {Name: "before", Word: true}, {Name: "now", Word: true}, {Name: "before (ms)", Number: true, None: true}, {Name: "now (ms)", Number: true, None: true}, {Name: "found on", Link: true}},
		first:   true,
	}
	order := map[string]int{}
	most := rowsPerKind(s.Changes)
	for i, ch := range s.Changes {
		word := s.Words(ch.Kind)
		order[word] = i
		t.Total += ch.Total
		for _, u := range ch.URLs[:min(len(ch.URLs), most)] {
			now := string(u.After)
			if u.Reason != "" {
				now += ": " + string(u.Reason)
			}
			if u.Status != 0 && ch.Kind == answer.PageDead {
				now += fmt.Sprintf(" %d", u.Status)
			}
			t.Rows = append(t.Rows, []any{
				u.URL, word, cmp.Or(string(u.Before), "not seen"), cmp.Or(now, "not seen"),
				u.BeforeTook.Duration().Milliseconds(), u.AfterTook.Duration().Milliseconds(), u.FoundOn,
			})
		}
	}
	t.less = func(a, b []any) int { return cmp.Compare(order[a[1].(string)], order[b[1].(string)]) }
	return t
}

// MostChanges limits the URLs per kind that a comparison lists for a report; more are not
// shown.
const MostChanges = maxRows

// rowsPerKind returns how many URLs of each kind fit into a table, so that one kind does not
// displace the others.
func rowsPerKind(list []answer.Change) int {
	sizes := make([]int, len(list))
	for i := range list {
		sizes[i] = len(list[i].URLs)
	}
	slices.Sort(sizes)
	room := maxRows
	for i, n := range sizes {
		if share := room / (len(sizes) - i); n > share {
			return share
		}
		room -= n
	}
	return maxRows
}

// sinceLine says what was compared.
func sinceLine(s *answer.Comparison) string {
	ended := ""
	if !s.Before.Ended.IsZero() {
		ended = ", ended " + s.Before.Ended.UTC().Format(minute)
	}
	line := fmt.Sprintf("Earlier crawl: %s%s, %s. This crawl: %s, %s.", s.Before.State, ended, humanize.Plural(s.Before.Pages, "page"), s.After.State, humanize.Plural(s.After.Pages, "page"))
	if len(s.Settings) > 0 {
		line += " Changed settings: " + strings.Join(s.Settings, "; ") + "."
	}
	return line
}

// since draws how many URLs differ, by kind.
func since(s *answer.Comparison) Plot {
	p := Plot{ID: "since", Title: "Changes by type", About: "Pages of both crawls by type of change. A slower page may have changed too."}
	bars := []bar{{"unchanged", s.Same, "c12"}}
	if s.Unread > 0 {
		bars = append(bars, bar{"not modified in the earlier crawl", s.Unread, "c12"})
	}
	for _, ch := range s.Changes {
		if ch.Total > 0 {
			bars = append(bars, bar{s.Words(ch.Kind), ch.Total, changeClasses[ch.Kind]})
		}
	}
	bars = slices.DeleteFunc(bars, func(b bar) bool { return b.n == 0 })
	p.draw(func(f frame) *canvas { return f.bars(p.Title, bars) })
	return p
}
