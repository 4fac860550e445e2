package crawl

import (
	"io"
	"log/slog"

	"headway/fetch"
	"headway/fetch/guard"
	"headway/governor"
	"headway/internal/config"
)

// Setup is what a crawl and a worker of a fleet share before the first request:
// settings, streams, seeds, identity, network client, owned hosts and interrupts.
type Setup struct {
	Settings *config.Settings
	Err      *Notices // messages for people
	Log      *slog.Logger
	CPU      governor.CPU

	// Set by Connect.
	Identity fetch.Identity
	Dialer   *guard.Dialer
	Client   *fetch.Client
	Ranges   []guard.Range // private addresses that may be contacted

	in    io.Reader
	out   io.Writer
	keys  chan struct{} // Ctrl-C, where a view reads the keys
	seeds Seeds
	owned map[string]bool // hostnames
}

// NewSetup is the setup of one command, not yet connected. Messages for people go
// to people.
func NewSetup(set *config.Settings, in io.Reader, out, people io.Writer) Setup {
	return Setup{Settings: set, in: in, out: out, Err: &Notices{w: people}, keys: make(chan struct{}, 2)}
}
