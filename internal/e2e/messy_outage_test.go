//go:build linux

package e2e

import (
	"bytes"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"headway/internal/ownnet"
	"headway/lab"
)

// outageNetwork tells a test binary that it has its own network.
const outageNetwork = "E2E_OWN_NETWORK"

// nameServer is the address of the lab's name server: it can go down while those of
// its hosts stay.
var nameServer = netip.MustParseAddr("192.0.2.53")

// TestMessyOutage removes the route to everything, or only the name server, in the
// network of a crawl. The crawl pauses, blames no host, and resumes soon after.
func TestMessyOutage(t *testing.T) {
	for _, tt := range []struct {
		name    string
		off, on func() error
		pauses  bool // whether the short form is long enough for the crawl to notice
	}{
		{"route", ownnet.Down, ownnet.Up, false}, // first its connections have to time out
		{"dns", func() error { return ownnet.Remove(0) }, func() error { return ownnet.Add(0, nameServer) }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if os.Getenv(outageNetwork) == "" {
				inOwnNetwork(t)
				return
			}
			if err := ownnet.Up(); err != nil {
				t.Fatal(err)
			}
			if err := ownnet.Add(0, nameServer); err != nil {
				t.Fatal(err)
			}
			outage(t, tt.off, tt.on, full || tt.pauses)
		})
	}
}

// inOwnNetwork runs this test once more, in its own network.
func inOwnNetwork(t *testing.T) {
	t.Helper()
	if !ownnet.Allowed(t.Context()) {
		t.Skip("an outage needs a network namespace, which this machine does not allow: run as root, or allow unprivileged user namespaces")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run", "^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
	ownnet.Command(cmd)
	cmd.Env = append(os.Environ(), outageNetwork+"=1")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("in its own network: %v", err)
	}
}

func outage(t *testing.T, off, on func() error, pauses bool) {
	const hosts, within = 5, 10 * time.Second
	pages, delay, length := 40, 200*time.Millisecond, 15*time.Second
	if full {
		pages, delay, length = 150, time.Second, time.Minute
	}
	w := newWorld(t, lab.Config{
		Hosts: lab.Uniform(hosts, site(pages)), Address: lab.Name, Domain: "test",
		DNS:     lab.DNS{Listen: nameServer.String() + ":0", TTL: time.Second},
		Clients: []netip.Prefix{netip.PrefixFrom(nameServer, nameServer.BitLen())}, // queries come from there, too
	})
	crawl := w.crawl("run", "--resolver", w.lab.DNSAddr().String(), "--delay", delay.String(), "--jitter", "0", "--sitemaps", "off", "--contact", "ops@example.com")
	var out bytes.Buffer
	crawl.Stdout, crawl.Stderr = &out, &out
	if err := crawl.Start(); err != nil {
		t.Fatal(err)
	}
	w.eventually(func() bool { return w.lab.Stats().Total.UniquePages > 5*hosts })
	if err := off(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	time.Sleep(length) // the outage
	if err := on(); err != nil {
		t.Fatal(err)
	}
	ended := time.Now()
	if err := crawl.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if pauses && !strings.Contains(out.String(), "network") {
		t.Errorf("no time was put down to our own network:\n%s", &out)
	}
	w.complete()
	w.clean()
	for _, h := range w.lab.Hosts() {
		last, next := time.Time{}, time.Time{}
		for _, r := range w.lab.Log() {
			switch {
			case r.Host+"/" != h.URL:
			case r.Start.Before(ended):
				last = r.Start
			case next.IsZero():
				next = r.Start
			}
		}
		wait := next.Sub(ended) - w.stalls.Between(ended, next)
		t.Logf("%s: last request %v into the outage, next %v after it", h.Name, last.Sub(began), wait)
		if next.IsZero() || wait > within {
			t.Errorf("%s got a request %v after the outage, want at most %v", h.Name, wait, within)
		}
	}
	if out := w.run(w.command("hosts", "--dir", "run", "--filter", "learned", "--json"), 0); !strings.Contains(out, `"hosts": []`) {
		t.Errorf("the outage taught a pace:\n%s", out)
	}
}
