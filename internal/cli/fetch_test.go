package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"headway/internal/cli/command"
	"headway/visit"
)

// fetchTour is the walk past ten hosts of the lab that docs/guide/fetch.md
// shows: the temper, the path asked for, more words, the exit code.
var fetchTour = []struct {
	temper, path, words string
	code                int
	about               string
}{
	{"plain", "", "", command.ExitOK, "A page. robots.txt is asked first, and the page waits its turn behind it."},
	{"docs", "", "", command.ExitOK, "A host that asks for a Crawl-delay gets it."},
	{"plain", "private/x.html", "", command.ExitBlocked, "What robots.txt forbids is not fetched; the line that says so is named."},
	{"robots-500", "", "", command.ExitFailed, "A robots.txt that cannot be read means stay away, not go ahead."},
	{"redirects", "go/s1/p1.html", "", command.ExitOK, "A redirect is shown, not followed: its target is a link like any other."},
	{"plain", "nowhere.html", "", command.ExitDead, "Only what the server says is gone is dead."},
	{"refusing", "", "", command.ExitFailed, "A refusal is never dead, and the reaction to it is told."},
	{"waf", "", "", command.ExitBlocked, "A challenge page is recognised and named, never evaded, also under status 200."},
	{"museum", "exhibit/bomb/br", "", command.ExitFailed, "13 KB that unfold to a gigabyte are stopped on the way."},
	{"museum", "exhibit/title/controls", "", command.ExitOK, "A title cannot move the cursor."},
}

// TestFetchTour makes the walk and holds the page in docs against it, times and
// sizes aside. With -update it writes the page.
func TestFetchTour(t *testing.T) {
	if testing.Short() {
		t.Skip("ten fetches in real time, each after the pace of its host")
	}
	ready := startLab(t)
	urls := map[string]string{}
	for _, h := range ready.Hosts {
		urls[h.Temper] = h.URL
	}
	port := regexp.MustCompile(`:(\d+)/$`).FindStringSubmatch(urls["plain"])[1]
	allow := "127.0.0.0/8:" + port
	for range 2 { // the firewall of the lab wakes at the third request
		runCommand(t, "fetch", urls["waf"], "--allow-private", allow, "--preset", "owned")
	}
	var page strings.Builder
	page.WriteString(`# headway fetch: a walk past ten hosts of the lab

Recorded by a test, which makes the walk again in every run and compares. Start the lab with ` + "`headway lab up`" + ` in another terminal.
The lab lives on loopback, which is private, so every command names it with ` + "`--allow-private`" + `; a public page needs a contact instead.
`)
	for _, stop := range fetchTour {
		u := urls[stop.temper] + stop.path
		code, out, stderr := runCommand(t, "fetch", u, "--allow-private", allow)
		if code != stop.code {
			t.Errorf("%s %s: exit code %d, want %d\n%s%s", stop.temper, stop.path, code, stop.code, out, stderr)
		}
		if strings.ContainsAny(out, "\x1b\x07\x08\r") {
			t.Errorf("%s %s: control characters reach the terminal: %q", stop.temper, stop.path, out)
		}
		for line := range strings.Lines(out) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 && !strings.Contains(line, "://") && !strings.HasPrefix(line, "title") {
				t.Errorf("%s %s: a line of %d columns: %s", stop.temper, stop.path, n, line)
			}
		}
		fmt.Fprintf(&page, "\n%s\n\n    $ headway fetch %s --allow-private 127.0.0.0/8:8780\n", stop.about, strings.ReplaceAll(u, port, "8780"))
		for line := range strings.Lines(strings.ReplaceAll(out, ":"+port, ":8780")) {
			page.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
		}
		fmt.Fprintf(&page, "    (exit code %d)\n", code)
	}
	const name = "../../docs/guide/fetch.md"
	if *update {
		if err := os.MkdirAll("../../docs/guide", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := steady(page.String()), steady(string(want)); got != want {
		t.Errorf("docs/guide/fetch.md is out of date: go test ./internal/cli -run FetchTour -update\n%s", got)
	}
}

var (
	durations = regexp.MustCompile(`\d+(\.\d+)? ?(µs|ms|s)\b`)
	timings   = regexp.MustCompile(`(?m)^    timing .*$`)
	bodies    = regexp.MustCompile(`(?m)^    body .*$`) // links spell out the port, so it changes the size
)

// steady takes out what differs from run to run.
func steady(page string) string {
	page = timings.ReplaceAllString(page, "    timing")
	page = bodies.ReplaceAllString(page, "    body")
	return durations.ReplaceAllString(page, "T")
}

func TestFetchJSON(t *testing.T) {
	ready := startLab(t, "--hosts", "1", "--pages", "3")
	u := ready.Hosts[0].URL
	allow := "127.0.0.0/8:" + u[strings.LastIndex(u, ":")+1:len(u)-1]
	for name, tc := range map[string]struct {
		words         []string
		links, header bool
	}{
		"plain":            {nil, false, false},
		"links and header": {[]string{"--links", "--headers"}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, _ := runCommand(t, append([]string{"fetch", u, "--json", "--preset", "owned", "--allow-private", allow}, tc.words...)...)
			var answer struct {
				visit.Visit
				Header map[string][]string
			}
			if err := json.Unmarshal([]byte(out), &answer); err != nil || code != command.ExitOK {
				t.Fatalf("exit code %d, %v\n%s", code, err, out)
			}
			if answer.Outcome != visit.Fetched || answer.Page.Title != "Page 0 of host 0" || len(answer.Evidence) != 1 {
				t.Errorf("%+v", answer)
			}
			if (len(answer.Links) > 0) != tc.links || (len(answer.Header) > 0) != tc.header {
				t.Errorf("%d links, %d header fields", len(answer.Links), len(answer.Header))
			}
		})
	}
}

