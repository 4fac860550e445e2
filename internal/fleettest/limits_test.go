package fleettest

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/lab"
	"headway/limit"
	"headway/store"
)

// stopRow is a limit that stopped a job.
type stopRow struct {
	Name     limit.Name  `json:"limit"`
	Layer    limit.Level `json:"layer"`
	Max      float64     `json:"max"`
	Observed float64     `json:"observed"`
	Text     string      `json:"text"`
}

// limitRow is a limit of a job.
type limitRow struct {
	Name      limit.Name  `json:"limit"`
	Layer     limit.Level `json:"layer"`
	Max       float64     `json:"max"`
	Requested float64     `json:"requested"`
}

// limitKind is a limit, the layers that can set it, and a crawl that reaches it and no other.
type limitKind struct {
	name    limit.Name
	layers  []limit.Level
	max     int64             // in pages, bytes, seconds and so on
	hosts   int               // of each crawl
	seeds   int               // of these; 0 means all
	site    func(*lab.Site)   // changes their content; nil for none
	message string            // of the error, with the limit; empty if the limit does not stop a job
	check   func(*limitedJob) // what the lab saw, and what was stored
}

// allLayers can set most limits.
var allLayers = []limit.Level{limit.Safety, limit.Plan, limit.Job}

// limitKinds are the limits of a crawl. Crawls under safety limits have all of those at once,
// so each must stay below the others: at a depth of 1, with 9 pages from each host.
func limitKinds() []limitKind {
	size := func(short, long int64) int64 {
		if full {
			return long
		}
		return short
	}
	hosts := func(n int) int { return int(size(int64(n), int64(2*n))) }
	return []limitKind{
		// The first to be awaited: it is extended while the others run.
		{
			name: limit.Requests, layers: allLayers, max: size(50, 250), hosts: hosts(4), message: "Maximum %d requests per crawl",
			site: func(s *lab.Site) { s.Links, s.RedirectRate = 40, 1 }, check: (*limitedJob).checkRequests,
		},
		{
			name: limit.Pages, layers: append(slices.Clone(allLayers), limit.Usage), max: size(30, 160), hosts: hosts(4), message: "Maximum %d pages per crawl",
			site: func(s *lab.Site) { s.Links = 40 }, check: (*limitedJob).checkPages,
		},
		{
			name: limit.Bytes, layers: append(slices.Clone(allLayers), limit.Usage), max: size(800_000, 4_000_000), hosts: hosts(3), message: "Maximum %d bytes per crawl",
			site: func(s *lab.Site) { s.Links, s.MinKB, s.MaxKB, s.Gzip = 40, largePage>>10, largePage>>10, false }, check: (*limitedJob).checkBytes,
		},
		{
			name: limit.Hosts, layers: []limit.Level{limit.Safety, limit.Plan}, max: size(8, 16), hosts: hosts(12), seeds: 2, message: "Maximum %d hosts per crawl",
			site: func(s *lab.Site) { s.Pages, s.CrossLinks = 3, 80 }, check: (*limitedJob).checkHosts,
		},
		{name: limit.Depth, layers: allLayers, max: 1, hosts: hosts(3), check: (*limitedJob).checkDepth},
		{
			name: limit.PagesPerHost, layers: allLayers, max: size(9, 25), hosts: hosts(3),
			site: func(s *lab.Site) { s.Links = 40 }, check: (*limitedJob).checkPagesPerHost,
		},
		{
			name: limit.RequestsPerSecond, layers: []limit.Level{limit.Safety, limit.Plan}, max: 5, hosts: hosts(8),
			site: func(s *lab.Site) { s.Pages = 3 }, check: (*limitedJob).checkRate,
		},
		// The last: under safety limits its time is set when the others have ended.
		{name: limit.Time, layers: allLayers, max: size(20, 60), hosts: hosts(4), message: "Crawl timeout exceeded (%d000ms)", check: (*limitedJob).checkTime},
	}
}

// otherLimits do not bound a crawl, and are tested elsewhere.
var otherLimits = map[limit.Name]string{
	limit.Patience:         "with a host: headway.TestPatienceEndsAnOutage, TestDeadSeeds",
	limit.ConcurrentCrawls: "how many run: TestQueue, TestServiceSafety, headway.TestLimitsConcurrentCrawls",
	limit.Retention:        "of results: chore.TestRetention",
}

