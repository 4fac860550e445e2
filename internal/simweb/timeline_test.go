package simweb_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"headway/frontier"
	"headway/lab"
	"headway/politeness"
	"headway/visit"
)

// drawing selects what to show of a crawl.
type drawing struct {
	every  time.Duration // of one column
	hosts  []string      // nil: all, if they are few
	events int           // maximum of politeness events
}

const (
	defaultEvents = 8
	fewHosts      = 12 // drawn even if not named
	maxColumns    = 120
	niceColumns   = 60
)

// The marks of a timeline. A column with a refusal or a failure shows that, whatever else
// it contains.
const (
	markServed   = "●" // one request served; 2 to 9 that many; + more
	markRobots   = "r" // robots.txt
	markRefused  = "x"
	markFailed   = "!" // a server error, or no response
	markHeld     = "-" // the host is on hold
	markNetwork  = "n" // our own network is down
	markUnderWay = "~" // a request is under way, none began
	markDown     = "#" // we are not running
)

// timeline draws a crawl. The marks come from the servers' log.
func (r *report) timeline() string {
	var b strings.Builder
	columns := r.columns()
	width := 0
	for _, h := range r.drawn {
		width = max(width, utf8.RuneCountInString(h.name))
	}
	if len(r.drawn) > 0 {
		fmt.Fprintf(&b, "%-*s  %s\n", width, "", r.axis(columns))
	}
	for _, h := range r.drawn {
		fmt.Fprintf(&b, "%-*s |%s|  %s\n", width, h.name, r.row(h, columns), r.summary(h))
	}
	if len(r.shown) > 0 {
		b.WriteString("\n")
	}
	for _, e := range r.shown {
		fmt.Fprintf(&b, "%8s  %-*s  %s\n", r.clockTime(e.at), width, e.host.name, e.effect)
	}
	if r.hidden > 0 {
		fmt.Fprintf(&b, "%8s  and %d more\n", "", r.hidden)
	}
	b.WriteString("\n")
	for _, line := range r.lines {
		b.WriteString(line + "\n")
	}
	return b.String()
}

func (r *report) columns() int { return int(r.end.Sub(r.begin)/r.every) + 1 }

// axis labels every tenth column.
func (r *report) axis(columns int) string {
	var b strings.Builder
	for c := 0; c < columns; c += 10 {
		label := r.clockTime(r.begin.Add(time.Duration(c) * r.every))
		fmt.Fprintf(&b, "%-10s", label)
	}
	return strings.TrimRight(b.String(), " ")
}

// clockTime formats an instant as time since the start, or as the time of day if the script
// sets the clock.
func (r *report) clockTime(at time.Time) string {
	if r.clock > 0 {
		return at.Format("15:04:05")
	}
	return shortDuration(at.Sub(r.begin))
}

