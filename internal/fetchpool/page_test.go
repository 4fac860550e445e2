package fetchpool_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"headway/fetch"
	"headway/frontier"
	"headway/internal/fetchpool"
	"headway/output"
	"headway/robots"
	"headway/scope"
	"headway/store/journal"
	"headway/visit"
	"headway/weburl"
)

var html = http.Header{"Content-Type": {"text/html"}}

// TestPage fetches a page: the schedule learns when it was sent, the loop gets the visit
// and its links.
func TestPage(t *testing.T) {
	in(t, nil, func(r *rig) {
		r.replies[host+"/a"] = reply{header: html, body: `<a href="/b">b</a><a href="http://b.example/">out</a>`, takes: 200 * time.Millisecond}
		began := r.loop.Now()
		r.Start(r.work, r.task(frontier.Page, "/a"))
		if r.Busy() != 1 {
			t.Errorf("%d busy", r.Busy())
		}
		r.settle()
		l := r.page()
		if l.LocalErr != nil || l.Skipped || l.Visit.Outcome != visit.Fetched || len(l.Visit.Evidence) == 0 {
			t.Errorf("landed %+v with %+v", l, l.Visit)
		}
		if len(l.Links) != 2 || l.Links[0].Outcome != "" || l.Links[1].Reason != visit.OutOfScope {
			t.Errorf("links %+v", l.Links)
		}
		if l.Answer.Latency != 200*time.Millisecond || l.Wire == 0 || !l.Sent.Equal(began) {
			t.Errorf("answered after %v with %d bytes, sent at %v", l.Answer.Latency, l.Wire, l.Sent)
		}
		if !slices.Equal(r.looked, []bool{true, false}) || len(r.sent) != 1 || !r.sent[0].Equal(began) {
			t.Errorf("the schedule learned of the lookups %v and the requests %v", r.looked, r.sent)
		}
		if r.ReportHeard(r.loop.Now()); !r.heard.Equal(began.Add(200 * time.Millisecond)) {
			t.Errorf("last response at %v", r.heard)
		}
	})
}

// TestVisitLinks leaves the links of a page in its visit if the job keeps them or an output
// may read them.
func TestVisitLinks(t *testing.T) {
	for name, tt := range map[string]struct {
		kept bool // by the job
		read bool // by outputs
		want int
	}{"unused": {}, "kept": {kept: true, want: 2}, "read": {read: true, want: 2}} {
		t.Run(name, func(t *testing.T) {
			in(t, func(c *fetchpool.Config) { c.ReadLinks = tt.read }, func(r *rig) {
				for _, path := range []string{"/a", "/b"} {
					r.replies[host+path] = reply{header: html, body: `<a href="` + path + `1">x</a><a href="` + path + `2">x</a>`}
					task := r.task(frontier.Page, path)
					task.Job.Links = tt.kept
					r.Start(r.work, task)
					r.settle()
				}
				for _, l := range r.pages {
					v := l.Visit
					if len(v.Links) != tt.want || (v.Page.Links != nil) != tt.kept || len(l.Links) != 2 {
						t.Errorf("%s: %d links in the visit, kept %+v, %d to be stored", v.Item.URL, len(v.Links), v.Page.Links, len(l.Links))
					}
					for i, x := range v.Links {
						if x.URL != l.Links[i].Item.URL {
							t.Errorf("%s links to %s, want %s", v.Item.URL, x.URL, l.Links[i].Item.URL)
						}
					}
				}
			})
		})
	}
}

