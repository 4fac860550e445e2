package fleettest

import (
	"fmt"
	"iter"
	"net/http"
	"time"

	"headway/client"
)

// service is the API of a fleet: one server at a time, always at the same address.
type service struct {
	*fleet
	args []string
	base string
	now  *worker // the process
	web  *http.Client
}

// maxConns is the maximum number of connections to a server; more requests wait.
const maxConns = 512

// service starts a server, with additional flags.
func (f *fleet) service(args ...string) *service {
	f.Helper()
	at := fmt.Sprintf("127.0.0.1:%d", freePort(f.T))
	web := &http.Transport{MaxConnsPerHost: maxConns, MaxIdleConnsPerHost: maxConns, MaxIdleConns: maxConns, ResponseHeaderTimeout: time.Minute}
	f.Cleanup(web.CloseIdleConnections)
	s := &service{fleet: f, base: "http://" + at, args: append([]string{"serve", "--listen", at, "--rate", "100000"}, args...), web: &http.Client{Transport: web}}
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

// ready polls the health check of the server until it succeeds.
func (s *service) ready() {
	s.Helper()
	// Another process starts, so its health check is polled.
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

// tenant is a client with a key. It sends each request once: none succeeds only
// because of a retry.
type tenant struct {
	*service
	*client.Client
}

// tenant makes a key and a client that has it.
func (s *service) tenant(name string) *tenant {
	s.Helper()
	return &tenant{s, s.client(s.base, s.web, name)}
}

// client makes a key of a tenant and a client with it; without a name, a client
// without a key.
func (f *fleet) client(server string, web *http.Client, name string) *client.Client {
	f.Helper()
	var key []byte
	if name != "" {
		f.run("admin", "tenant", "set", name) // keeps its plan
		key = f.run("admin", "key", "create", "--tenant", name, "--scope", "write")
	}
	c, err := client.New(client.Config{Server: server, Key: string(key), HTTP: web, Tries: 1})
	if err != nil {
		f.Fatal(err)
	}
	return c
}

// all is a list that must be readable.
func all[T any](f *fleet, list iter.Seq2[T, error]) (whole []T) {
	f.Helper()
	for one, err := range list {
		if err != nil {
			f.Fatal(err)
		}
		whole = append(whole, one)
	}
	return whole
}

// crawl is a request for a job at the pace of the fleet.
func (f *fleet) crawl(maxPages int64, seeds ...string) client.JobRequest {
	r := client.JobRequest{
		Seeds: seeds, Sitemaps: new("off"), Limits: &client.Limits{},
		Pace: &client.JobPace{DelaySeconds: new(f.pace.Seconds()), SpreadSeconds: new(0.0), Jitter: new(int64(0)), InFlight: new(int64(1))},
	}
	if maxPages > 0 {
		r.Limits.MaxPages = &maxPages
	}
	return r
}

// create creates a job and returns its number.
func (c *tenant) create(request client.JobRequest) int64 {
	c.Helper()
	j, err := c.CreateJob(c.Context(), request, client.CreateJobParams{})
	if err != nil {
		c.Fatal(err)
	}
	return j.ID
}

// events lists all events of the tenant.
func (c *tenant) events() []client.Event {
	c.Helper()
	return all(c.fleet, c.AllEvents(c.Context(), client.ListEventsParams{Limit: 1000}))
}
