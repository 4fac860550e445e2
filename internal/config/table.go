package config

import (
	"slices"
	"strings"
	"time"

	"headway/internal/machine"
	"headway/output/format"
	"headway/politeness"
)

// Setting is one setting.
type Setting struct {
	Key     string // in headway.yaml; see [Setting.Env]
	Flag    string // of `headway crawl`, without dashes; empty if there is none
	Default string // as it would be written; empty: none, or the preset's
	Preset  bool   // the preset decides unless a stronger layer does
	Secret  bool   // never printed
	Fleet   bool   // used by fleet workers only
	Doc     string // one sentence without a full stop; `word` names the flag's argument

	at func(*Settings) value
	// share is its part of the machine's resources, used unless a stronger layer than
	// the default sets a value; Default is the maximum.
	share func(*machine.Division) int64
}

// Env is its environment variable.
func (s *Setting) Env() string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(s.Key, ".", "_"))
}

// EnvPrefix is the prefix of our environment variables.
const EnvPrefix = "HEADWAY_"

// Kind describes the type of the value for people.
func (s *Setting) Kind() string { return s.at(new(Settings)).kind() }

// List reports whether it can have several values.
func (s *Setting) List() bool {
	switch s.at(new(Settings)).(type) {
	case list, words, ports:
		return true
	default:
		return false
	}
}

// Section is a group of settings.
type Section struct {
	Title    string
	Settings []Setting
}

