package config

import (
	"slices"
	"strings"
	"time"

	"headway/internal/machine"
	"headway/output/format"
	"headway/politeness"
)

// Setting is one thing that can be set.
type Setting struct {
	Key     string // in headway.yaml; see [Setting.Env]
	Flag    string // of `headway crawl`, without dashes; empty if there is none
	Default string // as it would be written; empty: none, or the preset's
	Preset  bool   // the preset decides unless a stronger layer does
	Secret  bool   // never printed
	Fleet   bool   // of the workers of a fleet; a crawl on one machine has no use for it
	Doc     string // one sentence without a full stop; `word` names the flag's argument

	at func(*Settings) value
	// share is what the machine gives it unless a stronger layer than the default
	// decides; a Default is the most it gives.
	share func(*machine.Division) int64
}

// Env is the variable of the environment that sets it.
func (s *Setting) Env() string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(s.Key, ".", "_"))
}

// EnvPrefix is what the names of our variables begin with.
const EnvPrefix = "HEADWAY_"

// Kind says what the value is, for people.
func (s *Setting) Kind() string { return s.at(new(Settings)).kind() }

// List tells whether it has any number of values.
func (s *Setting) List() bool {
	switch s.at(new(Settings)).(type) {
	case list, words, ports:
		return true
	default:
		return false
	}
}

// Section is a part of the table for people.
type Section struct {
	Title    string
	Settings []Setting
}