// TestReadLinks asks outputs whether they read the links of visits.
func TestReadLinks(t *testing.T) {
	type writer struct{ output.Writer }
	type reader struct {
		output.Writer
		output.LinkReader
	}
	for name, tt := range map[string]struct {
		outputs []output.Writer
		want    bool
	}{
		"none":        {},
		"not said":    {[]output.Writer{writer{}}, true},
		"not":         {[]output.Writer{reader{LinkReader: reads(false)}}, false},
		"one of them": {[]output.Writer{reader{LinkReader: reads(false)}, reader{LinkReader: reads(true)}}, true},
	} {
		if got := fetchpool.ReadLinks(tt.outputs); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

type reads bool

func (r reads) ReadsLinks() bool { return bool(r) }

// TestNotRequested covers pages for which no request is sent.
func TestNotRequested(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(r *rig, t *fetchpool.Task)
		want   func(l *fetchpool.Page) bool
	}{
		"disallowed": {
			func(r *rig, t *fetchpool.Task) { t.Robots = r.file("User-agent: *\nDisallow: /a") },
			func(l *fetchpool.Page) bool { return l.Skipped && l.Visit.Reason == visit.RobotsDisallow },
		},
		"a dry run": {
			func(_ *rig, t *fetchpool.Task) { t.Job.DryRun = true },
			func(l *fetchpool.Page) bool { return l.Skipped && l.Visit.Outcome == visit.Deferred },
		},
		"only judged": {
			func(_ *rig, t *fetchpool.Task) { t.JudgeOnly = true },
			func(l *fetchpool.Page) bool { return l.Judged && !l.Skipped },
		},
		"robots.txt lost": {
			func(_ *rig, t *fetchpool.Task) { t.Robots.Sum[0]++ },
			func(l *fetchpool.Page) bool { return l.RobotsLost && l.LocalErr == nil },
		},
		"no earlier crawl": {
			func(_ *rig, t *fetchpool.Task) { t.Job.Known = noMemory{} },
			func(l *fetchpool.Page) bool { return errors.Is(l.LocalErr, errTest) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, nil, func(r *rig) {
				task := r.task(frontier.Page, "/a")
				tt.change(r, &task)
				r.Start(r.work, task)
				r.settle()
				if l := r.page(); !tt.want(&l) || len(r.requests) > 0 {
					t.Errorf("landed %+v with %+v, requested %q", l, l.Visit, r.requests)
				}
			})
		})
	}
}

// noMemory is an earlier crawl that cannot be read.
type noMemory struct{ emptyStore }

func (noMemory) Remember(context.Context, *visit.Item) error { return errTest }

// TestIgnoredRobots fetches what robots.txt disallows, and records that.
func TestIgnoredRobots(t *testing.T) {
	in(t, nil, func(r *rig) {
		task := r.task(frontier.Page, "/a")
		task.Robots, task.IgnoreRobots = r.file("User-agent: *\nDisallow: /"), true
		r.Start(r.work, task)
		r.settle()
		if v := r.page().Visit; v.Outcome != visit.Fetched || v.Evidence[0].Kind != visit.Override {
			t.Errorf("%+v", v)
		}
	})
}

// TestLeaf reads the beginning of a page whose links are not followed.
func TestLeaf(t *testing.T) {
	in(t, nil, func(r *rig) {
		belongs, err := scope.New(scope.Config{Seeds: []weburl.URL{mustURL(t, host+"/")}, Leaves: true})
		if err != nil {
			t.Fatal(err)
		}
		task := r.task(frontier.Page, "/")
		leaf := mustURL(t, "http://b.example/leaf")
		task.Request.Item = visit.Item{Job: 1, URL: leaf, Depth: 1}
		task.Job.Rules.Scope, task.Job.Leaves = belongs, true
		r.replies[leaf.String()] = reply{header: html, body: `<a href="/b">b</a>`}
		r.Start(r.work, task)
		r.settle()
		if l := r.page(); !l.Leaf || len(l.Links) != 0 || r.last.MaxBody == 0 || !r.last.CutBody || r.last.MaxSent != 0 {
			t.Errorf("%+v", l)
		}
	})
}

// TestMaxBytes limits a body to the job's byte limit.
func TestMaxBytes(t *testing.T) {
	in(t, nil, func(r *rig) {
		task := r.task(frontier.Page, "/a")
		task.Job.MaxBytes = 1000
		r.Start(r.work, task)
		r.settle()
		if r.last.MaxSent != 1000 || r.last.CutBody {
			t.Errorf("%+v", r.last)
		}
	})
}

// TestRedirect follows a redirect unless it is a loop.
func TestRedirect(t *testing.T) {
	in(t, nil, func(r *rig) {
		for from, to := range map[string]string{"/a": "/b", "/b": "/a"} {
			r.replies[host+from] = reply{status: http.StatusFound, header: http.Header{"Location": {to}}}
		}
		for _, path := range []string{"/a", "/b"} {
			r.Start(r.work, r.task(frontier.Page, path))
			r.settle()
		}
		if l := r.pages[0]; l.Visit.Outcome != visit.Redirected || len(l.Links) != 1 {
			t.Errorf("%+v with %+v", l, l.Visit)
		}
		if l := r.pages[1]; l.Visit.Reason != visit.RedirectLoop || len(l.Links) != 0 {
			t.Errorf("%+v with %+v", l, l.Visit)
		}
	})
}

