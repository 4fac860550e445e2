package visitor

import (
	"context"
	"crypto/x509"
	"net/netip"
	"strings"
	"testing"
	"time"

	"headway/fetch"
	"headway/fetch/guard"
	"headway/lab"
	"headway/lab/labtest"
	"headway/politeness"
	"headway/visit"
	"headway/weburl"
)

// startLab serves a lab until the test ends and returns a client that may connect to it.
// The header timeout is long: the lab, in the same process, may take seconds to prepare a
// decompression bomb.
func startLab(t *testing.T, cfg lab.Config) (*lab.Lab, *fetch.Client) {
	t.Helper()
	l := labtest.Serve(t, cfg)
	return l, labClient(t, l, 30*time.Second)
}

// labClient returns a client for a lab with this header timeout.
func labClient(t *testing.T, l *lab.Lab, header time.Duration) *fetch.Client {
	t.Helper()
	var ports []uint16
	for _, h := range l.Hosts() {
		ports = append(ports, mustParse(t, h.URL).Port())
	}
	dialer, err := guard.New(guard.Config{AllowPrivate: []guard.Range{{Prefix: netip.MustParsePrefix("127.0.0.0/8"), Ports: ports}}})
	if err != nil {
		t.Fatal(err)
	}
	pem, err := l.CertificatePEM()
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client, err := fetch.New(fetch.Config{
		Dialer: dialer, RootCAs: roots,
		HeaderTimeout: header, IdleTimeout: 10 * time.Second, LeastRateAfter: 2 * time.Second, Timeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func mustParse(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// visitor waits for nothing: the hosts are our own.
func visitor(t *testing.T, client *fetch.Client) *Visitor {
	t.Helper()
	policy, ok := politeness.Preset("owned")
	if !ok {
		t.Fatal("no preset owned")
	}
	return &Visitor{Client: client, Agent: "headway", Policy: policy}
}

// TestEveryExhibit visits each exhibit of the lab and checks its outcome. An exhibit
// without an expectation fails.
func TestEveryExhibit(t *testing.T) {
	specs, err := lab.Select("museum")
	if err != nil {
		t.Fatal(err)
	}
	l, client := startLab(t, lab.Config{Hosts: specs})
	patient, hasty := visitor(t, client), visitor(t, labClient(t, l, time.Second))
	base := mustParse(t, l.Hosts()[0].URL)
	for _, e := range lab.Exhibits() {
		t.Run(e.Path, func(t *testing.T) {
			v := patient
			if e.Path == "/fault/hang" {
				v = hasty
			}
			u, err := base.Resolve(e.Path)
			if err != nil {
				t.Fatal(err)
			}
			look, err := v.Visit(t.Context(), u)
			if err != nil {
				t.Fatal(err)
			}
			if err := look.Visit.Check(); err != nil {
				t.Error(err)
			}
			got := strings.TrimSuffix(string(look.Visit.Outcome)+" "+string(look.Visit.Reason), " ")
			if want := deserved(e.Path); got != want {
				t.Errorf("%s: %s, want %s: %s", e.About, got, want, look.Visit.Detail)
			}
			checkNofollow(t, e, look.Visit)
			if e.Path == "/exhibit/retry-after/overflow" && !strings.Contains(look.Reaction, "on hold for 87600") {
				t.Errorf("reaction %q, want the host on hold for years", look.Reaction)
			}
		})
	}
}

// deserved is the expected outcome of a URL at an exhibit: by its whole path, else by its
// folder.
func deserved(path string) string {
	for _, by := range []string{path, path[:strings.LastIndex(path, "/")+1]} {
		if want, ok := deserts[by]; ok {
			return want
		}
	}
	return "a line in this test"
}

var deserts = map[string]string{
	"/fault/503":         "throttled",
	"/fault/429":         "throttled",
	"/fault/404":         "dead",
	"/fault/500":         "server_error",
	"/fault/redirect/1":  "redirected",
	"/fault/redirect/25": "redirected",
	"/fault/loop/a":      "redirected",
	"/fault/drip":        "failed timeout",
	"/fault/huge":        "failed too_large",
	"/fault/bomb":        "failed too_large",
	"/fault/mime":        "fetched",
	"/fault/charset":     "fetched",
	"/fault/badchunk":    "failed protocol",
	"/fault/truncated":   "failed truncated",
	"/fault/badgzip":     "failed bad_encoding",
	"/fault/hang":        "failed timeout",
	"/fault/reset":       "failed connect",
	"/fault/manyheaders": "fetched",
	"/fault/badlocation": "failed protocol",
	"/fault/empty":       "fetched",
	"/fault/nul":         "fetched",
	"/fault/deep":        "fetched",

	"/exhibit/bomb/":            "failed too_large",
	"/exhibit/codings/":         "failed bad_encoding",
	"/exhibit/codings/identity": "fetched",
	"/exhibit/header/hints":     "fetched",
	"/exhibit/header/cookies":   "failed too_large",
	"/exhibit/header/endless":   "failed too_large",
	"/exhibit/header/lengths":   "failed protocol",
	"/exhibit/header/refresh":   "fetched",
	"/exhibit/header/goaway":    "fetched",
	"/exhibit/retry-after/":     "throttled",
	"/exhibit/same/":            "fetched",
	"/exhibit/links":            "fetched",
	"/exhibit/catalogue/":       "fetched",
	"/exhibit/hidden-text/":     "fetched",
	lab.KillPath:                "fetched",

	"/exhibit/redirect/":        "redirected", // a private target is a link like any; the guard refuses it when it is requested
	"/exhibit/redirect/file":    "failed protocol",
	"/exhibit/redirect/script":  "failed protocol",
	"/exhibit/redirect/nowhere": "failed protocol",
	"/exhibit/redirect/self":    "failed redirect_loop",
	"/exhibit/redirect/meta":    "fetched",

	"/exhibit/x-robots/": "fetched",
	"/exhibit/meta/":     "fetched",
	"/exhibit/title/":    "fetched",
	"/exhibit/waf/":      "blocked",

	"/exhibit/sitemap/":            "fetched",
	"/exhibit/sitemap/million.xml": "failed too_large",
}

// checkNofollow compares the links of a page with directives with what the lab says about
// them.
func checkNofollow(t *testing.T, e lab.Exhibit, v visit.Visit) {
	t.Helper()
	if !strings.HasPrefix(e.Path, "/exhibit/x-robots/") && !strings.HasPrefix(e.Path, "/exhibit/meta/") {
		return
	}
	want := strings.HasSuffix(e.About, "may not be followed")
	if len(v.Links) == 0 {
		t.Error("no link found")
	}
	for _, l := range v.Links {
		if l.Nofollow != want {
			t.Errorf("link to %s: nofollow %v, want %v", l.URL, l.Nofollow, want)
		}
	}
}

// TestEveryRobotsKind visits a page behind each kind of robots.txt.
func TestEveryRobotsKind(t *testing.T) {
	want := map[string]string{
		"rules": "fetched", "open": "fetched", "deny": "skipped robots_disallow", "missing": "fetched", "forbidden": "fetched",
		"html": "fetched", "429": "skipped robots_unreachable", "500": "skipped robots_unreachable", "503": "skipped robots_unreachable",
		"redirect-5": "fetched", "redirect-6": "fetched", "redirect-loop": "fetched", "redirect-private": "skipped robots_unreachable",
		"redirect-host": "fetched", "big-head": "fetched", "big-tail": "fetched", "bomb": "fetched",
		"drip": "skipped robots_unreachable", "truncated": "skipped robots_unreachable", "reset": "skipped robots_unreachable",
	}
	var specs []lab.HostSpec
	for _, kind := range lab.RobotsKinds() {
		temper := lab.Plain()
		temper.Site.Pages, temper.Site.Robots = 5, kind.Name
		specs = append(specs, lab.HostSpec{Name: "robots-" + kind.Name, Temper: temper})
	}
	l, client := startLab(t, lab.Config{Hosts: specs})
	v := visitor(t, client)
	for i, kind := range lab.RobotsKinds() {
		t.Run(kind.Name, func(t *testing.T) {
			look, err := v.Visit(t.Context(), mustParse(t, l.Hosts()[i].URL))
			if err != nil {
				t.Fatal(err)
			}
			got := strings.TrimSuffix(string(look.Visit.Outcome)+" "+string(look.Visit.Reason), " ")
			if got != want[kind.Name] {
				t.Errorf("%s: %s, want %q: %+v", kind.About, got, want[kind.Name], look.Robots)
			}
			if len(look.Visit.Evidence) == 0 || look.Visit.Evidence[0].Kind == "" {
				t.Error("no evidence of the verdict")
			}
		})
	}
	total := l.Stats().Total
	if total.RobotsViolations != 0 || total.BeforeRobots != 0 || total.Robots5xxIgnored != 0 {
		t.Errorf("the lab counted %d forbidden requests, %d before robots.txt, %d with it out of reach",
			total.RobotsViolations, total.BeforeRobots, total.Robots5xxIgnored)
	}
}

// TestCertificates: a host with an invalid certificate gets no request.
func TestCertificates(t *testing.T) {
	specs, err := lab.Select("expired", "wrong-name", "self-signed")
	if err != nil {
		t.Fatal(err)
	}
	good := lab.Plain()
	good.Cert = lab.GoodCert
	specs = append(specs, lab.HostSpec{Name: "good", Temper: good})
	l, client := startLab(t, lab.Config{Hosts: specs})
	v := visitor(t, client)
	for i, want := range []string{"failed tls", "failed tls", "failed tls", "fetched"} {
		look, err := v.Visit(t.Context(), mustParse(t, l.Hosts()[i].URL))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSuffix(string(look.Visit.Outcome)+" "+string(look.Visit.Reason), " "); got != want {
			t.Errorf("%s: %s, want %s: %s", l.Hosts()[i].Name, got, want, look.Visit.Detail)
		}
	}
}

// TestTurn: the page waits for the host's pace after robots.txt. The send times of the two
// requests are exact; on a busy machine the lab may notice the first one late and so
// measure a shorter gap.
func TestTurn(t *testing.T) {
	const delay = 300 * time.Millisecond
	temper := lab.Plain()
	temper.Site.CrawlDelay = delay
	l, client := startLab(t, lab.Config{Hosts: lab.Uniform(1, temper)})
	look, err := visitor(t, client).Visit(t.Context(), mustParse(t, l.Hosts()[0].URL))
	if err != nil || look.Visit.Outcome != visit.Fetched {
		t.Fatalf("%+v, %v", look.Visit, err)
	}
	if gap := look.Visit.Timing.Sent.Sub(look.Robots.Sent); gap < delay {
		t.Errorf("the page was sent %v after robots.txt, whose Crawl-delay is %v", gap, delay)
	}
	if gap := l.Stats().Total.MinGapAnyMS; gap < 0.93*float64(delay.Milliseconds()) {
		t.Errorf("the page came %v ms after robots.txt, whose Crawl-delay is %v", gap, delay)
	}
}

// TestRefusals: what a Visitor does not do.
func TestRefusals(t *testing.T) {
	l, client := startLab(t, lab.Config{Hosts: lab.Uniform(1, lab.Plain())})
	v := visitor(t, client)
	look, err := v.Visit(t.Context(), mustParse(t, "http://127.0.0.1:1/"))
	if err != nil || look.Visit.Outcome != visit.Skipped || look.Visit.Reason != visit.BadPort {
		t.Errorf("a port that is not listed: %s %s, %v", look.Visit.Outcome, look.Visit.Reason, err)
	}
	look, err = v.Visit(t.Context(), mustParse(t, "http://10.1.2.3/"))
	if err != nil || look.Visit.Outcome != visit.Skipped || look.Visit.Reason != visit.PrivateAddress || len(look.Visit.Evidence) == 0 {
		t.Errorf("a private address: %s %s, %v", look.Visit.Outcome, look.Visit.Reason, err)
	}
	v.IgnoreRobots = true
	if _, err := v.Visit(t.Context(), mustParse(t, l.Hosts()[0].URL)); err == nil {
		t.Error("robots.txt of a host that is not owned was ignored")
	}
	v.Owned = true
	look, err = v.Visit(t.Context(), mustParse(t, l.Hosts()[0].URL+"private/x"))
	if err != nil || look.Visit.Outcome != visit.Fetched || look.Visit.Evidence[0].Kind != visit.Override {
		t.Errorf("its owner's word: %s %s, %v, %v", look.Visit.Outcome, look.Visit.Reason, look.Visit.Evidence, err)
	}
	if n := l.Stats().Total.RobotsFetches; n != 0 {
		t.Errorf("robots.txt was requested %d times", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.Visit(ctx, mustParse(t, l.Hosts()[0].URL)); err == nil {
		t.Error("a cancelled visit was made")
	}
}
