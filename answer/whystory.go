package answer

import (
	"fmt"
	"strings"
	"time"

	"headway/ask"
	"headway/job"
	"headway/robots"
	"headway/visit"
)

// tell puts the answer into sentences, in the order of the journey.
func (x *explainer) tell() {
	w := &x.why
	say := func(format string, args ...any) { w.Story = append(w.Story, fmt.Sprintf(format, args...)) }
	if n := len(w.Steps); n > 0 {
		reasons := make([]string, n)
		for i, s := range w.Steps {
			reasons[i] = s.Reason
		}
		say("What you typed is known as %s: %s.", w.URL, strings.Join(reasons, "; "))
	}
	switch {
	case !w.Seen:
		x.tellUnseen(say)
	case w.Counted:
		say("A page of the crawl links to it. URLs out of scope are counted and not followed; on which page it stood is not kept.")
	default:
		x.tellFound(say)
		x.tellEnding(say)
	}
	x.tellNow(say)
}

func (x *explainer) tellFound(say func(string, ...any)) {
	w, d := &x.why, x.why.Found
	switch d.By {
	case visit.FoundSeed:
		say("It is a seed of the crawl, first seen %s.", clock(w.SeenAt))
	case visit.FoundSitemap:
		say("The sitemap %s names it; first seen %s.", d.On, clock(w.SeenAt))
	case visit.FoundRedirect:
		say("%s redirects to it (%s from a seed, %s in a row); first seen %s.", d.On, times(d.Depth, "link"), times(d.Hops, "redirect"), clock(w.SeenAt))
	default:
		say("Found on %s, %s from a seed; first seen %s.", d.On, times(d.Depth, "link"), clock(w.SeenAt))
	}
	if n := len(d.Chain); n > 1 {
		way := make([]string, 0, n)
		for i := n - 1; i >= 0; i-- {
			way = append(way, d.Chain[i].URL)
		}
		from := "The way from the seed"
		switch {
		case d.Cut:
			from = "The last part of the way"
		case d.Chain[n-1].By == "":
			from = "The way from the sitemap"
		}
		say("%s: %s.", from, strings.Join(way, " → "))
	}
}

func (x *explainer) tellEnding(say func(string, ...any)) {
	w := &x.why
	if w.Scope != nil && w.Scope.In {
		say("It is in scope: %s.", scopeWords(w.Scope.Rule))
	}
	x.tellRobots(say)
	x.tellAttempts(say)
	switch w.Outcome {
	case visit.Skipped:
		switch {
		case w.Reason == visit.BudgetBytes:
			say("It was not read: %s.", w.Rule)
		case w.Robots == nil || w.Robots.Rule == "": // which has said so
			say("It was not asked for: %s.", w.Rule)
		}
	case visit.Failed:
		say("It failed: %s.", w.Rule)
	case visit.Deferred:
		say("It was put off: %s.", w.Rule)
	case visit.Pending:
		x.tellWait(say)
	case visit.Redirected:
		say("A redirect is a link: where it leads has an answer of its own.")
	case visit.Throttled:
		say("The host refused it each time. That does not mean that the page is gone; asking again later may bring it.")
	case visit.Blocked:
		say("The page may well exist: %s.", w.Rule)
	case visit.Fetched, visit.NotModified, visit.Dead, visit.ServerError:
	}
	if x.noise != "" {
		say("About its host: %s.", x.noise)
	}
	if b := w.Budget; b != nil && !strings.Contains(w.Rule, b.Text) {
		say("The limit is %s.", b.Text)
	}
	if s := provisionalWords(w.Reason); s != "" {
		say("%s", s)
	}
}

// scopeWords says a rule that lets a URL in.
func scopeWords(rule string) string {
	words := map[string]string{
		"host": "its host is one of the seeds' hosts", "domain": "its domain is one of the seeds' domains", "prefix": "it lies below the folder of a seed",
		"list": "its host is on the list", "any": "every host is", "seed": "it was asked for by name, or a seed redirects to it",
	}
	if w := words[rule]; w != "" {
		return w
	}
	return rule
}

func (x *explainer) tellRobots(say func(string, ...any)) {
	r := x.why.Robots
	if r == nil {
		for _, e := range x.why.Evidence {
			if e.Kind == visit.Override {
				say("robots.txt was left unread on the word of the host's owner.")
			}
		}
		return
	}
	read := ""
	if !r.FetchedAt.IsZero() {
		read = ", read " + clock(r.FetchedAt) + ","
	}
	switch {
	case r.Rule != "" && r.Allowed:
		say("robots.txt%s allows it: %q in line %d, group %s.", read, r.Rule, r.Line, r.Group)
	case r.Rule != "":
		say("robots.txt%s forbids it: %q in line %d, group %s.", read, r.Rule, r.Line, r.Group)
	case r.Reason == string(robots.NoFile):
		say("The host has no robots.txt.")
	case r.Reason == string(robots.NoRule):
		say("robots.txt%s has no line about it.", read)
	case r.Allowed:
		say("robots.txt: %s.", strings.ReplaceAll(r.Reason, "_", " "))
	}
	if r.CrawlDelayMS > 0 {
		say("It asks for %s between requests (Crawl-delay).", short(time.Duration(r.CrawlDelayMS)*time.Millisecond))
	}
}