// TestFirst returns the sitemaps of the host with the first page of a job.
func TestFirst(t *testing.T) {
	in(t, nil, func(r *rig) {
		task := r.task(frontier.Page, "/a")
		task.Robots, task.First = r.file("Sitemap: http://a.example/s.xml"), true
		r.Start(r.work, task)
		r.settle()
		if l := r.page(); !l.First || !slices.Equal(l.Sitemaps, []string{host + "/s.xml"}) {
			t.Errorf("%+v", l)
		}
	})
}

// TestLatencyUnknown reports no latency if it would measure us, not the host.
func TestLatencyUnknown(t *testing.T) {
	for name, strained := range map[string]bool{"strained": true, "interrupted": false} {
		t.Run(name, func(t *testing.T) {
			in(t, func(cfg *fetchpool.Config) { cfg.Overloaded = func() bool { return strained } }, func(r *rig) {
				r.lease.interrupted = !strained
				r.replies[host+"/a"] = reply{header: html, takes: time.Second}
				r.Start(r.work, r.task(frontier.Page, "/a"))
				r.settle()
				if l := r.page(); l.Answer.Latency != 0 || l.Answer.Status != http.StatusOK {
					t.Errorf("%+v", l.Answer)
				}
			})
		})
	}
}

// TestJournal lists a page while it is under way, and no longer.
func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j, _, err := journal.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	in(t, func(cfg *fetchpool.Config) { cfg.Journal = j }, func(r *rig) {
		r.replies[host+"/a"] = reply{header: html, takes: time.Second}
		r.Start(r.work, r.task(frontier.Page, "/a"))
		judged := r.task(frontier.Page, "/b")
		judged.JudgeOnly = true
		r.Start(r.work, judged)
		r.run(time.Second / 2)
		if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "+ 1 0 "+host+"/a\n") || strings.Contains(string(text), host+"/b") {
			t.Errorf("noted %q, %v", text, err)
		}
		r.settle()
		if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "- 1 0 "+host+"/a\n") {
			t.Errorf("noted %q, %v", text, err)
		}
	})
}

// TestRobots reads robots.txt. The send time is not reported: redirects may follow.
func TestRobots(t *testing.T) {
	in(t, nil, func(r *rig) {
		body := "User-agent: *\nCrawl-delay: 3\nSitemap: /s.xml\n"
		r.replies[host+"/robots.txt"] = reply{body: body, takes: time.Second}
		task := r.task(frontier.Robots, "/")
		task.Robots = robots.State{}
		r.Start(r.work, task)
		r.settle()
		if len(r.robots) != 1 || len(r.sent) != 0 {
			t.Fatalf("%d landed, %d reported to leave", len(r.robots), len(r.sent))
		}
		l := &r.robots[0]
		if l.LocalErr != nil || l.Err != nil || !l.Read || string(l.Body) != body || l.Delay != 3*time.Second || !slices.Equal(l.Sitemaps, []string{"/s.xml"}) {
			t.Errorf("%+v", l)
		}
		if l.RequestsSent != 1 || l.Sent.IsZero() || l.Answer.Latency != 0 || l.Says.Status != http.StatusOK || l.Refused() != "" {
			t.Errorf("%+v", l)
		}
	})
}

// TestRobotsRefused distinguishes a host that was not contacted from one that did not
// respond.
func TestRobotsRefused(t *testing.T) {
	refused := &fetch.Error{Reason: fetch.PrivateAddress, Phase: fetch.PhaseConnect, Host: host, Err: errTest}
	for _, tt := range []struct {
		l    fetchpool.Robots
		want visit.Reason
	}{
		{fetchpool.Robots{Err: refused}, visit.Reason(fetch.PrivateAddress)},
		{fetchpool.Robots{Err: refused, RequestsSent: 1}, ""},
		{fetchpool.Robots{Err: &fetch.Error{Reason: fetch.Timeout, Err: errTest}}, ""},
		{fetchpool.Robots{}, ""},
	} {
		if got := tt.l.Refused(); got != tt.want {
			t.Errorf("%+v: %q", tt.l, got)
		}
	}
}
