package headway_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"headway/answer"
	"headway/content"
	"headway/extract"
	"headway/fetch"
	"headway/job"
	"headway/limit"
	"headway/output"
	"headway/output/jsonl"
	"headway/store"
	"headway/store/memory"
	"headway/store/sqlite"
	"headway/store/storetest"
	"headway/visit"
	"headway/weburl"
)

// contentOf are the pages of a crawl with their content.
func contentOf(t *testing.T, st store.Store, id job.ID) map[string]*visit.Content {
	t.Helper()
	page, err := st.List(t.Context(), store.Query{Job: id, Outcome: visit.Fetched, Texts: true, Max: store.MaxPage})
	if err != nil || page.Next != "" {
		t.Fatalf("more after %q, %v", page.Next, err)
	}
	pages := map[string]*visit.Content{}
	for _, e := range page.Entries {
		pages[e.Item.URL.String()] = e.Visit.Page.Content
	}
	return pages
}

// localStores are the stores of a crawl on one machine.
var localStores = map[string]func(t *testing.T) (store.Store, error){
	"memory": func(*testing.T) (store.Store, error) { return memory.Open(memory.Config{}), nil },
	"sqlite": func(t *testing.T) (store.Store, error) {
		return sqlite.Open(t.Context(), sqlite.Config{Dir: t.TempDir()})
	},
}

// TestContent interrupts and resumes a crawl that keeps texts. In the end each page has its
// text once, in the store and in the file: the lines of the first run come from the store.
func TestContent(t *testing.T) {
	const pages = 30
	storetest.Compress(t)
	for name, open := range localStores {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := small(pages)
				site.Site.MinKB, site.Site.MaxKB = 12, 16 // smaller ones are only links
				s := newSimulated(t, 1, site)
				st, err := open(t)
				if err != nil {
					t.Fatal(err)
				}
				defer st.Close()
				path := filepath.Join(t.TempDir(), "pages.jsonl")
				drain := make(chan struct{})
				time.AfterFunc(10*time.Second, func() { close(drain) })
				s.cfg.Store, s.cfg.Content, s.cfg.Drain = st, content.Options{Text: true}, drain
				first := s.run()
				if n := len(contentOf(t, st, first.Job)); n == 0 || n >= pages {
					t.Fatalf("%d pages before it was interrupted", n)
				}
				w, err := jsonl.Create(jsonl.Config{Path: path})
				if err != nil {
					t.Fatal(err)
				}
				s.cfg.Drain, s.cfg.Outputs = nil, []output.Writer{w}
				s.fetched(s.run(), pages)

				kept := contentOf(t, st, first.Job)
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				lines := map[string]int{}
				for line := range strings.Lines(string(text)) {
					var l jsonl.Line
					if err := json.Unmarshal([]byte(line), &l); err != nil {
						t.Fatal(err)
					}
					if l.Outcome != string(visit.Fetched) {
						continue
					}
					lines[l.URL]++
					is := kept[l.URL]
					if is == nil || is.Text == "" || is.Markdown != "" || is.Digest == "" || is.Words == 0 || is.Cut {
						t.Fatalf("%s says %+v", l.URL, is)
					}
					if l.Text != is.Text || l.ContentDigest != is.Digest || l.Words != is.Words {
						t.Errorf("%s: line %+v, stored %+v", l.URL, l, is)
					}
				}
				for u := range kept {
					if lines[u] != 1 {
						t.Errorf("%d lines of %s", lines[u], u)
					}
				}
			})
		})
	}
}

