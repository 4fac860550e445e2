package warc

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headway/output"
)

// warcioDir is where `npm ci` installs the reader used by archive players.
const warcioDir = "../../tools/warcio"

// warcioScript reads a file and prints each record as an archive player sees it: its type,
// URL, status and decoded payload.
const warcioScript = `
import { createReadStream } from "node:fs";
import { WARCParser } from "warcio";
for await (const r of new WARCParser(createReadStream(process.argv[2]))) {
  const payload = Buffer.from(await r.readFully(true)).toString("latin1");
  console.log(r.warcType, r.warcTargetURI ?? "", r.httpHeaders?.statusCode || 0, r.warcType === "response" ? payload : "");
}`

// TestWarcio reads and indexes an archive with another reader: it must find the same payloads
// and write the same index.
func TestWarcio(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	cli := filepath.Join(warcioDir, "node_modules", "warcio", "dist", "cli.js")
	if _, err := os.Stat(cli); err != nil {
		t.Skip("warcio is not installed: npm ci --ignore-scripts in tools/warcio")
	}
	dir := t.TempDir()
	w := open(t, Config{Dir: dir}, Create)
	for i, raw := range []string{
		"https://www.example.com/B?z=2&a=1", "https://example.com/", "http://127.0.0.1:8780/a%20b/%C3%A9", "https://sub.example.co.uk:8443/~x?q={%22a%22}",
		"http://[2001:db8::1]/six", "https://example.com/again",
	} {
		x := exchange(t, raw, strings.Repeat(fmt.Sprint("page ", i%5, " "), 500))
		if i == 1 {
			x.Remote = netip.MustParseAddr("2001:db8::1")
		}
		check(t, w.Exchange(t.Context(), x))
	}
	x := exchange(t, "https://example.com/304", "")
	x.Status, x.Response = 304, []byte("HTTP/1.1 304 Not Modified\r\n\r\n")
	check(t, w.Exchange(t.Context(), x))
	x = exchange(t, "https://example.com/chunked", "unframed")
	x.Status, x.Response = 404, []byte("HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n")
	check(t, w.Exchange(t.Context(), x))
	var folded bytes.Buffer
	gz := gzip.NewWriter(&folded)
	_, err = gz.Write([]byte("unfolded"))
	check(t, errors.Join(err, gz.Close()))
	x = exchange(t, "https://example.com/folded", folded.String())
	x.Response = []byte("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Type: text/plain\r\n\r\n")
	check(t, w.Exchange(t.Context(), x))
	x = exchange(t, "https://example.com/cut", "beginn")
	x.Cut = output.CutLength
	check(t, w.Exchange(t.Context(), x))
	check(t, w.Finish(t.Context(), nil))
	names, list := files(t, dir)

	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), node, args...)
		cmd.Dir = warcioDir
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	index, err := os.ReadFile(strings.TrimSuffix(names[0], suffix) + indexSuffix)
	check(t, err)
	if diff := cmp.Diff(indexed(t, run("node_modules/warcio/dist/cli.js", "cdx-index", names[0])), indexed(t, string(index))); diff != "" {
		t.Errorf("indexes differ (-warcio +ours):\n%s", diff)
	}

	script := filepath.Join(warcioDir, "node_modules", "read.mjs") // modules are resolved relative to the script
	check(t, os.WriteFile(script, []byte(warcioScript), 0o600))
	t.Cleanup(func() { os.Remove(script) })
	var want []string
	for _, r := range list {
		status, payload := 0, ""
		if r.kind() == "response" || r.kind() == "revisit" {
			status = statusOf(r.block)
		}
		if r.kind() == "response" {
			_, payload, _ = strings.Cut(string(r.block), "\r\n\r\n")
		}
		if payload == folded.String() {
			payload = "unfolded"
		}
		want = append(want, fmt.Sprintf("%s %s %d %s", r.kind(), r.uri(), status, payload))
	}
	got := strings.Split(strings.TrimSuffix(run("node_modules/read.mjs", names[0]), "\n"), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records differ (-ours +warcio):\n%s", diff)
	}
}

// indexed parses index lines, whose JSON may be spelled differently.
func indexed(t *testing.T, text string) []map[string]string {
	t.Helper()
	var list []map[string]string
	for l := range strings.Lines(text) {
		parts := strings.SplitN(l, " ", 3)
		entry := map[string]string{}
		var values map[string]any
		check(t, json.Unmarshal([]byte(parts[2]), &values))
		for name, v := range values {
			entry[name] = fmt.Sprint(v)
		}
		entry["key"] = parts[0] + " " + parts[1]
		list = append(list, entry)
	}
	slices.SortFunc(list, func(a, b map[string]string) int { return strings.Compare(a["key"]+a["offset"], b["key"]+b["offset"]) })
	return list
}
