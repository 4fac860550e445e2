package fleettest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// service is the API of a fleet: one server at a time, always at the same address.
type service struct {
	*fleet
	args []string
	base string
	now  *worker // the process
	web  *http.Client
}

// maxConns is how many connections there are to a server; more requests wait.
const maxConns = 512

// service starts a server, with these flags besides.
func (f *fleet) service(args ...string) *service {
	f.Helper()
	at := fmt.Sprintf("127.0.0.1:%d", freePort(f.T))
	web := &http.Transport{MaxConnsPerHost: maxConns, MaxIdleConnsPerHost: maxConns, MaxIdleConns: maxConns}
	f.Cleanup(web.CloseIdleConnections)
	s := &service{fleet: f, base: "http://" + at, args: append([]string{"serve", "--listen", at, "--rate", "100000"}, args...), web: &http.Client{Transport: web, Timeout: time.Minute}}
	s.again()
	return s
}

// again starts a server in place of the one that has ended, and waits until it is
// ready.
func (s *service) again() {
	s.Helper()
	var ports []int
	for _, db := range s.servers() {
		ports = append(ports, db.Port)
	}
	s.now = &worker{cmd: s.command(ports, s.args...)}
	s.launch(s.now)
	s.ready()
}

// ready waits until the server says that it can work.
func (s *service) ready() {
	s.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		a, err := s.web.Get(s.base + "/readyz")
		if err == nil {
			_ = a.Body.Close()
			if a.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-s.now.exited:
			s.Fatalf("the server ended: %v\n%s", s.now.err, s.now.errs)
		default:
		}
		if time.Since(began) > time.Minute {
			s.Fatalf("the server is not ready: %v\n%s", err, s.now.errs)
		}
	}
}

// client is somebody with a key.
type client struct {
	*service
	key string
}

// client makes a key of a tenant.
func (s *service) client(tenant string) *client {
	s.Helper()
	return &client{s, strings.TrimSpace(string(s.run("admin", "key", "create", "--tenant", tenant, "--scope", "write")))}
}

// ask sends a request and reads the answer.
func (c *client) ask(ctx context.Context, method, path string, body any) (status int, text []byte, err error) {
	var in io.Reader
	if body != nil {
		sent, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		in = bytes.NewReader(sent)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, in)
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+c.key)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	a, err := c.web.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer a.Body.Close()
	text, err = io.ReadAll(a.Body)
	return a.StatusCode, text, err
}

// must is ask for what has to succeed, and reads the answer into something.
func (c *client) must(method, path string, body, into any) {
	c.Helper()
	status, text, err := c.ask(c.Context(), method, path, body)
	if err == nil && status/100 == 2 && into != nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil || status/100 != 2 {
		c.Fatalf("%s %s: %d: %v: %s", method, path, status, err, text)
	}
}

// crawl is a request for a job at the pace of the fleet.
func (f *fleet) crawl(maxPages int64, seeds ...string) map[string]any {
	limits := map[string]any{}
	if maxPages > 0 {
		limits["max_pages"] = maxPages
	}
	return map[string]any{
		"seeds": seeds, "sitemaps": "off", "limits": limits,
		"pace": map[string]any{"delay_ms": f.pace.Milliseconds(), "spread_ms": 0, "jitter": 0, "in_flight": 1},
	}
}

// create asks for a job and returns its number.
func (c *client) create(request map[string]any) int64 {
	c.Helper()
	var j job
	c.must("POST", "/v1/jobs", request, &j)
	return j.Job
}

// event is something that happened, as the API tells it.
type event struct {
	ID   int64  `json:"id"`
	Kind string `json:"kind"`
	Job  int64  `json:"job"`
	Data struct {
		Limit    string `json:"limit"`
		Layer    string `json:"layer"`
		Max      int64  `json:"max"`
		Observed int64  `json:"observed"`
		Percent  int    `json:"percent"`
	} `json:"data"`
}

// events lists all events of the tenant.
func (c *client) events() (all []event) {
	c.Helper()
	for after := int64(0); ; {
		var page struct {
			Events []event `json:"events"`
			Last   int64   `json:"last"`
		}
		c.must("GET", fmt.Sprintf("/v1/events?limit=1000&after=%d", after), nil, &page)
		if len(page.Events) == 0 {
			return all
		}
		all, after = append(all, page.Events...), page.Last
	}
}
