package visit

import (
	"fmt"
	"slices"
)

// Outcome says how a URL ended, or that it has not ended yet. The set is closed: a new outcome changes the
// API, the tables and every reader.
type Outcome string

// The outcomes. `seen` is always the sum of URLs over all of them.
const (
	Fetched     Outcome = "fetched"      // a final response with a page
	NotModified Outcome = "not_modified" // 304: the known copy is still valid
	Redirected  Outcome = "redirected"   // a 3xx; its target is a separate URL
	Dead        Outcome = "dead"         // the server says there is no such page
	ServerError Outcome = "server_error" // the server failed, also on retries
	Throttled   Outcome = "throttled"    // refused for now, also on retries; never dead
	Blocked     Outcome = "blocked"      // forbidden, or a challenge page instead of content
	Skipped     Outcome = "skipped"      // not requested; Reason says why
	Deferred    Outcome = "deferred"     // put off beyond this crawl
	Failed      Outcome = "failed"       // no usable response; Reason says why
	Pending     Outcome = "pending"      // waits; Wait says for what
)

// Outcomes lists all outcomes in the order of the summary.
var Outcomes = []Outcome{
	Fetched, NotModified, Redirected, Dead, ServerError, Throttled, Blocked, Skipped, Deferred, Failed, Pending,
}

// Page reports whether the outcome counts against page limits: a final response other than a refusal or a
// redirect.
func (o Outcome) Page() bool {
	switch o {
	case Fetched, NotModified, Dead, ServerError, Blocked:
		return true
	default:
		return false
	}
}

// Reason says why a URL was skipped or failed; other outcomes have none.
type Reason string

// Why a URL was skipped.
const (
	RobotsDisallow    Reason = "robots_disallow"
	RobotsUnreachable Reason = "robots_unreachable"
	CrawlDelayTooLong Reason = "crawl_delay_too_long"
	OutOfScope        Reason = "out_of_scope"
	Excluded          Reason = "excluded"
	DuplicateContent  Reason = "duplicate_content"
	Depth             Reason = "depth"
	TrapPath          Reason = "trap_path"
	TrapQuery         Reason = "trap_query"
	NonDocument       Reason = "non_document"
	Nofollow          Reason = "nofollow"
	PrivateAddress    Reason = "private_address"
	BadPort           Reason = "bad_port"
	BudgetBytes       Reason = "budget_bytes"
	BudgetHost        Reason = "budget_host"
	OptedOut          Reason = "opted_out"
)

// Why a URL failed.
const (
	DNS          Reason = "dns"
	Connect      Reason = "connect"
	TLS          Reason = "tls"
	Timeout      Reason = "timeout"
	TooLarge     Reason = "too_large"
	Truncated    Reason = "truncated"
	BadEncoding  Reason = "bad_encoding"
	Protocol     Reason = "protocol"
	Parse        Reason = "parse"
	RedirectLoop Reason = "redirect_loop"
	HostParked   Reason = "host_parked"
	Quarantined  Reason = "quarantined"
)

// Reasons lists all reasons by outcome.
var Reasons = map[Outcome][]Reason{
	Skipped: {
		RobotsDisallow, RobotsUnreachable, CrawlDelayTooLong, OutOfScope, Excluded, DuplicateContent, Depth, TrapPath,
		TrapQuery, NonDocument, Nofollow, PrivateAddress, BadPort, BudgetBytes, BudgetHost, OptedOut,
	},
	Failed: {
		DNS, Connect, TLS, Timeout, TooLarge, Truncated, BadEncoding, Protocol, Parse, RedirectLoop, HostParked, Quarantined,
	},
}

// Provisional reports whether a later link may turn a skipped URL back to waiting: it was skipped because of
// the link that led there, not because of the URL itself.
func (r Reason) Provisional() bool { return r == Nofollow || r == Depth }

// Wait says what a pending URL, or a host with work, waits for.
type Wait string

// The wait reasons.
const (
	WaitPace            Wait = "pace"             // the host's interval
	WaitCrawlDelay      Wait = "crawl_delay"      // the Crawl-delay of its robots.txt
	WaitHold            Wait = "hold"             // Retry-After or backoff
	WaitInFlight        Wait = "in_flight"        // as many requests in flight as allowed
	WaitDomainInterval  Wait = "domain_interval"  // another host of the domain just got a request
	WaitAddressInterval Wait = "address_interval" // another host on the address just got a request
	WaitRobots          Wait = "robots"           // robots.txt is not known yet
	WaitDNS             Wait = "dns"              // the DNS lookup of its name
	WaitWorkers         Wait = "workers"          // a place in the worker pool
	WaitParse           Wait = "parse"            // a free parser
	WaitCPU             Wait = "cpu"              // a CPU of this process
	WaitDisk            Wait = "disk"             // the disk of the store
	WaitDatabase        Wait = "database"         // the database of the store
	WaitStorage         Wait = "storage"          // the next commit, the outputs, or free disk
	WaitBudget          Wait = "budget"           // a limit of the job
	WaitNetwork         Wait = "network"          // our own network is down
	WaitLease           Wait = "lease"            // another process owns the domain
	WaitIdle            Wait = "idle"             // ready, but not picked yet
)

// Waits lists all wait reasons.
var Waits = []Wait{
	WaitPace, WaitCrawlDelay, WaitHold, WaitInFlight, WaitDomainInterval, WaitAddressInterval, WaitRobots, WaitDNS,
	WaitWorkers, WaitParse, WaitCPU, WaitDisk, WaitDatabase, WaitStorage, WaitBudget, WaitNetwork, WaitLease, WaitIdle,
}

// OfStatus returns the outcome of a final HTTP status, without further retries. A 2xx is fetched until its
// body says otherwise. A 304 to an unconditional request, a 3xx without a target and an invalid status are
// protocol errors, which the caller must detect; OfStatus only looks at the number.
func OfStatus(status int) (Outcome, Reason) {
	switch {
	case status >= 200 && status < 300:
		return Fetched, ""
	case status == 304:
		return NotModified, ""
	case status >= 300 && status < 400:
		return Redirected, ""
	case status == 429, status == 503:
		return Throttled, ""
	case status == 401, status == 402, status == 403, status == 407, status == 451:
		// The page may exist, but we may not see it. Calling it dead would break a build over a login page.
		return Blocked, ""
	case status == 408, status == 425:
		return ServerError, "" // says something about the connection, not the page
	case status >= 400 && status < 500:
		return Dead, ""
	case status >= 500 && status < 600:
		return ServerError, ""
	default:
		return Failed, Protocol
	}
}

// Check reports whether an outcome, reason and wait belong together.
func Check(o Outcome, r Reason, w Wait) error {
	if !slices.Contains(Outcomes, o) {
		return fmt.Errorf("unknown outcome %q", o)
	}
	if want := Reasons[o]; want != nil {
		if !slices.Contains(want, r) {
			return fmt.Errorf("outcome %s with unknown reason %q", o, r)
		}
	} else if r != "" {
		return fmt.Errorf("outcome %s cannot have reason %q", o, r)
	}
	if o == Pending {
		if !slices.Contains(Waits, w) {
			return fmt.Errorf("pending with unknown wait reason %q", w)
		}
	} else if w != "" {
		return fmt.Errorf("outcome %s cannot wait for %q", o, w)
	}
	return nil
}