const (
	largePage = 40 << 10 // a page of crawls that reach their byte limit
	// looser is how many times the limit of a row those of the other layers are.
	looser = 20
)

// TestLimitKinds: every limit that a flag can set, in every layer, is in a row of
// TestServiceLimits.
func TestLimitKinds(t *testing.T) {
	t.Parallel()
	help := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "headway", append(args, "--help-all")...)
		cmd.Env = cleanEnv()
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	safety, plan, job := help("admin", "safety", "set"), help("admin", "plan", "set"), help("job", "submit")
	has := func(text, flag string) bool { return strings.Contains(text, "--"+flag+" ") }
	kinds := map[limit.Name][]limit.Level{}
	for _, k := range limitKinds() {
		kinds[k.name] = k.layers
	}
	for _, r := range limit.Rules {
		flag := strings.ReplaceAll(string(r.Name), "_", "-")
		for layer, set := range map[limit.Level]bool{
			limit.Safety: has(safety, flag), limit.Plan: has(plan, flag), limit.Job: has(job, flag),
			limit.Usage: has(plan, strings.Replace(flag, "max-", "month-", 1)) && strings.HasPrefix(flag, "max-"),
		} {
			if otherLimits[r.Name] == "" && slices.Contains(kinds[r.Name], layer) != set {
				t.Errorf("%s of the layer %s: there is a flag: %v, there is a row: %v", r.Name, layer, set, !set)
			}
		}
		if r.Safety != has(safety, flag) || r.Asked != has(job, flag) {
			t.Errorf("%s: safety %v, asked %v, but the flags differ", r.Name, r.Safety, r.Asked)
		}
	}
}

// TestServiceLimits: every limit of a crawl, set by every layer that can set it, in a fleet of
// which workers are killed while the crawl runs. Each is exact or within its bound, as the
// lab counts; the job names the limit and the layer that set it, though other layers have
// looser ones; and 80 and 95 % of it and the end are one event each.
func TestServiceLimits(t *testing.T) {
	t.Parallel()
	for name, layers := range map[string][]limit.Level{"safety": {limit.Safety}, "tenants": {limit.Plan, limit.Usage, limit.Job}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newLimitFleet(t, layers)
			f.submitAll()
			for range limitWorkers {
				f.start()
			}
			var again []*limitedJob
			for _, r := range f.jobs {
				if r.name == limit.Time && r.layer == limit.Safety {
					f.limitTime(r)
				}
				r.await()
				if r.name == limit.Requests && r.layer == limit.Job {
					r.extend()
					again = append(again, r)
				}
			}
			for _, r := range again {
				r.await()
			}
			if want := f.maxKills(); f.kills != want {
				t.Errorf("%d kills, want %d", f.kills, want)
			}
			f.polite()
			f.leaveAll()
		})
	}
}

const limitWorkers = 3

// limitFleet is a fleet with a job for each row.
type limitFleet struct {
	*fleet
	jobs     []*limitedJob
	kills    int
	nextKill time.Time
}

// limitedJob is the job of one row: a limit that one layer sets.
type limitedJob struct {
	*limitFleet
	limitKind
	layer  limit.Level
	tenant string
	urls   []string // front pages of its hosts, which no other job has
	asked  int64    // what it requests
	id     int64
	now    job
	seen   map[string]lab.HostStats // what its hosts saw
	before []string                 // events of a lower limit, before it was extended
}

// newLimitFleet starts a fleet for the rows of some layers.
func newLimitFleet(t *testing.T, layers []limit.Level) *limitFleet {
	t.Helper()
	f := &limitFleet{}
	var sites []func(*lab.Site)
	safety := []string{"--max-concurrent", "0"}
	for _, k := range limitKinds() {
		for _, layer := range k.layers {
			if slices.Contains(layers, layer) {
				r := &limitedJob{limitFleet: f, limitKind: k, layer: layer, tenant: fmt.Sprint("t", len(f.jobs)), asked: looser * k.max}
				if layer == limit.Job {
					r.asked = k.max
				}
				f.jobs = append(f.jobs, r)
				sites = append(sites, slices.Repeat([]func(*lab.Site){k.site}, k.hosts)...)
			}
		}
		switch {
		case !slices.Contains(layers, limit.Safety):
			safety = append(safety, k.flag(), k.value(looser*k.max))
		case k.name == limit.Time: // see limitTime
			safety = append(safety, k.flag(), "0s")
		default:
			safety = append(safety, k.flag(), k.value(k.max))
		}
	}
	f.fleet = newFleet(t, setup{hosts: len(sites), pages: 200, safety: safety, site: func(host int, s *lab.Site) {
		s.Links, s.CrossLinks, s.PrivateLinks, s.NofollowLinks = 0, 0, 0, 0
		if sites[host] != nil {
			sites[host](s)
		}
	}})
	urls := f.lab.Seeds()
	for _, r := range f.jobs {
		r.urls, urls = urls[:r.hosts], urls[r.hosts:]
	}
	return f
}

