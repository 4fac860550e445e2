package limit

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestNames compares the table of names with the fields: a field without a name would be a limit that is
// never enforced.
func TestNames(t *testing.T) {
	typ := reflect.TypeFor[Limits]()
	if typ.NumField() != len(Names) {
		t.Fatalf("%d fields, %d names", typ.NumField(), len(Names))
	}
	for i, n := range Names {
		var l Limits
		reflect.ValueOf(&l).Elem().Field(i).SetInt(7)
		if l.Of(n) != 7 {
			t.Errorf("%s does not read field %s", n, typ.Field(i).Name)
		}
		if isDuration := typ.Field(i).Type == reflect.TypeFor[time.Duration](); isDuration != n.span() {
			t.Errorf("%s: a duration or not?", n)
		}
	}
	if (&Limits{Pages: 1}).Of("max_fun") != 0 {
		t.Error("an unknown name has a limit")
	}
}

func TestResolve(t *testing.T) {
	safety := Layer{Safety, Limits{Pages: 50, Time: time.Minute}}
	plan := Layer{Plan, Limits{Pages: 500, Hosts: 3, Retention: 30 * 24 * time.Hour}}
	for name, tc := range map[string]struct {
		layers []Layer
		limit  Name
		want   string
	}{
		"capped by safety":            {[]Layer{safety, plan, {Job, Limits{Pages: 100}}}, Pages, "max_pages 50 (safety; requested 100)"},
		"in any order":                {[]Layer{{Job, Limits{Pages: 100}}, plan, safety}, Pages, "max_pages 50 (safety; requested 100)"},
		"capped by plan":              {[]Layer{plan, {Job, Limits{Pages: 1000}}}, Pages, "max_pages 500 (plan; requested 1000)"},
		"the job's own":               {[]Layer{safety, plan, {Job, Limits{Pages: 20}}}, Pages, "max_pages 20 (job)"},
		"equal: the outer is named":   {[]Layer{{Job, Limits{Pages: 50}}, safety}, Pages, "max_pages 50 (safety)"},
		"nothing was asked":           {[]Layer{safety, {Job, Limits{}}}, Pages, "max_pages 50 (safety)"},
		"what is left of a quota":     {[]Layer{plan, Quota{Pages: 1000, UsedPages: 990}.Layer(), {Job, Limits{Pages: 100}}}, Pages, "max_pages 10 (usage; requested 100)"},
		"a quota used up":             {[]Layer{plan, Quota{Pages: 1000, UsedPages: 1001}.Layer()}, Pages, "max_pages 0 (usage)"},
		"no quota":                    {[]Layer{Quota{UsedPages: 7}.Layer()}, Pages, "max_pages none"},
		"no layer says anything":      {[]Layer{safety, plan}, Depth, "max_depth none"},
		"no layers":                   {nil, Pages, "max_pages none"},
		"durations":                   {[]Layer{safety, {Job, Limits{Time: 90 * time.Minute}}}, Time, "max_time 1m (safety; requested 1h30m)"},
		"whole hours":                 {[]Layer{plan, {Job, Limits{Retention: 90 * 24 * time.Hour}}}, Retention, "retention 720h (plan; requested 2160h)"},
		"fractions of a second":       {[]Layer{{Job, Limits{Time: 1500*time.Millisecond + 1}}}, Time, "max_time 1.5s (job)"},
		"one level twice":             {[]Layer{{Job, Limits{Pages: 9}}, {Job, Limits{Pages: 7}}}, Pages, "max_pages 7 (job)"},
		"each kind has its own layer": {[]Layer{safety, plan, {Job, Limits{Pages: 5}}}, Hosts, "max_hosts 3 (plan)"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Resolve(tc.layers...).Of(tc.limit).String(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestStrictest: whatever the layers, the ceiling is the smallest limit of any layer, and the layer it
// names did set it.
func TestStrictest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var layers []Layer
		for _, level := range Levels {
			layers = append(layers, Layer{level, Limits{Pages: rapid.Int64Range(-1, 5).Draw(t, string(level))}})
		}
		c := Resolve(layers...).Of(Pages)
		smallest, by := int64(math.MaxInt64), Level("")
		for _, l := range layers {
			if p := l.Limits.Pages; p != 0 && max(p, 0) < smallest {
				smallest, by = max(p, 0), l.Level
			}
		}
		if c.Layer != by || by != "" && c.Max != smallest {
			t.Fatalf("%+v: got %s, want %d by %q", layers, c, smallest, by)
		}
	})
}

func TestUnknownLevel(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a level outside the set was taken")
		}
	}()
	Resolve(Layer{Level: "whim"})
}

