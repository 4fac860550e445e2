package robots

import "time"

// Decision is whether one URL is allowed, and why.
type Decision struct {
	Allowed bool
	Reason  Reason
	Rule    string        // the deciding line as written, cut at 512 bytes; "" if no rule decided
	Line    int           // its line number, counted from 1; 0 if no rule decided
	Group   string        // token of the chosen group: ours, "*", or "" for none
	Delay   time.Duration // Crawl-delay of the group
	Delayed bool          // the group has a Crawl-delay, which may be 0
}

// Reason is why a URL is allowed or not. The set is closed; reasons that are also
// reasons of a skipped URL have the same name there.
type Reason string

// The reasons of a decision.
const (
	NoRule       Reason = "no_rule"              // allowed: no rule matches
	AllowRule    Reason = "allow_rule"           // allowed by an Allow line
	RobotsFile   Reason = "robots_file"          // allowed: /robots.txt is always allowed
	NoFile       Reason = "no_file"              // allowed: the host has no robots.txt
	Unreadable   Reason = "unreadable_allowed"   // allowed by policy though robots.txt could not be read
	Ignored      Reason = "robots_ignored"       // allowed without robots.txt, for an owned host
	DisallowRule Reason = "robots_disallow"      // refused by a Disallow line
	DelayTooLong Reason = "crawl_delay_too_long" // refused: the Crawl-delay is above MaxDelay
	Unreachable  Reason = "robots_unreachable"   // refused for now: robots.txt could not be read
	Forbidden    Reason = "robots_forbidden"     // refused by policy: robots.txt responded 401 or 403
	Unknown      Reason = "robots_unknown"       // refused for now: robots.txt must be fetched first
)