// flag is the flag of the limit.
func (k *limitKind) flag() string { return "--" + strings.ReplaceAll(string(k.name), "_", "-") }

// value is a value of the limit, as its flag takes it.
func (k *limitKind) value(n int64) string {
	if k.name == limit.Time {
		return (time.Duration(n) * time.Second).String()
	}
	return strconv.FormatInt(n, 10)
}

// submitAll sets the plans and submits all jobs. They start together, with the workers.
func (f *limitFleet) submitAll() {
	f.Helper()
	for _, r := range f.jobs {
		flag, account := r.flag(), []string{"admin", "tenant", "set", r.tenant}
		switch r.layer {
		case limit.Usage:
			flag = strings.Replace(flag, "max", "month", 1)
			fallthrough
		case limit.Plan:
			f.run("admin", "plan", "set", r.tenant, flag, r.value(r.max))
			account = append(account, "--plan", r.tenant)
		}
		if r.layer != limit.Job {
			f.run(account...)
		}
		pace := f.pace
		if r.name == limit.Time && r.layer == limit.Safety {
			pace *= 10 // to stay below the other limits
		}
		args := []string{"job", "submit", "--json", "--sitemaps", "off", "--delay", pace.String(), "--in-flight", "1", "--jitter", "0"}
		if r.layer != limit.Job {
			args = append(args, "--tenant", r.tenant)
		}
		if r.name.Rule().Asked {
			args = append(args, r.flag(), r.value(r.asked))
		}
		seeds := r.urls
		if r.seeds > 0 {
			seeds = r.urls[:r.seeds]
			for _, url := range r.urls {
				args = append(args, "--scope-host", strings.TrimSuffix(url, "/"))
			}
		}
		if err := json.Unmarshal(f.run(append(args, seeds...)...), &r.now); err != nil {
			f.Fatal(err)
		}
		r.id = r.now.ID
	}
}

// maxKills is how many workers are killed.
func (f *limitFleet) maxKills() int {
	if full {
		return 4
	}
	return 1
}

// kill replaces a worker by a new one when it is time: when all jobs have sent requests and
// none has ended, and then once a lease.
func (f *limitFleet) kill() {
	f.Helper()
	if f.kills == f.maxKills() || time.Now().Before(f.nextKill) {
		return
	}
	if f.kills == 0 {
		f.count()
		for _, r := range f.jobs {
			if len(r.seen) == 0 {
				return
			}
		}
		for _, r := range f.jobs {
			if f.hasEnded(r.id) {
				f.Errorf("%s ended before a worker was killed", r)
			}
		}
	}
	victim, _ := f.victim()
	f.fleet.kill(victim)
	f.start()
	f.kills++
	f.nextKill = time.Now().Add(lease + f.chance(lease))
}

// count reads what the hosts of all jobs saw.
func (f *limitFleet) count() {
	f.Helper()
	all := map[string]lab.HostStats{}
	for _, h := range f.lab.Stats().PerHost {
		all[h.Host+"/"] = h
	}
	for _, r := range f.jobs {
		r.seen = map[string]lab.HostStats{}
		for _, url := range r.urls {
			if h, ok := all[url]; ok {
				r.seen[url] = h
			}
		}
	}
}

// sum adds up a count of all hosts of a job.
func (r *limitedJob) sum(of func(lab.HostStats) int64) (n int64) {
	for _, h := range r.seen {
		n += of(h)
	}
	return n
}

// String names the row in messages.
func (r *limitedJob) String() string {
	return fmt.Sprintf("%s of the layer %s (job %d)", r.name, r.layer, r.id)
}

