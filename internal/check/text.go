package check

import (
	"fmt"
	"io"
	"strings"

	"headway/visit"
)

// maxShown is how many links are printed of a verdict that does not fail the check;
// maxShownPages how many pages with a link.
const (
	maxShown      = 20
	maxShownPages = 3
)

// about describes a verdict for people.
var about = map[Verdict]string{
	Dead:      "",
	Broken:    " (redirect loop or too many redirects)",
	Throttled: " (rate-limited; not dead)",
	Blocked:   " (access denied to crawlers; not dead)",
	Unknown:   " (no conclusive response, or not checked)",
}

// notChecked says why a link was not requested: because of its host, or of a setting.
var notChecked = map[visit.Reason]string{
	visit.RobotsDisallow:    "disallowed by robots.txt",
	visit.RobotsUnreachable: "robots.txt unreachable",
	visit.CrawlDelayTooLong: "Crawl-delay too long",
	visit.BadPort:           "port not allowed; use --ports",
	visit.PrivateAddress:    "private address; use --allow-private",
	visit.BudgetHost:        "max_pages_per_host reached",
}

// Print writes the verdicts for people.
func (r *Report) Print(w io.Writer) error {
	var b strings.Builder
	for _, v := range Listed {
		if n := r.Counts[v]; n > 0 {
			fmt.Fprintf(&b, "%s %d%s\n", v, n, about[v])
			r.printLinks(&b, v)
		}
	}
	b.WriteString(r.Sum() + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// printLinks writes the links of a verdict.
func (r *Report) printLinks(b *strings.Builder, v Verdict) {
	shown, left := 0, r.Left[v]
	for i := range r.Links {
		l := &r.Links[i]
		if l.Verdict != v {
			continue
		}
		if shown == maxShown && !r.FailOn.Fails(v) {
			left++
			continue
		}
		shown++
		fmt.Fprintf(b, "  %s  %s\n", l.Word(), oneLine(l.URL))
		if text := l.where(); text != "" {
			fmt.Fprintf(b, "    %s\n", text)
		}
	}
	if left > 0 {
		fmt.Fprintf(b, "  and %d more; --json lists them\n", left)
	}
}

// Word is the result for a link, in a word or two.
func (l *Link) Word() string {
	switch {
	case l.Reason == "dns" && l.Verdict == Dead:
		return "host name does not exist"
	case notChecked[l.Reason] != "":
		return "not checked (" + notChecked[l.Reason] + ")"
	case l.Reason != "":
		return string(l.Reason)
	case l.Status != 0:
		return fmt.Sprint(l.Status)
	default:
		return string(l.Outcome)
	}
}

// where says what leads to a link.
func (l *Link) where() string {
	pages := l.Pages
	more := l.MorePages
	if over := len(pages) - maxShownPages; over > 0 {
		pages, more = pages[:maxShownPages], more+over
	}
	var text string
	if len(pages) > 0 {
		text = "on " + strings.Join(pages, ", ")
	}
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if len(l.Redirects) > 0 {
		text = strings.TrimPrefix(text+", via redirect "+strings.Join(l.Redirects[:min(len(l.Redirects), maxShownPages)], ", "), ", ")
	}
	return oneLine(text)
}

// Sum is the line with the counts.
func (r *Report) Sum() string {
	var parts []string
	for _, v := range Verdicts {
		if n := r.Counts[v]; n > 0 || v == OK || v == Dead {
			parts = append(parts, fmt.Sprintf("%d %s", n, strings.ReplaceAll(string(v), "_", " ")))
		}
	}
	return fmt.Sprintf("links %d = %s", r.Seen, strings.Join(parts, " + "))
}

// oneLine removes line breaks and control characters from a text of a page.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}
