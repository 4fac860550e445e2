package s3

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"headway/fetch/guard"
	"headway/output/outputtest"
	"headway/output/s3/s3test"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// smallestPart is the minimum part size of servers, except for the last part.
const smallestPart = 5 << 20

// inSmallParts makes files of a few megabytes count as large.
func inSmallParts(t *testing.T) {
	t.Helper()
	before := partSize
	partSize = smallestPart
	t.Cleanup(func() { partSize = before })
}

// open opens a place on the server.
func open(t *testing.T, s *s3test.Server, change ...func(*Config)) *Bucket {
	t.Helper()
	cfg := settings(t, s, change...)
	b, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func settings(t *testing.T, s *s3test.Server, change ...func(*Config)) Config {
	t.Helper()
	s.Setenv(t)
	cfg := Config{Place: Place{s3test.Bucket, "2026/november"}, Roots: s.Roots, Guard: guard.Config{AllowPrivate: []guard.Range{s.Range(t)}}}
	for _, c := range change {
		c(&cfg)
	}
	return cfg
}

// file creates a file of random bytes.
func file(t *testing.T, path string, size int) []byte {
	t.Helper()
	text := make([]byte, size)
	if _, err := rand.Read(text); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	return text
}

func TestParsePlace(t *testing.T) {
	for text, want := range map[string]Place{
		"s3://bucket":           {"bucket", ""},
		"s3://bucket/":          {"bucket", ""},
		"s3://bucket/a":         {"bucket", "a"},
		"s3://bucket/a/b c/":    {"bucket", "a/b c"},
		"s3://my.bucket-1//a//": {"my.bucket-1", "a"},
	} {
		got, err := ParsePlace(text)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if again, err := ParsePlace(got.String()); err != nil || again != got {
			t.Errorf("%s: %s is read as %+v, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"", "bucket", "s3:/bucket", "s3://", "s3:///a", "https://bucket/a", "s3://b/../c", "s3://b/a//c", "s3://key:secret@b/a", "s3://b?x"} {
		if got, err := ParsePlace(text); err == nil {
			t.Errorf("%q was taken for %+v", text, got)
		}
	}
}

// TestPut copies files of all sizes and folders, and leaves nothing else.
func TestPut(t *testing.T) {
	for name, start := range map[string]func(*testing.T) *s3test.Server{"plain": s3test.Start, "TLS": s3test.StartTLS} {
		t.Run(name, func(t *testing.T) { testPut(t, start(t)) })
	}
}

func testPut(t *testing.T, s *s3test.Server) {
	inSmallParts(t)
	dir := t.TempDir()
	want := map[string][]byte{}
	for name, size := range map[string]int{
		"empty.csv": 0, "pages.jsonl": 1000, "one-part.parquet": smallestPart, "parts.warc.gz": smallestPart + 1, "many.parquet": 3*smallestPart + 7,
		"sitemaps/example.com/sitemap.xml": 300, "sitemaps/example.com/sitemap-1.xml.gz": 20,
	} {
		want["2026/november/"+name] = file(t, filepath.Join(dir, name), size)
	}
	var sent int64
	b := open(t, s, func(c *Config) { c.Sent = func(n int64) { sent += n } })
	if n, err := b.Put(t.Context(), filepath.Join(dir, "pages.jsonl"), "pages.jsonl"); n != 1 || err != nil {
		t.Errorf("one file: %d objects, %v", n, err)
	}
	sent = 0
	if n, err := b.Put(t.Context(), dir, ""); n != len(want) || err != nil {
		t.Errorf("a folder: %d objects, %v", n, err)
	}
	got := map[string][]byte{}
	var size int64
	for name, n := range s.Objects(t) {
		got[name] = s.Read(t, name)
		size += n
	}
	for name, text := range want {
		if !bytes.Equal(got[name], text) {
			t.Errorf("%s has %d bytes, of %d", name, len(got[name]), len(text))
		}
	}
	if len(got) != len(want) || sent != size {
		t.Errorf("%d objects of %d; %d bytes were sent, %d are there", len(got), len(want), sent, size)
	}
	if left := incompleteUploads(t, b); len(left) != 0 {
		t.Errorf("incomplete uploads are left: %v", left)
	}
}

// incompleteUploads are the uploads that were neither completed nor aborted.
func incompleteUploads(t *testing.T, b *Bucket) []string {
	t.Helper()
	left, err := b.client.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &b.cfg.Place.Bucket})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, u := range left.Uploads {
		keys = append(keys, *u.Key)
	}
	return keys
}

// TestOverwrite keeps the old object until the new one is complete.
func TestOverwrite(t *testing.T) {
	s := s3test.Start(t)
	inSmallParts(t)
	path := filepath.Join(t.TempDir(), "pages.csv")
	old := file(t, path, 2*smallestPart)
	b := open(t, s)
	put := func(ctx context.Context) error {
		_, err := b.Put(ctx, path, "pages.csv")
		return err
	}
	if err := put(t.Context()); err != nil {
		t.Fatal(err)
	}
	text := file(t, path, 3*smallestPart)
	for stop := range 3 { // after this many parts
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		b.cfg.Sent = func(int64) {
			if n++; n > stop {
				cancel()
			}
		}
		err := put(ctx)
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped after %d parts: %v", n, err)
		}
		if !bytes.Equal(s.Read(t, "2026/november/pages.csv"), old) {
			t.Errorf("stopped after %d parts: the object is not what it was", n)
		}
		if left := incompleteUploads(t, b); len(left) != 0 {
			t.Errorf("stopped after %d parts: incomplete uploads are left: %v", n, left)
		}
	}
	b.cfg.Sent = func(int64) {}
	if err := put(t.Context()); err != nil || !bytes.Equal(s.Read(t, "2026/november/pages.csv"), text) {
		t.Errorf("the new one: %v", err)
	}
}

