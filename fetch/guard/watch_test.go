package guard

import (
	"context"
	"net/netip"
	"slices"
	"testing"
	"time"
)

// TestWatchLookup checks that only real lookups are reported.
func TestWatchLookup(t *testing.T) {
	d, err := New(Config{Lookup: func(_ context.Context, host string) (Answer, error) {
		if host == "none.example" {
			return Answer{TTL: time.Hour}, &DNSError{Host: host, Kind: NXDomain}
		}
		return Answer{Addrs: []netip.Addr{netip.MustParseAddr("203.0.113.1")}, TTL: time.Hour}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	var heard []bool
	ctx := WatchLookup(t.Context(), func(looking bool) { heard = append(heard, looking) })
	for _, tc := range []struct {
		name string
		host string
		want []bool
	}{
		{"looked up", "a.example", []bool{true, false}},
		{"known", "a.example", nil},
		{"does not exist", "none.example", []bool{true, false}},
		{"known not to exist", "none.example", nil},
		{"an address", "203.0.113.7", nil},
	} {
		heard = nil
		_, _ = d.Resolve(ctx, tc.host, 80) // the result is tested elsewhere
		if !slices.Equal(heard, tc.want) {
			t.Errorf("%s: heard %v, want %v", tc.name, heard, tc.want)
		}
	}
}
