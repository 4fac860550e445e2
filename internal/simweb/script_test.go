package simweb_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"headway/internal/simweb"
	"headway/lab"
	"headway/lab/temper"
	"headway/politeness"
	"headway/weburl"
)

// script is a simulation as a person writes it, one thing a line:
//
//	clock 11:58                          the time of day when it begins
//	seed 7                               of what hosts draw
//	host NAME [pages=N] [copies=N] …     a host; copies makes NAME-1, NAME-2 …
//	  limit 2/1s [burst=N] …             below a host: a token bucket,
//	  window 60/1m …                     a sliding window,
//	  outage [from=D] [for=D] …          a time in which nothing is served,
//	  overload [in-flight=N] [rate=5/1s] [reset=yes]
//	crawl HOST… [preset=NAME] …          one job, or several with jobs=N
//	network silent|no-route from=D for=D our own end of the web goes down
//	run [for=D] [workers=N] [timeout=D]  until then, or until all is done
//	restart [pause=D]                    a clean stop and a start
//	crash [pause=D]                      a stop that loses what is under way
//	draw [every=D] [hosts=A,B] [events=N]
//	expect HOST FIGURE OP VALUE          what must hold, whatever is drawn
//	compare without=HOST within=2%       pages of the others with and without it
//
// Presets run without jitter unless a crawl asks for it.
type script struct {
	clock    time.Duration
	config   lab.Config
	hosts    []hostSpec
	latest   int // the first host of the last host line
	jobs     []*job
	networks []networkSpec
	steps    []step
	draw     drawing
	expects  []expect
	compare  *comparison
}

// hostSpec is what is known about a host apart from its profile.
type hostSpec struct {
	name, address string
	pages         int
}

// networkSpec is a time in which our own network is down.
type networkSpec struct {
	state      simweb.Network
	from, span time.Duration
}

// step is one event in the life of the process.
type step struct {
	kind    stepKind
	span    time.Duration // of a run; pause of a restart
	workers int
	timeout time.Duration
}

type stepKind string

const (
	stepRun     stepKind = "run"
	stepRestart stepKind = "restart"
	stepCrash   stepKind = "crash"
)

// comparison compares the pages of the other hosts with and without one.
type comparison struct {
	without string
	within  float64
}

// parseScript parses a script. hide names a host to leave out, if any.
func parseScript(text, hide string) (*script, error) {
	s := &script{}
	var errs []error
	for i, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		l := &scriptLine{verb: words[0], options: map[string]string{}}
		for _, w := range words[1:] {
			if k, v, ok := strings.Cut(w, "="); ok && k != "" && isOption(k) {
				l.options[k] = v
			} else {
				l.args = append(l.args, w)
			}
		}
		s.line(l)
		for k := range l.options {
			l.fail("unknown option %s", k)
		}
		if err := errors.Join(l.errs...); err != nil {
			errs = append(errs, fmt.Errorf("line %d: %q: %w", i+1, strings.TrimSpace(line), err))
		}
	}
	s.hide(hide)
	return s, errors.Join(errs...)
}

// isOption distinguishes the name of an option from an operator such as <=.
func isOption(k string) bool {
	return k[len(k)-1] >= 'a' && k[len(k)-1] <= 'z'
}

// hide removes one host from the web and all jobs.
func (s *script) hide(name string) {
	if name == "" {
		return
	}
	s.config.Hosts = slices.DeleteFunc(s.config.Hosts, func(h lab.HostSpec) bool { return h.Name == name })
	s.hosts = slices.DeleteFunc(s.hosts, func(h hostSpec) bool { return h.name == name })
	for _, j := range s.jobs {
		j.hosts = slices.DeleteFunc(j.hosts, func(h string) bool { return h == name })
	}
}

// scriptLine is a parsed line; reading an option consumes it.
type scriptLine struct {
	verb    string
	args    []string
	options map[string]string
	errs    []error
}

func (l *scriptLine) fail(format string, args ...any) {
	l.errs = append(l.errs, fmt.Errorf(format, args...))
}

func (l *scriptLine) text(name, otherwise string) string {
	v, ok := l.options[name]
	delete(l.options, name)
	if !ok {
		return otherwise
	}
	return v
}

func (l *scriptLine) number(name string, otherwise int) int {
	v := l.text(name, strconv.Itoa(otherwise))
	n, err := strconv.Atoi(v)
	if err != nil {
		l.fail("%s: %w", name, err)
	}
	return n
}

func (l *scriptLine) duration(name string, otherwise time.Duration) time.Duration {
	v := l.text(name, otherwise.String())
	d, err := time.ParseDuration(v)
	if err != nil {
		l.fail("%s: %w", name, err)
	}
	return d
}

