package fetch

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"headway/fetch/guard"
	"headway/internal/race"
	"headway/internal/stall"
	"headway/lab"
)

// labChild in the environment makes this test binary serve the lab instead of running
// tests, so that the lab's memory and CPU time are not measured.
const labChild = "HEADWAY_FETCH_TEST_LAB"

// fullRun in the environment makes tests use the real limits and duration: minutes
// instead of seconds.
const fullRun = "HEADWAY_FULL"

// labAddress is what the child reports to its parent.
type labAddress struct {
	Web, DNS string // IP:PORT
	PEM      []byte // its CA, if it serves TLS
	Seeds    []string
}

// runLab serves the lab described by the environment until standard input ends.
func runLab() {
	if err := serveLab(); err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

func serveLab() error {
	var cfg lab.Config
	if err := json.Unmarshal([]byte(os.Getenv(labChild)), &cfg); err != nil {
		return err
	}
	l, err := lab.New(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if err := l.Listen(ctx); err != nil {
		return err
	}
	say := labAddress{Web: l.Addr().String(), Seeds: l.Seeds()}
	if l.DNSAddr() != nil {
		say.DNS = l.DNSAddr().String()
	}
	if cfg.TLS {
		if say.PEM, err = l.CertificatePEM(); err != nil {
			return err
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(say); err != nil {
		return err
	}
	return l.Run(ctx)
}

// startLab runs a lab in a separate process until the test ends.
func startLab(t testing.TB, cfg lab.Config) labAddress {
	t.Helper()
	cfg.Listen = "0.0.0.0:0"
	cfg.Log = -1
	data, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), labChild+"="+string(data))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("lab: %v", err)
		}
	})
	var said labAddress
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &said)
	}
	if err != nil {
		t.Fatalf("lab did not start: %v", err)
	}
	return said
}

// port returns the port of the lab's web server.
func (a labAddress) port(t testing.TB) uint16 {
	t.Helper()
	_, port, err := net.SplitHostPort(a.Web)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	return uint16(n)
}