// TestTwoAtOnce uploads two files to one object concurrently: the one that started last is
// stored completely, and the other gets an error.
func TestTwoAtOnce(t *testing.T) {
	s := s3test.Start(t)
	inSmallParts(t)
	dir := t.TempDir()
	file(t, filepath.Join(dir, "first.csv"), 2*smallestPart)
	want := file(t, filepath.Join(dir, "second.csv"), 2*smallestPart)
	second := open(t, s)
	var once sync.Once
	first := open(t, s, func(c *Config) {
		c.Sent = func(int64) {
			once.Do(func() {
				if _, err := second.Put(t.Context(), filepath.Join(dir, "second.csv"), "pages.csv"); err != nil {
					t.Error(err)
				}
			})
		}
	})
	_, err := first.Put(t.Context(), filepath.Join(dir, "first.csv"), "pages.csv")
	if err == nil || !strings.Contains(err.Error(), "another process is uploading the same file") {
		t.Errorf("it says %v", err)
	}
	if !bytes.Equal(s.Read(t, "2026/november/pages.csv"), want) || len(incompleteUploads(t, first)) != 0 {
		t.Error("the object is not the second file")
	}
}

// TestKill kills the process at random times during uploads. Each object is complete or
// missing, and the next run leaves no incomplete upload.
func TestKill(t *testing.T) {
	inSmallParts(t)
	if place := outputtest.Place(); place != "" {
		sendUntilKilled(t, place)
		return
	}
	s := s3test.Start(t)
	s.Setenv(t)
	t.Setenv(serverEnv, s.Addr)
	place := t.TempDir()
	want := file(t, filepath.Join(place, "large.parquet"), 4*smallestPart+99)
	b := open(t, s)
	left := 0
	for range outputtest.Kills(t) {
		outputtest.RunAndKill(t, place)
		left = max(left, len(incompleteUploads(t, b)))
		for name, size := range s.Objects(t) {
			if size != int64(len(want)) {
				t.Fatalf("%s has %d bytes of %d", name, size, len(want))
			}
		}
	}
	// The server may carry out the last request of the killed process after the next
	// one has listed incomplete uploads: then the run after that cleans up.
	for run := 1; ; run++ {
		if _, err := b.Put(t.Context(), filepath.Join(place, "large.parquet"), "large.parquet"); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(s.Read(t, "2026/november/large.parquet"), want) {
			t.Error("the object is not the file")
		}
		late := incompleteUploads(t, b)
		if len(late) == 0 {
			break
		}
		if run == 2 {
			t.Fatalf("incomplete uploads are left: %v", late)
		}
	}
	t.Logf("kills left up to %d incomplete uploads", left)
}

// serverEnv tells the killed process where the server is.
const serverEnv = "HEADWAY_TEST_S3"