// await waits for the end of the job and checks it.
func (r *limitedJob) await() {
	r.Helper()
	r.now = r.fleet.await(r.id, r.long(), r.kill)
	r.count()
	j := &r.now
	r.Logf("%s: %s (%s), %d pages, errors %+v, %d requests and %d bytes on %d hosts", r, j.State, j.Reason, j.Pages, j.Errors,
		r.sum(func(h lab.HostStats) int64 { return h.Requests }), r.sum(func(h lab.HostStats) int64 { return h.BytesOut }), len(r.seen))
	want := limitRow{r.name, r.layer, float64(r.max), 0}
	if r.name.Rule().Asked {
		want.Requested = float64(r.asked)
	}
	if !slices.Contains(j.Limits, want) {
		r.Errorf("%s: its limits are %+v, want %+v among them", r, j.Limits, want)
	}
	if j.Pages != r.recorded(r.id) {
		r.Errorf("%s: %d pages, %d stored", r, j.Pages, r.recorded(r.id))
	}
	if r.message == "" {
		if j.State != "complete" || !j.Success || len(j.Errors) > 0 {
			r.Errorf("%s: %s (%s), errors %+v, want complete", r, j.State, j.Reason, j.Errors)
		}
	} else {
		r.checkStopped()
	}
	r.checkEvents()
	r.check(r)
}

// checkStopped wants a job that its limit stopped, with what it used.
func (r *limitedJob) checkStopped() {
	r.Helper()
	j := &r.now
	if j.State != "partial" || j.Reason != string(r.name) || j.Success != (r.name != limit.Time) || len(j.Errors) != 1 {
		r.Fatalf("%s: %s (%s), success %v, errors %+v", r, j.State, j.Reason, j.Success, j.Errors)
	}
	text := fmt.Sprintf(r.message, r.max)
	switch {
	case r.layer == limit.Usage:
		text = strings.Replace(text, "per crawl", "left this month", 1)
		fallthrough
	case r.layer != limit.Job && r.name != limit.Time && r.name.Rule().Asked:
		text += fmt.Sprintf(" (requested: %d)", r.asked)
	}
	layer := string(r.layer)
	text = strings.ToUpper(layer[:1]) + layer[1:] + " limit: " + text
	e := j.Errors[0]
	if e.Observed < e.Max || (e != stopRow{r.name, r.layer, float64(r.max), e.Observed, text}) {
		r.Errorf("%s: stopped by %+v, want %q", r, e, text)
	}
	if exact := r.name != limit.Bytes && r.name != limit.Time; exact && e.Observed != e.Max {
		r.Errorf("%s: stopped at %v", r, e.Observed)
	}
}

// checkEvents wants one event at 80 and at 95 % of a limit that is counted and one when it
// stopped the job; of the other limits no end, and no warning twice.
func (r *limitedJob) checkEvents() {
	r.Helper()
	var own, others []string
	r.sql(func(conn *pgx.Conn) error {
		rows, err := conn.Query(r.Context(), `select e.kind, b ->> 'limit', b ->> 'layer', (b ->> 'max')::bigint, (b ->> 'percent')::int
			from event e, lateral (select e.body::jsonb) x(b) where e.job = $1 and e.kind like 'limit.%' order by e.kind, 4, 5`, r.id)
		if err != nil {
			return err
		}
		var kind string
		var n stopRow
		var most int64
		var percent int
		_, err = pgx.ForEachRow(rows, []any{&kind, &n.Name, &n.Layer, &most, &percent}, func() error {
			n.Max, _ = n.Name.InUnits(most)
			event := fmt.Sprintf("%s: %d %% of %s %.0f by %s", kind, percent, n.Name, n.Max, n.Layer)
			if n.Name == r.name {
				own = append(own, event)
			} else {
				others = append(others, event)
			}
			return nil
		})
		return err
	})
	want := slices.Clone(r.before)
	if slices.Contains(limit.Counted, r.name) {
		for _, kind := range []string{"limit.near: 80", "limit.near: 95", "limit.reached: 100"} {
			want = append(want, fmt.Sprintf("%s %% of %s %d by %s", kind, r.name, r.max, r.layer))
		}
	}
	if slices.Sort(own); !slices.Equal(own, slices.Sorted(slices.Values(want))) {
		r.Errorf("%s: its events are %q, want %q", r, own, want)
	}
	slices.Sort(others)
	for i, event := range others {
		if strings.HasPrefix(event, "limit.reached") || i > 0 && event == others[i-1] {
			r.Errorf("%s: events of other limits are %q", r, others)
			break
		}
	}
	r.before = want
}