func TestFetchMistakes(t *testing.T) {
	t.Setenv(command.ContactEnv, "")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HTTP_PROXY", "")
	for name, tc := range map[string]struct {
		args string
		code int
		want string
	}{
		"reserved address":   {"fetch http://192.0.2.1:80/", command.ExitFailed, ""},
		"public host":        {"fetch http://93.184.216.34/", command.ExitUsage, "--contact"},
		"invalid contact":    {"fetch http://93.184.216.34/ --contact me", command.ExitUsage, "not an email address or a web page URL"},
		"contact in quotes":  {"fetch http://93.184.216.34/ --contact a@b(c)", command.ExitUsage, "spaces, brackets and control characters are not allowed"},
		"private address":    {"fetch http://10.0.0.1/", command.ExitFailed, ""},
		"ignore robots":      {"fetch http://93.184.216.34/ --contact a@b.example --ignore-robots", command.ExitUsage, "add --owned"},
		"unknown preset":     {"fetch http://127.0.0.1/ --preset rude", command.ExitUsage, "choose one of polite, audit,"},
		"bad range":          {"fetch http://127.0.0.1/ --allow-private home", command.ExitUsage, "127.0.0.0/8:8780"},
		"bad family":         {"fetch http://127.0.0.1/ --ip 5", command.ExitUsage, "choose one of auto, 4, 6"},
		"bad URL":            {"fetch mailto:a@b.example", command.ExitUsage, "give a full URL"},
		"header sans colon":  {"fetch http://127.0.0.1/ --header x", command.ExitUsage, "Name: value"},
		"secret for a guest": {"fetch http://93.184.216.34/ --contact a@b.example --basic-auth u:hunter2", command.ExitUsage, "owned"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, stderr := runCommand(t, strings.Fields(tc.args)...)
			if code != tc.code || !strings.Contains(stderr, tc.want) {
				t.Errorf("exit code %d, want %d and %q\n%s%s", code, tc.code, tc.want, out, stderr)
			}
			if strings.Contains(out+stderr, "hunter2") {
				t.Error("a password was printed")
			}
		})
	}
}
