package visit

// Meaning is what a word of a closed set stands for, in plain words. The
// reference page is made from it.
type Meaning struct {
	Text string // one sentence, without its full stop
	By   string // the stop of the journey that says so: a package
}

// Meaning says what the outcome stands for.
func (o Outcome) Meaning() Meaning { return outcomeMeanings[o] }

// Meaning says why such a URL was skipped or failed.
func (r Reason) Meaning() Meaning { return reasonMeanings[r] }

// Meaning says what is waited for.
func (w Wait) Meaning() Meaning { return waitMeanings[w] }

// Meaning says what such evidence is about.
func (k EvidenceKind) Meaning() Meaning { return evidenceMeanings[k] }

// Meaning says what the cache did.
func (c CacheVerdict) Meaning() Meaning { return cacheMeanings[c] }

var outcomeMeanings = map[Outcome]Meaning{
	Fetched:     {"the server answered with a page (2xx), and it was read", "fetch"},
	NotModified: {"asked with what an earlier crawl learned, the server said that the page is still the same (304)", "fetch"},
	Redirected:  {"the server sent us elsewhere (3xx); the target is a URL of its own with an outcome of its own", "fetch"},
	Dead:        {"the server says that there is no such page: 404, 410 and the other 4xx that speak of the page", "fetch"},
	ServerError: {"the server failed (5xx but 503), also when it was asked again, or spoke of the connection (408, 425)", "fetch"},
	Throttled:   {"the server said not now (429, 503), also when it was asked again; never dead", "fetch"},
	Blocked:     {"the server let us see no page: 401, 402, 403, 407, 451, or a challenge page instead of content", "fetch, parse"},
	Skipped:     {"not asked for; the reason says why", "scope, robots, fetch/guard, limit"},
	Deferred:    {"put off beyond this crawl: the patience with its host ended, discovery was stopped, too many URLs waited, or it was a dry run", "frontier"},
	Failed:      {"no usable answer; the reason says why", "fetch, parse, frontier"},
	Pending:     {"has not ended; the wait reason says what it waits for", "frontier"},
}

var reasonMeanings = map[Reason]Meaning{
	RobotsDisallow:    {"a rule of robots.txt forbids it", "robots"},
	RobotsUnreachable: {"robots.txt never answered before patience ended, so nothing was asked for", "robots"},
	CrawlDelayTooLong: {"robots.txt asks for more than 300 s between two requests; nobody is asked faster than that, so the host is left out", "robots"},
	OutOfScope:        {"it does not belong to the crawl: another host, domain, prefix or list", "scope"},
	Excluded:          {"a pattern of include or exclude leaves it out", "scope"},
	DuplicateContent:  {"many pages like it in a row had the same text", "scope"},
	Depth:             {"more links from a seed than max_depth; a shorter way found later takes it back", "scope"},
	TrapPath:          {"its path looks like an endless space: a calendar, a path that repeats itself", "scope"},
	TrapQuery:         {"its query looks like an endless space: sessions, combinations of filters", "scope"},
	NonDocument:       {"no page by its name: an image, an archive, a PDF; files takes them in", "scope"},
	Nofollow:          {"only nofollow links lead there; another link found later takes it back", "parse"},
	PrivateAddress:    {"its address is not one of the public web, and allow_private does not name it", "fetch/guard"},
	BadPort:           {"its port is neither 80 nor 443, and neither ports nor allow_private names it", "fetch/guard"},
	BudgetBytes:       {"it alone has more bytes than max_bytes leaves for the whole crawl", "limit"},
	BudgetHost:        {"its host has had as many pages as max_pages_per_host allows", "limit"},
	OptedOut:          {"its host is on the list of those who asked not to be crawled", "headway"},

	DNS:          {"its name could not be looked up, or does not exist", "fetch/guard"},
	Connect:      {"no connection, or it ended before an answer", "fetch"},
	TLS:          {"its certificate or handshake is not to be trusted", "fetch"},
	Timeout:      {"one of the bounds of time was reached", "fetch"},
	TooLarge:     {"header or body is larger than allowed, or unfolds too far", "fetch"},
	Truncated:    {"the answer ended before it was whole", "fetch"},
	BadEncoding:  {"a content coding that cannot or will not be undone", "fetch"},
	Protocol:     {"not HTTP as we know it: a redirect to nowhere, a status outside HTTP, a 304 to a question nobody put", "fetch"},
	Parse:        {"the body could not be read", "parse"},
	RedirectLoop: {"redirects in a circle, or more than ten in a row", "visit"},
	HostParked:   {"its host failed so often in a row that it was left out of this crawl", "politeness"},
	Quarantined:  {"it alone was in flight at several crashes of the crawler", "store/journal"},
}

var waitMeanings = map[Wait]Meaning{
	WaitPace:            {"the interval between two requests to its host", "politeness"},
	WaitCrawlDelay:      {"the interval that robots.txt of its host asks for", "robots"},
	WaitHold:            {"its host said when to come back, is backed off from, or was paused by an operator", "politeness"},
	WaitInFlight:        {"its host has as many requests under way as it may have", "politeness"},
	WaitDomainInterval:  {"another host of the same domain was just asked", "politeness"},
	WaitAddressInterval: {"another host at the same address was just asked", "politeness"},
	WaitRobots:          {"robots.txt of its host is not known yet", "robots"},
	WaitDNS:             {"the address of its host is being looked up", "fetch/guard"},
	WaitWorkers:         {"a place among the workers", "frontier"},
	WaitParse:           {"a place among the parsers, or memory for its body", "parse"},
	WaitStorage:         {"a commit that takes long, or free disk", "store"},
	WaitBudget:          {"a limit of the crawl, until it is raised, or the requests per second of its tenant, until its turn", "limit"},
	WaitNetwork:         {"our own network, which seems to be down; no host is charged", "politeness"},
	WaitLease:           {"another process, which owns its domain at the moment", "store"},
	WaitIdle:            {"nothing stands in its way; it was not picked yet", "frontier"},
}

var evidenceMeanings = map[EvidenceKind]Meaning{
	RobotsAllowed:   {"robots.txt let it through: the rule, its line and group, the file by its SHA-256", "robots"},
	BlockedByRobots: {"robots.txt held it back: the rule, its line and group, the file by its SHA-256", "robots"},
	ChallengePage:   {"the page is a firewall's: the mark it was known by, and whose it is", "parse"},
	AddressRefused:  {"the address it leads to was refused, and by which rule", "fetch/guard"},
	Override:        {"robots.txt was not asked, on the word of the host's owner", "robots"},
}

var cacheMeanings = map[CacheVerdict]Meaning{
	CacheHit:         {"a cache served it from a copy", "fetch"},
	CacheStale:       {"a cache served it from a copy that was too old", "fetch"},
	CacheRevalidated: {"a cache asked the origin, which said that the copy is still good", "fetch"},
	CacheExpired:     {"the copy was too old, and the origin made the page", "fetch"},
	CacheMiss:        {"there was no copy, and the origin made the page", "fetch"},
	CacheBypass:      {"passed on to the origin: this answer is not kept", "fetch"},
	CacheDynamic:     {"passed on to the origin: answers of this kind are never kept", "fetch"},
}
