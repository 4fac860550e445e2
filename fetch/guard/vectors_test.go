package guard_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"headway/fetch/guard"
	"headway/fetch/guard/guardtest"
	"headway/internal/vectors"
)

// ssrfRow is a row of ssrf.json. Answers is a list in host rows and an object
// in chains.
type ssrfRow struct {
	Kind          string
	Target        string
	Blocked       bool
	Why           string
	Answers       json.RawMessage
	SecondAnswers []string `json:"second_answers"`
	Pinned        bool
	Hops          []string
}

// TestVectorsAddressesAndHosts runs the rows of ssrf.json that need no URL parser. The
// rows with URLs and chains run in headway/fetch, which also counts all rows.
func TestVectorsAddressesAndHosts(t *testing.T) {
	names := guardtest.Serve(t)
	trap4 := guardtest.SetTrap(t, "127.0.0.1")
	for _, row := range vectors.Rows[ssrfRow](t, "ssrf.json") {
		if row.Kind != "ip" && row.Kind != "host" {
			continue
		}
		t.Run(row.Kind+" "+row.Target, func(t *testing.T) {
			var connected atomic.Int64
			d, err := guard.New(guard.Config{
				Resolver:   names.Addr,
				ExtraPorts: []uint16{trap4.Addr.Port()}, // so that a missing check would be noticed
				Connect: func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
					connected.Add(1)
					if addr.Addr().IsLoopback() {
						return net.Dial("tcp", addr.String())
					}
					near, far := net.Pipe()
					far.Close()
					return near, nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			addr := net.JoinHostPort(row.Target, strconv.Itoa(int(trap4.Addr.Port())))
			if row.Kind == "host" {
				var first []string
				if err := json.Unmarshal(row.Answers, &first); err != nil {
					t.Fatal(err)
				}
				names.Set(row.Target, guardtest.Reply{Addrs: first}, guardtest.Reply{Addrs: row.SecondAnswers})
				if row.SecondAnswers == nil {
					names.Set(row.Target, guardtest.Reply{Addrs: first, Alias: "alias.test"})
				}
				if row.SecondAnswers != nil && !row.Pinned {
					// An early check, as a caller might do it.
					if _, err := d.Resolve(t.Context(), row.Target, trap4.Addr.Port()); err != nil {
						t.Fatalf("first answer: %v", err)
					}
				}
			}
			conn, err := d.DialContext(t.Context(), "tcp", addr)
			if err == nil {
				conn.Close()
			}
			if blocked := err != nil; blocked != row.Blocked {
				t.Fatalf("blocked %v, want %v (%s): %v", blocked, row.Blocked, row.Why, err)
			}
			if want := map[bool]int64{true: 0, false: 1}[row.Blocked]; connected.Load() != want {
				t.Errorf("%d connections, want %d", connected.Load(), want)
			}
			if err == nil {
				return
			}
			_, isBlocked := errors.AsType[*guard.BlockedError](err)
			_, isDNS := errors.AsType[*guard.DNSError](err)
			if isDNS != strings.Contains(row.Why, "dns failure") || isBlocked == isDNS {
				t.Errorf("error of the wrong kind: %v", err)
			}
		})
	}
}
