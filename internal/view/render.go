package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"headway"
	"headway/ask"
	"headway/frontier"
	"headway/internal/humanize"
	"headway/limit"
	"headway/store"
	"headway/visit"
)

// Sizes from which on a screen is more than one line, and has two columns.
const (
	minWidth  = 50
	minHeight = 10
	wideWidth = 120
)

// Render draws the state of a crawl for a terminal of this size. The text has no more
// rows and columns than that, and ends without a newline.
func Render(m Model, width, height int) string {
	if width < minWidth || height < minHeight {
		return say(plain, short(m)).cut(max(width, 1)).paint(m.Colour)
	}
	if m.Progress == nil {
		return text(m, width, append(head(m, width), nil, hint(m)))
	}
	// The last row stays free: a full screen would scroll.
	rows := height - 1
	d := detail{shares: 8, hosts: 8, reasons: 8, limits: true, space: true}
	for {
		screen := draw(m, width, d)
		if len(screen) <= rows || !d.reduce() {
			return text(m, width, screen[:min(len(screen), rows)])
		}
	}
}

// text is a screen as it is printed.
func text(m Model, width int, screen []line) string {
	var b strings.Builder
	for i, l := range screen {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(l.cut(width).paint(m.Colour))
	}
	return b.String()
}

// detail is how much of everything is shown.
type detail struct {
	shares, hosts, reasons int
	limits                 bool // one per row
	space                  bool // empty rows between parts
}

// reduce removes the least important detail left, and reports whether there was any.
func (d *detail) reduce() bool {
	switch {
	case d.hosts > 3:
		d.hosts--
	case d.reasons > 4:
		d.reasons--
	case d.limits:
		d.limits = false
	case d.shares > 4:
		d.shares--
	case d.hosts > 2:
		d.hosts--
	case d.shares > 3:
		d.shares--
	case d.space:
		d.space = false
	case d.reasons > 0:
		d.reasons--
	case d.shares > 2:
		d.shares--
	case d.hosts > 0:
		d.hosts--
	default:
		return false
	}
	return true
}

// draw makes a screen of this much detail.
func draw(m Model, width int, d detail) []line {
	p := m.Progress
	var space []line
	if d.space {
		space = []line{nil}
	}
	screen := slices.Concat(head(m, width), space)
	if width >= wideWidth {
		left := width*2/5 - 2
		right := width - left - 3
		screen = append(screen, sideBySide(
			slices.Concat(outcomeTable(p, left, d.reasons), space, limitTable(p, left)),
			slices.Concat(hostTime(p, right, d.shares), space, slowest(m, right, d.hosts)), left)...)
	} else {
		screen = slices.Concat(screen, outcomes(p, width), space, hostTime(p, width, d.shares), space, slowest(m, width, d.hosts))
		list := limits(p, width)
		if d.limits {
			list = limitTable(p, width)
		}
		if list != nil {
			screen = slices.Concat(screen, space, list)
		}
	}
	return slices.Concat(screen, space, []line{hint(m)})
}

// sideBySide puts two columns next to each other.
func sideBySide(left, right []line, width int) []line {
	for len(left) > 0 && len(left[len(left)-1]) == 0 {
		left = left[:len(left)-1]
	}
	rows := make([]line, max(len(left), len(right)))
	for i := range rows {
		var l line
		if i < len(left) {
			l = left[i]
		}
		l = l.cut(width).pad(width + 3)
		if i < len(right) {
			l = append(l, right[i]...)
		}
		rows[i] = l
	}
	return rows
}

// head shows what is crawled, its state and the remaining time.
func head(m Model, width int) []line {
	state, look := "running", good
	elapsed := m.Now.Sub(m.Began)
	p := m.Progress
	switch {
	case p == nil:
		state, look = "starting", faint
	case p.Stopping != "" || m.Interrupted:
		state, look = "stopping", warn
	}
	if p != nil {
		elapsed = p.Elapsed
	}
	right := say(look, state).add(plain, "  ").add(strong, humanize.Clock(elapsed))
	title := say(strong, mark).add(plain, "  "+clean(m.Title)).cut(width - right.width() - 2)
	rows := []line{append(title.pad(width-right.width()), right...)}
	if p == nil {
		return append(rows, say(faint, "opening the crawl folder"))
	}
	hosts := fmt.Sprintf("%s, %s ready", humanize.Plural(int64(p.Frontier.Working), "host"), humanize.Count(int64(p.Frontier.Ready)))
	rows = append(rows,
		flow(nil, []line{
			say(strong, humanize.Count(p.Counts.Finished())).add(plain, " done"),
			say(strong, rate(p.Rate)),
			say(strong, humanize.Count(p.Counts.Waiting)).add(plain, " waiting"),
			say(strong, humanize.Count(int64(p.Frontier.InFlight))).add(plain, " in flight"),
			say(plain, hosts),
			say(faint, humanize.Size(p.Spent.Bytes)),
		}, width, nil))
	switch {
	case p.Stopping != "":
		rows = append(rows, stopping(p))
	case m.Interrupted:
		rows = append(rows, say(warn, "stop requested"))
	default:
		rows = append(rows, say(plain, estimate(m)))
	}
	if p.Resumed {
		rows = append(rows, say(faint, resumed(p)))
	}
	if m.Idle >= IdleAfter && p.Stopping == "" {
		rows = append(rows, wrap(warn, idleLine(p, m.Idle, m.Now.Location()), width)...)
	}
	if l := refusing(m); l != nil {
		rows = append(rows, l)
	}
	if p.LastCommit > slowCommit {
		rows = append(rows, say(warn, fmt.Sprintf("slow storage: last commit took %s", p.LastCommit.Round(10*time.Millisecond))))
	}
	return rows
}

