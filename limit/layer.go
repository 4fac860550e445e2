package limit

import "time"

// Level says whose limit it is. The levels are checked in this order, and of two equal limits the outer
// one is reported: raising the inner one would not help.
type Level string

// The levels, outermost first.
const (
	Safety Level = "safety" // the operator's; nothing raises it
	Plan   Level = "plan"   // the tenant's
	Usage  Level = "usage"  // what is left of the month's quota
	Job    Level = "job"    // the job's own
)

// Levels lists all levels, outermost first.
var Levels = []Level{Safety, Plan, Usage, Job}

// title is the level at the beginning of a sentence.
func (l Level) title() string {
	switch l {
	case Safety:
		return "Safety limit"
	case Plan:
		return "Plan limit"
	case Usage:
		return "Usage limit"
	default:
		return "Job limit"
	}
}

// Layer is what one level allows.
type Layer struct {
	Level  Level  `json:"level"`
	Limits Limits `json:"limits"`
}

// NewService is the default safety layer of a new service. The command line has none unless a config
// file sets one.
func NewService() Layer {
	return Layer{Safety, Limits{Pages: 50, ConcurrentCrawls: 1, Time: time.Minute}}
}

// The default patience: how long a job waits for a host.
const (
	CommandPatience = 10 * time.Minute // a user is watching
	ServicePatience = 24 * time.Hour
)

// Preset returns the limits that a politeness preset includes: they apply to what the job does not set
// itself. Most presets include none.
func Preset(name string) Limits {
	if name == "audit" {
		return Limits{Pages: 200, Time: time.Hour}
	}
	return Limits{}
}

// Quota is what a tenant may use in a month and has used. A zero quota means none.
type Quota struct {
	Pages, UsedPages int64
	Bytes, UsedBytes int64

	// What this crawl has used before, in any month.
	HadPages, HadBytes int64
}

// Layer is what the quota leaves for a crawl, including what it has used.
func (q Quota) Layer() Layer {
	return Layer{Usage, Limits{Pages: left(q.Pages, q.UsedPages, q.HadPages), Bytes: left(q.Bytes, q.UsedBytes, q.HadBytes)}}
}

// left is quota minus used plus had, in the form of [Limits].
func left(quota, used, had int64) int64 {
	if quota == 0 {
		return 0
	}
	if n := max(quota-used, 0) + had; n > 0 {
		return n
	}
	return -1
}

// Month compares the tenant's total usage with the quota: warnings for what is nearly used up, by
// whichever crawls, and the limit that is used up, if one is.
func (q Quota) Month() (near []Warning, met Name) {
	b := NewBudget(Resolve(Layer{Usage, Limits{Pages: q.Pages, Bytes: q.Bytes}}), time.Time{}, Use{})
	b.Observe(time.Time{}, Use{Pages: q.UsedPages, Bytes: q.UsedBytes})
	if over := b.Exceeded(); over != nil {
		met = over.Limit
	}
	return b.Warnings(), met
}
