package check

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"headway/job"
	"headway/store"
	"headway/store/memory"
	"headway/visit"
	"headway/weburl"
)

// TestOf checks the verdict for every way a URL can end.
func TestOf(t *testing.T) {
	want := map[visit.Outcome]Verdict{
		visit.Fetched: OK, visit.NotModified: OK, visit.Redirected: OK, visit.Dead: Dead, visit.ServerError: Unknown, visit.Throttled: Throttled,
		visit.Blocked: Blocked, visit.Deferred: Unknown, visit.Failed: Unknown, visit.Skipped: NotAsked, visit.Pending: Waiting,
	}
	other := map[visit.Reason]Verdict{
		visit.RedirectLoop: Broken, visit.DNS: Dead, visit.RobotsDisallow: Unknown, visit.RobotsUnreachable: Unknown, visit.CrawlDelayTooLong: Unknown,
		visit.BadPort: Unknown, visit.PrivateAddress: Unknown, visit.BudgetHost: Unknown,
	}
	for _, o := range visit.Outcomes {
		reasons := visit.Reasons[o]
		if reasons == nil {
			reasons = []visit.Reason{""}
		}
		for _, r := range reasons {
			expect := want[o]
			if v, ok := other[r]; ok {
				expect = v
			}
			if got := Of(&store.Entry{Outcome: o, Reason: r}); got != expect {
				t.Errorf("%s %s: %s, want %s", o, r, got, expect)
			}
		}
	}
	for detail, expect := range map[string]Verdict{
		`look up "x.example": no such name`: Dead, `look up "x.example": name without an address`: Dead,
		`look up "x.example": name server failure`: Unknown, `look up "x.example": timeout`: Unknown,
	} {
		if got := Of(&store.Entry{Outcome: visit.Failed, Reason: visit.DNS, Visit: &visit.Visit{Detail: detail}}); got != expect {
			t.Errorf("%s: %s, want %s", detail, got, expect)
		}
	}
}

func TestFailOn(t *testing.T) {
	for f, want := range map[FailOn][]Verdict{FailOnDead: {Dead}, FailOnBroken: {Dead, Broken}, FailOnNone: nil} {
		for _, v := range Verdicts {
			if got := f.Fails(v); got != slices.Contains(want, v) {
				t.Errorf("%s on %s: %v", f, v, got)
			}
		}
	}
}