// refusing names a host that refuses requests.
func refusing(m Model) line {
	var first *ask.Host
	others := 0
	for i := range m.Progress.Slowest {
		if h := &m.Progress.Slowest[i]; h.Refusing && first == nil {
			first = h
		} else if h.Refusing {
			others++
		}
	}
	if first == nil {
		return nil
	}
	text := hostName(first.Host)
	if others > 0 {
		text += fmt.Sprintf(" and %d more are refusing requests", others)
	} else {
		text += " is refusing requests"
	}
	if first.HeldUntil.After(m.Progress.At) {
		text += ", next request at " + first.HeldUntil.In(m.Now.Location()).Format(time.TimeOnly)
	}
	return say(warn, text)
}

// slowCommit is how long a commit may take before it is shown.
const slowCommit = 500 * time.Millisecond

// stopping says why no more requests are sent and what the crawl still waits for.
func stopping(p *headway.Progress) line {
	left := "storing results"
	if n := p.Frontier.InFlight; n > 0 {
		left = "finishing " + humanize.Plural(int64(n), "request") + " in flight"
	}
	return say(warn, fmt.Sprintf("%s, then stopping: %s", left, clean(p.Stopping)))
}

// hint says which key to press.
func hint(m Model) line {
	if m.Interrupted || m.Progress != nil && m.Progress.Stopping != "" {
		return say(faint, "press Ctrl-C again to quit now; nothing is lost either way")
	}
	return say(faint, "Ctrl-C finishes requests in flight and saves; run the same command to resume")
}

// wrap breaks a text between words. Further rows are indented a little more.
func wrap(s style, text string, width int) []line {
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	var rows []line
	row, empty := indent, true
	for _, word := range strings.Fields(text) {
		if !empty && columns(row)+1+columns(word) > width {
			rows = append(rows, say(s, row))
			row, empty = indent+"  ", true
		}
		if !empty {
			row += " "
		}
		row, empty = row+word, false
	}
	return append(rows, say(s, row))
}

// ending is an outcome or a reason and how many URLs have it.
type ending struct {
	name string
	n    int64
}

// byOutcome sums URLs that ended by outcome, in the order of the set.
func byOutcome(p *headway.Progress) []ending {
	var list []ending
	for _, s := range humanize.Sums(store.Counts{Ended: p.Counts.Ended}) {
		list = append(list, ending{string(s.Outcome), s.N})
	}
	return list
}

// byReason sums the URLs of an outcome by reason, the most frequent first.
func byReason(p *headway.Progress, o visit.Outcome) []ending {
	var list []ending
	for _, s := range humanize.Sums(p.Counts) {
		for _, r := range s.Reasons {
			if s.Outcome == o {
				list = append(list, ending{string(r.Reason), r.N})
			}
		}
	}
	return list
}

// outcomeStyle highlights outcomes that may need attention.
func outcomeStyle(name string) style {
	switch visit.Outcome(name) {
	case visit.Fetched, visit.NotModified:
		return good
	case visit.Throttled, visit.Blocked, visit.Deferred:
		return warn
	case visit.Dead, visit.ServerError, visit.Failed:
		return alarm
	default:
		return plain
	}
}

// labels is how many columns the names of rows take.
const labels = 10