// checkPages wants exactly as many pages as the limit. Hosts answer those again that a killed
// worker had not stored: one each, because one request at a time is sent to a host.
func (r *limitedJob) checkPages() {
	r.Helper()
	answered := r.sum(func(h lab.HostStats) int64 { return h.PageAnswers })
	if again := answered - r.max; r.now.Pages != r.max || again < 0 || again > int64(r.kills*r.hosts) {
		r.Errorf("%s: %d pages, %d answers after %d kills", r, r.now.Pages, answered, r.kills)
	}
	if r.layer != limit.Usage {
		return
	}
	if used := r.used(r.tenant); used.Pages != r.max {
		r.Errorf("%s: %d pages used of %d", r, used.Pages, r.max)
	}
	// A further job is refused, with when the quota renews.
	said := r.refused("job", "submit", "--tenant", r.tenant, "--max-pages", "5", r.urls[0])
	spent, renews := fmt.Sprintf("the monthly quota of the tenant is used up: %[1]d of %[1]d pages", r.max), store.MonthOf(time.Now()).End().Format(time.RFC3339)
	if !strings.Contains(said, spent) || !strings.Contains(said, "it renews at "+renews) {
		r.Errorf("refused with %q", said)
	}
}

// checkRequests wants no more requests than the limit, robots.txt included. What a killed
// worker had in flight, or was about to send, counts as sent: one to each host.
func (r *limitedJob) checkRequests() {
	r.Helper()
	if sent := r.sum(func(h lab.HostStats) int64 { return h.Requests }); sent > r.max || sent < r.max-int64(r.kills*r.hosts) {
		r.Errorf("%s: %d requests after %d kills", r, sent, r.kills)
	}
}

// extend raises the request limit; the job continues to the new one.
func (r *limitedJob) extend() {
	r.Helper()
	r.max += r.max / 5
	r.asked = r.max
	r.run("job", "extend", strconv.FormatInt(r.id, 10), r.flag(), r.value(r.max))
}

// checkBytes wants no more bytes than the limit and what was in flight: a page from each host.
// What a killed worker had received and not stored, the same again, is not counted.
func (r *limitedJob) checkBytes() {
	r.Helper()
	sent, pages := r.sum(func(h lab.HostStats) int64 { return h.BytesOut }), int64(r.hosts*(largePage+largePage/10))
	observed := int64(r.now.Errors[0].Observed)
	if observed > r.max+pages || sent < r.max || sent > r.max+pages*int64(1+r.kills) {
		r.Errorf("%s: %d bytes were observed and %d sent after %d kills", r, observed, sent, r.kills)
	}
	// A quota counts only pages, which the job has stored.
	if r.layer == limit.Usage {
		if used := r.used(r.tenant); used.Bytes > r.max+pages || used.Bytes < r.max-pages*int64(1+r.kills) {
			r.Errorf("%s: %d bytes used", r, used.Bytes)
		}
	}
}

// checkHosts wants requests to exactly as many hosts as the limit. URLs on others are deferred.
func (r *limitedJob) checkHosts() {
	r.Helper()
	if j := &r.now; len(r.seen) != int(r.max) || j.Waiting != 0 || j.Outcomes["deferred"] == 0 {
		r.Errorf("%s: %d hosts had requests, %d URLs wait, outcomes %v", r, len(r.seen), j.Waiting, j.Outcomes)
	}
}

// checkDepth wants all pages up to the limit and no others: a front page and 8 below it. Links
// to the 64 below those are skipped.
func (r *limitedJob) checkDepth() {
	r.Helper()
	for url, h := range r.seen {
		if h.UniquePages != 9 || h.PageRequests > int64(9+r.kills) {
			r.Errorf("%s: %s had %d requests for %d pages, want 9", r, url, h.PageRequests, h.UniquePages)
		}
	}
	hosts := int64(r.hosts)
	if j := &r.now; j.Pages != 9*hosts || j.Outcomes["skipped: depth"] != 64*hosts {
		r.Errorf("%s: %d pages of %d hosts, outcomes %v", r, j.Pages, hosts, j.Outcomes)
	}
}