// per parses "60/1m".
func (l *scriptLine) per(v string) (int, time.Duration) {
	if v == "" {
		return 0, 0
	}
	n, d, _ := strings.Cut(v, "/")
	count, err1 := strconv.Atoi(n)
	span, err2 := time.ParseDuration(d)
	if err := errors.Join(err1, err2); err != nil {
		l.fail("%q is not of the form 60/1m: %w", v, err)
	}
	return count, span
}

func (l *scriptLine) arg(i int) string {
	if i >= len(l.args) {
		l.fail("something is missing")
		return ""
	}
	return l.args[i]
}

func (s *script) line(l *scriptLine) {
	switch l.verb {
	case "clock":
		at, err := time.Parse("15:04", l.arg(0))
		if err != nil {
			l.fail("clock: %w", err)
		}
		s.clock = time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute
	case "seed":
		n, err := strconv.ParseUint(l.arg(0), 10, 64)
		if err != nil {
			l.fail("seed: %w", err)
		}
		s.config.Seed = n
	case "host":
		s.host(l)
	case "limit", "window", "outage", "overload":
		s.temper(l)
	case "crawl":
		s.crawl(l)
	case "network":
		n := networkSpec{from: l.duration("from", 0), span: l.duration("for", time.Minute), state: simweb.Silent}
		if l.arg(0) == "no-route" {
			n.state = simweb.NoRoute
		}
		s.networks = append(s.networks, n)
	case "run":
		s.steps = append(s.steps, step{
			kind: stepRun, span: l.duration("for", 0), workers: l.number("workers", 512), timeout: l.duration("timeout", 30*time.Second),
		})
	case "restart", "crash":
		s.steps = append(s.steps, step{kind: stepKind(l.verb), span: l.duration("pause", 0)})
	case "draw":
		s.draw = drawing{every: l.duration("every", 0), events: l.number("events", defaultEvents), hosts: splitList(l.text("hosts", ""))}
	case "expect":
		s.expects = append(s.expects, l.expect())
	case "compare":
		within, err := strconv.ParseFloat(strings.TrimSuffix(l.text("within", "2%"), "%"), 64)
		if err != nil {
			l.fail("within: %w", err)
		}
		s.compare = &comparison{without: l.text("without", ""), within: within}
	default:
		l.fail("unknown word %s", l.verb)
	}
}

