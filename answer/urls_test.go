package answer

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headway/store"
	"headway/store/memory"
	"headway/visit"
)

func TestListURLs(t *testing.T) {
	st := memory.Open(memory.Config{})
	defer st.Close()
	ctx := context.Background()
	id, err := st.CreateJob(ctx, store.Job{Name: "crawl", State: "running"})
	if err != nil {
		t.Fatal(err)
	}
	add := func(u, via string, o visit.Outcome, r visit.Reason) store.Found {
		it := link(t, u, via, 1)
		it.Job = id
		return store.Found{Item: it, Outcome: o, Reason: r}
	}
	found := []store.Found{
		add("http://a.example/", "", "", ""),
		add("http://a.example/cart/1", "http://a.example/", visit.Skipped, visit.RobotsDisallow),
		add("http://a.example/cart/2?token=secret", "http://a.example/", visit.Skipped, visit.RobotsDisallow),
		add("http://b.example/cart/3", "http://a.example/", visit.Skipped, visit.RobotsDisallow),
		add("http://a.example/x.zip", "http://a.example/", visit.Skipped, visit.NonDocument),
		add("http://far.example/", "http://a.example/", visit.Skipped, visit.OutOfScope),
	}
	if _, err := st.Add(ctx, whyNow, found); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		q    URLQuery
		want string
	}{
		{"all", URLQuery{}, "http://a.example/ http://a.example/cart/1 http://a.example/cart/2?token=REDACTED http://b.example/cart/3 http://a.example/x.zip"},
		{"that wait", URLQuery{Outcome: visit.Pending}, "http://a.example/"},
		{"by outcome", URLQuery{Outcome: visit.Failed}, ""},
		{"by reason alone", URLQuery{Reason: visit.NonDocument}, "http://a.example/x.zip"},
		{"by host", URLQuery{Reason: visit.RobotsDisallow, Hosts: []string{"https://b.example", "http://b.example"}}, "http://b.example/cart/3"},
		{"by a part of the path", URLQuery{Prefix: "/cart/1"}, "http://a.example/cart/1"},
		{"by a part of the URL", URLQuery{Prefix: "http://b.example/c"}, "http://b.example/cart/3"},
	} {
		if err := test.q.Check(); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		var got []string
		for row, err := range ListURLs(ctx, st, id, test.q) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, row.URL)
		}
		if diff := cmp.Diff(strings.Fields(test.want), got); diff != "" && len(got)+len(test.want) > 0 {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestURLQueryCheck(t *testing.T) {
	for _, test := range []struct {
		q    URLQuery
		want string
	}{
		{URLQuery{Outcome: "jumped"}, `invalid outcome "jumped"; choose one of fetched, not_modified,`},
		{URLQuery{Reason: "robots"}, `invalid reason "robots"; choose one of robots_disallow,`},
		{URLQuery{Outcome: visit.Dead, Reason: visit.DNS}, "outcome dead never has the reason dns; it belongs to outcome failed"},
	} {
		if err := test.q.Check(); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%+v: %v", test.q, err)
		}
	}
}
