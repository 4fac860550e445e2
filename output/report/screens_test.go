package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"headway/answer"
	"headway/output/report"
	"headway/store"
	"headway/visit"
)

var update = flag.Bool("update", false, "take new screenshots for the docs")

// screenFolder has the screenshots of the docs.
const screenFolder = "../../docs/screens"

// maxScreen limits the size of a screenshot in bytes.
const maxScreen = 300_000

// screens are the tested window sizes.
var screens = []struct {
	name          string
	width, height int
	dark          bool
}{
	{"report-1440", 1440, 1860, false},
	{"report-390", 390, 2600, false},
	{"report-1440-dark", 1440, 1860, true},
}

// shopPage writes the report of the shop to a file.
func shopPage(t *testing.T, change func(page string) string) string {
	t.Helper()
	c := shop()
	c.since = lastWeek(c)
	return pageOf(t, c, "https://shop.example/", change)
}

// monsters is a crawl with extremely long texts of every kind.
func monsters() *crawl {
	c := everything()
	long := strings.Repeat("unbroken", 250)
	name := "https://" + strings.Repeat(strings.Repeat("a", 60)+".", 3) + "example"
	c.add(name+"/"+long, visit.Fetched, "", func(v *visit.Visit) {
		v.Page.Title, v.Page.Canonical, v.Timing.Total = long, mustURL(name+"/"), time.Hour
	})
	c.add(name+"/gone/"+long, visit.Dead, "", func(v *visit.Visit) { v.Item.Via = mustURL(name + "/" + long) })
	c.add(name+"/failed/"+long, visit.Failed, visit.Timeout, func(v *visit.Visit) { v.Detail = long + " " + hostile })
	c.add(name+"/skipped/"+long, visit.Skipped, visit.RobotsUnreachable)
	for code := 200; code < 600; code += 13 {
		c.add(fmt.Sprintf("%s/status/%d", name, code), visit.Fetched, "", func(v *visit.Visit) { v.Answer.Status, v.Answer.DecodedBytes = code, 1<<50 })
	}
	c.hosts = []store.HostEntry{{Host: store.Host{Host: name, Pace: 300 * time.Hour, Floor: time.Nanosecond}, Incidents: 1 << 40, Waiting: 1 << 40}}
	c.paces = []store.PaceChange{{Host: name, At: begin.Add(time.Minute), From: time.Nanosecond, To: 300 * time.Hour, Cause: "incident"}}
	for i := range c.points {
		c.points[i].At, c.points[i].Ended = begin.Add(time.Duration(i)*24*time.Hour), map[visit.Outcome]int64{visit.Fetched: 1e8}
		for _, w := range visit.Waits {
			c.points[i].Waits[w] = time.Second
		}
	}
	c.since = &answer.Comparison{Same: 1e10}
	for _, k := range answer.ChangeKinds {
		c.since.Changes = append(c.since.Changes, answer.Change{Kind: k, Total: 1e10, URLs: []answer.ChangedURL{{URL: name + "/" + long, FoundOn: name + "/" + long, BeforeTook: 1 << 60}}})
	}
	return c
}