// Table is every setting there is.
var Table = []Section{
	{"What to crawl", []Setting{
		{Key: "seeds", Doc: "start URLs; on the command line, the arguments", at: func(s *Settings) value { return list{&s.Seeds, "URLs or hosts", checkURL} }},
		{Key: "seeds_file", Flag: "seeds", Doc: "`file` with more seeds, one per line; - reads standard input", at: func(s *Settings) value { return text{&s.SeedsFile, "path", nil} }},
		{Key: "scope", Flag: "scope", Default: "host", Doc: "what to crawl: host (the seeds' hosts, with and without www, and hosts of the same domain that seeds redirect to), domain (their domains), prefix (their folders), list (exactly the seeds' hosts and those of --scope-host: neither www variants nor redirect targets are added), any (all hosts)", at: func(s *Settings) value { return word{&s.Scope, []string{"host", "domain", "prefix", "list", "any"}} }},
		{Key: "scope_hosts", Flag: "scope-host", Doc: "`host` to crawl in addition to those of --scope (repeatable)", at: func(s *Settings) value { return list{&s.ScopeHosts, "hosts", nil} }},
		{Key: "include", Flag: "include", Doc: "crawl only URLs that match this `pattern`: a glob, or re: followed by a regular expression (repeatable)", at: func(s *Settings) value { return list{&s.Include, "patterns", nil} }},
		{Key: "exclude", Flag: "exclude", Doc: "skip URLs that match this `pattern`; wins over --include (repeatable)", at: func(s *Settings) value { return list{&s.Exclude, "patterns", nil} }},
		{Key: "files", Flag: "files", Default: "false", Doc: "also fetch non-HTML files (images, archives, PDF), judged by extension", at: func(s *Settings) value { return yes{&s.Files} }},
		{Key: "sitemaps", Flag: "sitemaps", Default: SitemapsAuto, Doc: "read sitemaps as well as links (auto), only sitemaps (only), or only links (off)", at: func(s *Settings) value { return word{&s.Sitemaps, []string{SitemapsAuto, SitemapsOnly, SitemapsOff}} }},
		{Key: "content", Flag: "content", Doc: "also keep the main text of pages, in `forms` separated by commas: text, markdown; written to JSONL and Parquet (default: none)", at: func(s *Settings) value { return words{&s.Content, []string{ContentText, ContentMarkdown}} }},
		{Key: "extract", Flag: "extract", Doc: "also keep fields of pages, by the rules in this YAML `file`; written to JSONL and Parquet (default: none)", at: func(s *Settings) value { return rules{&s.Extract} }},
		{Key: "links", Flag: "links", Default: "false", Doc: "also keep every link of every page, with its text, for headway links and Parquet", at: func(s *Settings) value { return yes{&s.Links} }},
		{Key: "raw", Flag: "raw", Fleet: true, Default: "false", Doc: "also keep what servers sent for each page, in the archive of the fleet (headway worker --archive)", at: func(s *Settings) value { return yes{&s.Raw} }},
	}},
	{"Where results go", []Setting{
		{Key: "dir", Flag: "dir", Doc: "`folder` for the crawl (default: named after the first seed, such as ./headway-example.com)", at: func(s *Settings) value { return text{&s.Dir, "path", nil} }},
		{Key: "format", Flag: "format", Default: format.Default, Doc: "output `formats`, separated by commas: " + strings.Join(format.Names(), ", "), at: func(s *Settings) value { return words{&s.Format, format.Names()} }},
		{Key: "jsonl.links", Default: "false", Doc: "write the links of each page to JSONL; they make up most of its size", at: func(s *Settings) value { return yes{&s.JSONL.Links} }},
		{Key: "fresh", Flag: "fresh", Default: "false", Doc: "discard previous results and start over", at: func(s *Settings) value { return yes{&s.Fresh} }},
		{Key: "partial_ok", Flag: "partial-ok", Default: "false", Doc: "exit with code 0 instead of 3 when the crawl ends with URLs left", at: func(s *Settings) value { return yes{&s.PartialOK} }},
	}},
	{"Politeness", []Setting{
		{Key: "preset", Flag: "preset", Default: politeness.DefaultPreset, Doc: "`preset` of pace, concurrency and backoff: " + strings.Join(politeness.PresetNames(), ", ") + "; audit also stops after 200 pages or 1 hour", at: func(s *Settings) value { return word{&s.Preset, politeness.PresetNames()} }},
		{Key: "owned", Flag: "owned", Doc: "`host` that you own (repeatable): allows the presets owned and warm, a pace below 200ms, credentials and --ignore-robots", at: func(s *Settings) value { return list{&s.Owned, "hosts", checkHost} }},
		{Key: "ignore_robots", Flag: "ignore-robots", Default: "false", Doc: "ignore robots.txt; owned hosts only", at: func(s *Settings) value { return yes{&s.IgnoreRobots} }},
		{Key: "pace.delay", Flag: "delay", Preset: true, Doc: "minimum interval between requests to one host (default: the preset's, 1s with polite)", at: func(s *Settings) value { return span{&s.Pace.Delay, 0, maxPolicySpan} }},
		{Key: "pace.spread", Preset: true, Doc: "random extra delay added to pace.delay, up to this long", at: func(s *Settings) value { return span{&s.Pace.Spread, 0, maxPolicySpan} }},
		{Key: "pace.jitter", Flag: "jitter", Preset: true, Doc: "maximum random delay added to each interval, as a `percent` of it, so that requests do not fall into a fixed rhythm", at: func(s *Settings) value { return number{&s.Pace.Jitter, 0, 100} }},
		{Key: "pace.in_flight", Flag: "in-flight", Preset: true, Doc: "maximum concurrent requests to one host", at: func(s *Settings) value { return number{&s.Pace.InFlight, 1, 10_000} }},
		{Key: "pace.address_ranges", Default: PublicAddresses, Doc: "address blocks in which hosts that share an IP address also share a request interval; public means all public addresses", at: func(s *Settings) value { return list{&s.Pace.AddressRanges, "address blocks", checkPrefix} }},
		{Key: "backoff.refusing_start", Preset: true, Doc: "first hold after a 429 or 503 without Retry-After; doubles each time", at: func(s *Settings) value { return span{&s.Backoff.RefusingStart, time.Millisecond, maxPolicySpan} }},
		{Key: "backoff.refusing_max", Preset: true, Doc: "longest hold after a 429 or 503 without Retry-After", at: func(s *Settings) value { return span{&s.Backoff.RefusingMax, time.Millisecond, maxPolicySpan} }},
		{Key: "backoff.failing_start", Preset: true, Doc: "first hold after a server or network error; doubles each time", at: func(s *Settings) value { return span{&s.Backoff.FailingStart, time.Millisecond, maxPolicySpan} }},
		{Key: "backoff.failing_max", Preset: true, Doc: "longest hold after server or network errors", at: func(s *Settings) value { return span{&s.Backoff.FailingMax, time.Millisecond, maxPolicySpan} }},
		{Key: "failure_threshold", Preset: true, Doc: "give up on a host after this many consecutive failures", at: func(s *Settings) value { return number{&s.FailureThreshold, 1, 10_000} }},
		{Key: "cancel_after", Preset: true, Doc: "cancel the crawl after this many consecutive 429 responses at the slowest pace; 0 means never", at: func(s *Settings) value { return number{&s.CancelAfter, 0, 255} }},
		{Key: "robots.on_unreachable", Preset: true, Doc: "while robots.txt is unreachable, wait (hold) or crawl anyway and record low confidence (allow)", at: func(s *Settings) value {
			return word{&s.Robots.OnUnreachable, []string{UnreachableHold, UnreachableAllow}}
		}},
	}},
	{"Limits", limitSettings()},
	{"Safety limits", safetySettings()},
	{"Identity and network", []Setting{
		{Key: "contact", Flag: "contact", Doc: "email `address` or URL where site owners can reach you, sent with every request; required for public sites", at: func(s *Settings) value { return text{&s.Contact, "mail address or web page", nil} }},
		{Key: "user_agent", Flag: "user-agent", Doc: "`product` name in the User-Agent header, such as examplebot/1.2; robots.txt rules are matched against it", at: func(s *Settings) value {
			return text{&s.UserAgent, "product token, perhaps with a version", checkAgent}
		}},
		{Key: "header", Flag: "header", Secret: true, Doc: "extra request header, as `name: value`; owned hosts only (repeatable)", at: func(s *Settings) value { return list{&s.Header, "header fields", checkHeader} }},
		{Key: "basic_auth", Flag: "basic-auth", Secret: true, Doc: "HTTP basic authentication, as `user:password`; owned hosts only", at: func(s *Settings) value { return text{&s.BasicAuth, "user:password", checkUserInfo} }},
		{Key: "timeout", Flag: "timeout", Default: "1m", Doc: "timeout for one request, from connecting to the end of the body", at: func(s *Settings) value { return span{&s.Timeout, 100 * time.Millisecond, time.Hour} }},
		{Key: "allow_private", Flag: "allow-private", Doc: "allow private addresses in this range, as `CIDR[:PORT,…]`, for example 127.0.0.0/8:8780 (repeatable); hosts there count as owned (see --owned); link-local and cloud metadata addresses are allowed only if listed one by one", at: func(s *Settings) value { return list{&s.AllowPrivate, "address blocks with ports", checkRange} }},
		{Key: "ports", Flag: "ports", Doc: "allow these `ports` on public hosts in addition to 80 and 443, separated by commas", at: func(s *Settings) value { return ports{&s.Ports} }},
		{Key: "resolver", Flag: "resolver", Doc: "DNS server to use, as `IP:PORT` (default: the system resolver)", at: func(s *Settings) value { return text{&s.Resolver, "address and port", checkServer} }},
		{Key: "ip", Flag: "ip", Default: "auto", Doc: "IP `version` to connect with", at: func(s *Settings) value { return word{&s.IP, []string{"auto", "4", "6"}} }},
	}},
	{"Resources", []Setting{
		{Key: machineDescriptors, Doc: "file descriptors to use for the store, connections, DNS and files (default and maximum: the system limit, ulimit -n)", at: func(s *Settings) value { return number{&s.Machine.Descriptors, 32, 1 << 20} }},
		{Key: machineMemory, Doc: "memory to stay within (default: the limit of the control group, or the memory of the machine)", at: func(s *Settings) value { return size{&s.Machine.Memory, 0} }},
		{Key: "workers", Flag: "workers", Default: "512", Doc: "maximum concurrent requests over all hosts; when it is reached, hosts wait, and headway slow lists that time under workers", share: func(d *machine.Division) int64 { return d.Workers }, at: func(s *Settings) value { return number{&s.Workers, 1, 100_000} }},
		{Key: "fetch.max_body", Default: "10MiB", Doc: "maximum body size, before and after decompression; a larger body ends its URL as failed (too_large)", at: func(s *Settings) value { return size{&s.Fetch.MaxBody, 1 << 10} }},
		{Key: "fetch.body_memory", Default: "256MiB", Doc: "memory for bodies waiting to be parsed; when used up, fetching waits (parse)", share: func(d *machine.Division) int64 { return d.Bodies }, at: func(s *Settings) value { return size{&s.Fetch.BodyMemory, 1 << 20} }},
		{Key: "fetch.slow", Default: "4096", Doc: "maximum requests without progress for a second, not counted in workers; when reached, hosts that were slow before wait (workers)", share: func(d *machine.Division) int64 { return d.Slow }, at: func(s *Settings) value { return number{&s.Fetch.Slow, 1, 100_000} }},
		{Key: "fetch.max_conns", Doc: "maximum open connections, including idle ones; when reached, the longest idle is closed, plain HTTP first (default: what the file descriptors allow)", share: func(d *machine.Division) int64 { return d.Conns }, at: func(s *Settings) value { return number{&s.Fetch.MaxConns, 1, 100_000} }},
		{Key: "parse.workers", Default: "0", Doc: "pages parsed in parallel; 0 means one per CPU", at: func(s *Settings) value { return number{&s.Parse.Workers, 0, 1024} }},
		{Key: "robots.parallel", Default: "64", Doc: "robots.txt files fetched in parallel; when reached, hosts wait (robots)", share: func(d *machine.Division) int64 { return d.Robots }, at: func(s *Settings) value { return number{&s.Robots.Parallel, 1, 10_000} }},
		{Key: "robots.timeout", Default: "10s", Doc: "timeout for one robots.txt", at: func(s *Settings) value { return span{&s.Robots.Timeout, 100 * time.Millisecond, 5 * time.Minute} }},
		{Key: "robots.cache", Default: "256MiB", Doc: "memory for parsed robots.txt files; those not used recently are read from the store again", share: func(d *machine.Division) int64 { return d.RobotsCache }, at: func(s *Settings) value { return size{&s.Robots.Cache, 1 << 20} }},
		{Key: "dns.lookups", Default: "256", Doc: "concurrent DNS lookups; when reached, hosts wait (dns)", share: func(d *machine.Division) int64 { return d.Lookups }, at: func(s *Settings) value { return number{&s.DNS.Lookups, 1, 10_000} }},
		{Key: "dns.entries", Default: "1000000", Doc: "entries in the DNS cache", at: func(s *Settings) value { return number{&s.DNS.Entries, 1, 100_000_000} }},
		{Key: "dns.negative", Default: "5m", Doc: "maximum time to cache that a name does not exist", at: func(s *Settings) value { return span{&s.DNS.Negative, time.Second, time.Hour} }},
		{Key: "frontier.head", Default: "64", Doc: "waiting URLs per host kept in memory; the rest stay in the store", at: func(s *Settings) value { return number{&s.Frontier.Head, 1, 4096} }},
		{Key: "frontier.hot_hosts", Default: "500000", Doc: "hosts scheduled in memory; the rest stay in the store", share: func(d *machine.Division) int64 { return d.Hosts }, at: func(s *Settings) value { return number{&s.Frontier.HotHosts, 1, 100_000_000} }},
		{Key: "frontier.seen_cache", Default: "64MiB", Doc: "memory for the cache of known URLs; a miss is looked up in the store", share: func(d *machine.Division) int64 { return d.Seen }, at: func(s *Settings) value { return size{&s.Frontier.SeenCache, 1 << 16} }},
		{Key: "frontier.max_waiting", Default: "0", Doc: "maximum waiting URLs; when reached, new links are recorded as deferred; 0 means no limit", at: func(s *Settings) value { return number{&s.Frontier.MaxWaiting, 0, many} }},
		{Key: "store.commit_gap", Default: "0s", Doc: "minimum interval between two commits", at: func(s *Settings) value { return span{&s.Store.CommitGap, 0, 250 * time.Millisecond} }},
		{Key: "store.min_free", Default: "1GiB", Doc: "pause fetching when free disk space falls below this (storage)", at: func(s *Settings) value { return size{&s.Store.MinFree, 0} }},
		{Key: "governor.enabled", Default: "true", Doc: "reduce concurrent requests while commits, parsing or memory are overloaded", at: func(s *Settings) value { return yes{&s.Governor.Enabled} }},
	}},
	{"Fleet", []Setting{
		{Key: "fleet.store", Flag: "store", Fleet: true, Secret: true, Doc: "PostgreSQL `connection` string of the fleet; list several hosts to follow a failover", at: func(s *Settings) value { return text{&s.Fleet.Store, "connection string", nil} }},
		{Key: "fleet.schema", Flag: "schema", Fleet: true, Default: "headway", Doc: "PostgreSQL `schema` of the fleet's tables", at: func(s *Settings) value { return text{&s.Fleet.Schema, "schema", nil} }},
		{Key: "server", Flag: "server", Fleet: true, Doc: "`URL` of a headway serve to use instead of PostgreSQL", at: func(s *Settings) value { return text{&s.Server, "URL", nil} }},
		{Key: "key", Fleet: true, Secret: true, Doc: "API key for that server, from headway admin key create", at: func(s *Settings) value { return text{&s.Key, "key", nil} }},
		{Key: "key_file", Flag: "key-file", Fleet: true, Doc: "`file` that holds the API key for --server; HEADWAY_KEY holds the key itself", at: func(s *Settings) value { return text{&s.KeyFile, "path", nil} }},
		{Key: "fleet.lease", Flag: "lease", Fleet: true, Default: "30s", Doc: "how long a worker keeps its hosts after its last heartbeat; set by headway admin safety set, and a worker with another value does not start", at: func(s *Settings) value { return span{&s.Fleet.Lease, time.Second, time.Hour} }},
		{Key: "fleet.max_running", Flag: "max-running", Fleet: true, Default: "0", Doc: "maximum jobs running at once in the fleet; set by headway admin safety set, and a worker with another value does not start", at: func(s *Settings) value { return number{&s.Fleet.MaxRunning, 0, 1_000_000} }},
		{Key: "fleet.archive", Flag: "archive", Fleet: true, Doc: "`folder` or s3://BUCKET/PREFIX for what servers sent, for jobs with --raw; the same for all workers and servers (default: off)", at: func(s *Settings) value { return text{&s.Fleet.Archive, "folder or s3://BUCKET/PREFIX", nil} }},
		{Key: "fleet.archive_private", Flag: "archive-private", Fleet: true, Doc: "private addresses that --archive may connect to, as `CIDR[:PORT,…]` (repeatable)", at: func(s *Settings) value { return list{&s.Fleet.ArchivePrivate, "address blocks with ports", checkRange} }},
		{Key: "worker.listen", Flag: "listen", Fleet: true, Doc: "`address` and port for /metrics, /livez and /readyz, without authentication (default: off)", at: func(s *Settings) value { return text{&s.Worker.Listen, "address and port", checkListen} }},
		{Key: "trace.endpoint", Flag: "traces", Fleet: true, Doc: "`URL` of an OpenTelemetry collector that receives a span per visit and commit (default: off)", at: func(s *Settings) value { return text{&s.Trace.Endpoint, "URL", checkEndpoint} }},
		{Key: "log.format", Flag: "log", Fleet: true, Default: LogText, Doc: "log `format`: text for people, json for one JSON object per line", at: func(s *Settings) value { return word{&s.Log.Format, []string{LogText, LogJSON}} }},
	}},
}

// ofJob are the sections whose settings belong to a job, and the exceptions that
// belong to the worker.
var (
	ofJob    = []string{"What to crawl", "Politeness", "Limits"}
	ofWorker = []string{"seeds", "seeds_file", "owned", "ignore_robots", "pace.address_ranges", "robots.on_unreachable"}
)

// OfJob reports whether a fleet job may set it. The rest is up to the operator.
func (s *Setting) OfJob() bool {
	for i := range Table {
		for j := range Table[i].Settings {
			if Table[i].Settings[j].Key == s.Key {
				return slices.Contains(ofJob, Table[i].Title) && !slices.Contains(ofWorker, s.Key)
			}
		}
	}
	return false
}

// maxPolicySpan is the longest duration that package politeness accepts.
const maxPolicySpan = 7 * 24 * time.Hour

// Settings that others are shares of.
const (
	machineDescriptors = "machine.descriptors"
	machineMemory      = "machine.memory"
)

// all iterates over the table.
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