// outcomes shows how URLs ended, in a few rows.
func outcomes(p *headway.Progress, width int) []line {
	label := func(text string) line { return say(faint, fitName(text, labels)) }
	var items []line
	for _, e := range byOutcome(p) {
		if o := visit.Outcome(e.name); o != visit.Skipped && o != visit.Failed {
			items = append(items, say(outcomeStyle(e.name), e.name).add(plain, " "+humanize.Count(e.n)))
		}
	}
	if items == nil {
		items = []line{say(faint, "none yet")}
	}
	rows := []line{flow(label("outcomes"), items, width, moreOf)}
	for _, o := range []visit.Outcome{visit.Skipped, visit.Failed} {
		var sum int64
		var items []line
		for _, e := range byReason(p, o) {
			sum += e.n
			items = append(items, say(plain, e.name+" "+humanize.Count(e.n)))
		}
		if items != nil {
			rows = append(rows, flow(say(outcomeStyle(string(o)), fitName(string(o), labels)).add(plain, humanize.Count(sum)+": "), items, width, moreOf))
		}
	}
	return rows
}

func moreOf(left int) string { return fmt.Sprintf("  and %d more", left) }

// outcomeTable shows how URLs ended, one outcome per row, with up to a number of
// reasons each.
func outcomeTable(p *headway.Progress, width, reasons int) []line {
	const names, numbers = 24, 13
	row := func(s style, name string, n int64) line {
		return say(s, fitName(name, names)).add(plain, fmt.Sprintf("%*s", numbers, humanize.Count(n)))
	}
	rows := []line{say(strong, "outcomes")}
	list := byOutcome(p)
	for _, e := range list {
		part := float64(e.n) / float64(max(p.Counts.Finished(), 1))
		rows = append(rows, row(outcomeStyle(e.name), "  "+e.name, e.n).add(plain, "  ").add(faint, bar(part, width-names-numbers-2)))
		var left ending
		for i, r := range byReason(p, visit.Outcome(e.name)) {
			if i >= reasons {
				left.n += r.n
				continue
			}
			rows = append(rows, row(faint, "    "+r.name, r.n))
		}
		if left.n > 0 && reasons > 0 {
			rows = append(rows, row(faint, "    other reasons", left.n))
		}
	}
	return append(rows, row(plain, "  waiting", p.Counts.Waiting), row(strong, "  seen", p.Counts.Seen()))
}

// share is a row of host time.
type share struct {
	name  string
	part  float64
	hosts int
	pct   int
}

// shares are the largest shares of host time in whole percent; the rest is one row, so
// that all add up to 100.
func shares(p *headway.Progress, rows int) []share {
	list := slices.Clone(p.Shares)
	slices.SortStableFunc(list, func(a, b frontier.Share) int { return cmp.Compare(b.Part, a.Part) })
	var out []share
	for i, s := range list {
		if i >= rows-1 && len(list) > rows {
			last := share{name: "other"}
			for _, s := range list[i:] {
				last.part += s.Part
				last.hosts += s.Hosts
			}
			out = append(out, last)
			break
		}
		out = append(out, share{name: s.State.String(), part: s.Part, hosts: s.Hosts})
	}
	parts := make([]float64, len(out))
	for i := range out {
		parts[i] = out[i].part
	}
	for i, pct := range whole(parts, 100) {
		out[i].pct = pct
	}
	// Shares below half a percent without hosts now add nothing.
	return slices.DeleteFunc(out, func(s share) bool { return s.pct == 0 && s.hosts == 0 })
}

// hostTime shows where the time of hosts with work went so far.
func hostTime(p *headway.Progress, width, rows int) []line {
	const names, numbers, hosts = 18, 6, 14
	list := []line{say(strong, fitName("waiting on", names)).add(faint, "share of host time since the start, hosts now")}
	for _, s := range shares(p, rows) {
		look := plain
		if s.name == frontier.Fetching.String() {
			look = good
		}
		now := ""
		if s.hosts > 0 {
			now = humanize.Plural(int64(s.hosts), "host")
			if n := min(paused(p.Slowest), s.hosts); n > 0 && s.name == string(visit.WaitHold) {
				now = fmt.Sprintf("%d of %d paused", n, s.hosts)
			}
		}
		l := say(look, fitName("  "+s.name, names)).add(plain, fmt.Sprintf("%3d %%  ", s.pct)).add(look, bar(s.part, width-names-numbers-hosts-2))
		list = append(list, l.pad(width-hosts).add(faint, fmt.Sprintf("%*s", hosts, now)))
	}
	if len(list) == 1 {
		list = append(list, say(faint, "  no host has had a URL to fetch yet"))
	}
	return list
}

