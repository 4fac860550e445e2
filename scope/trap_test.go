package scope

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"headway/weburl"
)

var today = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

func TestTrapShapes(t *testing.T) {
	for path, want := range map[string]string{
		"/a/b/a/b/a/b":                               "repeats /a/b",
		"/x/a/b/c/a/b/c/a/b/c/d":                     "repeats /a/b/c",
		"/foo/foo/foo/foo/":                          "repeats /foo",
		"/en//////x":                                 "repeats /",
		"/" + strings.Repeat("d/", 3) + "e":          "",
		"/a/a/a":                                     "",
		"/a/b/a/b":                                   "",
		"/a/b/a/b/a":                                 "",
		"/2011/11/11/11/11/x":                        "", // a time of day
		"/test/test/test/x.go":                       "",
		"/1/2/3/4/5/6/7/8/9/10/11/12/13/14":          "",
		"/" + strings.Repeat("0123/4567/", 3):        "repeats /0123/4567",
		"/1/2/3/4/5/6/7/8/9/a/b/c/d/e/f/g/h/i/j/k/l": "more than 20 folders deep",
		"/?a=1&a=1&a=1":                              "repeats the parameter a=1 3 times or more",
		"/?a[]=1&a[]=2&a[]=3":                        "",
		"/?" + params(20):                            "",
		"/?" + params(21):                            "more than 20 parameters",
		"/?a=1" + strings.Repeat("&", 50):            "",
	} {
		d := NewTraps(TrapConfig{}).Look(mustURL(t, "https://a.example"+path), today)
		if d.Rule != want || d.In != (want == "") {
			t.Errorf("%s: %+v, want %q", path, d, want)
		}
		if !d.In && d.Reason != map[bool]Reason{true: TrapQuery, false: TrapPath}[strings.Contains(path, "?")] {
			t.Errorf("%s: reason %s", path, d.Reason)
		}
	}
}

func params(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("k%d=v", i)
	}
	return strings.Join(list, "&")
}

func TestSessionIDs(t *testing.T) {
	for name, tc := range map[string]struct {
		url    string // with %s for the ID
		reason Reason
	}{
		"query":             {"https://a.example/item?sid=%s", TrapQuery},
		"with others":       {"https://a.example/item?id=7&PHPSESSID=%s", TrapQuery},
		"java":              {"https://a.example/item;jsessionid=%s", TrapPath},
		"java in a folder":  {"https://a.example/shop;jsessionid=%s/item?x=1", TrapPath},
		"asp.net":           {"https://a.example/(S(%s))/item", TrapPath},
		"tracking":          {"https://a.example/item?utm_source=%s&utm_medium=x", TrapQuery},
		"click":             {"https://a.example/item?gclid=%s", TrapQuery},
		"other host's page": {"https://a.example/item-2?sid=%s", TrapQuery},
	} {
		t.Run(name, func(t *testing.T) {
			traps := NewTraps(TrapConfig{})
			in := 0
			for i := range 10 {
				d := traps.Look(mustURL(t, fmt.Sprintf(tc.url, fmt.Sprintf("%016x", uint64(i+1)*0x9e3779b97f4a7c15))), today)
				if d.In {
					in++
				} else if d.Reason != tc.reason {
					t.Errorf("%+v", d)
				}
			}
			if in != DefaultMaxSpellings {
				t.Errorf("%d of 10 ids for one page are in", in)
			}
		})
	}
	traps := NewTraps(TrapConfig{})
	for i := range 100 {
		for _, raw := range []string{
			fmt.Sprintf("https://a.example/article?sid=%d", i),                                       // a story ID is not a session
			"https://a.example/?s=how-to-write-a-" + string(rune('a'+i/10)) + string(rune('a'+i%10)), // neither is a search
		} {
			if d := traps.Look(mustURL(t, raw), today); !d.In {
				t.Errorf("%s: %+v", raw, d)
			}
		}
	}
}

