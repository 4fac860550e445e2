package visit

// Meaning describes a value of a closed set. The reference page is generated from it.
type Meaning struct {
	Text string // one sentence, without its full stop
	By   string // the package that decides it
}

// Meaning describes the outcome.
func (o Outcome) Meaning() Meaning { return outcomeMeanings[o] }

// Meaning describes why a URL was skipped or failed.
func (r Reason) Meaning() Meaning { return reasonMeanings[r] }

// Meaning describes what is waited for.
func (w Wait) Meaning() Meaning { return waitMeanings[w] }

// Meaning describes what the evidence is about.
func (k EvidenceKind) Meaning() Meaning { return evidenceMeanings[k] }

// Meaning describes what the cache did.
func (c CacheVerdict) Meaning() Meaning { return cacheMeanings[c] }

var outcomeMeanings = map[Outcome]Meaning{
	Fetched:     {"the server returned a page (2xx) and it was read", "fetch"},
	NotModified: {"a conditional request found the page unchanged since an earlier crawl (304)", "fetch"},
	Redirected:  {"the server redirected (3xx); the target is a separate URL with its own outcome", "fetch"},
	Dead:        {"the page does not exist: 404, 410 and other 4xx statuses about the page itself", "fetch"},
	ServerError: {"the server failed (5xx except 503, or 408, 425), also after retries", "fetch"},
	Throttled:   {"the server refused for now (429, 503), also after retries; never counted as dead", "fetch"},
	Blocked:     {"the server denied access: 401, 402, 403, 407, 451, or a challenge page instead of content", "fetch, parse"},
	Skipped:     {"not requested; see the reason", "scope, robots, fetch/guard, limit"},
	Deferred:    {"left for a later crawl: the patience for its host ran out, discovery was stopped, too many URLs were waiting, or it was a dry run", "frontier"},
	Failed:      {"no usable response; see the reason", "fetch, parse, frontier"},
	Pending:     {"not finished; see the wait reason", "frontier"},
}

var reasonMeanings = map[Reason]Meaning{
	RobotsDisallow:    {"disallowed by a robots.txt rule", "robots"},
	RobotsUnreachable: {"robots.txt could not be read before the patience ran out, so no page was requested", "robots"},
	CrawlDelayTooLong: {"robots.txt sets a Crawl-delay above 300 s, so the host is skipped", "robots"},
	OutOfScope:        {"outside the scope of the crawl: another host, domain or prefix, or not on the list", "scope"},
	Excluded:          {"ruled out by an include or exclude pattern", "scope"},
	DuplicateContent:  {"many similar pages in a row had the same text", "scope"},
	Depth:             {"more links away from a seed than max_depth; reversed if a shorter path is found later", "scope"},
	TrapPath:          {"its path looks like a crawler trap: a calendar, or repeating segments", "scope"},
	TrapQuery:         {"its query looks like a crawler trap: session ids, or combinations of filters", "scope"},
	NonDocument:       {"not an HTML page, judged by extension: an image, an archive, a PDF; the setting files includes them", "scope"},
	Nofollow:          {"only nofollow links point to it; reversed if another link is found later", "parse"},
	PrivateAddress:    {"its address is not public and not covered by allow_private", "fetch/guard"},
	BadPort:           {"its port is not 80 or 443 and not allowed by ports or allow_private", "fetch/guard"},
	BudgetBytes:       {"larger than what is left of max_bytes for the whole crawl", "limit"},
	BudgetHost:        {"its host has reached max_pages_per_host", "limit"},
	OptedOut:          {"its host is on the opt-out list", "headway"},

	DNS:          {"DNS lookup failed, or the name does not exist", "fetch/guard"},
	Connect:      {"connection failed, or closed before a response", "fetch"},
	TLS:          {"TLS handshake failed or the certificate is not trusted", "fetch"},
	Timeout:      {"a timeout was reached", "fetch"},
	TooLarge:     {"header or body over the size limit, or decompressed size over limit", "fetch"},
	Truncated:    {"the response ended before it was complete", "fetch"},
	BadEncoding:  {"unsupported or invalid content encoding", "fetch"},
	Protocol:     {"invalid HTTP: a redirect without a valid target, an invalid status, or a 304 to an unconditional request", "fetch"},
	Parse:        {"the body could not be parsed", "parse"},
	RedirectLoop: {"redirect loop, or more than ten redirects in a chain", "visit"},
	HostParked:   {"its host failed too many times in a row and was dropped from this crawl", "politeness"},
	Quarantined:  {"it was the only URL in flight at several crashes of the crawler or deaths of workers", "store/journal"},
}

var waitMeanings = map[Wait]Meaning{
	WaitPace:            {"pace: the interval between two requests to its host", "politeness"},
	WaitCrawlDelay:      {"the Crawl-delay in robots.txt of its host", "robots"},
	WaitHold:            {"its host sent Retry-After, is in backoff, or was paused by an operator", "politeness"},
	WaitInFlight:        {"its host is at its limit of concurrent requests", "politeness"},
	WaitDomainInterval:  {"another host of the same domain just got a request", "politeness"},
	WaitAddressInterval: {"another host at the same IP address just got a request", "politeness"},
	WaitRobots:          {"robots.txt of its host has not been read yet", "robots"},
	WaitDNS:             {"DNS lookup of its host", "fetch/guard"},
	WaitWorkers:         {"a free fetch worker", "frontier"},
	WaitParse:           {"a free parser, or memory for its body", "parse"},
	WaitCPU:             {"a CPU: this process is computing, or waits for its turn", "governor"},
	WaitDisk:            {"the disk, until a commit is written", "store/sqlite"},
	WaitDatabase:        {"the database, until a commit or query is answered", "store/postgres"},
	WaitStorage:         {"the next commit, the outputs, or free disk space", "store"},
	WaitBudget:          {"a limit of the crawl, until it is raised, or the request rate limit of its tenant", "limit"},
	WaitNetwork:         {"our own network, which seems to be down; not counted against any host", "politeness"},
	WaitLease:           {"another process, which owns its domain now", "store"},
	WaitIdle:            {"nothing: it is ready and will be picked soon", "frontier"},
}

var evidenceMeanings = map[EvidenceKind]Meaning{
	RobotsAllowed:   {"allowed by robots.txt: the rule, its line and group, and the SHA-256 of the file", "robots"},
	BlockedByRobots: {"disallowed by robots.txt: the rule, its line and group, and the SHA-256 of the file", "robots"},
	ChallengePage:   {"a challenge page of a web application firewall: the marker found and the vendor", "parse"},
	AddressRefused:  {"its IP address was refused, and by which rule", "fetch/guard"},
	Override:        {"robots.txt was ignored because the host is owned", "robots"},
}

var cacheMeanings = map[CacheVerdict]Meaning{
	CacheHit:         {"hit: served from the cache", "fetch"},
	CacheStale:       {"stale: served from the cache after its expiry", "fetch"},
	CacheRevalidated: {"revalidated: the origin confirmed the cached copy", "fetch"},
	CacheExpired:     {"expired: the cached copy was too old; served by the origin", "fetch"},
	CacheMiss:        {"miss: not in the cache; served by the origin", "fetch"},
	CacheBypass:      {"bypass: served by the origin, and this response is not cached", "fetch"},
	CacheDynamic:     {"dynamic: served by the origin; responses of this kind are never cached", "fetch"},
}