// shortDuration formats 90s as 1m30s, and 12h0m0s as 12h.
func shortDuration(d time.Duration) string {
	s := d.Round(time.Millisecond).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// row draws one host.
func (r *report) row(h *host, columns int) string {
	cells := make([]cell, columns)
	at := func(t time.Time) int { return min(int(t.Sub(r.begin)/r.every), columns-1) }
	for _, q := range r.log[h.name] {
		cells[at(q.Start)].add(&q)
	}
	var b strings.Builder
	for c := range cells {
		if mark := cells[c].mark(); mark != "" {
			b.WriteString(mark)
			continue
		}
		b.WriteString(r.quiet(h, r.begin.Add(time.Duration(c)*r.every+r.every/2)))
	}
	return b.String()
}

// cell is what arrived in the time of one column.
type cell struct{ served, robots, refused, failed int }

func (c *cell) add(q *lab.Request) {
	switch {
	case refusal(q.Status):
		c.refused++
	case q.Status == 0 || q.Status >= 500:
		c.failed++
	case q.Target == "/robots.txt":
		c.robots++
	default:
		c.served++
	}
}

func (c *cell) mark() string {
	switch {
	case c.refused > 0:
		return markRefused
	case c.failed > 0:
		return markFailed
	case c.served > 9:
		return "+"
	case c.served > 1:
		return strconv.Itoa(c.served)
	case c.served == 1:
		return markServed
	case c.robots > 0:
		return markRobots
	default:
		return ""
	}
}

// quiet is the mark of a host in a column in which nothing arrived.
func (r *report) quiet(h *host, at time.Time) string {
	for i, end := range r.ends {
		if !at.Before(end) && (i >= len(r.starts) || at.Before(r.starts[i])) {
			if i == len(r.ends)-1 && i >= len(r.starts) {
				return " " // after the crawl
			}
			return markDown
		}
	}
	state := frontier.NoWork
	for _, m := range r.moves[h] {
		if m.at.After(at) {
			break
		}
		state = m.to
	}
	switch state {
	case frontier.Fetching, frontier.Waiting(visit.WaitInFlight), frontier.Waiting(visit.WaitDNS):
		return markUnderWay
	case frontier.Waiting(visit.WaitRobots):
		if slices.ContainsFunc(r.log[h.name], func(q lab.Request) bool { return !q.Start.After(at) && q.Answer.After(at) }) {
			return markUnderWay
		}
		return " " // for its turn, or until robots.txt may be read again
	case frontier.Waiting(visit.WaitHold):
		return markHeld
	case frontier.Waiting(visit.WaitNetwork):
		return markNetwork
	default:
		return " "
	}
}

// summary is the end of a row.
func (r *report) summary(h *host) string {
	f := r.figures(h.name)
	return fmt.Sprintf("pace %s→%s  refusals %d", seconds(f["first-pace"]), seconds(f["pace"]), int(f["refusals"]))
}

func seconds(s float64) string {
	return strconv.FormatFloat(s, 'f', -1, 64) + "s"
}

// figureLines lists what the servers counted, how URLs ended and what hosts waited for.
func (r *report) figureLines() []string {
	f := r.figures("all")
	lines := []string{fmt.Sprintf("servers  requests %d  refusals %d  errors %d  shortest interval %s  most at once %d  during Retry-After %d",
		int(f["requests"]), int(f["refusals"]), int(f["errors"]), seconds(f["gap"]), int(f["at-once"]), int(f["inside-retry-after"]))}
	urls := fmt.Sprintf("urls     seen %d", int(f["seen"]))
	sign := " ="
	for _, o := range visit.Outcomes {
		if n := int(f[string(o)]); n > 0 {
			urls += fmt.Sprintf("%s %d %s", sign, n, o)
			sign = " +"
		}
	}
	return append(lines, urls, r.shares())
}

// shares formats the shares of host time so that they add up to 100.0 %: tenths are
// distributed by largest remainder.
func (r *report) shares() string {
	type part struct {
		state  frontier.State
		tenths int64
		rest   time.Duration
	}
	var total time.Duration
	for _, d := range r.spent {
		total += d
	}
	if total == 0 {
		return "time     none"
	}
	var parts []part
	left := int64(1000)
	for state, d := range r.spent {
		p := part{state: state, tenths: int64(float64(d) / float64(total) * 1000)}
		p.rest = d - time.Duration(float64(total)*float64(p.tenths)/1000)
		left -= p.tenths
		parts = append(parts, p)
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Or(cmp.Compare(b.rest, a.rest), cmp.Compare(a.state, b.state)) })
	for i := range left {
		parts[i].tenths++
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.state, b.state) })
	line := "time   "
	for _, p := range parts {
		if p.tenths > 0 {
			line += fmt.Sprintf("  %s %d.%d %%", p.state, p.tenths/10, p.tenths%10)
		}
	}
	return line
}

// report summarises a crawl.
type report struct {
	drawing
	clock        time.Duration
	begin, end   time.Time
	hosts        []*host
	drawn        []*host
	log          map[string][]lab.Request
	stats        map[string]lab.HostStats
	moves        map[*host][]move
	ends, starts []time.Time
	sends        map[*host][]sent
	events       []event
	shown        []event
	hidden       int
	spent        map[frontier.State]time.Duration
	lines        []string
}