// maxAttempts is how many attempts are told in sentences.
const maxAttempts = 6

func (x *explainer) tellAttempts(say func(string, ...any)) {
	for i := range x.why.Attempts {
		a := &x.why.Attempts[i]
		if n := len(x.why.Attempts); n > maxAttempts && i >= maxAttempts/2 && i < n-maxAttempts/2 {
			if i == maxAttempts/2 {
				say("And %s more like these.", times(n-maxAttempts, "attempt"))
			}
			continue
		}
		what := fmt.Sprintf("status %d", a.Status)
		if a.Status == 0 {
			what = "no answer"
		}
		if a.ContentType != "" {
			what += ", " + a.ContentType
		}
		if a.Location != "" {
			what += ", to " + a.Location
		}
		if a.RetryAfter != "" {
			what += ", Retry-After: " + a.RetryAfter
		}
		if a.Detail != "" {
			what += ", " + a.Detail
		}
		at := "never sent"
		if !a.Sent.IsZero() {
			at = "sent " + clock(a.Sent)
		}
		say("Attempt %d, %s: %s%s.", a.N, at, what, timingWords(a))
	}
}

// timingWords says where the time of an attempt went.
func timingWords(a *Attempt) string {
	var parts []string
	for _, p := range []struct {
		name string
		d    ask.Millis
	}{{"dns", a.DNS}, {"connect", a.Connect}, {"tls", a.TLS}, {"first byte", a.FirstByte}, {"total", a.Total}} {
		if p.d > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", p.name, roundMillis(p.d.Duration())))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func roundMillis(d time.Duration) time.Duration {
	if d < time.Millisecond {
		return d.Round(time.Microsecond)
	}
	return d.Round(time.Millisecond)
}

func (x *explainer) tellWait(say func(string, ...any)) {
	t := x.why.Wait
	switch {
	case t.Where == ask.PlaceInFlight:
		say("It is in flight: asked %s ago, not answered or not stored yet.", roundMillis(t.InFlight.Duration()))
	case t.Paused:
		say("An operator has paused its host: headway host resume %s goes on with it.", x.URL.Host())
	case t.Until.IsZero():
		say("It waits for %s.", x.waitsFor())
	default:
		say("It waits for %s; the next turn of its host is at %s.", x.waitsFor(), clock(t.Until))
	}
	if t.Ahead != nil {
		least := ""
		if t.Least {
			least = "at least "
		}
		switch *t.Ahead {
		case 0:
			say("No URL of its host goes before it: that turn is its own.")
		default:
			say("Of its host %s%s before it: its own turn comes %sin %s (a guess: one pace of %s each).", least, goes(*t.Ahead), least,
				t.Turn.Sub(x.Now).Round(time.Second), t.Host.Pace.Duration())
		}
	}
	if t.Note != "" {
		say("%s.", strings.ToUpper(t.Note[:1])+t.Note[1:])
	}
}

// goes counts URLs that go.
func goes(n int64) string {
	if n == 1 {
		return "1 URL goes"
	}
	return fmt.Sprintf("%d URLs go", n)
}

func (x *explainer) tellUnseen(say func(string, ...any)) {
	w := &x.why
	say("This crawl has never seen it.")
	switch {
	case w.Scope != nil && !w.Scope.In:
		say("A link to it would not have been followed: %s (%s).", w.Scope.Rule, w.Scope.Reason)
	case w.Scope != nil:
		say("It would be in scope, so no page or sitemap that was read names it in this spelling.")
	}
	if x.Job.State != job.Complete {
		say("The crawl is %s: pages that were not read yet may name it.", x.Job.State)
	}
	for _, n := range w.Near {
		end := string(n.Outcome)
		if n.Reason != "" {
			end += ": " + string(n.Reason)
		}
		say("The crawl knows %s (%s), %s.", n.URL, end, strings.Replace(n.How, "similar", "which is similar", 1))
	}
}

func (x *explainer) tellNow(say func(string, ...any)) {
	n := x.why.Now
	var stops, unknown []string
	for _, c := range n.Checks {
		switch c.Pass {
		case Stopped:
			stops = append(stops, c.Rule)
		case Unknown:
			unknown = append(unknown, c.Rule)
		case Passes:
		}
	}
	switch n.Pass {
	case Passes:
		first := "It would pass now"
		switch {
		case x.why.Outcome == visit.Pending:
			first = "Nothing else keeps it back"
		case !x.why.Seen:
			first = "If a page named it, it would pass now"
		}
		say("%s: neither opt-outs, scope, robots.txt nor limits stand in the way. What the server would answer is not known.", first)
	case Stopped:
		say("It would not pass now: %s.", strings.Join(stops, "; "))
	case Unknown:
		say("Whether it would pass now is not known: %s.", strings.Join(unknown, "; "))
	}
}