// TestExtract keeps the fields of the pages that a rule applies to, once, also if the crawl
// is interrupted.
func TestExtract(t *testing.T) {
	const pages = 20
	rules, err := extract.Read("rules.yaml", []byte("title: {css: title}\nlinks: {xpath: 'count(//a)', type: int, when: '/s*/*.html'}\n"))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(t, 1, small(pages))
		drain := make(chan struct{})
		time.AfterFunc(8*time.Second, func() { close(drain) })
		s.cfg.Extract, s.cfg.Drain = rules, drain
		first := s.run()
		if n := len(contentOf(t, s.st, first.Job)); n == 0 || n >= pages {
			t.Fatalf("%d pages before it was interrupted", n)
		}
		s.cfg.Drain = nil
		s.fetched(s.run(), pages)
		linked := 0
		for u, is := range contentOf(t, s.st, first.Job) {
			if is == nil || is.Text != "" || is.Digest != "" || is.FieldProblems != "" {
				t.Fatalf("%s says %+v", u, is)
			}
			var fields struct {
				Title string
				Links int
			}
			if err := json.Unmarshal([]byte(is.Fields), &fields); err != nil || fields.Title == "" {
				t.Fatalf("%s: %s, %v", u, is.Fields, err)
			}
			if strings.HasSuffix(u, ".html") {
				linked++
			}
			if (fields.Links > 0) != strings.HasSuffix(u, ".html") {
				t.Errorf("%s: %s", u, is.Fields)
			}
		}
		if linked == 0 {
			t.Error("no page is below a folder")
		}
	})
}

// TestNoContent keeps nothing unless it is requested.
func TestNoContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(t, 1, small(5))
		r := s.run()
		for u, is := range contentOf(t, s.st, r.Job) {
			if is != nil {
				t.Errorf("%s says %+v", u, is)
			}
		}
	})
}

// TestContentOfPagesOnly keeps the texts of fetched HTML pages, not those of other responses.
func TestContentOfPagesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		museum := small(5)
		museum.Site.Exhibits = true
		s := newSimulated(t, 1, museum)
		s.cfg.Limits = limit.Resolve(limit.Layer{Level: limit.Job, Limits: limit.Limits{Pages: 150}}) // some exhibits have no end
		s.cfg.Content = content.Options{Text: true, Markdown: true}
		r := s.run()
		page, err := s.st.List(t.Context(), store.Query{Job: r.Job, Texts: true, Max: store.MaxPage})
		if err != nil {
			t.Fatal(err)
		}
		said := 0
		for _, e := range page.Entries {
			if e.Visit == nil || e.Visit.Page.Content == nil {
				continue
			}
			said++
			if v := e.Visit; v.Outcome != visit.Fetched || !strings.Contains(v.Answer.ContentType, "html") && v.Answer.ContentType != "" {
				t.Errorf("%s ended %s as %q, and says %+v", v.Item.URL, v.Outcome, v.Answer.ContentType, v.Page.Content)
			}
		}
		if said < 2 {
			t.Errorf("%d pages say something", said)
		}
	})
}

// edited is a fetcher that serves some pages in another version.
type edited struct {
	fetch.Fetcher
	edit map[string]func(page string) string // by path
}

func (e edited) Do(ctx context.Context, req fetch.Request) (*fetch.Result, error) {
	edit := e.edit[req.URL.Path()]
	if edit != nil {
		req.ETag, req.LastModified = "", "" // it is not what they say
	}
	res, err := e.Fetcher.Do(ctx, req)
	if edit != nil && err == nil && res.Status == 200 {
		res.Body = []byte(edit(string(res.Body)))
	}
	return res, err
}

// knownContent reads the pages of an earlier crawl with their texts.
func knownContent(st store.Store, id job.ID) func(context.Context, weburl.URL) (*visit.Visit, error) {
	return func(ctx context.Context, u weburl.URL) (*visit.Visit, error) {
		e, err := st.Lookup(ctx, id, u)
		if err != nil || e.Visit == nil {
			return nil, err
		}
		e.Visit.Page.Content, err = st.Content(ctx, id, u)
		return e.Visit, err
	}
}

// reader is what a comparison reads of a store.
type reader struct {
	store.Reader
	st store.Store
}

func (r reader) Job(ctx context.Context, id job.ID) (store.Job, error) { return r.st.Job(ctx, id) }
func (r reader) Counts(ctx context.Context, id job.ID) (store.Counts, error) {
	return r.st.Counts(ctx, id)
}