func TestCapped(t *testing.T) {
	e := Resolve(NewService(), Layer{Job, Limits{Pages: 100, Time: time.Second, Depth: 3}})
	var all, capped []string
	for _, c := range e.Ceilings() {
		all = append(all, c.String())
	}
	for _, c := range e.Capped() {
		capped = append(capped, c.String())
	}
	if got, want := strings.Join(all, ", "), "max_pages 50 (safety; requested 100), max_time 1s (job), max_depth 3 (job), max_concurrent_crawls 1 (safety)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := strings.Join(capped, ", "), "max_pages 50 (safety; requested 100)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !e.Of(Depth).Allows(3) || e.Of(Depth).Allows(4) || !e.Of(Requests).Allows(1<<62) || e.Of(Requests).Reached(1<<62) {
		t.Error("ceilings allow the wrong amounts")
	}
	if e.Max(Pages) != 50 || e.Max(Requests) != 0 {
		t.Error("numbers differ from ceilings")
	}
}

// TestMessages pins every message: they are API, and scripts match them.
func TestMessages(t *testing.T) {
	asked := Layer{Job, Limits{
		Pages: 100, Requests: 1000, Time: time.Hour, Depth: 9, Bytes: 1 << 20, PagesPerHost: 30, Patience: time.Hour,
		ConcurrentCrawls: 4, Hosts: 20, RequestsPerSecond: 50, Retention: 48 * time.Hour,
	}}
	tight := Limits{
		Pages: 50, Requests: 500, Time: time.Minute, Depth: 5, Bytes: 1 << 10, PagesPerHost: 10, Patience: 10 * time.Minute,
		ConcurrentCrawls: 1, Hosts: 2, RequestsPerSecond: 5, Retention: 24 * time.Hour,
	}
	for name, tc := range map[string]struct {
		layers []Layer
		limit  Name
		want   string
	}{
		"safety pages":         {[]Layer{{Safety, tight}, asked}, Pages, "Safety limit: Maximum 50 pages per crawl (requested: 100)"},
		"safety pages, open":   {[]Layer{{Safety, tight}}, Pages, "Safety limit: Maximum 50 pages per crawl"},
		"safety one page":      {[]Layer{{Safety, Limits{Pages: 1}}, asked}, Pages, "Safety limit: Maximum 1 page per crawl (requested: 100)"},
		"safety time":          {[]Layer{{Safety, tight}, asked}, Time, "Safety limit: Crawl timeout exceeded (60000ms)"},
		"safety requests":      {[]Layer{{Safety, tight}, asked}, Requests, "Safety limit: Maximum 500 requests per crawl (requested: 1000)"},
		"safety depth":         {[]Layer{{Safety, tight}, asked}, Depth, "Safety limit: Maximum 5 links from a seed (requested: 9)"},
		"safety bytes":         {[]Layer{{Safety, tight}, asked}, Bytes, "Safety limit: Maximum 1024 bytes per crawl (requested: 1048576)"},
		"safety host pages":    {[]Layer{{Safety, tight}, asked}, PagesPerHost, "Safety limit: Maximum 10 pages per host (requested: 30)"},
		"safety patience":      {[]Layer{{Safety, tight}, asked}, Patience, "Safety limit: Patience with a host exceeded (600000ms)"},
		"safety crawls":        {[]Layer{{Safety, tight}, asked}, ConcurrentCrawls, "Safety limit: Maximum 1 crawl at a time (requested: 4)"},
		"plan pages":           {[]Layer{{Plan, tight}, asked}, Pages, "Plan limit: Maximum 50 pages per crawl (requested: 100)"},
		"plan time":            {[]Layer{{Plan, tight}, asked}, Time, "Plan limit: Crawl timeout exceeded (60000ms)"},
		"plan hosts":           {[]Layer{{Plan, tight}, asked}, Hosts, "Plan limit: Maximum 2 hosts per crawl (requested: 20)"},
		"plan rate":            {[]Layer{{Plan, tight}, asked}, RequestsPerSecond, "Plan limit: Maximum 5 requests per second (requested: 50)"},
		"plan retention":       {[]Layer{{Plan, tight}, asked}, Retention, "Plan limit: Maximum retention 24h (requested: 48h)"},
		"usage pages":          {[]Layer{Quota{Pages: 1000, UsedPages: 990}.Layer(), asked}, Pages, "Usage limit: Maximum 10 pages left this month (requested: 100)"},
		"usage pages, none":    {[]Layer{Quota{Pages: 1000, UsedPages: 1000}.Layer(), asked}, Pages, "Usage limit: Maximum 0 pages left this month (requested: 100)"},
		"usage bytes":          {[]Layer{Quota{Bytes: 1000, UsedBytes: 1}.Layer(), asked}, Bytes, "Usage limit: Maximum 999 bytes left this month (requested: 1048576)"},
		"job pages":            {[]Layer{asked}, Pages, "Job limit: Maximum 100 pages per crawl"},
		"job time":             {[]Layer{asked}, Time, "Job limit: Crawl timeout exceeded (3600000ms)"},
		"job requests":         {[]Layer{asked}, Requests, "Job limit: Maximum 1000 requests per crawl"},
		"job bytes":            {[]Layer{asked}, Bytes, "Job limit: Maximum 1048576 bytes per crawl"},
		"job host pages":       {[]Layer{asked}, PagesPerHost, "Job limit: Maximum 30 pages per host"},
		"job depth":            {[]Layer{asked}, Depth, "Job limit: Maximum 9 links from a seed"},
		"job patience":         {[]Layer{asked}, Patience, "Job limit: Patience with a host exceeded (3600000ms)"},
		"the preset audit":     {[]Layer{{Job, Preset("audit")}}, Pages, "Job limit: Maximum 200 pages per crawl"},
		"the preset's hour":    {[]Layer{{Job, Preset("audit")}}, Time, "Job limit: Crawl timeout exceeded (3600000ms)"},
		"a new service's time": {[]Layer{NewService()}, Time, "Safety limit: Crawl timeout exceeded (60000ms)"},
	} {
		t.Run(name, func(t *testing.T) {
			c := Resolve(tc.layers...).Of(tc.limit)
			err := c.Exceeded(c.Max)
			if err.Error() != tc.want {
				t.Errorf("got %q, want %q", err, tc.want)
			}
			if err.Timeout() != (tc.limit == Time) {
				t.Errorf("%q is a timeout: %v", err, err.Timeout())
			}
		})
	}
	if Preset("polite") != (Limits{}) {
		t.Error("polite brings limits")
	}
}

