// Package s3test starts a real S3 server for tests: versitygw, on loopback, with a folder as
// storage.
//
// Each test gets its own server, which stops when the test ends; the folder contains what the
// server would return. The server is built from the module in tools/s3, which pins its
// version; the first build takes a minute or two.
package s3test

import (
	"context"
	"crypto/x509"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"headway/fetch/guard"
)

// The only user.
const (
	AccessKey = "headway-test"
	SecretKey = "not-a-secret"
)

// Bucket is the existing bucket.
const Bucket = "crawls"

// Server is a running server.
type Server struct {
	Addr  string         // on loopback
	Roots *x509.CertPool // its CA, nil without TLS
	root  string
}

// Start starts a server with one bucket. It stops when the test ends.
func Start(t *testing.T) *Server {
	t.Helper()
	return start(t, &Server{})
}

// StartTLS is Start with TLS.
func StartTLS(t *testing.T) *Server {
	t.Helper()
	cert, key, roots := certificate(t)
	return start(t, &Server{Roots: roots}, "--cert", cert, "--key", key)
}

func start(t *testing.T, s *Server, more ...string) *Server {
	t.Helper()
	bin := build(t)
	dir := t.TempDir()
	s.Addr, s.root = freeAddr(t), filepath.Join(dir, "buckets")
	for _, d := range []string{filepath.Join(s.root, Bucket), filepath.Join(dir, "users")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	said := &strings.Builder{}
	args := append([]string{"--port", s.Addr, "--access", AccessKey, "--secret", SecretKey, "--quiet", "--iam-dir", filepath.Join(dir, "users")}, more...)
	cmd := exec.CommandContext(t.Context(), bin, append(args, "posix", s.root)...)
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it is killed at the end of the test
	}()
	t.Cleanup(func() {
		<-ended
		if t.Failed() {
			t.Logf("the server said: %s", said.String())
		}
	})
	s.await(t, ended, said)
	return s
}

// await waits until the server responds.
func (s *Server) await(t *testing.T, ended <-chan struct{}, said fmt.Stringer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	d, err := guard.New(guard.Config{AllowPrivate: []guard.Range{s.Range(t)}})
	if err != nil {
		t.Fatal(err)
	}
	for {
		if c, err := d.DialContext(ctx, "tcp", s.Addr); err == nil {
			c.Close()
			return
		}
		select {
		case <-ended:
			t.Fatalf("the S3 server ended: %s", said)
		case <-ctx.Done():
			t.Fatal("the S3 server does not answer")
		case <-time.After(20 * time.Millisecond): // poll another process until it responds
		}
	}
}

// Range is the guard range that allows the server.
func (s *Server) Range(t *testing.T) guard.Range {
	t.Helper()
	r, err := guard.ParseRange(s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Environ is the environment for using the server.
func (s *Server) Environ() []string {
	scheme := "http"
	if s.Roots != nil {
		scheme = "https"
	}
	return []string{
		"AWS_ENDPOINT_URL=" + scheme + "://" + s.Addr, "AWS_ACCESS_KEY_ID=" + AccessKey, "AWS_SECRET_ACCESS_KEY=" + SecretKey,
		// Nothing from the user who runs the test.
		"AWS_CONFIG_FILE=" + os.DevNull, "AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull,
		"AWS_PROFILE=", "AWS_SESSION_TOKEN=", "AWS_REGION=", "AWS_DEFAULT_REGION=", "AWS_CA_BUNDLE=",
	}
}

// Setenv sets the environment of the test.
func (s *Server) Setenv(t *testing.T) {
	t.Helper()
	for _, v := range s.Environ() {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
		if value == "" {
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// uploads is where the server stores incomplete uploads.
const uploads = ".sgwtmp"

// Objects returns the names and sizes of the objects in the bucket.
func (s *Server) Objects(t *testing.T) map[string]int64 {
	t.Helper()
	objects := map[string]int64{}
	root := filepath.Join(s.root, Bucket)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == uploads {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		objects[filepath.ToSlash(rel)] = info.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// Read returns the content of an object.
func (s *Server) Read(t *testing.T, key string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.root, Bucket, filepath.FromSlash(key)))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// freeAddr returns an unused address.
func freeAddr(t *testing.T) string {
	t.Helper()
	var c net.ListenConfig
	l, err := c.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// build builds the server once per process. It is in the build cache, so that other processes
// get it at once.
var build = func() func(*testing.T) string {
	var once sync.Once
	var bin string
	var err error
	return func(t *testing.T) string {
		t.Helper()
		once.Do(func() { bin, err = goBuild() })
		if err != nil {
			t.Fatal(err)
		}
		return bin
	}
}()

// buildTime is for a slow machine without a build cache.
const buildTime = 8 * time.Minute

func goBuild() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), buildTime)
	defer cancel()
	root, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	tools := filepath.Join(filepath.Dir(strings.TrimSpace(string(root))), "tools", "s3")
	cmd := exec.CommandContext(ctx, "go", "tool", "-n", "versitygw")
	cmd.Dir = tools
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	said := &strings.Builder{}
	cmd.Stderr = said
	bin, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("build the S3 server of tools/s3: %w: %s", err, said)
	}
	return strings.TrimSpace(string(bin)), nil
}