func sendUntilKilled(t *testing.T, place string) {
	r, err := guard.ParseRange(os.Getenv(serverEnv))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(t.Context(), Config{Place: Place{s3test.Bucket, "2026/november"}, Guard: guard.Config{AllowPrivate: []guard.Range{r}}})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(os.Stdout, "ready")
	for {
		if _, err := b.Put(t.Context(), filepath.Join(place, "large.parquet"), "large.parquet"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRefused checks error and hint before anything is sent.
func TestRefused(t *testing.T) {
	s, tls := s3test.Start(t), s3test.StartTLS(t)
	for _, tt := range []struct {
		name      string
		env       []string
		change    func(*Config)
		err, hint string
	}{
		{name: "no bucket", change: func(c *Config) { c.Place.Bucket = "nowhere" }, err: "write to s3://nowhere/2026/november: bucket not found", hint: "create it first"},
		{name: "an unknown key", env: []string{"AWS_ACCESS_KEY_ID=somebody"}, err: "unknown access key", hint: "AWS_ACCESS_KEY_ID"},
		{name: "a wrong secret", env: []string{"AWS_SECRET_ACCESS_KEY=wrong"}, err: "the secret key does not match the access key", hint: "AWS_SECRET_ACCESS_KEY"},
		{name: "no credentials", env: []string{"AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY="}, err: "no credentials found", hint: "set AWS_ACCESS_KEY_ID and"},
		{name: "no credentials for exports", env: []string{"AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY="}, change: func(c *Config) { c.PrivateFlag = "--exports-private" }, err: "no credentials found", hint: "--exports-private 169.254.169.254"},
		{name: "no region", env: []string{"AWS_ENDPOINT_URL="}, err: "no region configured", hint: "AWS_REGION"},
		{name: "a private address", change: func(c *Config) { c.Guard.AllowPrivate = nil }, err: "127.0.0.1 is", hint: "--to-private 127.0.0.1/32:" + portText(s.Addr)},
		{name: "a private address for an archive", change: func(c *Config) { c.Guard.AllowPrivate, c.PrivateFlag = nil, "--archive-private" }, err: "127.0.0.1 is", hint: "use --archive-private 127.0.0.1/32:" + portText(s.Addr)},
		{name: "a server with an untrusted certificate", env: []string{"AWS_ENDPOINT_URL=https://" + tls.Addr}, change: func(c *Config) { c.Guard.AllowPrivate[0] = tls.Range(t) }, err: "certificate", hint: "AWS_CA_BUNDLE"},
		{name: "another port", change: func(c *Config) { c.Guard.AllowPrivate[0].Ports = []uint16{1} }, err: "not allowed", hint: "--to-private"},
		{name: "another port for an archive", change: func(c *Config) { c.Guard.AllowPrivate[0].Ports, c.PrivateFlag = []uint16{1}, "--archive-private" }, err: "not allowed", hint: "add the port to --archive-private"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := settings(t, s)
			if tt.change != nil {
				tt.change(&cfg)
			}
			for _, v := range tt.env {
				name, value, _ := strings.Cut(v, "=")
				if value == "" {
					os.Unsetenv(name) // restored by t.Setenv
					continue
				}
				t.Setenv(name, value)
			}
			_, err := Open(t.Context(), cfg)
			known, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("%v", err)
			}
			if !strings.Contains(known.Error(), tt.err) || !strings.Contains(known.Hint(), tt.hint) {
				t.Errorf("%v; %s", known, known.Hint())
			}
			if strings.Contains(known.Error()+known.Hint(), s3test.SecretKey) {
				t.Error("the error contains the secret")
			}
		})
	}
	if objects := s.Objects(t); len(objects) != 0 {
		t.Errorf("there is %v", objects)
	}
}

func portText(addr string) string {
	_, port, _ := strings.Cut(addr, ":")
	return port
}

// TestDials checks that only the server is dialled.
func TestDials(t *testing.T) {
	s := s3test.Start(t)
	var mu sync.Mutex
	dialled := map[string]bool{}
	path := filepath.Join(t.TempDir(), "pages.csv")
	file(t, path, 100)
	b := open(t, s, func(c *Config) {
		c.Guard.Connect = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			mu.Lock()
			dialled[to.String()] = true
			mu.Unlock()
			var d net.Dialer
			return d.DialContext(ctx, "tcp", to.String())
		}
	})
	if _, err := b.Put(t.Context(), path, "pages.csv"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]bool{s.Addr: true}, dialled); diff != "" {
		t.Error(diff)
	}
}

// TestRetries checks that an unreachable server is tried a few times.
func TestRetries(t *testing.T) {
	(&s3test.Server{Addr: "127.0.0.1:9"}).Setenv(t)
	synctest.Test(t, func(t *testing.T) {
		dials := 0
		down := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
		began := time.Now()
		_, err := Open(t.Context(), Config{Place: Place{Bucket: "crawls"}, Guard: guard.Config{
			AllowPrivate: []guard.Range{{Prefix: netip.MustParsePrefix("127.0.0.1/32"), Ports: []uint16{9}}},
			Connect: func(context.Context, netip.AddrPort) (net.Conn, error) {
				dials++
				return nil, down
			},
		}})
		known, ok := errors.AsType[*Error](err)
		if !ok || !errors.Is(err, down) || !strings.Contains(known.Hint(), "AWS_ENDPOINT_URL") {
			t.Errorf("%v", err)
		}
		if took := time.Since(began); dials < 2 || dials > 5 || took > 2*time.Minute {
			t.Errorf("%d attempts in %v", dials, took)
		}
	})
}

// TestNotListed continues if incomplete uploads cannot be listed.
func TestNotListed(t *testing.T) {
	inSmallParts(t)
	s := s3test.Start(t)
	behind := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", s.Addr, r.In.Host
	}}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, "<Error><Code>AccessDenied</Code><Message>no</Message></Error>")
			return
		}
		behind.ServeHTTP(w, r)
	}))
	defer front.Close()
	path := filepath.Join(t.TempDir(), "pages.csv")
	want := file(t, path, smallestPart+1)
	var said bytes.Buffer
	cfg := settings(t, s, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&said, nil)) })
	t.Setenv("AWS_ENDPOINT_URL", front.URL)
	r, err := guard.ParseRange(front.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	cfg.Guard.AllowPrivate = []guard.Range{r}
	b, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.Put(t.Context(), path, "pages.csv"); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(s.Read(t, "2026/november/pages.csv"), want) || !strings.Contains(said.String(), "cannot list incomplete uploads") {
		t.Errorf("it said %q", said.String())
	}
}