// slowest are the hosts with the longest pace, and what set it.
func slowest(m Model, width, rows int) []line {
	p := m.Progress
	if rows == 0 || len(p.Slowest) == 0 {
		return nil
	}
	const paces, sources = 9, 13
	names := min(32, width*3/10)
	list := []line{say(strong, fitName("slowest hosts", names)).add(faint, fmt.Sprintf("%*s  %s%s", paces, "pace", fitName("set by", sources), "now"))}
	for i := range p.Slowest[:min(len(p.Slowest), rows)] {
		h := &p.Slowest[i]
		look := plain
		if h.Refusing || h.Paused {
			look = warn
		}
		list = append(list, say(plain, fitName("  "+hostName(h.Host), names)).
			add(strong, fmt.Sprintf("%*s  ", paces, seconds(h.Pace.Duration()))).
			add(plain, fitName(h.Source, sources)).
			add(look, doing(h, m, width-names-paces-2-sources)))
	}
	return list
}

// doing is what a host does at the moment, in more detail if there is room.
func doing(h *ask.Host, m Model, room int) string {
	text := h.State
	switch {
	case h.Paused:
		text = "paused by an operator"
	case h.InFlight > 0:
		text = fmt.Sprintf("%d in flight", h.InFlight)
	}
	at := func(t time.Time) string {
		if d := t.Sub(m.Progress.At); d >= 10*time.Second {
			return " until " + t.In(m.Now.Location()).Format(time.TimeOnly)
		} else if d >= 100*time.Millisecond {
			return fmt.Sprintf(" %.1f s", d.Seconds())
		}
		return ""
	}
	if h.InFlight == 0 && !h.Paused {
		text += at(readyAt(h))
	}
	if h.Queued > 0 {
		more := ""
		if h.More {
			more = "+"
		}
		text += fmt.Sprintf(", %s%s queued", humanize.Count(int64(h.Queued)), more)
	}
	if h.Source == "learned" && h.Floor > 0 && h.Floor != h.Base {
		if more := ", floor " + seconds(h.Floor.Duration()); len(text)+len(more) <= room {
			text += more
		}
	}
	return text
}

// Shares of a limit from which on it is called near.
const (
	nearing = 80 // percent
	nearly  = 95
)

// minBar is the least width for which a bar is drawn.
const minBar = 8

// ceilingRow is a limit that is counted.
type ceilingRow struct {
	name limit.Name
	used int64
	most int64
	pct  int
	look style
	word string // how near it is, if it is
}

// counted are the limits that are counted, and how much of each is used.
func counted(p *headway.Progress) []ceilingRow {
	var rows []ceilingRow
	for _, name := range limit.Counted {
		c, used := ceiling(p, name)
		if !c.Limited() {
			continue
		}
		row := ceilingRow{name: name, used: used, most: c.Max, pct: percent(used, c.Max)}
		switch {
		case row.pct == 100:
			row.look, row.word = alarm, "reached"
		case row.pct >= nearly:
			row.look, row.word = alarm, "almost reached"
		case row.pct >= nearing:
			row.look, row.word = warn, "nearing"
		}
		rows = append(rows, row)
	}
	return rows
}

// limits shows the limits in one row, the nearest first.
func limits(p *headway.Progress, width int) []line {
	list := counted(p)
	if list == nil {
		return nil
	}
	slices.SortStableFunc(list, func(a, b ceilingRow) int { return cmp.Compare(b.pct, a.pct) })
	var items []line
	for _, c := range list {
		items = append(items, say(plain, string(c.name)).add(c.look, strings.TrimRight(fmt.Sprintf(" %d %% %s", c.pct, c.word), " ")))
	}
	return []line{flow(say(faint, fitName("limits", labels)), items, width, moreOf)}
}

// limitTable shows the limits, one per row.
func limitTable(p *headway.Progress, width int) []line {
	const names, numbers, words = 18, 20, len("  almost reached")
	var rows []line
	for i, c := range counted(p) {
		if i == 0 {
			rows = []line{say(strong, "limits")}
		}
		row := say(plain, fitName("  "+string(c.name), names)).add(c.look, fmt.Sprintf("%3d %%  ", c.pct)).
			add(plain, fitName(amount(c.name, c.used)+" of "+amount(c.name, c.most), numbers))
		if room := width - row.width() - words; room >= minBar {
			row = row.add(c.look, bar(float64(c.pct)/100, room))
		}
		if c.word != "" {
			row = row.add(c.look, "  "+c.word)
		}
		rows = append(rows, row)
	}
	return rows
}

// percent is how much of a limit is used, rounded down and at most 100.
func percent(used, most int64) int {
	if used >= most {
		return 100
	}
	return int(float64(used) / float64(most) * 100)
}

// amount formats an amount of a limit.
func amount(name limit.Name, n int64) string {
	switch name.Rule().Kind {
	case limit.Size:
		return humanize.Size(n)
	case limit.Span:
		return humanize.Clock(time.Duration(n))
	default:
		return humanize.Count(n)
	}
}
