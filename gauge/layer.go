package gauge

import "time"

// Layer is one of the layers of control: what bounds it, how much of it is in
// use, what waits for it and for how long work has waited so far. Numbers are of
// the unit the name says; a limit of 0 is none.
type Layer struct {
	Name    string
	Setting string // its home among the settings
	Limit   int64
	Use     int64
	Waiting int64         // hosts or requests that wait for it now
	Waited  time.Duration // of hosts or requests, so far
}

// Layers names the layers in their order.
var Layers = []string{
	"workers", "in flight per host", "URLs in memory", "waiting URLs", "pace", "backoff", "known URLs (bytes)", "parsers",
	"robots.txt", "lookups", "commits", "hosts in memory", "governor", "free disk (bytes)", "slow exchanges",
}
