package robots

import "time"

// Decision is the answer for one URL and what it rests on.
type Decision struct {
	Allowed bool
	Reason  Reason
	Rule    string        // the deciding line as written, cut at 512 bytes; "" where no rule decided
	Line    int           // its line in the file, counted from 1; 0 where no rule decided
	Group   string        // token of the group that was chosen: ours, "*", or "" for none
	Delay   time.Duration // Crawl-delay of the group
	Delayed bool          // the group has a Crawl-delay; zero seconds are one
}

// Reason is why a decision went as it did. The set is closed; those that
// refuse and are also reasons of a skipped URL have the same word there.
type Reason string

// The reasons of a decision.
const (
	NoRule       Reason = "no_rule"              // allowed: a file, and no rule in it matches
	AllowRule    Reason = "allow_rule"           // allowed by an Allow line
	RobotsFile   Reason = "robots_file"          // allowed: /robots.txt itself always is
	NoFile       Reason = "no_file"              // allowed: the host has no robots.txt
	Unreadable   Reason = "unreadable_allowed"   // allowed though robots.txt could not be read, because the policy says so
	Ignored      Reason = "robots_ignored"       // allowed without asking, for an owned host
	DisallowRule Reason = "robots_disallow"      // refused by a Disallow line
	DelayTooLong Reason = "crawl_delay_too_long" // refused: the delay asked for is above MaxDelay
	Unreachable  Reason = "robots_unreachable"   // refused for now: robots.txt could not be read
	Forbidden    Reason = "robots_forbidden"     // refused: robots.txt answered 401 or 403 and the policy says so
	Unknown      Reason = "robots_unknown"       // refused for now: robots.txt must be fetched first
)