func splitList(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// host parses a host and its copies.
func (s *script) host(l *scriptLine) {
	name := l.arg(0)
	t := lab.Temper{Site: small(100)}
	if known := l.text("temper", ""); known != "" {
		found, ok := lab.FindTemper(known)
		if !ok {
			l.fail("no temper %s", known)
		}
		t.Rules, t.Site.CrawlDelay = found.Rules, found.Site.CrawlDelay
	}
	t.Site.Pages = l.number("pages", t.Site.Pages)
	t.Site.CrawlDelay = l.duration("crawl-delay", t.Site.CrawlDelay)
	if err := t.Rules.Latency.Set(l.text("latency", t.Rules.Latency.String())); err != nil {
		l.fail("%w", err)
	}
	t.Rules.ErrorRate = float64(l.number("errors", int(100*t.Rules.ErrorRate))) / 100 // per cent of pages
	t.Rules.Slope = l.duration("slope", t.Rules.Slope)
	t.Rules.Queue.Service = l.duration("queue", t.Rules.Queue.Service)
	t.Rules.Queue.Longest = l.duration("longest", t.Rules.Queue.Longest)
	address, copies := l.text("address", ""), l.number("copies", 0)
	s.latest = len(s.hosts)
	for i := range max(1, copies) {
		n := name
		if copies > 0 {
			label, domain, _ := strings.Cut(name, ".")
			n = fmt.Sprintf("%s-%d.%s", label, i+1, domain)
		}
		s.config.Hosts = append(s.config.Hosts, lab.HostSpec{Name: n, Temper: t})
		s.hosts = append(s.hosts, hostSpec{name: n, address: address, pages: t.Site.Pages})
	}
}

// temper adds to the rules of the host above and its copies.
func (s *script) temper(l *scriptLine) {
	if len(s.config.Hosts) == 0 {
		l.fail("no host above")
		return
	}
	add := l.rule()
	for i := s.latest; i < len(s.config.Hosts); i++ {
		add(&s.config.Hosts[i].Temper.Rules)
	}
}

// rule parses a line below a host.
func (l *scriptLine) rule() (add func(*temper.Rules)) {
	if l.verb == "overload" {
		o := temper.Overload{InFlight: l.number("in-flight", 0), Reset: l.text("reset", "no") == "yes"}
		o.Max, o.Window = l.per(l.text("rate", ""))
		return func(r *temper.Rules) { r.Overload = o }
	}
	form, ok := forms[l.text("retry-after", "seconds")]
	if !ok {
		l.fail("retry-after: none, seconds, imf, rfc850 or asctime")
	}
	from, requests, status := l.duration("from", 0), l.number("after-requests", 0), l.number("status", 0)
	if l.verb == "outage" {
		o := temper.Outage{
			After: from, AfterRequests: requests, For: l.duration("for", 0), Every: l.duration("every", 0),
			Status: status, Form: form, Robots: l.text("robots", "no") == "yes", RetryAfter: l.duration("wait", 0),
		}
		return func(r *temper.Rules) { r.Outages = append(slices.Clone(r.Outages), o) }
	}
	limit := temper.Limit{Status: status, Form: form, After: from, AfterRequests: requests}
	n, span := l.per(l.arg(0))
	if l.verb == "window" {
		limit.Max, limit.Window = n, span
	} else if span > 0 {
		limit.Rate, limit.Burst = float64(n)/span.Seconds(), l.number("burst", 2)
	}
	return func(r *temper.Rules) { r.Limits = append(slices.Clone(r.Limits), limit) }
}

var forms = map[string]temper.Form{
	"seconds": temper.Seconds, "imf": temper.IMFDate, "rfc850": temper.RFC850Date, "asctime": temper.ANSICDate, "none": temper.None,
}

// crawl parses one job or several equal ones.
func (s *script) crawl(l *scriptLine) {
	p, ok := politeness.Preset(l.text("preset", politeness.DefaultPreset))
	if !ok {
		l.fail("no such preset")
	}
	p.Base = l.duration("base", p.Base)
	p.Spread = l.duration("spread", p.Spread)
	p.Jitter = l.number("jitter", 0)
	p.InFlight = l.number("in-flight", p.InFlight)
	if err := p.Validate(); err != nil {
		l.fail("%w", err)
	}
	j := job{
		policy: p, patience: l.duration("patience", 24*time.Hour), start: l.duration("start", 0),
		paths: splitList(l.text("paths", "")), pages: l.number("pages", 0), hosts: s.match(l),
	}
	copies := l.number("jobs", 1)
	for range copies {
		one := j
		one.hosts = slices.Clone(j.hosts)
		s.jobs = append(s.jobs, &one)
	}
}

// match returns the hosts that a crawl names; "all" is all of them, and a name with copies
// is all its copies.
func (s *script) match(l *scriptLine) (names []string) {
	for _, arg := range l.args {
		n := len(names)
		label, domain, _ := strings.Cut(arg, ".")
		for _, h := range s.hosts {
			copied := strings.HasPrefix(h.name, label+"-") && strings.HasSuffix(h.name, "."+domain)
			if arg == "all" || arg == h.name || copied {
				names = append(names, h.name)
			}
		}
		if len(names) == n {
			l.fail("no host %s", arg)
		}
	}
	return names
}

// makeHosts creates the hosts of a world.
func (s *script) makeHosts() ([]*host, error) {
	hosts := make([]*host, len(s.hosts))
	for i, spec := range s.hosts {
		u, err := weburl.Parse("http://" + spec.name + "/")
		if err != nil {
			return nil, err
		}
		hosts[i] = &host{
			name: spec.name, domain: u.Domain(), address: spec.address, pages: spec.pages,
			silent: silent(&s.config.Hosts[i].Temper.Rules),
		}
	}
	return hosts, nil
}

// silent reports whether a host never sends Retry-After.
func silent(r *temper.Rules) bool {
	return r.ErrorRate == 0 &&
		!slices.ContainsFunc(r.Limits, func(l temper.Limit) bool { return l.Form != temper.None }) &&
		!slices.ContainsFunc(r.Outages, func(o temper.Outage) bool { return o.Form != temper.None })
}

func TestScriptErrors(t *testing.T) {
	for name, text := range map[string]string{
		"unknown word":   "hosts a.example",
		"unknown option": "host a.example page=3",
		"no host above":  "limit 1/2s",
		"no such host":   "host a.example\ncrawl b.example",
		"no such preset": "host a.example\ncrawl a.example preset=rude",
		"bad duration":   "host a.example\ncrawl a.example\nrun for=1",
		"bad rate":       "host a.example\n  limit often",
		"bad form":       "host a.example\n  limit 1/2s retry-after=soon",
		"bad temper":     "host a.example temper=angelic",
		"short expect":   "host a.example\nexpect a.example refusals",
		"bad value":      "host a.example\nexpect a.example refusals <= few",
		"bad clock":      "clock noon",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parseScript(text, ""); err == nil {
				t.Error("accepted")
			}
		})
	}
}