// Table is every setting there is.
var Table = []Section{
	{"What is crawled", []Setting{
		{Key: "seeds", Doc: "where to begin; on the command line the arguments", at: func(s *Settings) value { return list{&s.Seeds, "URLs or hosts", checkURL} }},
		{Key: "seeds_file", Flag: "seeds", Doc: "`file` with more seeds, one a line; - is the standard input", at: func(s *Settings) value { return text{&s.SeedsFile, "path", nil} }},
		{Key: "scope", Flag: "scope", Default: "host", Doc: "which hosts belong to the crawl, seen from the seeds", at: func(s *Settings) value { return word{&s.Scope, []string{"host", "domain", "prefix", "list", "any"}} }},
		{Key: "scope_hosts", Flag: "scope-host", Doc: "`host` that belongs to the crawl besides, also the list of scope list", at: func(s *Settings) value { return list{&s.ScopeHosts, "hosts", nil} }},
		{Key: "include", Flag: "include", Doc: "only URLs that match this `pattern`: a glob, or re: and a regular expression", at: func(s *Settings) value { return list{&s.Include, "patterns", nil} }},
		{Key: "exclude", Flag: "exclude", Doc: "no URLs that match this `pattern`; stronger than include", at: func(s *Settings) value { return list{&s.Exclude, "patterns", nil} }},
		{Key: "files", Flag: "files", Default: "false", Doc: "also fetch what is no page by its name: images, archives, PDF", at: func(s *Settings) value { return yes{&s.Files} }},
		{Key: "sitemaps", Flag: "sitemaps", Default: SitemapsAuto, Doc: "read sitemaps beside links (auto), instead of them (only) or not at all (off)", at: func(s *Settings) value { return word{&s.Sitemaps, []string{SitemapsAuto, SitemapsOnly, SitemapsOff}} }},
	}},
	{"Where results go", []Setting{
		{Key: "dir", Flag: "dir", Doc: "`folder` of the crawl; by default ./headway-HOST after the first seed", at: func(s *Settings) value { return text{&s.Dir, "path", nil} }},
		{Key: "format", Flag: "format", Default: format.Default, Doc: "`formats` to write pages in, with commas between: " + strings.Join(format.Names(), ", "), at: func(s *Settings) value { return words{&s.Format, format.Names()} }},
		{Key: "jsonl.links", Default: "false", Doc: "also write the links of each page, most of the bytes of a crawl", at: func(s *Settings) value { return yes{&s.JSONL.Links} }},
		{Key: "fresh", Flag: "fresh", Default: "false", Doc: "begin anew what was begun or finished before", at: func(s *Settings) value { return yes{&s.Fresh} }},
		{Key: "partial_ok", Flag: "partial-ok", Default: "false", Doc: "exit with 0 when a limit stopped the crawl", at: func(s *Settings) value { return yes{&s.PartialOK} }},
	}},
	{"How hosts are treated", []Setting{
		{Key: "preset", Flag: "preset", Default: politeness.DefaultPreset, Doc: "how to treat hosts; the settings marked preset follow from it; audit also stops at 200 pages and after an hour", at: func(s *Settings) value { return word{&s.Preset, politeness.PresetNames()} }},
		{Key: "owned", Flag: "owned", Doc: "`host` that is mine: allows the presets owned and warm, a pace under 200ms, credentials and ignoring robots.txt there", at: func(s *Settings) value { return list{&s.Owned, "hosts", checkHost} }},
		{Key: "ignore_robots", Flag: "ignore-robots", Default: "false", Doc: "do not ask robots.txt; only owned hosts", at: func(s *Settings) value { return yes{&s.IgnoreRobots} }},
		{Key: "pace.delay", Flag: "delay", Preset: true, Doc: "interval between two requests to a host that does not complain", at: func(s *Settings) value { return span{&s.Pace.Delay, 0, maxPolicySpan} }},
		{Key: "pace.spread", Preset: true, Doc: "random part on top of pace.delay", at: func(s *Settings) value { return span{&s.Pace.Spread, 0, maxPolicySpan} }},
		{Key: "pace.jitter", Flag: "jitter", Preset: true, Doc: "`percent` that an interval is lengthened by at most, so that hosts do not come up together", at: func(s *Settings) value { return number{&s.Pace.Jitter, 0, 100} }},
		{Key: "pace.in_flight", Flag: "in-flight", Preset: true, Doc: "requests to a host under way at once, at most", at: func(s *Settings) value { return number{&s.Pace.InFlight, 1, 10_000} }},
		{Key: "pace.address_ranges", Default: PublicAddresses, Doc: "addresses at which hosts share a second interval, as blocks or public", at: func(s *Settings) value { return list{&s.Pace.AddressRanges, "address blocks", checkPrefix} }},
		{Key: "backoff.refusing_start", Preset: true, Doc: "first hold of a host that refuses (429, 503) without saying for how long; it doubles", at: func(s *Settings) value { return span{&s.Backoff.RefusingStart, time.Millisecond, maxPolicySpan} }},
		{Key: "backoff.refusing_max", Preset: true, Doc: "longest such hold", at: func(s *Settings) value { return span{&s.Backoff.RefusingMax, time.Millisecond, maxPolicySpan} }},
		{Key: "backoff.failing_start", Preset: true, Doc: "first hold of a host that fails (5xx, network); it doubles", at: func(s *Settings) value { return span{&s.Backoff.FailingStart, time.Millisecond, maxPolicySpan} }},
		{Key: "backoff.failing_max", Preset: true, Doc: "longest such hold", at: func(s *Settings) value { return span{&s.Backoff.FailingMax, time.Millisecond, maxPolicySpan} }},
		{Key: "failure_threshold", Preset: true, Doc: "failures in a row after which a host is given up", at: func(s *Settings) value { return number{&s.FailureThreshold, 1, 10_000} }},
		{Key: "cancel_after", Preset: true, Doc: "cancel the crawl after this many 429 in a row at the slowest pace; 0 is never", at: func(s *Settings) value { return number{&s.CancelAfter, 0, 255} }},
		{Key: "robots.on_unreachable", Preset: true, Doc: "while robots.txt cannot be read, wait (hold) or go on with low confidence (allow)", at: func(s *Settings) value {
			return word{&s.Robots.OnUnreachable, []string{UnreachableHold, UnreachableAllow}}
		}},
	}},
	{"When to stop", limitSettings()},
	{"Ceilings nobody may raise", safetySettings()},
	{"Who asks, and how", []Setting{
		{Key: "contact", Flag: "contact", Doc: "who to name in every request: a mail `address` or web page", at: func(s *Settings) value { return text{&s.Contact, "mail address or web page", nil} }},
		{Key: "user_agent", Flag: "user-agent", Doc: "`product` to be named by, such as examplebot/1.2; also the name robots.txt is read for", at: func(s *Settings) value {
			return text{&s.UserAgent, "product token, perhaps with a version", checkAgent}
		}},
		{Key: "header", Flag: "header", Secret: true, Doc: "extra request `field: value`, only for owned hosts", at: func(s *Settings) value { return list{&s.Header, "header fields", checkHeader} }},
		{Key: "basic_auth", Flag: "basic-auth", Secret: true, Doc: "`user:password`, only for owned hosts", at: func(s *Settings) value { return text{&s.BasicAuth, "user:password", checkUserInfo} }},
		{Key: "timeout", Flag: "timeout", Default: "1m", Doc: "time for one exchange, from dialling to the end of the body", at: func(s *Settings) value { return span{&s.Timeout, 100 * time.Millisecond, time.Hour} }},
		{Key: "allow_private", Flag: "allow-private", Doc: "may go to these private addresses, as `CIDR[:PORT,…]` such as 127.0.0.0/8:8780; they count as owned; link-local and cloud metadata addresses only one by one", at: func(s *Settings) value { return list{&s.AllowPrivate, "address blocks with ports", checkRange} }},
		{Key: "ports", Flag: "ports", Doc: "further `ports` of public hosts that may be asked, beside 80 and 443, with commas between", at: func(s *Settings) value { return ports{&s.Ports} }},
		{Key: "resolver", Flag: "resolver", Doc: "name server to ask, as `IP:PORT`; by default the system's", at: func(s *Settings) value { return text{&s.Resolver, "address and port", checkServer} }},
		{Key: "ip", Flag: "ip", Default: "auto", Doc: "address family", at: func(s *Settings) value { return word{&s.IP, []string{"auto", "4", "6"}} }},
	}},
	{"How much at once", []Setting{
		{Key: machineDescriptors, Doc: "descriptors to divide among the store, connections, lookups and files; by default, and at most, as many as the system allows (ulimit -n)", at: func(s *Settings) value { return number{&s.Machine.Descriptors, 32, 1 << 20} }},
		{Key: machineMemory, Doc: "memory to stay within; by default that of the control group, or of the machine", at: func(s *Settings) value { return size{&s.Machine.Memory, 0} }},
		{Key: "workers", Flag: "workers", Default: "512", Doc: "requests under way over all hosts; beyond it hosts that are ready wait (workers)", share: func(d *machine.Division) int64 { return d.Workers }, at: func(s *Settings) value { return number{&s.Workers, 1, 100_000} }},
		{Key: "fetch.max_body", Default: "10MiB", Doc: "longest body, as sent and unfolded; a longer one ends its URL (too_large)", at: func(s *Settings) value { return size{&s.Fetch.MaxBody, 1 << 10} }},
		{Key: "fetch.body_memory", Default: "256MiB", Doc: "all bodies together until they are read; beyond it fetching waits (parse)", share: func(d *machine.Division) int64 { return d.Bodies }, at: func(s *Settings) value { return size{&s.Fetch.BodyMemory, 1 << 20} }},
		{Key: "fetch.slow", Default: "4096", Doc: "requests without progress for a second, beyond workers; beyond it hosts that were slow before wait (workers)", share: func(d *machine.Division) int64 { return d.Slow }, at: func(s *Settings) value { return number{&s.Fetch.Slow, 1, 100_000} }},
		{Key: "fetch.max_conns", Doc: "open connections, idle ones included; the one that idles longest makes room, plain http first; by default as many as there are descriptors for", share: func(d *machine.Division) int64 { return d.Conns }, at: func(s *Settings) value { return number{&s.Fetch.MaxConns, 1, 100_000} }},
		{Key: "parse.workers", Default: "0", Doc: "pages read at once; 0 is the number of CPUs", at: func(s *Settings) value { return number{&s.Parse.Workers, 0, 1024} }},
		{Key: "robots.parallel", Default: "64", Doc: "robots.txt fetched at once; beyond it hosts wait (robots)", share: func(d *machine.Division) int64 { return d.Robots }, at: func(s *Settings) value { return number{&s.Robots.Parallel, 1, 10_000} }},
		{Key: "robots.timeout", Default: "10s", Doc: "time for one robots.txt", at: func(s *Settings) value { return span{&s.Robots.Timeout, 100 * time.Millisecond, 5 * time.Minute} }},
		{Key: "robots.cache", Default: "256MiB", Doc: "memory for robots.txt that were read; colder ones are read again from the store", share: func(d *machine.Division) int64 { return d.RobotsCache }, at: func(s *Settings) value { return size{&s.Robots.Cache, 1 << 20} }},
		{Key: "dns.lookups", Default: "256", Doc: "names looked up at once; beyond it hosts wait (dns)", share: func(d *machine.Division) int64 { return d.Lookups }, at: func(s *Settings) value { return number{&s.DNS.Lookups, 1, 10_000} }},
		{Key: "dns.entries", Default: "1000000", Doc: "answers remembered", at: func(s *Settings) value { return number{&s.DNS.Entries, 1, 100_000_000} }},
		{Key: "dns.negative", Default: "5m", Doc: "how long the answer that there is no such name is believed at most", at: func(s *Settings) value { return span{&s.DNS.Negative, time.Second, time.Hour} }},
		{Key: "frontier.head", Default: "64", Doc: "waiting URLs of each host kept in memory; the rest waits in the store", at: func(s *Settings) value { return number{&s.Frontier.Head, 1, 4096} }},
		{Key: "frontier.hot_hosts", Default: "500000", Doc: "hosts scheduled in memory; colder ones rest in the store", share: func(d *machine.Division) int64 { return d.Hosts }, at: func(s *Settings) value { return number{&s.Frontier.HotHosts, 1, 100_000_000} }},
		{Key: "frontier.seen_cache", Default: "64MiB", Doc: "memory for URLs known to be stored; a miss asks the store", share: func(d *machine.Division) int64 { return d.Seen }, at: func(s *Settings) value { return size{&s.Frontier.SeenCache, 1 << 16} }},
		{Key: "frontier.max_waiting", Default: "0", Doc: "waiting URLs beyond which new links are put off (deferred); 0 is no limit", at: func(s *Settings) value { return number{&s.Frontier.MaxWaiting, 0, many} }},
		{Key: "store.commit_gap", Default: "0s", Doc: "least time between two commits", at: func(s *Settings) value { return span{&s.Store.CommitGap, 0, 250 * time.Millisecond} }},
		{Key: "store.min_free", Default: "1GiB", Doc: "free disk below which fetching pauses (storage)", at: func(s *Settings) value { return size{&s.Store.MinFree, 0} }},
		{Key: "governor.enabled", Default: "true", Doc: "take workers away while commits, parsing or memory fall behind", at: func(s *Settings) value { return yes{&s.Governor.Enabled} }},
	}},
	{"The fleet", []Setting{
		{Key: "fleet.store", Flag: "store", Fleet: true, Secret: true, Doc: "`connection` string of the PostgreSQL that the fleet works on; several hosts follow a failover", at: func(s *Settings) value { return text{&s.Fleet.Store, "connection string", nil} }},
		{Key: "fleet.schema", Flag: "schema", Fleet: true, Default: "headway", Doc: "`schema` its tables lie in", at: func(s *Settings) value { return text{&s.Fleet.Schema, "schema", nil} }},
		{Key: "server", Flag: "server", Fleet: true, Doc: "`URL` of a headway serve to speak to in place of PostgreSQL", at: func(s *Settings) value { return text{&s.Server, "URL", nil} }},
		{Key: "key", Fleet: true, Secret: true, Doc: "key for that server, as headway admin key create prints it", at: func(s *Settings) value { return text{&s.Key, "key", nil} }},
		{Key: "key_file", Flag: "key-file", Fleet: true, Doc: "`file` with the key for that server; HEADWAY_KEY holds the key itself", at: func(s *Settings) value { return text{&s.KeyFile, "path", nil} }},
		{Key: "fleet.lease", Flag: "lease", Fleet: true, Default: "30s", Doc: "how long a worker that is silent keeps its hosts; the same for all workers", at: func(s *Settings) value { return span{&s.Fleet.Lease, time.Second, time.Hour} }},
		{Key: "fleet.max_running", Flag: "max-running", Fleet: true, Default: "0", Doc: "jobs that run at once in the whole fleet; 0 is no limit", at: func(s *Settings) value { return number{&s.Fleet.MaxRunning, 0, 1_000_000} }},
		{Key: "worker.listen", Flag: "listen", Fleet: true, Doc: "`address` and port to serve /metrics, /livez and /readyz at, to whoever can reach it; by default nowhere", at: func(s *Settings) value { return text{&s.Worker.Listen, "address and port", checkListen} }},
		{Key: "trace.endpoint", Flag: "traces", Fleet: true, Doc: "`URL` of a collector of OpenTelemetry that is sent a span for each visit and each commit; by default none", at: func(s *Settings) value { return text{&s.Trace.Endpoint, "URL", checkEndpoint} }},
		{Key: "log.format", Flag: "log", Fleet: true, Default: LogText, Doc: "lines for people (text), or one JSON object a line (json)", at: func(s *Settings) value { return word{&s.Log.Format, []string{LogText, LogJSON}} }},
	}},
}