func mustURL(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// page is a visit of a page with links.
func page(t testing.TB, o visit.Outcome, raw string, links ...string) *visit.Visit {
	t.Helper()
	v := &visit.Visit{Item: visit.Item{URL: mustURL(t, raw)}, Outcome: o}
	for _, l := range links {
		v.Links = append(v.Links, visit.Link{URL: mustURL(t, l), Kind: "a"})
	}
	return v
}

// write adds visits to a log, as one run does.
func write(t testing.TB, path string, visits ...*visit.Visit) {
	t.Helper()
	l, err := OpenLog(path, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range visits {
		if err := l.Write(t.Context(), v); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSources finds what leads to a link, with changed pages, redirects and a
// truncated line.
func TestSources(t *testing.T) {
	const a = "http://a.example/"
	path := filepath.Join(t.TempDir(), "links.jsonl")
	of := func(found visit.FoundBy, raw, via string) Source {
		t.Helper()
		e := &store.Entry{Item: visit.Item{URL: mustURL(t, raw), Found: found}}
		if via != "" {
			e.Item.Via = mustURL(t, via)
		}
		s, err := readSources(path, []*store.Entry{e}, func(u string) *store.Entry {
			return &store.Entry{Item: visit.Item{URL: mustURL(t, u), Found: visit.FoundLink, Via: mustURL(t, a+"1")}}
		})
		if err != nil {
			t.Fatal(err)
		}
		return s.of(e)
	}
	if s := of(visit.FoundLink, a+"x", a+"1"); s.Gone || !slices.Equal(s.Pages, []string{a + "1"}) {
		t.Errorf("without a log: %+v", s)
	}
	write(t, path, page(t, visit.Fetched, a+"1", a+"x", a+"x", a+"r"), page(t, visit.Fetched, a+"2", a+"x"), page(t, visit.Redirected, a+"r", a+"y"), page(t, visit.Fetched, a+"leaf"))
	if s := of(visit.FoundLink, a+"x", a+"1"); !slices.Equal(s.Pages, []string{a + "1", a + "2"}) || s.More != 0 {
		t.Errorf("two pages: %+v", s)
	}
	if s := of(visit.FoundRedirect, a+"y", a+"r"); !slices.Equal(s.Pages, []string{a + "1"}) || !slices.Equal(s.Redirects, []string{a + "r"}) {
		t.Errorf("a redirect: %+v", s)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"page":"http://a.example/3","li`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	write(t, path, page(t, visit.Fetched, a+"1", a+"r"), page(t, visit.Dead, a+"2"))
	if s := of(visit.FoundLink, a+"x", a+"1"); !s.Gone {
		t.Errorf("no page has it any more: %+v", s)
	}
	if s := of(visit.FoundSeed, a+"x", ""); s.Gone {
		t.Errorf("a seed: %+v", s)
	}
	if s := of(visit.FoundSitemap, a+"x", a+"1"); s.Gone {
		t.Errorf("of a sitemap: %+v", s)
	}
	write(t, path, page(t, visit.Fetched, a+"1"))
	if s := of(visit.FoundRedirect, a+"y", a+"r"); !s.Gone {
		t.Errorf("nothing links to the redirect any more: %+v", s)
	}
	// Outdated lines are removed when the file is opened next.
	for range 5 {
		write(t, path, page(t, visit.Fetched, a+"1", a+"x"))
	}
	write(t, path)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(data), a+`1"`); n > 2 {
		t.Errorf("%d lines of one page:\n%s", n, data)
	}
	if s := of(visit.FoundLink, a+"x", a+"2"); !slices.Equal(s.Pages, []string{a + "1"}) {
		t.Errorf("after all: %+v", s)
	}
}

// TestReport reads a small job twice: the verdicts, and the URLs to check again.
func TestReport(t *testing.T) {
	const a = "http://a.example/"
	ctx, now := t.Context(), time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)
	st := memory.Open(memory.Config{})
	id, err := st.CreateJob(ctx, store.Job{Name: "crawl", State: job.Running, CreatedAt: now})
	if err != nil {
		t.Fatal(err)
	}
	item := func(raw string) visit.Item {
		return visit.Item{Job: id, URL: mustURL(t, raw), Via: mustURL(t, a), Found: visit.FoundLink, Depth: 1}
	}
	ends := map[string]store.Ending{
		a: {Outcome: visit.Fetched}, a + "ok": {Outcome: visit.Fetched}, a + "dead": {Outcome: visit.Dead}, a + "busy": {Outcome: visit.Throttled},
		a + "login": {Outcome: visit.Blocked}, a + "loop": {Outcome: visit.Failed, Reason: visit.RedirectLoop}, a + "slow": {Outcome: visit.Failed, Reason: visit.Timeout},
		"http://gone.example/": {Outcome: visit.Failed, Reason: visit.DNS}, a + "old": {Outcome: visit.Dead},
	}
	var found []store.Found
	c := store.Commit{Number: 1, At: now}
	for raw, e := range ends {
		found = append(found, store.Found{Item: item(raw)})
		v := visit.Visit{Item: item(raw), Outcome: e.Outcome, Reason: e.Reason, Detail: "look up: no such name"}
		if e.Outcome == visit.Dead {
			v.Answer.Status = 404
		}
		c.Visits = append(c.Visits, v)
	}
	found = append(found, store.Found{Item: item(a + "nofollow"), Outcome: visit.Skipped, Reason: visit.Nofollow}, store.Found{Item: item(a + "waits")})
	if _, err := st.Add(ctx, now, found); err != nil {
		t.Fatal(err)
	}
	if c.Worker, err = st.Join(ctx, now, "w"); err != nil {
		t.Fatal(err)
	}
	if c.Leases, err = st.Acquire(ctx, now, c.Worker, store.SlotCount); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Commit(ctx, c); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "links.jsonl")
	write(t, path, page(t, visit.Fetched, a, a+"ok", a+"dead", a+"busy", a+"login", a+"loop", a+"slow", "http://gone.example/"))
	r, err := New(ctx, st, store.Job{ID: id, State: job.Partial, Reason: "pages"}, path, FailOnDead)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.Sum(), "links 11 = 2 ok + 2 dead + 1 broken + 1 throttled + 1 blocked + 1 unknown + 1 not asked + 1 waiting + 1 unlinked"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if !r.Failed {
		t.Error("dead links, and the check passes")
	}
	var text strings.Builder
	if err := r.Print(&text); err != nil {
		t.Fatal(err)
	}
	if want := "dead 2\n  404  http://a.example/dead\n    on http://a.example/\n  host name does not exist  http://gone.example/\n    on http://a.example/\nbroken 1 (redirect loop or too many redirects)\n  redirect_loop  http://a.example/loop\n"; !strings.HasPrefix(text.String(), want) {
		t.Errorf("it says:\n%s", &text)
	}

	again := Rerun{Store: st, Job: id, Log: path, Recheck: time.Hour, NoSuchHost: func(_ context.Context, u weburl.URL) bool { return u.Hostname() == "gone.example" }}
	n, err := again.Reopen(ctx, now.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	// dead, busy, login, loop, slow, and the page with these links; not the host that
	// still does not exist, and not URLs that nothing links to.
	if n != 6 {
		t.Errorf("%d are requested again", n)
	}
	counts, err := st.Counts(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if counts.Waiting != 7 || counts.Ended[store.Ending{Outcome: visit.Dead}] != 1 || counts.Ended[store.Ending{Outcome: visit.Fetched}] != 1 {
		t.Errorf("%+v", counts)
	}
	if n, err = again.Reopen(ctx, now.Add(2*time.Hour)); err != nil || n != 1 {
		t.Errorf("what was ok too long ago: %d, %v", n, err)
	}
}

// TestWorkflow parses the CI example of the guide.
func TestWorkflow(t *testing.T) {
	data, err := os.ReadFile("../../docs/guide/check.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(data), "```yaml\n")
	text, _, closed := strings.Cut(rest, "\n```")
	if !ok || !closed {
		t.Fatal("the guide has no workflow")
	}
	var w struct {
		Name string         `yaml:"name"`
		On   map[string]any `yaml:"on"`
		Jobs map[string]struct {
			RunsOn string            `yaml:"runs-on"`
			Env    map[string]string `yaml:"env"`
			Steps  []struct {
				Uses string         `yaml:"uses"`
				Run  string         `yaml:"run"`
				If   string         `yaml:"if"`
				With map[string]any `yaml:"with"`
			} `yaml:"steps"`
		} `yaml:"jobs"`
	}
	if err := yaml.Unmarshal([]byte(text), &w); err != nil {
		t.Fatal(err)
	}
	j, ok := w.Jobs["check"]
	if !ok || w.Name == "" || len(w.On) == 0 || j.RunsOn == "" || j.Env["HEADWAY_CONTACT"] == "" {
		t.Fatalf("%+v", w)
	}
	checks := 0
	for i, s := range j.Steps {
		if (s.Uses == "") == (s.Run == "") {
			t.Errorf("step %d uses %q and runs %q", i, s.Uses, s.Run)
		}
		if s.Uses != "" && !strings.Contains(s.Uses, "@") {
			t.Errorf("step %d uses %s of no version", i, s.Uses)
		}
		if strings.Contains(s.Run, " check ") {
			checks++
		}
	}
	if checks != 1 {
		t.Errorf("%d steps check links", checks)
	}
}

// TestWord checks the words for results, and for links that were not checked.
func TestWord(t *testing.T) {
	for _, test := range []struct {
		link Link
		want string
	}{
		{Link{Verdict: Dead, Outcome: visit.Dead, Status: 404}, "404"},
		{Link{Verdict: Dead, Outcome: visit.Failed, Reason: visit.DNS}, "host name does not exist"},
		{Link{Verdict: Unknown, Outcome: visit.Failed, Reason: visit.Connect}, "connect"},
		{Link{Verdict: Unknown, Outcome: visit.Skipped, Reason: visit.RobotsDisallow}, "not checked (disallowed by robots.txt)"},
		{Link{Verdict: Unknown, Outcome: visit.Skipped, Reason: visit.RobotsUnreachable}, "not checked (robots.txt unreachable)"},
		{Link{Verdict: Unknown, Outcome: visit.Skipped, Reason: visit.CrawlDelayTooLong}, "not checked (Crawl-delay too long)"},
		{Link{Verdict: Unknown, Outcome: visit.Deferred}, "deferred"},
	} {
		if got := test.link.Word(); got != test.want {
			t.Errorf("%s %s: got %q, want %q", test.link.Outcome, test.link.Reason, got, test.want)
		}
	}
}
