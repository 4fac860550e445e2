package crawl

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"headway/fetch/guard"
)

// TestAllowFlags names the smallest ranges that cover all seeds.
func TestAllowFlags(t *testing.T) {
	for name, tc := range map[string]struct {
		addrs string
		ports []uint16
		want  string
	}{
		"one":                 {"127.0.0.2", []uint16{8080}, "--allow-private 127.0.0.2/32:8080"},
		"one, named twice":    {"127.0.0.2 127.0.0.2", []uint16{80, 80}, "--allow-private 127.0.0.2/32:80"},
		"neighbours":          {"127.1.0.1 127.1.0.2 127.1.0.9", []uint16{8780, 8780, 8780}, "--allow-private 127.1.0.0/28:8780"},
		"of several ports":    {"10.0.0.1 10.200.0.1", []uint16{443, 80}, "--allow-private 10.0.0.0/8:80,443"},
		"of several networks": {"192.168.1.2 127.0.0.1 192.168.7.1", []uint16{80, 80, 80}, "--allow-private 127.0.0.1/32:80 --allow-private 192.168.0.0/21:80"},
		"one by one":          {"169.254.1.1 169.254.1.2 fe80::1 fe80::2", []uint16{80, 80, 80, 80}, "--allow-private 169.254.1.1/32:80 --allow-private 169.254.1.2/32:80 --allow-private fe80::1/128:80 --allow-private fe80::2/128:80"},
		"far apart":           {"::1 100::1 fd00::1", []uint16{80, 80, 80}, "--allow-private ::1/128:80 --allow-private 100::1/128:80 --allow-private fd00::1/128:80"},
		"of both families":    {"127.0.0.1 ::1 fd00::1 fd00::2", []uint16{80, 80, 80, 80}, "--allow-private 127.0.0.1/32:80 --allow-private ::1/128:80 --allow-private fd00::/126:80"},
	} {
		var addrs []netip.Addr
		for _, text := range strings.Fields(tc.addrs) {
			addrs = append(addrs, netip.MustParseAddr(text))
		}
		if got := strings.Join(allowFlags(addrs, tc.ports), " "); got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
		for i, a := range addrs {
			if !slices.ContainsFunc(allowFlags(addrs, tc.ports), func(flag string) bool {
				r, err := guard.ParseRange(strings.TrimPrefix(flag, "--allow-private "))
				return err == nil && r.Allows(a, tc.ports[i])
			}) {
				t.Errorf("%s: %s would still be refused", name, a)
			}
		}
	}
}
