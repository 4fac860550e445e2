package fleettest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// inbox receives webhooks. It believes only what the library of the standard has
// verified.
type inbox struct {
	*testing.T
	server *httptest.Server

	mu       sync.Mutex
	secret   string
	down     bool
	refused  int                // deliveries that came while it was down
	received map[string][]event // by id of the delivery, once for each time
}

func newInbox(t *testing.T) *inbox {
	t.Helper()
	in := &inbox{T: t, received: map[string][]event{}}
	in.server = httptest.NewServer(in)
	t.Cleanup(in.server.Close)
	return in
}

// door is the address that a server must be let to.
func (in *inbox) door() string {
	return fmt.Sprintf("127.0.0.1/32:%d", in.server.Listener.Addr().(*net.TCPAddr).Port)
}

// endpoint has everything that happens to a tenant sent here.
func (in *inbox) endpoint(c *client) {
	in.Helper()
	var made struct{ Secret string }
	c.must("POST", "/v1/webhooks", map[string]any{"url": in.server.URL + "/hook"}, &made)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.secret = made.Secret
}

// setDown lets it answer nothing but 503, or again.
func (in *inbox) setDown(down bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.down = down
}

// ServeHTTP implements [http.Handler].
func (in *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender was killed
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.down {
		in.refused++
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	var said struct {
		Type string `json:"type"`
		Data struct {
			Event   int64 `json:"event"`
			Job     int64 `json:"job"`
			Percent int   `json:"percent"`
		} `json:"data"`
	}
	wh, err := standardwebhooks.NewWebhook(in.secret)
	if err == nil {
		err = wh.Verify(body, r.Header)
	}
	if err == nil {
		err = json.Unmarshal(body, &said)
	}
	if err != nil {
		in.Errorf("a delivery that is not ours: %v: %s", err, body)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	e := event{ID: said.Data.Event, Kind: said.Type, Job: said.Data.Job}
	e.Data.Percent = said.Data.Percent
	id := r.Header.Get(standardwebhooks.HeaderWebhookID)
	in.received[id] = append(in.received[id], e)
}

// events are what was told, each once; none came under two ids, and no id had two.
func (in *inbox) events() map[int64]event {
	in.Helper()
	in.mu.Lock()
	defer in.mu.Unlock()
	all := map[int64]event{}
	for id, list := range in.received {
		for _, e := range list {
			if e != list[0] {
				in.Errorf("%s told of %+v and %+v", id, list[0], e)
			}
		}
		if other, ok := all[list[0].ID]; ok {
			in.Errorf("event %d came under two ids: %+v", list[0].ID, other)
		}
		all[list[0].ID] = list[0]
	}
	return all
}

// again is how many deliveries came once more.
func (in *inbox) again() (n int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, list := range in.received {
		n += len(list) - 1
	}
	return n
}

// missing are those of these events that have not come.
func (in *inbox) missing(events []event) (list []event) {
	in.Helper()
	got := in.events()
	for _, e := range events {
		if had, ok := got[e.ID]; !ok {
			list = append(list, e)
		} else if had.Kind != e.Kind || had.Job != e.Job {
			in.Fatalf("%+v came as %+v", e, had)
		}
	}
	if n := len(got) - (len(events) - len(list)); n > 0 {
		in.Errorf("%d events came that did not happen", n)
	}
	return list
}

// passEvery is how often time is let pass for deliveries.
const passEvery = 5 * time.Second

// until lets time pass for deliveries until something has happened.
func (in *inbox) until(s *service, what string, happened func() bool) {
	in.Helper()
	var passed time.Time
	for began := time.Now(); !happened(); time.Sleep(50 * time.Millisecond) {
		if time.Since(passed) > passEvery {
			s.pass()
			passed = time.Now()
		}
		if time.Since(began) > time.Minute {
			in.Fatalf("not yet: %s", what)
		}
	}
}

// await waits until each of these events has come, and no other.
func (in *inbox) await(s *service, events []event) {
	in.Helper()
	in.until(s, "all is delivered", func() bool { return len(in.missing(events)) == 0 })
}

// awaitRefused waits until something was sent while it was down.
func (in *inbox) awaitRefused(s *service) {
	in.Helper()
	in.until(s, "something is sent", func() bool {
		in.mu.Lock()
		defer in.mu.Unlock()
		return in.refused > 0
	})
}

// pass lets the time pass that deliveries wait for: those to be tried again, and those
// that were under way in a server that was killed, which another takes for lost after
// an hour.
func (s *service) pass() {
	s.Helper()
	s.sql(func(conn *pgx.Conn) error {
		for _, q := range []string{
			"update river_job set scheduled_at = now() where state = 'retryable'",
			"update river_job set attempted_at = attempted_at - interval '1 hour' where state = 'running'",
			"update river_leader set expires_at = now() - interval '1 second'",
		} {
			if _, err := conn.Exec(s.Context(), q); err != nil {
				return err
			}
		}
		return nil
	})
}