// checkPagesPerHost wants exactly as many pages of each host as the limit; the rest is
// skipped.
func (r *limitedJob) checkPagesPerHost() {
	r.Helper()
	for url, h := range r.seen {
		if again := h.PageAnswers - r.max; again < 0 || again > int64(r.kills) {
			r.Errorf("%s: %s answered %d requests for pages after %d kills", r, url, h.PageAnswers, r.kills)
		}
	}
	stored := map[string]int64{}
	for host, list := range r.stamps() {
		for _, s := range list {
			if s.job == r.id {
				stored[host]++
			}
		}
	}
	for host, n := range stored {
		if n != r.max {
			r.Errorf("%s: %d pages of %s", r, n, host)
		}
	}
	if j := &r.now; len(stored) != r.hosts || j.Outcomes["skipped: budget_host"] == 0 {
		r.Errorf("%s: pages of %d hosts, outcomes %v", r, len(stored), j.Outcomes)
	}
}

// checkRate wants, by the kernel's timestamps, no more requests in one or three seconds than the
// rate allows, plus one, plus one for each worker, which may have kept a turn of hosts that
// changed owners. The pace of the hosts would allow more, and all robots.txt at once.
func (r *limitedJob) checkRate() {
	r.Helper()
	list := slices.DeleteFunc(r.arrivals(), func(a request) bool { return !slices.Contains(r.urls, a.host+"/") })
	for _, span := range []time.Duration{time.Second, 3 * time.Second} {
		most := 0
		for from, to := 0, 0; to < len(list); to++ {
			for list[to].at.Sub(list[from].at) >= span {
				from++
			}
			most = max(most, to-from+1)
		}
		r.Logf("%s: %d requests in %v, at most %d within %v", r, len(list), list[len(list)-1].at.Sub(list[0].at), most, span)
		if bound := int(r.max)*int(span/time.Second) + 1 + limitWorkers; most > bound {
			r.Errorf("%s: %d requests within %v, want at most %d", r, most, span, bound)
		}
	}
}

// limitTime sets the safety limit for the time of jobs a few seconds above that of one that
// runs. The jobs before it have ended.
func (f *limitFleet) limitTime(r *limitedJob) {
	f.Helper()
	more := 8 * time.Second
	for f.kill(); f.kills < f.maxKills(); f.kill() { // a worker that is killed at the deadline would end it late
		time.Sleep(200 * time.Millisecond) // other processes report nothing here
		more = takeOver + grace
	}
	r.max = int64((time.Since(f.startOf(r.id)) + more).Seconds())
	f.run("admin", "safety", "set", r.flag(), r.value(r.max))
}

// startOf is when a job started.
func (f *fleet) startOf(id int64) time.Time {
	f.Helper()
	var ms int64
	f.sql(func(conn *pgx.Conn) error {
		return conn.QueryRow(f.Context(), "select started_at from job where id = $1", id).Scan(&ms)
	})
	return time.UnixMilli(ms)
}

// checkTime wants no request after the time limit, and a running time of no more than the
// limit and what requests in flight get.
func (r *limitedJob) checkTime() {
	r.Helper()
	began := r.startOf(r.id)
	most := time.Duration(r.max)*time.Second + r.graceSince(began)
	if ran := r.ranFor(r.id); ran > most {
		r.Errorf("%s: it ran for %v, want at most %v", r, ran, most)
	}
	for _, a := range r.arrivals() {
		if late := a.at.Sub(began); late > most && slices.Contains(r.urls, a.host+"/") {
			r.Errorf("%s: %s%s was requested %v after the start", r, a.host, a.target, late)
		}
	}
}

// usage is what a tenant used this month.
type usage struct {
	Pages int64 `json:"pages"`
	Bytes int64 `json:"bytes"`
}

func (f *fleet) used(tenant string) usage {
	f.Helper()
	var answer struct {
		Usage []usage `json:"usage"`
	}
	if err := json.Unmarshal(f.run("admin", "usage", "--json", tenant), &answer); err != nil {
		f.Fatal(err)
	}
	return answer.Usage[0]
}
