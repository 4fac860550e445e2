package robots_test

import (
	"testing"
	"time"

	"headway/robots"
	"headway/weburl"
)

// TestSourceDocumentsDiscovery is the example of the politeness document: /admin and
// /api are disallowed for everyone, and the agent has no group of its own.
func TestSourceDocumentsDiscovery(t *testing.T) {
	file := robots.Parse([]byte("User-agent: *\nDisallow: /admin\nDisallow: /api\nAllow: /public\nCrawl-delay: 2\n"))
	for raw, rule := range map[string]string{
		"https://example.com/":          "",
		"https://example.com/page":      "",
		"https://example.com/public":    "Allow: /public",
		"https://example.com/admin":     "Disallow: /admin",
		"https://example.com/api/users": "Disallow: /api",
	} {
		u, err := weburl.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		d := file.Decide("AEO-Audit", u)
		if d.Rule != rule || d.Allowed != (rule == "" || rule == "Allow: /public") || d.Group != "*" || d.Delay != 2*time.Second {
			t.Errorf("%s: %+v, want it decided by %q", raw, d, rule)
		}
	}
}

// TestSourceDocumentsPartialNames reads groups whose name contains ours, or is part of
// it. The document treats them as ours; RFC 9309 does not.
func TestSourceDocumentsPartialNames(t *testing.T) {
	u, err := weburl.Parse("https://example.com/x")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"AEO-Audit": true, "aeo-audit": true, "AEO-Audit/1.0": true, "AEO-Auditor": false, "AEO": false, "Audit": false, "My-AEO-Audit": false,
	} {
		file := robots.Parse([]byte("User-agent: " + name + "\nDisallow: /x\n"))
		if got := !file.Decide("AEO-Audit", u).Allowed; got != want {
			t.Errorf("a group for %s counts for AEO-Audit: %v, want %v", name, got, want)
		}
	}
}
