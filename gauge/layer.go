package gauge

import "time"

// Layer is one of the layers of control: its limit, its current use, how much waits for it,
// and how long work has waited so far. The unit depends on the layer; a limit of 0 is none.
type Layer struct {
	Name    string
	Setting string // the setting that controls it
	Limit   int64
	Use     int64
	Waiting int64         // hosts or requests that wait for it now
	Waited  time.Duration // total wait of hosts or requests
}

// Layers names the layers in order.
var Layers = []string{
	"workers", "in flight per host", "URLs in memory", "waiting URLs", "pace", "backoff", "known URLs (bytes)", "parsers",
	"robots.txt", "lookups", "commits", "hosts in memory", "governor", "free disk (bytes)", "slow exchanges",
}
