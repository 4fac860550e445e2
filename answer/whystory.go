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

// writeStory writes the answer in sentences, in the order of the stages of a URL.
func (x *explainer) writeStory() {
	w := &x.why
	say := func(format string, args ...any) { w.Story = append(w.Story, fmt.Sprintf(format, args...)) }
	if n := len(w.Steps); n > 0 {
		reasons := make([]string, n)
		for i, s := range w.Steps {
			reasons[i] = s.Reason
		}
		say("Normalised to %s: %s.", w.URL, strings.Join(reasons, "; "))
	}
	switch {
	case !w.Seen:
		x.storyUnseen(say)
	case w.Counted:
		say("A page of the crawl links to it. Out-of-scope URLs are counted but not followed; the linking page is not stored.")
	default:
		x.storyFound(say)
		x.storyEnding(say)
	}
	x.storyNow(say)
}

func (x *explainer) storyFound(say func(string, ...any)) {
	w, d := &x.why, x.why.Found
	switch d.By {
	case visit.FoundSeed:
		say("It is a seed, first seen %s.", clock(w.SeenAt))
	case visit.FoundSitemap:
		say("Listed in the sitemap %s; first seen %s.", d.On, clock(w.SeenAt))
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
		from := "Path from the seed"
		switch {
		case d.Cut:
			from = "Last part of the path"
		case d.Chain[n-1].By == "":
			from = "Path from the sitemap"
		}
		say("%s: %s.", from, strings.Join(way, " → "))
	}
}

