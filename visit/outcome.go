package visit

import (
	"fmt"
	"slices"
)

// Outcome says how a URL ended, or that it has not ended yet. The set is
// closed: adding one is a change of the API, the tables and every reader.
type Outcome string

// The outcomes. `seen` is the sum of URLs over all of them, always.
const (
	Fetched     Outcome = "fetched"      // a final answer with a page
	NotModified Outcome = "not_modified" // the copy we know is still good
	Redirected  Outcome = "redirected"   // a 3xx; its target is a link of its own
	Dead        Outcome = "dead"         // the server says there is no such page
	ServerError Outcome = "server_error" // the server failed, also when asked again
	Throttled   Outcome = "throttled"    // refused for now, also when asked again; never dead
	Blocked     Outcome = "blocked"      // forbidden, or a challenge page instead of content
	Skipped     Outcome = "skipped"      // not asked for; Reason says why
	Deferred    Outcome = "deferred"     // put off beyond this crawl
	Failed      Outcome = "failed"       // no usable answer; Reason says why
	Pending     Outcome = "pending"      // waits; Wait says what for
)

// Outcomes lists the closed set in the order of the summary.
var Outcomes = []Outcome{
	Fetched, NotModified, Redirected, Dead, ServerError, Throttled, Blocked, Skipped, Deferred, Failed, Pending,
}

// Page tells whether the outcome counts against page limits: a final answer
// other than a refusal or a redirect.
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

// Reasons lists the closed sets by the outcome they belong to.
var Reasons = map[Outcome][]Reason{
	Skipped: {
		RobotsDisallow, RobotsUnreachable, CrawlDelayTooLong, OutOfScope, Excluded, DuplicateContent, Depth, TrapPath,
		TrapQuery, NonDocument, Nofollow, PrivateAddress, BadPort, BudgetBytes, BudgetHost, OptedOut,
	},
	Failed: {
		DNS, Connect, TLS, Timeout, TooLarge, Truncated, BadEncoding, Protocol, Parse, RedirectLoop, HostParked, Quarantined,
	},
}

// Provisional tells whether a later link may turn a skipped URL back to
// waiting: it was skipped because of the link that led there, not for itself.
func (r Reason) Provisional() bool { return r == Nofollow || r == Depth }

// Wait says what a pending URL, or a host with work, waits for.
type Wait string

// The wait reasons.
const (
	WaitPace            Wait = "pace"             // the host's interval
	WaitCrawlDelay      Wait = "crawl_delay"      // the interval its robots.txt asks for
	WaitHold            Wait = "hold"             // Retry-After or backoff
	WaitInFlight        Wait = "in_flight"        // its requests under way: as many as it may have
	WaitDomainInterval  Wait = "domain_interval"  // another host of the domain was just asked
	WaitAddressInterval Wait = "address_interval" // another host at the address was just asked
	WaitRobots          Wait = "robots"           // robots.txt is not known yet
	WaitDNS             Wait = "dns"              // the addresses of its name
	WaitWorkers         Wait = "workers"          // a place among the fetches
	WaitParse           Wait = "parse"            // a place among the parsers
	WaitStorage         Wait = "storage"          // the store, or free disk
	WaitBudget          Wait = "budget"           // a limit of the job
	WaitNetwork         Wait = "network"          // our own network is down
	WaitLease           Wait = "lease"            // another process owns the domain
	WaitIdle            Wait = "idle"             // nothing in the way; not picked yet
)

// Waits lists the closed set.
var Waits = []Wait{
	WaitPace, WaitCrawlDelay, WaitHold, WaitInFlight, WaitDomainInterval, WaitAddressInterval, WaitRobots, WaitDNS,
	WaitWorkers, WaitParse, WaitStorage, WaitBudget, WaitNetwork, WaitLease, WaitIdle,
}

// OfStatus reads the outcome of an HTTP status that is final: nothing asks
// again. A 2xx is fetched until its body says otherwise. A 304 to a question
// without validators, a 3xx that names no target and a status outside HTTP are
// protocol errors, which the caller knows better; OfStatus answers by number.
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
		// The page may well exist; we are not the one who may see it. Calling
		// it dead would break a build over a login.
		return Blocked, ""
	case status == 408, status == 425:
		return ServerError, "" // about the connection, not about the page
	case status >= 400 && status < 500:
		return Dead, ""
	case status >= 500 && status < 600:
		return ServerError, ""
	default:
		return Failed, Protocol
	}
}

// Check tells whether an outcome, reason and wait belong together.
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