func TestBudget(t *testing.T) {
	start := time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)
	e := Resolve(
		Layer{Safety, Limits{Pages: 50, Time: time.Minute}},
		Layer{Plan, Limits{Hosts: 10}},
		Layer{Job, Limits{Pages: 100, Requests: 1000, Bytes: 1 << 20}},
	)
	type step struct {
		after time.Duration
		use   Use
		warn  string
		over  string
	}
	for name, tc := range map[string]struct {
		spent Use
		steps []step
	}{
		"pages": {steps: []step{
			{time.Second, Use{Pages: 39}, "", ""},
			{time.Second, Use{Pages: 1}, "max_pages: 80 % used, 40 of 50 (safety)", ""},
			{time.Second, Use{Pages: 1}, "", ""},
			{time.Second, Use{Pages: 6}, "", ""},
			{time.Second, Use{Pages: 1}, "max_pages: 95 % used, 48 of 50 (safety)", ""},
			{time.Second, Use{Pages: 1}, "", ""},
			{time.Second, Use{Pages: 1}, "", "Safety limit: Maximum 50 pages per crawl (requested: 100)"},
			{time.Second, Use{Pages: 3}, "", "Safety limit: Maximum 50 pages per crawl (requested: 100)"},
		}},
		"time": {steps: []step{
			{48*time.Second - 1, Use{}, "", ""},
			{48 * time.Second, Use{}, "max_time: 80 % used, 48s of 1m (safety)", ""},
			{47 * time.Second, Use{}, "", ""}, // a clock that was set back
			{57 * time.Second, Use{}, "max_time: 95 % used, 57s of 1m (safety)", ""},
			{time.Minute, Use{}, "", "Safety limit: Crawl timeout exceeded (60000ms)"},
		}},
		"the first ceiling stays named": {steps: []step{
			{time.Second, Use{Requests: 1000}, "max_requests: reached, 1000 of 1000 (job)", "Job limit: Maximum 1000 requests per crawl"},
			{time.Minute, Use{}, "max_time: reached, 1m of 1m (safety)", "Job limit: Maximum 1000 requests per crawl"},
		}},
		"two at once": {steps: []step{
			{time.Second, Use{Pages: 45, Bytes: 1 << 20}, "max_pages: 80 % used, 45 of 50 (safety); max_bytes: reached, 1048576 of 1048576 (job)", "Job limit: Maximum 1048576 bytes per crawl"},
		}},
		"hosts warn and stop nothing": {steps: []step{
			{time.Second, Use{Hosts: 7}, "", ""},
			{time.Second, Use{Hosts: 1}, "max_hosts: 80 % used, 8 of 10 (plan)", ""},
			{time.Second, Use{Hosts: 2}, "max_hosts: reached, 10 of 10 (plan)", ""},
		}},
		"resumed": {spent: Use{Pages: 41, Time: 50 * time.Second}, steps: []step{
			{0, Use{}, "", ""}, // 80 % was reported before
			{7 * time.Second, Use{Pages: 1}, "max_time: 95 % used, 57s of 1m (safety)", ""},
			{10 * time.Second, Use{}, "", "Safety limit: Crawl timeout exceeded (60000ms)"},
		}},
		"resumed when spent": {spent: Use{Pages: 50}, steps: []step{
			{0, Use{}, "", "Safety limit: Maximum 50 pages per crawl (requested: 100)"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBudget(e, start, tc.spent)
			for i, s := range tc.steps {
				b.Observe(start.Add(s.after), s.use)
				var warnings []string
				for _, w := range b.Warnings() {
					warnings = append(warnings, w.String())
				}
				if got := strings.Join(warnings, "; "); got != s.warn {
					t.Errorf("step %d: warned %q, want %q", i, got, s.warn)
				}
				over := ""
				if err := b.Exceeded(); err != nil {
					over = err.Error()
				}
				if over != s.over {
					t.Errorf("step %d: exceeded %q, want %q", i, over, s.over)
				}
				if len(b.Warnings()) != 0 {
					t.Errorf("step %d: warned twice", i)
				}
			}
		})
	}
}