func (r reader) List(ctx context.Context, q store.Query) (store.Page, error) {
	return r.st.List(ctx, q)
}

func (r reader) Lookup(ctx context.Context, id job.ID, u weburl.URL) (store.Entry, error) {
	return r.st.Lookup(ctx, id, u)
}

// TestContentSince crawls a site again after the footer of one page and the article of
// another changed: a comparison lists the second only. Unchanged pages keep their texts.
func TestContentSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pages = 12
		site := small(pages)
		site.Site.MinKB, site.Site.MaxKB = 12, 16 // smaller ones are only links
		s := newSimulated(t, 1, site)
		s.cfg.Content = content.Options{Text: true, Markdown: true}
		first := s.run()
		s.fetched(first, pages)
		before := contentOf(t, s.st, first.Job)
		paths := []string{}
		for u := range before {
			if at := mustURL(u).Path(); at != "/" {
				paths = append(paths, at)
			}
		}
		slices.Sort(paths)

		s.cfg.Fetcher = edited{s.cfg.Fetcher, map[string]func(string) string{
			paths[0]: func(page string) string {
				return strings.Replace(page, "</body>", "<footer><p>This footer is new, as it is every year.</p></footer></body>", 1)
			},
			paths[1]: func(page string) string {
				return strings.Replace(page, `class="para">`, `class="para">This sentence was added to the article, which has changed by that. `, 1)
			},
		}}
		s.cfg.Store, s.cfg.Since, s.cfg.Known = memory.Open(memory.Config{}), urlsOf(t.Context(), s.st, first.Job), knownContent(s.st, first.Job)
		again := s.run()

		side := func(st store.Store, id job.ID) answer.Side {
			return answer.Side{Reader: reader{st: st}, Job: id, Spec: &answer.CrawlSpec{}}
		}
		c, err := answer.Compare(t.Context(), side(s.st, first.Job), side(s.cfg.Store, again.Job), 10, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, is := range c.Changes {
			want := []string(nil)
			if is.Kind == answer.PageChanged {
				want = []string{paths[1]}
			}
			var got []string
			for _, u := range is.URLs {
				got = append(got, mustURL(u.URL).Path())
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", is.Kind, got, want)
			}
		}
		list, err := s.cfg.Store.List(t.Context(), store.Query{Job: again.Job, Outcome: visit.NotModified, Texts: true, Max: store.MaxPage})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list.Entries {
			if was, is := before[e.Item.URL.String()], e.Visit.Page.Content; !cmp.Equal(was, is) {
				t.Errorf("%s is unchanged, but says %+v instead of %+v", e.Item.URL, is, was)
			}
		}
		if n := len(list.Entries); n != pages-2 {
			t.Errorf("%d pages are unchanged", n)
		}
	})
}

// TestFleetContent runs a job that keeps texts on workers of which one crashes: each page
// has its text, the same as in a crawl on one machine.
func TestFleetContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hosts, pages = 4, 10
		site := small(pages)
		site.Site.MinKB, site.Site.MaxKB = 12, 16
		keep := content.Options{Text: true, Markdown: true}
		f := &fleet{simulated: newSimulated(t, hosts, site)}
		f.cfg.Content = keep
		id := f.submit(0)
		workers := []*worker{f.start(), f.start(), f.start()}
		pass(8 * time.Second)
		workers[0].crash()
		if j, _ := f.await(id, time.Hour); j.State != job.Complete {
			t.Errorf("the job ended %s", j.State)
		}
		f.drain(workers[1:])

		alone := newSimulated(t, hosts, site)
		alone.cfg.Content = keep
		want, got := contentOf(t, alone.st, alone.run().Job), contentOf(t, f.st, id)
		if len(got) != hosts*pages {
			t.Errorf("%d pages", len(got))
		}
		for u, is := range got {
			if is == nil || is.Text == "" || is.Markdown == "" || is.Digest == "" {
				t.Errorf("%s says %+v", u, is)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pages of one machine and of a fleet differ: %s", diff)
		}
	})
}
