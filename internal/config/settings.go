package config

import (
	"slices"
	"strings"
	"time"

	"headway/content"
	"headway/extract"
	"headway/internal/machine"
	"headway/limit"
	"headway/output/format"
	"headway/politeness"
)

// PublicAddresses means all public addresses in pace.address_ranges.
const PublicAddresses = "public"

// The values of sitemaps.
const (
	SitemapsAuto = "auto" // read in addition to links
	SitemapsOnly = "only" // read instead of links
	SitemapsOff  = "off"
)

// The values of content.
const (
	ContentText     = "text"
	ContentMarkdown = "markdown"
)

// ContentOptions are the values of content for package content, with what the formats are
// made of.
func (s *Settings) ContentOptions() content.Options {
	forms := slices.Concat(s.Content, format.Content(s.Format...))
	return content.Options{Text: slices.Contains(forms, ContentText), Markdown: slices.Contains(forms, ContentMarkdown)}
}

// The values of robots.unreachable: what to do while robots.txt cannot be read.
const (
	UnreachableHold  = "hold"
	UnreachableAllow = "allow"
)

// Settings is the values of all settings. Each field is one row of [Table].
type Settings struct {
	Seeds      []string
	SeedsFile  string
	Scope      string
	ScopeHosts []string
	Include    []string
	Exclude    []string
	Files      bool
	Sitemaps   string
	Content    []string
	Extract    *extract.Rules
	Links      bool
	Raw        bool

	Dir       string
	Format    []string
	Fresh     bool
	PartialOK bool
	JSONL     JSONL

	Preset       string
	Owned        []string
	IgnoreRobots bool
	Pace         Pace
	Backoff      Backoff
	Robots       Robots

	FailureThreshold int64
	CancelAfter      int64

	Limits limit.Limits // requested by the crawl
	Safety limit.Limits // the operator's limits

	Contact      string
	UserAgent    string
	Header       []string
	BasicAuth    string
	Timeout      time.Duration
	AllowPrivate []string
	Ports        []uint16
	Resolver     string
	IP           string

	Machine  Machine
	Workers  int64
	Fetch    Fetch
	DNS      DNS
	Parse    Parse
	Frontier Frontier
	Store    Store
	Governor Governor
	Fleet    Fleet
	Server   string
	Key      string
	KeyFile  string
	Worker   Worker
	Trace    Trace
	Log      Log
}

// clone returns a copy that shares nothing which can be changed.
func (s *Settings) clone() *Settings {
	c := *s
	for _, list := range []*[]string{
		&c.Seeds, &c.ScopeHosts, &c.Include, &c.Exclude, &c.Content, &c.Format, &c.Owned, &c.Pace.AddressRanges, &c.Header, &c.AllowPrivate, &c.Fleet.ArchivePrivate,
	} {
		*list = slices.Clone(*list)
	}
	c.Ports = slices.Clone(c.Ports)
	return &c
}

// JSONL is the content of a line of JSON.
type JSONL struct{ Links bool }

// Pace is how often requests are sent to a host.
type Pace struct {
	Delay         time.Duration
	Spread        time.Duration
	Jitter        int64 // percent
	InFlight      int64
	AddressRanges []string
}

// Backoff is how long a host that refuses or fails gets no requests.
type Backoff struct {
	RefusingStart time.Duration
	RefusingMax   time.Duration
	FailingStart  time.Duration
	FailingMax    time.Duration
}

// Robots is how robots.txt is read.
type Robots struct {
	OnUnreachable string
	Parallel      int64
	Timeout       time.Duration
	Cache         int64 // bytes
}

// Machine is the resources to divide.
type Machine struct {
	Descriptors int64
	Memory      int64 // bytes; 0 if unknown
}

// Shares divides the resources of the machine.
func (s *Settings) Shares() machine.Division {
	return machine.Divide(machine.Machine{Descriptors: s.Machine.Descriptors, Memory: s.Machine.Memory})
}

// Fetch bounds exchanges.
type Fetch struct {
	MaxBody    int64 // bytes
	BodyMemory int64 // bytes
	MaxConns   int64
	Slow       int64
}

// DNS bounds lookups.
type DNS struct {
	Lookups  int64
	Entries  int64
	Negative time.Duration
}

// Parse bounds the parser.
type Parse struct{ Workers int64 }

// Frontier bounds the waiting URLs.
type Frontier struct {
	Head       int64
	HotHosts   int64
	SeenCache  int64 // bytes
	MaxWaiting int64
}

// Store bounds commits.
type Store struct {
	CommitGap time.Duration
	MinFree   int64 // bytes
}

// Governor is back-pressure: fewer fetches while the store, the parser or memory falls
// behind.
type Governor struct{ Enabled bool }

// Fleet is the settings shared by the workers of a fleet.
type Fleet struct {
	Store      string
	Schema     string
	Lease      time.Duration
	MaxRunning int64

	Archive        string // a folder, or s3://BUCKET/PREFIX; empty for none
	ArchivePrivate []string
}

// Worker is the settings of each worker of a fleet.
type Worker struct {
	Listen string
}

// Trace is where traces are sent.
type Trace struct {
	Endpoint string
}

// Log is how a long-running process logs.
type Log struct {
	Format string
}

// The formats of a log.
const (
	LogText = "text"
	LogJSON = "json"
)

// Product returns the product token and version of the user agent, if set.
func (s *Settings) Product() (token, version string) {
	token, version, _ = strings.Cut(s.UserAgent, "/")
	return token, version
}

// Layers returns the layers of limits that the command line has.
func (s *Settings) Layers() []limit.Layer {
	return []limit.Layer{{Level: limit.Safety, Limits: s.Safety}, {Level: limit.Job, Limits: s.Limits}}
}

// Policy returns the preset with the values that override it.
func (s *Settings) Policy() (politeness.Policy, error) {
	p, _ := politeness.Preset(s.Preset) // the zero Policy is refused below
	p.Base, p.Spread = s.Pace.Delay, s.Pace.Spread
	p.Jitter, p.InFlight = int(s.Pace.Jitter), int(s.Pace.InFlight)
	p.Refusing = politeness.Backoff{Start: s.Backoff.RefusingStart, Max: s.Backoff.RefusingMax}
	p.Failing = politeness.Backoff{Start: s.Backoff.FailingStart, Max: s.Backoff.FailingMax}
	p.FailureThreshold, p.CancelAfter = int(s.FailureThreshold), int(s.CancelAfter)
	p.AllowUnreachableRobots = s.Robots.OnUnreachable == UnreachableAllow
	return p, p.Validate()
}

// OwnedOnly lists, for people, the values that are allowed for owned hosts only.
func (s *Settings) OwnedOnly() []string {
	var list []string
	if s.Preset == "owned" || s.Preset == "warm" {
		list = append(list, "preset "+s.Preset)
	}
	if s.Pace.Delay < politeness.MinPublic && s.Preset != "owned" {
		list = append(list, "pace.delay "+short(s.Pace.Delay))
	}
	if s.IgnoreRobots {
		list = append(list, "ignore_robots")
	}
	if len(s.Header) > 0 {
		list = append(list, "header")
	}
	if s.BasicAuth != "" {
		list = append(list, "basic_auth")
	}
	return list
}