func TestPathDate(t *testing.T) {
	for path, want := range map[string]string{
		"/calendar/2026/1": "2026-01-01 bare", "/2019/04/12/": "2019-04-12 bare", "/2019/04/12/slug": "2019-04-12", "/2019/04/slug": "2019-04-01",
		"/events/2027-05": "2027-05-01 bare", "/events/2027-05-30/": "2027-05-30 bare", "/cal/2027/may": "2027-05-01 bare", "/cal/2027/December/3": "2027-12-03 bare",
		"/2019/04/12/2030/05": "2019-04-12", "/2019/04/99/x": "2019-04-01",
		"/2019": "", "/2019/": "", "/2019/13": "", "/a/b": "", "/": "", "/12345/6": "", "/v2026/5": "", "/2019-slug": "", "/2019/slug/05": "", "/2019-04-12-slug": "",
	} {
		got := ""
		if d, before, bare := pathDate(path); !d.IsZero() {
			if !strings.HasPrefix(path, before) {
				t.Errorf("%s: %q is before the date", path, before)
			}
			got = d.Format(time.DateOnly)
			if bare {
				got += " bare"
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestCalendars(t *testing.T) {
	const nearMonths = 13 // within 400 days, and fewer than nearDates
	months := func(d time.Time) int { return 12*(d.Year()-today.Year()) + int(d.Month()-today.Month()) }
	for name, tc := range map[string]struct {
		url    func(time.Time) string
		step   int // months
		want   int // of 1000, accepted
		reason Reason
	}{
		"months ahead": {func(d time.Time) string { return d.Format("/calendar/2006/1") }, 1, nearMonths + DefaultGrace, TrapPath},
		"views ahead":  {func(d time.Time) string { return d.Format("/calendar/2006/01/02?view=week") }, 1, nearMonths + DefaultGrace, TrapPath},
		"query ahead":  {func(d time.Time) string { return d.Format("/events?date=2006-01-02") }, 1, nearMonths + DefaultGrace, TrapQuery},
		"keys ahead":   {func(d time.Time) string { return d.Format("/events?year=2006&month=1") }, 1, nearMonths + DefaultGrace, TrapQuery},
		"days ahead":   {func(d time.Time) string { return today.AddDate(0, 0, months(d)).Format("/on/2006-01-02") }, 1, 14 + DefaultGrace, TrapPath},
		"back":         {func(d time.Time) string { return d.Format("/calendar/2006/1") }, -1, DefaultDateGrace, TrapPath},
		"days back":    {func(d time.Time) string { return d.Format("/calendar/2006/01/15") }, -1, 100, TrapPath},
		"far articles": {func(d time.Time) string { return d.AddDate(2, 0, 0).Format("/2006/01/02/what-will-be") }, 1, DefaultGrace, TrapPath},
		"articles":     {func(d time.Time) string { return d.Format("/2006/01/02/what-happened") }, -1, 1000, ""},
	} {
		t.Run(name, func(t *testing.T) {
			traps, in := NewTraps(TrapConfig{}), 0
			for i := range 1000 {
				if tc.step > 0 && i >= 12*(maxYearsAhead-3) {
					break // later ones are not dates
				}
				u := mustURL(t, "https://a.example"+tc.url(today.AddDate(0, tc.step*(i+1), 0)))
				if d := traps.Look(u, today); d.In {
					in++
				} else if d.Reason != tc.reason {
					t.Fatalf("%s: %+v", u, d)
				}
			}
			if in != tc.want {
				t.Errorf("%d are in, want %d", in, tc.want)
			}
		})
	}
}

func TestCombinations(t *testing.T) {
	traps := NewTraps(TrapConfig{})
	in := func(raw string) bool { return traps.Look(mustURL(t, "https://a.example"+raw), today).In }
	for _, key := range []string{"colour", "size", "brand"} {
		for _, value := range []string{"a", "b", "c"} {
			if !in("/list?" + key + "=" + value) {
				t.Errorf("the first %s=%s is out", key, value)
			}
		}
	}
	if !in("/list?colour=a&size=b") {
		t.Error("the first combination is out")
	}
	if in("/list?size=b&colour=a") {
		t.Error("another order is in")
	}
	for page := range 50 {
		if !in(fmt.Sprintf("/list?colour=a&size=b&page=%d", page+2)) {
			t.Error("a further page is out")
		}
	}
	if !in("/list?lang=de&colour=a&size=b") {
		t.Error("another language is out")
	}
	combinations := 0
	for _, c := range "abc" {
		for _, s := range "abc" {
			for _, b := range "abc" {
				if in(fmt.Sprintf("/list?colour=%c&size=%c&brand=%c", c, s, b)) {
					combinations++
				}
			}
		}
	}
	if combinations != DefaultGrace-1 {
		t.Errorf("%d further combinations are in, want %d", combinations, DefaultGrace-1)
	}
	if !in("/list?colour=new&size=b&brand=c") {
		t.Error("a combination with something new is out")
	}
	if d := traps.Look(mustURL(t, "https://a.example/list?colour=b&size=c&brand=c&price=a"), today); !d.In {
		t.Errorf("a new parameter is out: %+v", d)
	}
	// Ordinary pages allow more.
	for i := range 4 * ordinaryPerSuspicious {
		in(fmt.Sprintf("/article/%d", i))
	}
	more := 0
	for i := range 10 {
		if in(fmt.Sprintf("/list?sort=by%d", i)) {
			more++
		}
	}
	if more != 4 {
		t.Errorf("%d are in for 16 ordinary pages, want 4", more)
	}
}

// TestQueriesThatIdentifyThings has queries that identify things and show them in several ways. The things are
// found first; then the ways may be combined with them.
func TestQueriesThatIdentifyThings(t *testing.T) {
	for name, tc := range map[string]struct {
		things int
		format string // of a thing and a way
		all    bool   // none is refused
	}{
		"numbers":     {30, "/item?id=%d&view=%s", true},
		"few numbers": {9, "/item?id=%d&view=%s", false},
		"names":       {80, "/item?title=t%d&view=%s", true},
		"few names":   {30, "/item?title=t%d&view=%s", false},
	} {
		t.Run(name, func(t *testing.T) {
			traps, refused := NewTraps(TrapConfig{}), 0
			for _, view := range []string{"page", "history", "print", "talk"} {
				for i := range tc.things {
					if d := traps.Look(mustURL(t, "https://a.example"+fmt.Sprintf(tc.format, i, view)), today); !d.In {
						refused++
					}
				}
			}
			if (refused == 0) != tc.all {
				t.Errorf("%d of %d refused", refused, 4*tc.things)
			}
		})
	}
	// Things are ordinary, and allow a host more suspicious URLs.
	traps, in := NewTraps(TrapConfig{}), 0
	for i := range 100 {
		traps.Look(mustURL(t, fmt.Sprintf("https://a.example/item?id=%d", i)), today)
	}
	for i := range 100 {
		if traps.Look(mustURL(t, fmt.Sprintf("https://a.example/list?sort=by%d", i)), today).In {
			in++
		}
	}
	if want := DefaultGrace + (100-numericIDs+1)/ordinaryPerSuspicious; in != want {
		t.Errorf("%d orders of a list are in beside 100 things, want %d", in, want)
	}
}

// ordinarySites are URLs of real sites. None may be refused, in any order.
func ordinarySites() map[string][]string {
	sites := map[string][]string{}
	add := func(site, format string, args ...any) {
		sites[site] = append(sites[site], fmt.Sprintf(format, args...))
	}
	for c := range 40 {
		for p := range 30 {
			add("shop", "/collections/cat-%d?page=%d", c, p+2)
			add("shop with numbers", "/list.php?cat=%d&page=%d", c, p+2)
			add("shop in two languages", "/list.php?cat=%d&page=%d&lang=%s", c, p+2, []string{"en", "de"}[p%2])
			add("shop with offsets", "/c/cat-%d?start=%d&limit=24", c, 24*p)
		}
		add("shop", "/collections/cat-%d", c)
		add("shop with numbers", "/list.php?cat=%d", c)
	}
	for i := range 1500 {
		add("shop", "/products/thing-%d", i)
		add("shop", "/products/thing-%d?variant=%d", i, 40000000+i*7)
		add("shop with numbers", "/product.php?id=%d", i)
		add("shop with numbers", "/product.php?id=%d&cat=%d", i, i%40)
		add("shop in two languages", "/product.php?id=%d&lang=en", i)
		add("shop in two languages", "/product.php?id=%d&lang=de", i)
		add("docs", "/v%d.%d/guide/chapter-%d/section-%d.html", i%4, i%7, i%25, i)
		add("docs", "/api/java/util/concurrent/atomic/Class%d.html", i)
		add("forum", "/viewtopic.php?f=%d&t=%d", i%20, i)
		add("forum", "/viewtopic.php?t=%d&start=%d", i, 20*(i%5))
		add("forum", "/viewtopic.php?p=%d", 90000+i)
		add("forum", "/topic/%d/%d", 1000+i, 1+i%5)
		add("forum", "/topic/%d", 1000+i)
		add("further pages alone", "/thread/%d/%d", 2100+i, 2+i%10)
		add("wiki", "/index.php?title=Page_%d", i)
		add("wiki", "/wiki/Page_%d", i)
		add("joomla", "/index.php?option=com_content&view=article&id=%d&Itemid=%d", i, i%30)
		add("joomla", "/index.php?option=com_content&view=category&id=%d&limitstart=%d", i%50, 10*(i/50))
		add("news", "/%d/%02d/%02d/story-%d", 2005+i%22, 1+i%12, 1+i%28, i)
		add("news", "/article/%d/%016x", i, uint64(i)*0x9e3779b97f4a7c15)
		add("papers", "/abs/%02d%02d.%05d", 10+i%16, 1+i%12, i)
		add("code", "/o/r/blob/main/pkg/a/internal/b/testdata/c/file%d.go", i)
		add("code", "/o/r/commit/%040x", i)
		add("jobs", "/jobs?id=%08x-0000-4000-8000-000000000000", i)
	}
	for year := 2005; year <= 2026; year++ {
		add("blog", "/%d/", year)
		for month := 1; month <= 12; month++ {
			add("blog", "/%d/%02d/", year, month)
			for day := 1; day <= 28; day += 4 {
				add("blog", "/%d/%02d/%02d/a-post-of-%d-words", year, month, day, year*month*day)
			}
		}
	}
	for d := range 14 { // two weeks ahead
		add("events", "/events/%s/", today.AddDate(0, 0, d+1).Format(time.DateOnly))
		add("events", "/event/concert-%d/%s", d, today.AddDate(0, 6, d).Format(time.DateOnly))
	}
	for d := range 365 {
		add("events", "/events/%s/", today.AddDate(0, 0, -d).Format(time.DateOnly))
		add("events", "/event/reading-%d/", d)
		add("events", "/event/dance-%d/", d)
	}
	for i := range 200 {
		add("conference", "/%d/schedule/talk-%d", 2026+i%2, i)
		add("conference", "/2027/05/talk-%d", i)
		add("session in every link", "/page-%d?sid=%016x", i, uint64(i+1)*0x9e3779b97f4a7c15)
	}
	return sites
}

func TestOrdinarySites(t *testing.T) {
	for site, urls := range ordinarySites() {
		t.Run(site, func(t *testing.T) {
			for seed := range uint64(5) {
				r := rand.New(rand.NewPCG(seed, 1))
				seen := map[string]bool{}
				traps := NewTraps(TrapConfig{})
				refused := 0
				for _, i := range r.Perm(len(urls)) {
					if seen[urls[i]] {
						continue
					}
					seen[urls[i]] = true
					d := traps.Look(mustURL(t, "https://a.example"+urls[i]), today)
					if d.In {
						continue
					}
					if refused++; refused <= 3 {
						t.Errorf("order %d: %s: %+v", seed, urls[i], d)
					}
				}
				if refused > 0 {
					t.Errorf("order %d: %d of %d refused", seed, refused, len(seen))
				}
			}
		})
	}
}

// TestTrapSites mixes ordinary URLs with more kinds of traps than the lab has, as a crawler
// finds them: a few ordinary ones, many of the trap.
func TestTrapSites(t *testing.T) {
	pick := func(r *rand.Rand, list ...string) string { return list[r.IntN(len(list))] }
	for name, trap := range map[string]func(r *rand.Rand) string{
		"several values of a filter": func(r *rand.Rand) string {
			values := []string{"red", "blue", "green", "black", "white", "grey"}
			r.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
			return "/shop/?filter_colour=" + strings.Join(values[:1+r.IntN(6)], pick(r, ",", "%2C"))
		},
		"filters and orders": func(r *rand.Rand) string {
			return fmt.Sprintf("/list?colour=%d&size=%d&brand=%d&sort=%d&dir=%d&mode=%d", r.IntN(6), r.IntN(6), r.IntN(6), r.IntN(3), r.IntN(2), r.IntN(2))
		},
		"orders of many lists": func(r *rand.Rand) string {
			return fmt.Sprintf("/list/%d?sort=%s&dir=%s", r.IntN(1000), pick(r, "price", "name", "date"), pick(r, "asc", "desc"))
		},
		"sessions of few pages": func(r *rand.Rand) string { return fmt.Sprintf("/basket/%d?PHPSESSID=%x", r.IntN(10), r.Uint64()) },
		"sessions in the path":  func(r *rand.Rand) string { return fmt.Sprintf("/help/%d.jsp;jsessionid=%X", r.IntN(10), r.Uint64()) },
		"a link to itself":      func(r *rand.Rand) string { return "/" + strings.Repeat("news/", 4+r.IntN(10)) },
		"two links in a ring":   func(r *rand.Rand) string { return "/" + strings.Repeat("news/about/", 3+r.IntN(6)) },
		"far months": func(r *rand.Rand) string {
			return today.AddDate(0, 14+r.IntN(500), 0).Format("/events/2006/01/?view=" + pick(r, "list", "grid"))
		},
		"a growing query": func(r *rand.Rand) string { return "/search?q=a" + strings.Repeat("&ref=top", 3+r.IntN(20)) },
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 6))
			traps := NewTraps(TrapConfig{})
			seen := map[string]bool{}
			good, lost := 0, 0
			for i := range 2000 {
				urls := []string{fmt.Sprintf("/real/page-%d", i/20)} // a hundred real ones
				for range 5 {
					urls = append(urls, trap(r))
				}
				for _, raw := range urls {
					if seen[raw] {
						continue
					}
					seen[raw] = true
					switch in := traps.Look(mustURL(t, "https://a.example"+raw), today).In; {
					case strings.HasPrefix(raw, "/real/") && in:
						good++
					case in:
						lost++
					}
				}
			}
			t.Logf("%d real URLs, %d of %d of the trap", good, lost, len(seen)-100)
			if good != 100 || lost > good {
				t.Errorf("%d of 100 real URLs are in, and %d of the trap", good, lost)
			}
		})
	}
}