// client returns a client for the lab.
func (a labAddress) client(t testing.TB, cfg Config) *Client {
	t.Helper()
	d, err := guard.New(guard.Config{
		Resolver:     a.DNS,
		AllowPrivate: []guard.Range{{Prefix: netip.MustParsePrefix("127.0.0.0/8"), Ports: []uint16{a.port(t)}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Dialer = d
	if a.PEM != nil {
		cfg.RootCAs = x509.NewCertPool()
		cfg.RootCAs.AppendCertsFromPEM(a.PEM)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// labBounds are the limits of a quick run; HEADWAY_FULL=1 keeps the defaults.
func labBounds() Config {
	if os.Getenv(fullRun) != "" {
		return Config{}.withDefaults()
	}
	return Config{
		HeaderTimeout: 4 * time.Second, IdleTimeout: 2 * time.Second, Timeout: 8 * time.Second, LeastRateAfter: time.Second,
	}.withDefaults()
}

// ending is how an exhibit ends: with a reason or a status.
type ending struct {
	reason Reason
	status int
	bound  func(Config) time.Duration // nil: only the total timeout
}

// labEndings are the exhibits with a fixed ending over HTTP/1.1. Any other exhibit ends
// with some status and no error.
var labEndings = map[string]ending{
	"/fault/503":         {status: 503},
	"/fault/429":         {status: 429},
	"/fault/404":         {status: 404},
	"/fault/500":         {status: 500},
	"/fault/redirect/1":  {status: 302},
	"/fault/redirect/25": {status: 302},
	"/fault/loop/a":      {status: 302},
	"/fault/drip":        {reason: Timeout, status: 200, bound: func(c Config) time.Duration { return c.LeastRateAfter }},
	"/fault/huge":        {reason: TooLarge, status: 200},
	"/fault/bomb":        {reason: TooLarge, status: 200},
	"/fault/badchunk":    {reason: Protocol, status: 200},
	"/fault/truncated":   {reason: Truncated, status: 200},
	"/fault/badgzip":     {reason: BadEncoding, status: 200},
	"/fault/hang":        {reason: Timeout, bound: func(c Config) time.Duration { return c.HeaderTimeout }},
	"/fault/reset":       {reason: Connect},
	"/fault/manyheaders": {status: 200},
	"/fault/badlocation": {status: 302},
	"/fault/empty":       {status: 200},
	"/fault/deep":        {status: 200},

	"/exhibit/bomb/br":          {reason: TooLarge, status: 200},
	"/exhibit/bomb/zstd":        {reason: TooLarge, status: 200},
	"/exhibit/bomb/twice":       {reason: TooLarge, status: 200},
	"/exhibit/codings/1000":     {reason: BadEncoding, status: 200},
	"/exhibit/codings/unknown":  {reason: BadEncoding, status: 200},
	"/exhibit/codings/lie":      {reason: BadEncoding, status: 200},
	"/exhibit/codings/identity": {status: 200},
	"/exhibit/header/hints":     {status: 200},
	"/exhibit/header/cookies":   {reason: TooLarge},
	"/exhibit/header/endless":   {reason: TooLarge},
	"/exhibit/header/lengths":   {reason: Protocol},
	"/exhibit/header/goaway":    {status: 200},
	"/exhibit/redirect/nowhere": {status: 302},

	"/exhibit/sitemap/million.xml": {reason: TooLarge, status: 200}, // for a page; sitemaps have a higher limit
}

// broken are the exhibits that may end for another reason over HTTP/2, where the lab
// can only reset the stream.
var broken = map[string]bool{
	"/fault/badchunk": true, "/fault/truncated": true, "/fault/reset": true, "/exhibit/header/lengths": true, "/exhibit/header/endless": true,
	"/exhibit/header/cookies": true,
}

// TestLabFaults visits every exhibit of the lab: each ends within its timeout plus two
// seconds, with the right outcome, and memory does not grow.
func TestLabFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	cfg := labBounds()
	for _, tls := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS %v", tls), func(t *testing.T) {
			at := startLab(t, lab.Config{TLS: tls, Hosts: lab.Uniform(1, lab.Plain())})
			// The lab builds its bombs at the first request, which takes longer than the
			// short timeouts.
			warm := at.client(t, Config{})
			for path := range labEndings {
				if strings.Contains(path, "bomb") || strings.Contains(path, "codings") {
					if r, err := warm.Do(t.Context(), Request{URL: parseURL(t, strings.TrimSuffix(at.Seeds[0], "/")+path)}); err == nil {
						r.Close()
					}
				}
			}
			c := at.client(t, cfg)
			before, stalls := residentMemory(t), stall.Start(t)
			for _, e := range lab.Exhibits() {
				want, listed := labEndings[e.Path]
				start := time.Now()
				r, err := c.Do(t.Context(), Request{URL: parseURL(t, strings.TrimSuffix(at.Seeds[0], "/")+e.Path)})
				took := time.Since(start)
				bound := cfg.Timeout
				if want.bound != nil {
					bound = want.bound(cfg)
				}
				if stood := stalls.Between(start, start.Add(took)); took-stood > bound+2*time.Second {
					t.Errorf("%s took %v, want at most %v and 2s; the machine stood still for %v", e.Path, took, bound, stood)
				}
				got := ending{reason: reasonOf(err), status: r.Status}
				switch {
				case tls && broken[e.Path]:
					if err == nil {
						t.Errorf("%s ended well, with status %d", e.Path, r.Status)
					}
				case listed && (got.reason != want.reason || got.status != want.status):
					t.Errorf("%s ended with %q and status %d, want %q and %d (%v)", e.Path, got.reason, got.status, want.reason, want.status, err)
				case !listed && (err != nil || got.status == 0):
					t.Errorf("%s ended with %v and status %d", e.Path, err, got.status)
				}
				if strings.HasPrefix(e.Path, "/exhibit/retry-after/") {
					checkRetryAfter(t, e.Path, r)
				}
				r.Close()
			}
			if s := c.Stats(); s.Bodies.Use != 0 || s.Conns.Use != s.Idle {
				t.Errorf("left over: %+v", s)
			}
			if rise := peakMemory(t) - before; rise > 32<<20 && !race.Enabled {
				t.Errorf("resident memory rose by %d KiB at most, want below 32 MiB", rise>>10)
			} else {
				t.Logf("resident memory rose by %d KiB at most", rise>>10)
			}
		})
	}
}

// checkRetryAfter checks what the exhibits request: two seconds, if anything.
func checkRetryAfter(t *testing.T, path string, r *Result) {
	t.Helper()
	a := ReadRetryAfter(RetryInput{
		Status: r.Status, RetryAfter: r.Header["Retry-After"], Date: r.Header.Get("Date"),
		Now: r.Timing.Sent, Budget: time.Hour,
	})
	switch name := strings.TrimPrefix(path, "/exhibit/retry-after/"); name {
	case "seconds", "imf", "rfc850", "asctime", "ahead", "behind":
		if a.Action != ActionWait || a.Wait < time.Second || a.Wait > 3*time.Second {
			t.Errorf("%s asks for %+v", name, a)
		}
	case "zero", "past":
		if a.Action != ActionWait || a.Wait != 0 {
			t.Errorf("%s asks for %+v", name, a)
		}
	case "fraction", "word", "empty":
		if a.Action != ActionBackoff {
			t.Errorf("%s asks for %+v", name, a)
		}
	case "overflow", "year":
		if a.Action != ActionGiveUp {
			t.Errorf("%s asks for %+v", name, a)
		}
	}
}

// TestLabNames resolves the unusual names of the lab's own name server.
func TestLabNames(t *testing.T) {
	at := startLab(t, lab.Config{Hosts: lab.Uniform(1, lab.Plain()), DNS: lab.DNS{Listen: "127.0.0.1:0"}})
	want := map[string]Reason{
		"rebind": "", "rebind-in": PrivateAddress, "mixed": PrivateAddress, "mixed-lab": PrivateAddress, "mixed-v6": PrivateAddress,
		"private": PrivateAddress, "v6": PrivateAddress, "servfail": DNS, "refused": DNS, "late": DNS, "drop": DNS,
		"truncated": "", "many": "", "cname": DNS, "cname-loop": DNS,
	}
	for _, e := range lab.DNSExhibits() {
		name, _, _ := strings.Cut(e.Name, ".")
		reason, ok := want[name]
		if !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := at.client(t, Config{})
			url := fmt.Sprintf("http://%s:%d/", e.Name, at.port(t))
			r, err := get(t, c, url)
			if reasonOf(err) != reason {
				t.Errorf("%s: %v, want %q", e.About, err, reason)
			}
			if reason != "" && !r.Timing.Sent.IsZero() {
				t.Error("a request was sent")
			}
			switch name {
			case "rebind":
				if _, err := get(t, c, url); reasonOf(err) != PrivateAddress {
					t.Errorf("second answer: %v", err)
				}
			case "late": // a name server failure was not attributed to the name
				if _, err := get(t, c, url); err != nil {
					t.Errorf("asked again: %v", err)
				}
			}
		})
	}
}

