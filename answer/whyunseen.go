package answer

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// unseen explains a URL without its own record: an out-of-scope URL that was only
// counted, or one the crawl never saw.
func (x *explainer) unseen(ctx context.Context) error {
	x.scopeVerdict(1, false)
	aside, err := x.Store.Aside(ctx, x.Job.ID, x.URL)
	if err != nil {
		return err
	}
	if aside {
		w := &x.why
		w.Seen, w.Counted, w.Outcome, w.Reason, w.By = true, true, visit.Skipped, visit.OutOfScope, byScope
		w.Rule = "out of scope when it was found"
		if w.Scope != nil && w.Scope.Reason == visit.OutOfScope {
			w.Rule = w.Scope.Rule
		}
		return nil
	}
	return x.near(ctx)
}

// near finds URLs that may be meant: other spellings of this one, then the most similar
// ones of its host.
func (x *explainer) near(ctx context.Context) error {
	for _, v := range spellings(x.URL) {
		e, err := x.Store.Lookup(ctx, x.Job.ID, v.url)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		x.why.Near = append(x.why.Near, NearURL{URL: visit.Redact(v.url), Outcome: e.Outcome, Reason: e.Reason, How: v.how})
		if len(x.why.Near) == maxNear {
			return nil
		}
	}
	return x.similar(ctx)
}

// spelling is another way to write a URL.
type spelling struct {
	url weburl.URL
	how string
}

// spellings are common variants of a URL for the same page.
func spellings(u weburl.URL) []spelling {
	other := map[string]string{"https": "http", "http": "https"}[u.Scheme()]
	rest := strings.TrimPrefix(u.String(), u.Scheme()+"://")
	noWWW, hasWWW := strings.CutPrefix(rest, "www.")
	www := "www." + rest
	if hasWWW {
		www = noWWW
	}
	slash := func(s string) string {
		path, query, asked := strings.Cut(s, "?")
		if before, ok := strings.CutSuffix(path, "/"); ok {
			path = before
		} else {
			path += "/"
		}
		if asked {
			path += "?" + query
		}
		return path
	}
	list := []struct{ raw, how string }{
		{u.Scheme() + "://" + slash(rest), "which differs in the trailing slash"},
		{other + "://" + rest, "which uses " + other},
		{u.Scheme() + "://" + www, "which differs in www"},
		{other + "://" + www, "which uses " + other + " and differs in www"},
		{other + "://" + slash(rest), "which uses " + other + " and differs in the trailing slash"},
		{strings.TrimSuffix(u.String(), "?"+u.Query()), "which has no query"},
		{strings.ToLower(u.String()), "which is in lower case"},
	}
	var out []spelling
	been := []weburl.URL{u}
	for _, l := range list {
		if v, err := weburl.Parse(l.raw); err == nil && !slices.Contains(been, v) {
			been = append(been, v)
			out = append(out, spelling{v, l.how})
		}
	}
	return out
}

// similar adds the URLs of the host with the most similar paths.
func (x *explainer) similar(ctx context.Context) error {
	page, err := x.Store.List(ctx, store.Query{Job: x.Job.ID, Host: x.URL.Host(), Max: maxLook})
	if err != nil {
		return err
	}
	type scored struct {
		e *store.Entry
		n int
	}
	var list []scored
	want := x.URL.PathQuery()
	for i := range page.Entries {
		e := &page.Entries[i]
		if n := similarity(want, e.Item.URL.PathQuery()); n > 0 {
			list = append(list, scored{e, n})
		}
	}
	slices.SortFunc(list, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.e.Item.URL.String(), b.e.Item.URL.String()))
	})
	for _, s := range list {
		if len(x.why.Near) == maxNear {
			break
		}
		u := visit.Redact(s.e.Item.URL)
		if !slices.ContainsFunc(x.why.Near, func(n NearURL) bool { return n.URL == u }) {
			x.why.Near = append(x.why.Near, NearURL{URL: u, Outcome: s.e.Outcome, Reason: s.e.Reason, How: "similar"})
		}
	}
	return nil
}

// similarity counts the bytes that two paths share at both ends; 0 if it is hardly more than
// the leading slash.
func similarity(a, b string) int {
	n := min(len(a), len(b))
	front := 0
	for front < n && a[front] == b[front] {
		front++
	}
	back := 0
	for back < n-front && a[len(a)-1-back] == b[len(b)-1-back] {
		back++
	}
	if front+back < 3 || 2*(front+back) < n {
		return 0
	}
	return 2*(front+back) - max(len(a), len(b))
}