func TestBudgetDeadline(t *testing.T) {
	start := time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)
	b := NewBudget(Resolve(NewService()), start, Use{Time: 10 * time.Second})
	b.Observe(start.Add(5*time.Second), Use{Pages: 2})
	at, ok := b.Deadline()
	if want := start.Add(50 * time.Second); !ok || !at.Equal(want) {
		t.Errorf("deadline %s %v, want %s", at, ok, want)
	}
	if got, want := b.Spent(), (Use{Pages: 2, Time: 15 * time.Second}); got != want {
		t.Errorf("spent %+v, want %+v", got, want)
	}
	if _, ok := NewBudget(Effective{}, start, Use{}).Deadline(); ok {
		t.Error("no limit, but a deadline")
	}
	var exceeded *ExceededError
	if errors.As(error(b.lines[0].Exceeded(3)), &exceeded); exceeded.Observed != 3 {
		t.Errorf("observed %d", exceeded.Observed)
	}
}

// TestMark: the marks are exact for limits of any size.
func TestMark(t *testing.T) {
	for _, limit := range []int64{0, 1, 2, 5, 20, 50, 99, 101, 1000, 12345, math.MaxInt64 / 100} {
		for _, percent := range marks {
			m := mark(limit, percent)
			if m*100 < limit*int64(percent) || m > 0 && (m-1)*100 >= limit*int64(percent) {
				t.Errorf("%d %% of %d is not %d", percent, limit, m)
			}
		}
	}
	if m := mark(math.MaxInt64, 95); m < math.MaxInt64/100*95 {
		t.Errorf("95 %% of the largest limit is %d", m)
	}
}

// TestRules expects one rule for each field of Limits and of Use, and that everything counted is in
// Counted.
func TestRules(t *testing.T) {
	var l Limits
	var u Use
	places, fields := map[*int64]Name{}, map[string]bool{}
	counted := 0
	for i := range Rules {
		r := &Rules[i]
		if other := places[r.at(&l)]; other != "" {
			t.Errorf("%s and %s are the same field", r.Name, other)
		}
		places[r.at(&l)] = r.Name
		if r.Doc == "" || fields[r.Field()] || r.Name.Rule() != r {
			t.Errorf("%s has no doc, or is there twice", r.Name)
		}
		fields[r.Field()] = true
		if (r.used != nil) != slices.Contains(Counted, r.Name) {
			t.Errorf("%s is counted, or it is not", r.Name)
		}
		if r.used != nil {
			counted++
			*r.used(&u)++
		}
		if r.Asked && !r.Safety {
			t.Errorf("%s can be asked for and has no ceiling", r.Name)
		}
	}
	if n := reflect.TypeFor[Limits]().NumField(); len(places) != n {
		t.Errorf("%d rules, %d fields", len(places), n)
	}
	if n := reflect.TypeFor[Use]().NumField(); counted != n || len(Counted) != n {
		t.Errorf("%d rules are counted, %d in the list, %d fields", counted, len(Counted), n)
	}
	if want := (Use{1, 1, 1, 1, 1}); u != want {
		t.Errorf("%+v, want %+v", u, want)
	}
}
