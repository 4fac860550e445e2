package inspect

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"headway/answer"
	"headway/ask"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// hostileReceipt is made of what a host and an operator of ill will could put
// into it.
func hostileReceipt(t *testing.T) *answer.Receipt {
	t.Helper()
	noon := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	c := answer.NewCourtesy(false)
	for i := range 30 {
		u, err := weburl.Parse(fmt.Sprintf(`https://example.com/<script>alert(%d)</script>"'><img src=x onerror=alert(1)>?session=abc&x=</style>`, i))
		if err != nil {
			t.Fatal(err)
		}
		v := &visit.Visit{Item: visit.Item{Job: 1, URL: u}, Outcome: visit.Throttled, Page: visit.Page{Title: "<script>title</script>"}}
		v.Answer = visit.Answer{Status: 429, RetryAfter: "<script>5</script>\x1b[31m"}
		v.Timing = visit.Timing{Sent: noon.Add(time.Duration(i) * time.Second), Total: 10 * time.Millisecond}
		c.Add(v)
	}
	return c.Receipt(answer.CourtesyFacts{
		Host: "https://example.com", MadeAt: noon, Who: answer.Who{UserAgent: "headway/1 (+<script>ua</script>)", Contact: "<b>you@example.com</b>", Token: "headway"},
		Orders: []ask.Change{{At: noon, Order: "<script>order</script>", Host: "https://example.com", Before: "<b>before</b>", After: "<img src=x>\x1b[31m"}},
		Paces:  []store.PaceChange{{At: noon.Add(time.Second), From: time.Second, To: 2 * time.Second, Cause: "<script>cause</script>"}},
	})
}

// TestReceiptHTMLIsInert wants nothing in the page that a browser would load, run
// or apply, but its own style.
func TestReceiptHTMLIsInert(t *testing.T) {
	var b bytes.Buffer
	if err := printReceiptHTML(&b, hostileReceipt(t)); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, bad := range []string{"<script", "<img", "<b>", "javascript:", "abc", "@import", "url(", "ZgotmplZ", "http-equiv=\"refresh"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if found := regexp.MustCompile(`<[^>]*\s(src|href|style|on\w+)\s*=`).FindString(page); found != "" {
		t.Errorf("the page has %q", found)
	}
	policy := regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(page)
	style := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindAllStringSubmatch(page, -1)
	if policy == nil || len(style) != 1 {
		t.Fatalf("policy %q, %d styles", policy, len(style))
	}
	sum := sha256.Sum256([]byte(style[0][1]))
	want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
	if got := html.UnescapeString(policy[1]); got != want {
		t.Errorf("policy\n got %s\nwant %s", got, want)
	}
	if !strings.Contains(page, "session=REDACTED") || !strings.Contains(page, "Only the latest 20 of 30 are shown.") {
		t.Error("secrets are not redacted, or the cut is not said")
	}
	if len(page) > 64<<10 {
		t.Errorf("%d bytes", len(page))
	}
}

// TestReceiptTextIsOneLineEach keeps what hosts wrote from moving the cursor.
func TestReceiptTextIsOneLineEach(t *testing.T) {
	var b bytes.Buffer
	if err := printReceipt(&b, hostileReceipt(t), false); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); strings.Contains(text, "\x1b") || strings.Contains(text, "abc") {
		t.Errorf("got %s", text)
	}
}

func TestReceiptOfNothing(t *testing.T) {
	r := answer.NewCourtesy(false).Receipt(answer.CourtesyFacts{Host: "https://example.com"})
	for name, write := range map[string]func() error{
		"text": func() error { return printReceipt(new(bytes.Buffer), r, false) },
		"html": func() error { return printReceiptHTML(new(bytes.Buffer), r) },
	} {
		if err := write(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if plotPace(r) != nil {
		t.Error("a plot of nothing")
	}
}