// newReport builds the report once the crawl has stopped.
func newReport(s *script, w *world) *report {
	r := &report{
		drawing: s.draw, clock: s.clock, begin: w.begin, end: time.Now(), hosts: w.hosts,
		log: map[string][]lab.Request{}, stats: map[string]lab.HostStats{}, moves: map[*host][]move{}, sends: map[*host][]sent{},
		ends: w.trace.ends, starts: w.trace.starts, spent: w.trace.spent, events: w.trace.events,
	}
	for _, q := range w.web.Log() {
		r.log[q.Host] = append(r.log[q.Host], q)
	}
	for _, c := range w.web.Stats().PerHost {
		r.stats[strings.TrimPrefix(c.Host, "http://")] = c
	}
	for _, m := range w.trace.moves {
		r.moves[m.host] = append(r.moves[m.host], m)
	}
	for _, q := range w.trace.sends {
		r.sends[q.host] = append(r.sends[q.host], q)
	}
	for _, h := range w.hosts {
		if slices.Contains(r.drawing.hosts, h.name) || r.drawing.hosts == nil && len(w.hosts) <= fewHosts {
			r.drawn = append(r.drawn, h)
		}
	}
	if r.every == 0 {
		r.every = max((r.end.Sub(r.begin) / niceColumns).Round(time.Second), time.Second)
	}
	for _, e := range r.events {
		switch {
		case !slices.Contains(r.drawn, e.host) || e.effect.String() == "":
		case len(r.shown) < r.drawing.events:
			r.shown = append(r.shown, e)
		default:
			r.hidden++
		}
	}
	r.lines = r.figureLines()
	return r
}

// figures are the numbers of one host, or of all; times in seconds.
func (r *report) figures(name string) map[string]float64 {
	f := map[string]float64{}
	for _, h := range r.hosts {
		if name == "all" || name == h.name {
			r.addFigures(f, h)
		}
	}
	return f
}

func (r *report) addFigures(f map[string]float64, h *host) {
	c := r.stats[h.name]
	f["requests"] += float64(c.Requests)
	f["served"] += float64(c.PageAnswers)
	f["refusals"] += float64(c.Refusals)
	f["errors"] += float64(c.Errors5xx + c.Unanswered - (c.Refusals - c.TooMany))
	f["inside-retry-after"] += float64(c.InsideRetryAfter)
	f["at-once"] = max(f["at-once"], float64(c.MaxConcurrent))
	log := r.log[h.name]
	shortest, shrinks := 0.0, 0
	for i := 1; i < len(log); i++ {
		gap := log[i].Start.Sub(log[i-1].Start)
		if shortest == 0 || gap.Seconds() < shortest {
			shortest = gap.Seconds()
		}
		if i > 1 && gap < log[i-1].Start.Sub(log[i-2].Start) {
			shrinks++
		}
	}
	if shortest > 0 && (f["gap"] == 0 || shortest < f["gap"]) {
		f["gap"] = shortest
	}
	f["shrinks"] += float64(shrinks)
	if n := len(r.sends[h]); n > 0 {
		f["first-pace"] = max(f["first-pace"], r.sends[h][0].Pace.Seconds())
	}
	f["pace"] = max(f["pace"], h.pace.Seconds())
	f["failures"] += float64(h.state.Failures())
	for _, e := range r.events {
		if e.host != h {
			continue
		}
		if e.effect.Has(politeness.Incident) {
			f["incidents"]++
		}
		if e.effect.Has(politeness.Slowed) {
			f["steps"]++
		}
	}
	f["seen"] += float64(len(h.targets))
	for _, t := range h.targets {
		f[string(t.outcome)]++
		if t.charged {
			f["charged"]++
		}
	}
}

// expect is an expectation that must hold.
type expect struct {
	host, figure, op string
	value            float64
	text             string
}

// expect parses "HOST FIGURE OP VALUE", where a value may be a duration.
func (l *scriptLine) expect() expect {
	e := expect{host: l.arg(0), figure: l.arg(1), op: l.arg(2), text: strings.Join(l.args, " ")}
	value := l.arg(3)
	if d, err := time.ParseDuration(value); err == nil {
		e.value = d.Seconds()
	} else if n, err := strconv.ParseFloat(value, 64); err == nil {
		e.value = n
	} else {
		l.fail("%q is neither a number nor a duration", value)
	}
	return e
}

// holds reports whether the report is as expected.
func (e expect) holds(r *report) (bool, float64) {
	got := r.figures(e.host)[e.figure]
	switch e.op {
	case "=":
		return got == e.value, got
	case "<=":
		return got <= e.value, got
	case ">=":
		return got >= e.value, got
	default:
		return false, got
	}
}