func TestTrapsAreBounded(t *testing.T) {
	const slack = 2*maxParts + 8 // facts of a single URL
	for name, tc := range map[string]struct {
		config TrapConfig
		hosts  int // used in turn
	}{
		"many hosts": {TrapConfig{MaxHosts: 50, MaxMarks: 100_000}, 70},
		"many facts": {TrapConfig{MaxMarks: 1000, MaxHostMarks: 400}, 7},
		"one host":   {TrapConfig{MaxMarks: 1000}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			traps := NewTraps(tc.config)
			forgotten := false
			for i := range 5000 {
				key := fmt.Sprintf("h%d.example", i%tc.hosts)
				hosts, marks := len(traps.hosts), traps.marks
				traps.Look(mustURL(t, fmt.Sprintf("https://%s/list?a=%d&b=%d", key, i, i%9)), today)
				forgotten = forgotten || len(traps.hosts) < hosts || traps.marks < marks || hosts == tc.config.MaxHosts
				total := 0
				for _, e := range traps.hosts {
					total += len(e.Value.(*trapHost).marks)
				}
				if total != traps.marks || total > traps.cfg.MaxMarks+slack || len(traps.hosts) > traps.cfg.MaxHosts || traps.lru.Len() != len(traps.hosts) {
					t.Fatalf("after %d URLs: %d marks (counted %d), %d hosts in the map, %d in the list", i+1, total, traps.marks, len(traps.hosts), traps.lru.Len())
				}
				if h := traps.lru.Front().Value.(*trapHost); h.key != key {
					t.Fatalf("%s was asked about last, not %s", key, h.key)
				}
			}
			if !forgotten {
				t.Error("nothing was ever forgotten")
			}
		})
	}
}

