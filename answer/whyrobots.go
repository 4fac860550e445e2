package answer

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"headway/ask"
	"headway/robots"
	"headway/store"
	"headway/visit"
)

// contextLines is the number of lines shown before and after the deciding line of a
// robots.txt, maxExcerptLine the maximum length of a line shown.
const (
	contextLines   = 3
	maxExcerptLine = 200
)

// RobotsExcerpt is the robots.txt that was used, and its deciding line.
type RobotsExcerpt struct {
	URL        string           `json:"url"`
	Allowed    bool             `json:"allowed"`
	Reason     string           `json:"reason"` // see package robots
	Rule       string           `json:"rule,omitempty"`
	Line       int              `json:"line,omitempty"`
	Group      string           `json:"group,omitempty"`
	CrawlDelay ask.Seconds      `json:"crawl_delay_seconds,omitempty"` // of the group
	SHA256     string           `json:"sha256,omitempty"`
	FetchedAt  time.Time        `json:"fetched_at,omitzero"`
	Confidence visit.Confidence `json:"confidence,omitempty"`
	At         time.Time        `json:"decided_at,omitzero"`
	Lines      []ExcerptLine    `json:"lines,omitempty"`
}

// ExcerptLine is a line of a robots.txt.
type ExcerptLine struct {
	N    int    `json:"n"`
	Text string `json:"text"`
	Mark bool   `json:"mark,omitempty"` // the deciding line
}

// excerpt shows the evidence of the decision within its file.
func (x *explainer) excerpt(ctx context.Context) error {
	for i := range x.why.Evidence {
		e := &x.why.Evidence[i]
		if e.Kind != visit.RobotsAllowed && e.Kind != visit.BlockedByRobots {
			continue
		}
		r := &RobotsExcerpt{
			URL: x.URL.Host() + "/robots.txt", Allowed: e.Kind == visit.RobotsAllowed, Reason: e.Note, Rule: e.Rule, Line: e.Line, Group: e.Group, CrawlDelay: e.CrawlDelay,
			SHA256: e.Source, FetchedAt: e.SourceAt, Confidence: e.Confidence, At: e.At,
		}
		x.why.Robots = r
		return x.quote(ctx, r)
	}
	return nil
}

// quote adds the lines around the deciding one.
func (x *explainer) quote(ctx context.Context, r *RobotsExcerpt) error {
	var sum robots.Sum
	if n, err := hex.Decode(sum[:], []byte(r.SHA256)); err != nil || n != len(sum) {
		return nil //nolint:nilerr // no file was used
	}
	version, err := x.Store.Robots(ctx, sum)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if r.Reason == string(robots.DelayTooLong) && r.Line == 0 {
		r.Line, r.Rule = delayLine(version.Body, x.Spec.agent())
	}
	r.Lines = excerptLines(version.Body, r.Line)
	return nil
}

// linesOf splits a robots.txt into lines: at CR, LF and CRLF.
func linesOf(body []byte) []string {
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))))
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// excerptLines returns the lines around a line, with the head of its group.
func excerptLines(body []byte, line int) []ExcerptLine {
	lines := linesOf(body)
	if line < 1 || line > len(lines) {
		return nil
	}
	first, last := max(line-contextLines, 1), min(line+contextLines, len(lines))
	var out []ExcerptLine
	show := func(n int) {
		text := lines[n-1]
		if len(text) > maxExcerptLine {
			text = text[:maxExcerptLine] + "…"
		}
		out = append(out, ExcerptLine{N: n, Text: strings.ToValidUTF8(text, "\ufffd"), Mark: n == line})
	}
	head := line
	for head > 1 && !isField(lines[head-1], "user-agent") {
		head--
	}
	if head < first && isField(lines[head-1], "user-agent") {
		begin := head
		for begin > 1 && begin > head-contextLines && isField(lines[begin-2], "user-agent") {
			begin--
		}
		for n := begin; n <= head; n++ {
			show(n)
		}
	}
	for n := first; n <= last; n++ {
		show(n)
	}
	return out
}

// isField reports whether a line of robots.txt sets a field.
func isField(line, field string) bool {
	name, _, ok := strings.Cut(line, ":")
	return ok && strings.EqualFold(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")), field)
}

// delayLine finds the Crawl-delay line for an agent.
func delayLine(body []byte, agent string) (line int, text string) {
	file := robots.Parse(body)
	rules := file.For(agent)
	want, ok := rules.Delay()
	if !ok {
		return 0, ""
	}
	for i, l := range linesOf(body) {
		if !isField(l, "crawl-delay") {
			continue
		}
		// The line alone, in its own group, must give the same delay.
		alone, ok := robots.Parse([]byte("User-agent: *\n" + l + "\n")).For(agent).Delay()
		if ok && alone == want {
			return i + 1, strings.TrimSpace(l)
		}
	}
	return 0, ""
}