// pageOf writes the report of a crawl to a file.
func pageOf(t *testing.T, c *crawl, title string, change func(page string) string) string {
	t.Helper()
	r, err := report.Collect(t.Context(), c, 1, report.Options{Title: title, Version: "v0.1.0", Now: begin.Add(9 * time.Hour), Since: c.since})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, []byte(change(b.String())), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// probe checks from inside the page for layout faults: a page wider than the window, texts
// that leave their plot or overlap, a policy violation. It reports to the framing page.
const probe = `
const bad = [];
addEventListener("securitypolicyviolation", (e) => bad.push("policy: " + e.violatedDirective + " " + e.blockedURI));
addEventListener("error", (e) => bad.push("script: " + e.message));
addEventListener("load", () => {
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) bad.push("the page is " + root.scrollWidth + " wide");
  const seen = (e) => e.getClientRects().length > 0;
  for (const e of document.body.querySelectorAll("*")) {
    const r = e.getBoundingClientRect();
    if (seen(e) && !e.closest("svg") && r.right > innerWidth + 1) bad.push(e.tagName + "." + e.className + " ends at " + r.right);
  }
  let plots = 0;
  for (const svg of document.querySelectorAll("svg")) {
    if (!seen(svg)) continue;
    plots++;
    const box = svg.closest("figure").getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].map((e) => [e.textContent, e.getBoundingClientRect()]);
    texts.forEach(([a, r], i) => {
      if (r.left < box.left || r.right > box.right || r.top < box.top || r.bottom > box.bottom) bad.push("text " + a + " leaves " + svg.ariaLabel);
      for (const [b, s] of texts.slice(i + 1))
        if (r.left < s.right - 1 && s.left < r.right - 1 && r.top < s.bottom - 2 && s.top < r.bottom - 2) bad.push("text " + a + " lies on " + b + " in " + svg.ariaLabel);
    });
  }
  parent.postMessage(innerWidth + " wide, " + plots + " plots, " + document.querySelectorAll("tbody tr").length + " rows; " + bad.join("; "), "*");
});
`

// with adds a script before the page's own, and its hash to the policy, which stays as
// strict.
func with(page, script string) string {
	sum := sha256.Sum256([]byte(script))
	page = strings.Replace(page, "script-src ", "script-src &#39;sha256-"+html.EscapeString(base64.StdEncoding.EncodeToString(sum[:]))+"&#39; ", 1)
	return strings.Replace(page, "<style>", "<script>"+script+"</script><style>", 1)
}

// titleOf is the title of a page as the browser left it.
func titleOf(t *testing.T, dom string) string {
	t.Helper()
	found := regexp.MustCompile(`<title>([^<]*)</title>`).FindStringSubmatch(dom)
	if found == nil {
		t.Fatal("the page has no title")
	}
	return html.UnescapeString(found[1])
}

// layout is a page in a window.
type layout struct {
	name, path string
	width      int
}

// lay opens pages in frames, which can be narrower than any browser window, and returns what
// the probe in each found.
func lay(t *testing.T, dark bool, list []layout) map[string]string {
	t.Helper()
	const height = 900
	page := `<!doctype html><title>nothing</title><script>
const found = {};
addEventListener("message", (e) => {
  const name = [...document.querySelectorAll("iframe")].find((f) => f.contentWindow === e.source).name;
  found[name] = e.data;
  document.title = JSON.stringify(found);
});
</script>`
	for _, l := range list {
		page += fmt.Sprintf(`<iframe name="%s" src="%s" width="%d" height="%d"></iframe>`, html.EscapeString(l.name), html.EscapeString("file://"+l.path), l.width, height)
	}
	path := filepath.Join(t.TempDir(), "frames.html")
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	dom := browser(t, append(window(1600, height, dark), "--dump-dom", "file://"+path)...)
	found := map[string]string{}
	if err := json.Unmarshal([]byte(titleOf(t, dom)), &found); err != nil {
		t.Fatal(err)
	}
	return found
}

// TestLayout lays reports out in a real browser, for phone, tablet and desktop, in light and
// dark: nothing overflows, no texts overlap, no errors are logged. One report is typical, one
// has extremely long texts.
func TestLayout(t *testing.T) {
	if testing.Short() {
		t.Skip("lays twelve pages out in a browser")
	}
	probed := func(page string) string { return with(page, probe) }
	usual, long := shopPage(t, probed), pageOf(t, monsters(), strings.Repeat("https://shop.example/", 20)+hostile, probed)
	list := []layout{
		{"telephone", usual, 390},
		{"tablet", usual, 768},
		{"small window", usual, 960},
		{"desk", usual, 1440},
		{"telephone, too long", long, 390},
		{"desk, too long", long, 1440},
	}
	for _, dark := range []bool{false, true} {
		found := lay(t, dark, list)
		for _, l := range list {
			t.Run(fmt.Sprintf("%s, dark=%t", l.name, dark), func(t *testing.T) {
				what, bad, _ := strings.Cut(found[l.name], "; ")
				if want := fmt.Sprintf("%d wide, 9 plots, ", l.width); !strings.HasPrefix(what, want) {
					t.Errorf("%q, want %q", what, want)
				}
				if bad != "" {
					t.Error(strings.ReplaceAll(bad, "; ", "\n"))
				}
			})
		}
	}
}

// window returns the browser's window flags.
func window(width, height int, dark bool) []string {
	scheme := 1
	if dark {
		scheme = 0
	}
	return []string{fmt.Sprintf("--window-size=%d,%d", width, height), fmt.Sprintf("--blink-settings=preferredColorScheme=%d", scheme)}
}

// TestScreens checks the screenshots of the docs; with -update it takes them. Machines render
// fonts differently, so only sizes are compared.
func TestScreens(t *testing.T) {
	path := shopPage(t, func(page string) string { return page })
	for _, s := range screens {
		t.Run(s.name, func(t *testing.T) {
			file := filepath.Join(screenFolder, s.name+".png")
			if *update {
				shot := filepath.Join(t.TempDir(), "shot.png")
				browser(t, append(window(s.width, s.height, s.dark), "--screenshot="+shot, "file://"+path)...)
				smaller(t, shot, file)
			}
			f, err := os.Open(file)
			if err != nil {
				t.Fatalf("%v: go test ./output/report -run TestScreens -update takes it", err)
			}
			defer f.Close()
			config, err := png.DecodeConfig(f)
			if err != nil || config.Width != s.width || config.Height != s.height {
				t.Errorf("%d x %d (%v), want %d x %d", config.Width, config.Height, err, s.width, s.height)
			}
			if info, err := f.Stat(); err != nil || info.Size() > maxScreen {
				t.Errorf("%d bytes (%v), want at most %d", info.Size(), err, maxScreen)
			}
		})
	}
}

// smaller writes a picture again with better compression.
func smaller(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, picture); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b.Bytes(), 0o644); err != nil { //nolint:gosec // a file of the docs
		t.Fatal(err)
	}
}
