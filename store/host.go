package store

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"headway/job"
	"headway/weburl"
)

// MaxState bounds the encoded state of a host.
const MaxState = 4096

// Host is what is stored about a host. The politeness and robots states are encoded by
// their packages and opaque to the store; the few facts that people and queries need are
// separate fields.
type Host struct {
	Host       string // as [weburl.URL.Host] writes it
	Politeness []byte // encoded politeness.State
	Robots     []byte // encoded robots.State

	Pace      time.Duration // learned; 0 if nothing was learned
	Floor     time.Duration
	HoldUntil time.Time
	LastSent  time.Time

	// Change says how the state differs from the one stored before. A slower one is
	// stored before anything relies on it, a faster one after everything that led to it.
	Change Change
	// Rest, when not zero, says that the owner no longer keeps the host in memory, and
	// when it will be ready. Hosts are listed in this order; for hosts in memory it is
	// not updated, because the owner schedules them.
	Rest time.Time
}

// Change is how a host's state differs from the one before.
type Change uint8

// The kinds of change.
const (
	Same   Change = iota // neither pace nor hold changed
	Slower               // the pace or the floor rose, or a hold was set or lengthened
	Faster               // the pace or the floor fell
)

// Check reports why a host is invalid.
func (h *Host) Check() error {
	if _, err := ParseHost(h.Host); err != nil {
		return err
	}
	if len(h.Politeness) > MaxState || len(h.Robots) > MaxState {
		return fmt.Errorf("host %s: state of %d and %d bytes, at most %d", h.Host, len(h.Politeness), len(h.Robots), MaxState)
	}
	if h.Pace < 0 || h.Floor < 0 || h.Change > Faster {
		return fmt.Errorf("host %s: pace %s, floor %s or change %d out of range", h.Host, h.Pace, h.Floor, h.Change)
	}
	return nil
}

// ParseHost parses a host as [weburl.URL.Host] writes it and returns the URL of its
// home page.
func ParseHost(host string) (weburl.URL, error) {
	u, err := weburl.Parse(host + "/")
	if err != nil {
		return weburl.URL{}, fmt.Errorf("host %q: %w", host, err)
	}
	if u.Host() != host {
		return weburl.URL{}, fmt.Errorf("host %q: the canonical form is %q", host, u.Host())
	}
	return u, nil
}

// JobHost is a job that has work on a host.
type JobHost struct {
	Job  job.ID
	Host string
}

// HostQuery selects hosts of slots on which URLs or errands wait.
type HostQuery struct {
	Slots []Slot
	// Job selects the work of one job, whatever its state; zero selects all jobs that are
	// running, paused or draining. What an ended job left waiting is not work.
	Job   job.ID
	After HostCursor // the Next of the previous page
	Max   int        // at most MaxPage
}

// HostCursor is a position in the order of hosts. Its value is opaque.
type HostCursor string

// HostPage is one page of hosts, earliest ready first. A host whose Rest changes while
// pages are read may be missed or returned twice; reading again from the start finds it.
type HostPage struct {
	Hosts []HostWork
	Next  HostCursor // empty after the last page
}

// HostWork is a host and the jobs that have waiting URLs or errands there.
type HostWork struct {
	Host Host
	Jobs []JobHost // by job
}

// PaceChange is one change of a host's pace and what caused it.
type PaceChange struct {
	Host  string
	At    time.Time
	From  time.Duration
	To    time.Duration
	Cause string // as package politeness names it, such as incident or probe
}

// MaxPaceChanges is how many pace changes of a host are kept: the latest.
const MaxPaceChanges = 1000

// RobotsVersion is the text of a robots.txt, stored once for all hosts and times at which
// it was seen.
type RobotsVersion struct {
	Sum       [sha256.Size]byte
	Body      []byte
	FetchedAt time.Time // when it was first seen
}

// MaxRobots bounds the text of a robots.txt, as RFC 9309 allows.
const MaxRobots = 512_000

// Check reports a text that is too long or does not match its sum.
func (r *RobotsVersion) Check() error {
	if len(r.Body) > MaxRobots {
		return fmt.Errorf("robots.txt of %d bytes, at most %d", len(r.Body), MaxRobots)
	}
	if sha256.Sum256(r.Body) != r.Sum {
		return errors.New("robots.txt does not match its SHA-256")
	}
	return nil
}

// ClaimAgain is how long a claim for a domain is valid. A process that still waits renews
// it before, several times within HandOver to lose no time.
const ClaimAgain = 10 * time.Second

// HandOver is how soon the owner of a domain must yield it when another process claims it.
const HandOver = 2 * time.Second

// Claim is the result of a claim for domains.
type Claim struct {
	Granted []string
	Hosts   []Host // of the granted domains
	// Unclean are the granted domains whose previous owner died or was stopped: their
	// hosts wait their full pace from now.
	Unclean []string
	Held    []Possession // domains not granted because another process holds them
	Taken   []Possession // granted domains taken over from a process that has stopped
}

// Possession is a domain and the process that holds or held it.
type Possession struct {
	Domain string
	Holder
}

// Holder is a process that shares hosts with this one, for people.
type Holder struct {
	PID int
	Dir string // the folder it crawls into
}