func TestTrapsAreDeterministic(t *testing.T) {
	a, b := NewTraps(TrapConfig{}), NewTraps(TrapConfig{})
	r := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		u := mustURL(t, fmt.Sprintf("https://h%d.example/l%d?a=%d&b=%d&sort=%d", r.IntN(5), r.IntN(5), r.IntN(9), r.IntN(9), r.IntN(3)))
		if x, y := a.Look(u, today), b.Look(u, today); x != y {
			t.Fatalf("%s: %+v and %+v", u, x, y)
		}
	}
}

func FuzzTraps(f *testing.F) {
	f.Add("/a/b/c?x=1&y=2;z", "/2026/05?date=2026-99-99")
	f.Add("/(S(", ";jsessionid=&&=&")
	f.Fuzz(func(t *testing.T, one, two string) {
		traps, again := NewTraps(TrapConfig{}), NewTraps(TrapConfig{})
		var same Duplicates
		for _, raw := range []string{one, two, one + two} {
			u, err := weburl.Parse("https://a.example/" + raw)
			if err != nil {
				continue
			}
			d := traps.Look(u, today)
			if d.In == (d.Reason != "") || d.In == (d.Rule != "") {
				t.Errorf("%s: %+v", u, d)
			}
			if d != again.Look(u, today) {
				t.Errorf("%s: decided otherwise the second time", u)
			}
			same.Observe(u, 1, "")
			if !same.Look(u).In {
				t.Errorf("%s is a duplicate of nothing", u)
			}
		}
	})
}

func BenchmarkLook(b *testing.B) {
	for name, format := range map[string]string{
		"plain":    "https://a.example/shop/women/shoes/red-running-shoe-%d.html",
		"filtered": "https://a.example/shop/women/shoes?colour=red&size=%d",
	} {
		b.Run(name, func(b *testing.B) {
			traps := NewTraps(TrapConfig{})
			b.ReportAllocs()
			urls := seeds(b, func() (list []string) {
				for i := range 1000 {
					list = append(list, fmt.Sprintf(format, i))
				}
				return list
			}()...)
			n := 0
			for b.Loop() {
				traps.Look(urls[n%len(urls)], today)
				n++
			}
		})
	}
}