// TestLabCertificates trusts only the lab's CA.
func TestLabCertificates(t *testing.T) {
	for _, cert := range []lab.Cert{lab.GoodCert, lab.ExpiredCert, lab.FutureCert, lab.WrongNameCert, lab.SelfSigned} {
		t.Run(string(cert), func(t *testing.T) {
			temper := lab.Plain()
			temper.Cert = cert
			at := startLab(t, lab.Config{TLS: true, Hosts: lab.Uniform(1, temper)})
			r, err := get(t, at.client(t, Config{}), at.Seeds[0])
			if want := map[bool]Reason{true: "", false: TLS}[cert == lab.GoodCert]; reasonOf(err) != want || want != "" && !r.Timing.Sent.IsZero() {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}

// residentMemory returns the resident memory after a garbage collection, and starts
// measuring the peak. Tests that need it are skipped where the system does not report
// it.
func residentMemory(t testing.TB) int64 {
	t.Helper()
	cleanMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Skipf("peak memory cannot be measured here: %v", err)
	}
	return procStatus(t, "VmRSS:")
}

// peakMemory returns the peak since residentMemory.
func peakMemory(t testing.TB) int64 {
	t.Helper()
	return procStatus(t, "VmHWM:")
}

// procStatus reads a line of /proc/self/status, in bytes.
func procStatus(t testing.TB, name string) int64 {
	t.Helper()
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skipf("memory cannot be read here: %v", err)
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatal(errors.New("no " + name))
	return 0
}