func (x *explainer) storyEnding(say func(string, ...any)) {
	w := &x.why
	if w.Scope != nil && w.Scope.In {
		say("It is in scope: %s.", scopeWords(w.Scope.Rule))
	}
	x.storyRobots(say)
	x.storyAttempts(say)
	switch w.Outcome {
	case visit.Skipped:
		switch {
		case w.Reason == visit.BudgetBytes:
			say("Its body was not read: %s.", w.Rule)
		case w.Robots == nil || w.Robots.Rule == "": // which was mentioned already
			say("It was not requested: %s.", w.Rule)
		}
	case visit.Failed:
		say("It failed: %s.", w.Rule)
	case visit.Deferred:
		say("It was deferred: %s.", w.Rule)
	case visit.Pending:
		x.storyWait(say)
	case visit.Redirected:
		say("The redirect target is a separate URL with its own outcome.")
	case visit.Throttled:
		say("The host refused every attempt. The page may still exist; try again later.")
	case visit.Blocked:
		say("The page may exist, but access was blocked: %s.", w.Rule)
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

// scopeWords describes a rule that includes a URL.
func scopeWords(rule string) string {
	words := map[string]string{
		"host": "its host is a seed host", "domain": "its domain is a seed domain", "prefix": "it is inside a seed folder",
		"list": "its host is in the host list", "any": "every host is in scope", "seed": "it is a seed, or a seed redirects to it",
	}
	if w := words[rule]; w != "" {
		return w
	}
	return rule
}

func (x *explainer) storyRobots(say func(string, ...any)) {
	r := x.why.Robots
	if r == nil {
		for _, e := range x.why.Evidence {
			if e.Kind == visit.Override {
				say("robots.txt was ignored with the host owner's permission.")
			}
		}
		return
	}
	read := ""
	if !r.FetchedAt.IsZero() {
		read = ", fetched " + clock(r.FetchedAt) + ","
	}
	switch {
	case r.Rule != "" && r.Allowed:
		say("robots.txt%s allows it: %q in line %d, group %s.", read, r.Rule, r.Line, r.Group)
	case r.Rule != "":
		say("robots.txt%s disallows it: %q in line %d, group %s.", read, r.Rule, r.Line, r.Group)
	case r.Reason == string(robots.NoFile):
		say("The host has no robots.txt.")
	case r.Reason == string(robots.NoRule):
		say("robots.txt%s has no rule that matches it.", read)
	case r.Allowed:
		say("robots.txt: %s.", strings.ReplaceAll(r.Reason, "_", " "))
	}
	if r.CrawlDelay > 0 {
		say("robots.txt sets a Crawl-delay of %s.", short(r.CrawlDelay.Duration()))
	}
}

// maxAttempts is how many attempts are described in sentences.
const maxAttempts = 6

func (x *explainer) storyAttempts(say func(string, ...any)) {
	for i := range x.why.Attempts {
		a := &x.why.Attempts[i]
		if n := len(x.why.Attempts); n > maxAttempts && i >= maxAttempts/2 && i < n-maxAttempts/2 {
			if i == maxAttempts/2 {
				say("And %s more.", times(n-maxAttempts, "attempt"))
			}
			continue
		}
		what := fmt.Sprintf("status %d", a.Status)
		if a.Status == 0 {
			what = "no response"
		}
		if a.ContentType != "" {
			what += ", " + a.ContentType
		}
		if a.Location != "" {
			what += ", redirect to " + a.Location
		}
		if a.RetryAfter != "" {
			what += ", Retry-After: " + a.RetryAfter
		}
		if a.Detail != "" {
			what += ", " + a.Detail
		}
		at := "not sent"
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
		d    ask.Seconds
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

func (x *explainer) storyWait(say func(string, ...any)) {
	t := x.why.Wait
	switch {
	case t.Where == ask.PlaceInFlight:
		say("It is in flight: sent %s ago, no response stored yet.", roundMillis(t.InFlight.Duration()))
	case t.Paused:
		say("An operator has paused its host; headway host resume %s resumes it.", x.URL.Host())
	case t.Until.IsZero():
		say("It is waiting for %s.", x.waitsFor())
	default:
		say("It is waiting for %s; the next request to its host is due at %s.", x.waitsFor(), clock(t.Until))
	}
	if t.Ahead != nil {
		least := ""
		if t.Least {
			least = "at least "
		}
		switch *t.Ahead {
		case 0:
			say("It is next in the queue of its host.")
		default:
			say("In the queue of its host %s%s before it, so its turn comes in %s%s (estimate: %s per URL).", least, urlsAre(*t.Ahead), least,
				t.Turn.Sub(x.Now).Round(time.Second), t.Host.Pace.Duration())
		}
	}
	if t.Note != "" {
		say("%s.", strings.ToUpper(t.Note[:1])+t.Note[1:])
	}
}

// urlsAre formats a count of URLs with its verb.
func urlsAre(n int64) string {
	if n == 1 {
		return "1 URL is"
	}
	return fmt.Sprintf("%d URLs are", n)
}

func (x *explainer) storyUnseen(say func(string, ...any)) {
	w := &x.why
	say("This crawl has not seen it.")
	switch {
	case w.Scope != nil && !w.Scope.In:
		say("A link to it would not be followed: %s (%s).", w.Scope.Rule, w.Scope.Reason)
	case w.Scope != nil:
		say("It is in scope, so no fetched page or sitemap links to exactly this URL.")
	}
	if x.Job.State != job.Complete {
		say("The crawl is %s: pages not fetched yet may link to it.", x.Job.State)
	}
	for _, n := range w.Near {
		end := string(n.Outcome)
		if n.Reason != "" {
			end += ": " + string(n.Reason)
		}
		say("The crawl has seen %s (%s), %s.", n.URL, end, strings.Replace(n.How, "similar", "which is similar", 1))
	}
}

func (x *explainer) storyNow(say func(string, ...any)) {
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
		first := "Nothing would block it now"
		switch {
		case x.why.Outcome == visit.Pending:
			first = "Nothing else blocks it"
		case !x.why.Seen:
			first = "If a page linked to it, nothing would block it now"
		}
		say("%s (checked: opt-outs, scope, robots.txt, limits). The server's response is unknown.", first)
	case Stopped:
		say("It would be blocked now: %s.", strings.Join(stops, "; "))
	case Unknown:
		say("Unknown whether it would be fetched now: %s.", strings.Join(unknown, "; "))
	}
}
