package cli

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptSites are the web servers of one script.
type scriptSites struct {
	mu    sync.Mutex
	addrs map[string]string // by name
	ports []string
}

// siteKey is where a script keeps its sites.
type siteKey struct{}

// serveSite starts web servers that a script can crawl:
//
//	site shop
//
// serves the files of the folder shop at $shop, an address of loopback of its own,
// and opens that for every headway command of the script. {shop} in a file is its
// address. The file shop/_answers says what else is answered, one path a line:
//
//	/old 301 Location: /new
//	/busy 503 Retry-After: 5
//
// shop.log lists the requests: method, path, status.
func serveSite(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: site NAME…")
	}
	sites := ts.Value(siteKey{}).(*scriptSites)
	for _, name := range args {
		sites.mu.Lock()
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.%d:0", len(sites.addrs)+1))
		ts.Check(err)
		addr := l.Addr().String()
		_, port, _ := net.SplitHostPort(addr)
		sites.addrs[name] = addr
		sites.ports = append(sites.ports, port)
		ts.Setenv(name, "http://"+addr)
		ts.Setenv("HEADWAY_ALLOW_PRIVATE", "127.0.0.0/8:"+strings.Join(sites.ports, ","))
		sites.mu.Unlock()
		server := &http.Server{Handler: &scriptSite{sites: sites, dir: ts.MkAbs(name)}, ReadHeaderTimeout: time.Minute}
		go server.Serve(l)
		ts.Defer(func() { server.Close() })
	}
}

// scriptSite answers for one folder.
type scriptSite struct {
	sites *scriptSites
	dir   string
}

// ServeHTTP implements [http.Handler].
func (s *scriptSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.sites.mu.Lock()
	defer s.sites.mu.Unlock()
	status := &statusWriter{ResponseWriter: w, status: http.StatusOK}
	s.answer(status, r)
	log, err := os.OpenFile(s.dir+".log", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return
	}
	fmt.Fprintf(log, "%s %s %d\n", r.Method, r.URL.RequestURI(), status.status)
	log.Close()
}

func (s *scriptSite) answer(w http.ResponseWriter, r *http.Request) {
	rules, _ := os.ReadFile(filepath.Join(s.dir, "_answers"))
	for line := range strings.Lines(s.fill(string(rules))) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != r.URL.RequestURI() {
			continue
		}
		if len(words) >= 4 {
			w.Header().Set(strings.TrimSuffix(words[2], ":"), strings.Join(words[3:], " "))
		}
		code, err := strconv.Atoi(words[1])
		if err != nil {
			code = http.StatusInternalServerError
		}
		w.WriteHeader(code)
		return
	}
	name := filepath.Join(s.dir, filepath.FromSlash(path.Clean(r.URL.Path)))
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		name = filepath.Join(name, "index.html")
	}
	data, err := os.ReadFile(name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	text := []byte(s.fill(string(data)))
	w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(text)))
	if path.Ext(name) == "" {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(text))
}

// fill writes the addresses of sites in place of their names.
func (s *scriptSite) fill(text string) string {
	for name, addr := range s.sites.addrs {
		text = strings.ReplaceAll(text, "{"+name+"}", "http://"+addr)
	}
	return text
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (w *statusWriter) WriteHeader(code int) {
	w.status = code
	w.ResponseWriter.WriteHeader(code)
}

// waitFor waits until files are there, as those of a command in the background:
//
//	waitfor one/crawl.db
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: waitfor FILE…")
	}
	for _, name := range args {
		// Another process writes the files, so they are polled.
		for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(ts.MkAbs(name)); err == nil {
				break
			}
			if time.Since(began) > time.Minute {
				ts.Fatalf("%s is not there after a minute", name)
			}
		}
	}
}
