package discovery_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"headway/frontier"
	"headway/internal/discovery"
	"headway/parse"
	"headway/scope"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

func url(t *testing.T, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// rules are those of a crawl of www.a.example that stays on its domain, two links deep;
// out.a.example opted out.
func rules(t *testing.T) *discovery.Rules {
	s, err := scope.New(scope.Config{Seeds: []weburl.URL{url(t, "http://www.a.example/")}, Mode: scope.Domain, MaxDepth: 2})
	if err != nil {
		t.Fatal(err)
	}
	return &discovery.Rules{Scope: s, OptedOut: func(u weburl.URL) bool { return u.Hostname() == "out.a.example" }}
}

// verdict describes how a URL is stored.
func verdict(l *discovery.Link) string {
	if l.Outcome == "" {
		return "waits"
	}
	return fmt.Sprint(l.Outcome, " ", l.Reason)
}

// TestLinks checks the links of a page.
func TestLinks(t *testing.T) {
	const here = "http://www.a.example/page"
	for _, tt := range []struct {
		name  string
		depth int
		links []visit.Link
		want  []string
	}{
		{"none", 0, nil, nil},
		{"in scope", 0, []visit.Link{{URL: url(t, "http://www.a.example/x")}}, []string{"waits"}},
		{"other host of the domain", 0, []visit.Link{{URL: url(t, "http://b.a.example/")}}, []string{"waits"}},
		{"out of scope", 0, []visit.Link{{URL: url(t, "http://b.example/")}}, []string{"skipped out_of_scope"}},
		{"too deep", 2, []visit.Link{{URL: url(t, "http://www.a.example/x")}}, []string{"skipped depth"}},
		{"opted out", 0, []visit.Link{{URL: url(t, "http://out.a.example/")}}, []string{"skipped opted_out"}},
		{"nofollow", 0, []visit.Link{{URL: url(t, "http://www.a.example/x"), Nofollow: true}}, []string{"skipped nofollow"}},
		{"out of scope and nofollow", 0, []visit.Link{{URL: url(t, "http://b.example/"), Nofollow: true}}, []string{"skipped out_of_scope"}},
		{"twice", 0, []visit.Link{{URL: url(t, "http://www.a.example/x")}, {URL: url(t, "http://www.a.example/x")}}, []string{"waits"}},
		{"nofollow, then not", 0, []visit.Link{{URL: url(t, "http://www.a.example/x"), Nofollow: true}, {URL: url(t, "http://www.a.example/x")}}, []string{"waits"}},
		{"followed, then nofollow", 0, []visit.Link{{URL: url(t, "http://www.a.example/x")}, {URL: url(t, "http://www.a.example/x"), Nofollow: true}}, []string{"waits"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := &visit.Visit{Item: visit.Item{Job: 7, URL: url(t, here), Depth: tt.depth}, Outcome: visit.Fetched, Links: tt.links}
			var got []string
			for _, l := range rules(t).Links(v) {
				got = append(got, verdict(&l))
				if it := l.Item; it.Job != 7 || it.Via != v.Item.URL || it.Depth != tt.depth+1 || it.Found != visit.FoundLink {
					t.Errorf("found as %+v", it)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%v, want %v", got, tt.want)
			}
			closed := rules(t)
			if closed.Closed = true; closed.Links(v) != nil {
				t.Error("a closed crawl follows links")
			}
		})
	}
}

// TestRedirects checks redirect targets: those of a seed within its domain are in scope,
// whatever the host.
func TestRedirects(t *testing.T) {
	for _, tt := range []struct {
		to    string
		depth int
		want  string
	}{
		{"http://www.a.example/x", 0, "waits"},
		{"http://new.a.example/", 0, "waits"},
		{"http://b.example/", 0, "skipped out_of_scope"},
		{"http://out.a.example/", 0, "skipped opted_out"},
		{"http://www.a.example/x", 2, "waits"}, // a redirect does not add depth
		{"http://b.example/", 1, "skipped out_of_scope"},
	} {
		to := url(t, tt.to)
		v := &visit.Visit{
			Item: visit.Item{URL: url(t, "http://www.a.example/"), Depth: tt.depth}, Outcome: visit.Redirected,
			Answer: visit.Answer{Location: to}, Links: []visit.Link{{URL: to}},
		}
		r := rules(t)
		r.Closed = true // redirects are followed nevertheless
		links := r.Links(v)
		if len(links) != 1 || verdict(&links[0]) != tt.want || links[0].Item.Depth != tt.depth || links[0].Item.Found != visit.FoundRedirect {
			t.Errorf("%s at depth %d: %+v, want %s", tt.to, tt.depth, links, tt.want)
		}
	}
}

// TestEntry gives entries of a sitemap depth 1.
func TestEntry(t *testing.T) {
	r, at := rules(t), url(t, "http://www.a.example/sitemap.xml")
	l := r.Entry(7, at, parse.Entry{URL: url(t, "http://www.a.example/x"), Priority: 0.7}, 0)
	if it := l.Item; verdict(&l) != "waits" || it.Job != 7 || it.Via != at || it.Depth != 1 || it.Priority != 7 || it.Found != visit.FoundSitemap {
		t.Errorf("%s: %+v", verdict(&l), it)
	}
	if l := r.Entry(7, at, parse.Entry{URL: url(t, "http://b.example/x")}, 0); verdict(&l) != "skipped out_of_scope" {
		t.Error(verdict(&l))
	}
}

// TestMarks distinguishes URLs that another link may still admit.
func TestMarks(t *testing.T) {
	r := rules(t)
	item := visit.Item{Job: 1, URL: url(t, "http://www.a.example/x")}
	mark := func(o visit.Outcome, why visit.Reason, finder store.Slot) weburl.Fingerprint128 {
		return r.Mark(&store.Found{Item: item, Outcome: o, Reason: why}, finder)
	}
	waits := mark("", "", 1)
	if waits != mark("", "", 2) || waits != mark(visit.Skipped, visit.OptedOut, 1) {
		t.Error("one that waits or has ended for good has two marks")
	}
	provisional, aside := mark(visit.Skipped, visit.Nofollow, 1), mark(visit.Skipped, visit.OutOfScope, 1)
	if provisional == waits || aside == waits || aside == provisional {
		t.Error("what another link may admit has the mark of what is settled")
	}
	if provisional != mark(visit.Skipped, visit.Nofollow, 2) || aside == mark(visit.Skipped, visit.OutOfScope, 2) {
		t.Error("only what is out of scope counts once for each slot")
	}
	if home := r.SitemapsMark(1, item.URL); home == waits || home == r.SitemapsMark(2, item.URL) {
		t.Error("the sitemaps of a host have the mark of a page, or of another job")
	}
}

// TestLinkFilter drops known links and defers unwanted ones.
func TestLinkFilter(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(*discovery.LinkFilter)
		want []string // of a link, a redirect, a link to another host, a skipped link
	}{
		{"all wanted", func(*discovery.LinkFilter) {}, []string{"waits", "waits", "waits", "skipped nofollow"}},
		{"discovery stopped", func(b *discovery.LinkFilter) { b.DiscoveryStopped = true }, []string{"deferred ", "waits", "deferred ", "skipped nofollow"}},
		{"host excluded", func(b *discovery.LinkFilter) { b.Out = func(host string) bool { return host == "http://b.a.example" } }, []string{"waits", "waits", "deferred ", "skipped nofollow"}},
		{"room for two", func(b *discovery.LinkFilter) { b.Room = 2 }, []string{"waits", "waits", "deferred ", "skipped nofollow"}},
		{"no room", func(b *discovery.LinkFilter) { b.Room = 0 }, []string{"deferred ", "deferred ", "deferred ", "skipped nofollow"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := discovery.LinkFilter{Seen: frontier.NewSeen(1 << 20), Traps: scope.NewTraps(scope.TrapConfig{}), Out: func(string) bool { return false }, Room: -1}
			tt.set(&b)
			links := []discovery.Link{
				link(t, "http://www.a.example/known", visit.FoundLink),
				link(t, "http://www.a.example/1", visit.FoundLink),
				link(t, "http://www.a.example/2", visit.FoundRedirect),
				link(t, "http://b.a.example/3", visit.FoundLink),
				link(t, "http://www.a.example/4", visit.FoundLink),
			}
			links[4].Outcome, links[4].Reason = visit.Skipped, visit.Nofollow
			b.Seen.Put(links[0].Mark)
			var got []string
			for _, l := range b.Apply(time.Now(), links) {
				got = append(got, verdict(&l))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

func link(t *testing.T, raw string, how visit.FoundBy) discovery.Link {
	u := url(t, raw)
	return discovery.Link{Found: store.Found{Item: visit.Item{URL: u, Found: how}}, Mark: u.Fingerprint128(weburl.Key{})}
}

// TestKeptLinks reuses the memory of known links, not that of kept ones.
func TestKeptLinks(t *testing.T) {
	r := rules(t)
	for _, unknown := range []int{0, 1, 80, 100} {
		page := func(name string) ([]discovery.Link, []string) {
			b := discovery.LinkFilter{Seen: frontier.NewSeen(1 << 20), Traps: scope.NewTraps(scope.TrapConfig{}), Out: func(string) bool { return false }, Room: -1}
			v := &visit.Visit{Item: visit.Item{Job: 7, URL: url(t, "http://www.a.example/"+name)}, Outcome: visit.Fetched}
			var want []string
			for i := range 100 {
				v.Links = append(v.Links, visit.Link{URL: url(t, fmt.Sprintf("http://www.a.example/%s/%d", name, i))})
			}
			links := r.Links(v)
			for i := range links {
				if i < unknown {
					want = append(want, links[i].Item.URL.String())
				} else {
					b.Seen.Put(links[i].Mark)
				}
			}
			return b.Apply(time.Now(), links), want
		}
		first, want := page("first")
		page("second")
		var got []string
		for i := range first {
			got = append(got, first[i].Item.URL.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d unknown: kept %v, want %v", unknown, got, want)
		}
	}
}
