package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"headway/fetch/guard"
	"headway/internal/cli/command"
	"headway/lab"
)

// startLab runs `headway lab up --json` with more words and returns what it
// said once it was ready. The lab ends, with exit code 0, with the test.
func startLab(t *testing.T, args ...string) (ready struct {
	Address  string
	Resolver string
	Hosts    []lab.Host
},
) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	var stderr bytes.Buffer
	done := make(chan int, 1)
	go func() {
		code := run(ctx, append([]string{"lab", "up", "--json", "--listen", "0.0.0.0:0"}, args...), strings.NewReader(""), in, &stderr)
		in.Close()
		done <- code
	}()
	t.Cleanup(func() {
		cancel()
		if code := <-done; code != command.ExitOK {
			t.Errorf("lab up: exit code %d, %s", code, &stderr)
		}
	})
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		t.Fatalf("lab up: %v, %s", err, &stderr)
	}
	return ready
}

// runCommand runs one command line to its end.
func runCommand(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(""), &out, &err)
	return code, out.String(), err.String()
}

// get asks a lab host as a crawler would: through the guard.
func get(t *testing.T, url string) {
	t.Helper()
	loopback, err := guard.ParseRange("127.0.0.0/8:" + url[strings.LastIndex(url, ":")+1:len(url)-1])
	if err != nil {
		t.Fatal(err)
	}
	dialer, err := guard.New(guard.Config{AllowPrivate: []guard.Range{loopback}})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := dialer.Client(30 * time.Second).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", url, resp.Status)
	}
}

func TestLabUpHostsStats(t *testing.T) {
	ready := startLab(t, "--hosts", "3", "--pages", "7", "--crawl-delay", "100ms")
	if len(ready.Hosts) != 3 || ready.Hosts[0].Pages != 7 {
		t.Fatalf("asked for 3 hosts of 7 pages, got %+v", ready.Hosts)
	}
	first := ready.Hosts[0].URL
	get(t, first)

	code, out, _ := runCommand(t, "lab", "hosts", "--at", first)
	if code != command.ExitOK || strings.Count(out, "7 pages") != 3 {
		t.Errorf("hosts: exit code %d\n%s", code, out)
	}
	code, out, _ = runCommand(t, "lab", "stats", "--at", first, "--reset")
	if code != command.ExitOK || !strings.HasPrefix(out, "1 of 21 pages (4.8 %) of 3 hosts, 1 requests") ||
		!strings.Contains(out, "impolite: 1 requests before robots.txt was fetched") {
		t.Errorf("stats: exit code %d\n%s", code, out)
	}
	code, out, _ = runCommand(t, "lab", "stats", "--at", first, "--json")
	var stats lab.Stats
	if err := json.Unmarshal([]byte(out), &stats); err != nil || code != command.ExitOK || stats.Total.Requests != 0 {
		t.Errorf("after the reset: exit code %d, %v\n%s", code, err, out)
	}
}

// TestLabSaysHowToAsk prints the exact command that asks this lab.
func TestLabSaysHowToAsk(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:0", "127.0.0.1:0"} {
		ctx, cancel := context.WithCancel(t.Context())
		out, in := io.Pipe()
		done := make(chan int, 1)
		go func() {
			var stderr bytes.Buffer
			done <- run(ctx, []string{"lab", "up", "--listen", listen, "--temper", "plain"}, strings.NewReader(""), in, &stderr)
			in.Close()
		}()
		lines := bufio.NewScanner(out)
		asked := false
		for !asked && lines.Scan() {
			said, _, ok := strings.Cut(lines.Text(), " shows what a crawler did")
			if !ok {
				continue
			}
			asked = true
			if !strings.HasPrefix(said, "headway lab stats --at http://127.") {
				t.Errorf("%s: %s", listen, said)
			}
			if code, _, stderr := runCommand(t, strings.Fields(said)[1:]...); code != command.ExitOK {
				t.Errorf("%s: exit code %d, %s", said, code, stderr)
			}
		}
		if !asked {
			t.Errorf("%s: the lab does not say how to ask it", listen)
		}
		cancel()
		<-done
	}
}

// TestLabPortInUse names the port that is in use, and the flags that choose another.
func TestLabPortInUse(t *testing.T) {
	var lc net.ListenConfig
	used, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	at := used.Addr().String()
	for _, args := range [][]string{{"--listen", at}, {"--listen", "127.0.0.1:0", "--listen-tls", at}} {
		code, _, stderr := runCommand(t, append([]string{"lab", "up"}, args...)...)
		want := "headway: error: cannot start the lab: listen on " + at + ": address already in use\n" +
			"headway: hint: another lab may be running; stop it, or choose other ports with --listen 0.0.0.0:PORT, and for https with --listen-tls 0.0.0.0:PORT\n"
		if code != command.ExitFailed || stderr != want {
			t.Errorf("%q: exit code %d\n%s", args, code, stderr)
		}
	}
}

// TestLabUpEveryTemper serves the lab a person gets without flags.
func TestLabUpEveryTemper(t *testing.T) {
	ready := startLab(t)
	names := map[string]bool{}
	for _, h := range ready.Hosts {
		names[h.Temper] = true
	}
	for _, temper := range lab.Tempers() {
		if !names[temper.Name] {
			t.Errorf("no host of temper %s", temper.Name)
		}
	}
	if len(ready.Hosts) < 40 {
		t.Errorf("only %d hosts", len(ready.Hosts))
	}
}

func TestLabMistakes(t *testing.T) {
	for name, tc := range map[string]struct {
		args string
		code int
		want string
	}{
		"unknown temper":  {"lab up --temper shoop", command.ExitUsage, "hint: choose from plain, shop,"},
		"too many hosts":  {"lab up --hosts 1000000", command.ExitUsage, "out of range"},
		"two for a farm":  {"lab up --hosts 2 --temper shop,docs", command.ExitUsage, "only one --temper"},
		"bad network":     {"lab up --clients home", command.ExitUsage, "10.1.0.0/24"},
		"bad latency":     {"lab up --latency soon", command.ExitUsage, "hint: --latency latency: response latency: none, const:20ms"},
		"bad robots":      {"lab up --robots maybe", command.ExitUsage, "obots"},
		"nobody there":    {"lab stats --at http://127.1.0.1:1", command.ExitFailed, "start one with headway lab up"},
		"a name":          {"lab stats --at http://lab.example/", command.ExitUsage, "give the lab's IP address"},
		"no URL":          {"lab stats --at lab", command.ExitUsage, "for example http://127.1.0.1:8780"},
		"words too many":  {"lab hosts here", command.ExitUsage, "hint:"},
		"bad listen":      {"lab up --listen nowhere", command.ExitUsage, "missing port"},
		"not our address": {"lab up --listen 192.0.2.1:8780", command.ExitFailed, "--listen 0.0.0.0:PORT"},
		"bad certificate": {"lab up --tls --cert-out /nowhere/x.pem", command.ExitFailed, "--cert-out"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, stderr := runCommand(t, strings.Fields(tc.args)...)
			if code != tc.code || !strings.HasPrefix(stderr, "headway: error: ") || !strings.Contains(stderr, tc.want) {
				t.Errorf("exit code %d, want %d and %q\n%s%s", code, tc.code, tc.want, out, stderr)
			}
		})
	}
}