// ofJob are the sections whose settings are a job's own, and what of them is the
// worker's all the same.
var (
	ofJob    = []string{"What is crawled", "How hosts are treated", "When to stop"}
	ofWorker = []string{"seeds", "seeds_file", "owned", "ignore_robots", "pace.address_ranges", "robots.on_unreachable"}
)

// OfJob tells whether a job of a fleet may ask for it. The rest is the operator's.
func (s *Setting) OfJob() bool {
	for i := range Table {
		if slices.Contains(ofJob, Table[i].Title) && slices.ContainsFunc(Table[i].Settings, func(x Setting) bool { return x.Key == s.Key }) {
			return !slices.Contains(ofWorker, s.Key)
		}
	}
	return false
}

// maxPolicySpan is the longest duration politeness takes.
const maxPolicySpan = 7 * 24 * time.Hour

// The settings that others are shares of.
const (
	machineDescriptors = "machine.descriptors"
	machineMemory      = "machine.memory"
)

// all goes through the table.
func all(yield func(*Setting) bool) {
	for i := range Table {
		for j := range Table[i].Settings {
			if !yield(&Table[i].Settings[j]) {
				return
			}
		}
	}
}

// find returns the setting with this key, or nil.
func find(key string) *Setting {
	for s := range all {
		if s.Key == key {
			return s
		}
	}
	return nil
}
