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

	"headway/client"
)

// inbox receives webhooks. It accepts only what the reference library of Standard
// Webhooks verifies.
type inbox struct {
	*testing.T
	server *httptest.Server

	mu       sync.Mutex
	secret   string
	down     bool
	refused  int                       // deliveries that came while it was down
	received map[string][]client.Event // by id of the delivery, once for each time
}

func newInbox(t *testing.T) *inbox {
	t.Helper()
	in := &inbox{T: t, received: map[string][]client.Event{}}
	in.server = httptest.NewServer(in)
	t.Cleanup(in.server.Close)
	return in
}

// door is the address that a server must be allowed to reach.
func (in *inbox) door() string {
	return fmt.Sprintf("127.0.0.1/32:%d", in.server.Listener.Addr().(*net.TCPAddr).Port)
}

// endpoint subscribes to all events of a tenant.
func (in *inbox) endpoint(f *fleet, c *client.Client) {
	in.Helper()
	made, err := c.CreateWebhook(f.Context(), client.WebhookRequest{URL: in.server.URL + "/hook"}, client.CreateWebhookParams{})
	if err != nil {
		in.Fatal(err)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.secret = made.Secret
}

// setDown makes it answer only 503, or work again.
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
			Percent int64 `json:"percent"`
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
	e := client.Event{ID: said.Data.Event, Kind: said.Type, Job: said.Data.Job}
	e.Data.Percent = said.Data.Percent
	id := r.Header.Get(standardwebhooks.HeaderWebhookID)
	in.received[id] = append(in.received[id], e)
}

// events are the received events, each once; checks that ids and events match one to
// one.
func (in *inbox) events() map[int64]client.Event {
	in.Helper()
	in.mu.Lock()
	defer in.mu.Unlock()
	all := map[int64]client.Event{}
	for id, list := range in.received {
		for _, e := range list {
			if e != list[0] {
				in.Errorf("%s was for %+v and %+v", id, list[0], e)
			}
		}
		if other, ok := all[list[0].ID]; ok {
			in.Errorf("event %d came under two ids: %+v", list[0].ID, other)
		}
		all[list[0].ID] = list[0]
	}
	return all
}

// again is how many deliveries were repeated.
func (in *inbox) again() (n int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, list := range in.received {
		n += len(list) - 1
	}
	return n
}

// missing are those of these events that were not received.
func (in *inbox) missing(events []client.Event) (list []client.Event) {
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

// passEvery is how often time is made to pass for deliveries.
const passEvery = 5 * time.Second

// until makes time pass for deliveries until a condition holds.
func (in *inbox) until(f *fleet, what string, happened func() bool) {
	in.Helper()
	var passed time.Time
	// Other processes report nothing here, so it is polled.
	for began := time.Now(); !happened(); time.Sleep(50 * time.Millisecond) {
		if time.Since(passed) > passEvery {
			f.pass()
			passed = time.Now()
		}
		if time.Since(began) > time.Minute {
			in.Fatalf("not yet: %s", what)
		}
	}
}

// await waits until each of these events was received, and no other.
func (in *inbox) await(f *fleet, events []client.Event) {
	in.Helper()
	in.until(f, "all is delivered", func() bool { return len(in.missing(events)) == 0 })
}

// awaitRefused waits until a delivery came while it was down.
func (in *inbox) awaitRefused(f *fleet) {
	in.Helper()
	in.until(f, "something is sent", func() bool {
		in.mu.Lock()
		defer in.mu.Unlock()
		return in.refused > 0
	})
}

// pass makes the time pass that deliveries wait for: retries become due, and those in
// progress in a killed server count as lost, as after an hour.
func (f *fleet) pass() {
	f.Helper()
	f.sql(func(conn *pgx.Conn) error {
		for _, q := range []string{
			"update river_job set scheduled_at = now() where state = 'retryable'",
			"update river_job set attempted_at = attempted_at - interval '1 hour' where state = 'running'",
			"update river_leader set expires_at = now() - interval '1 second'",
		} {
			if _, err := conn.Exec(f.Context(), q); err != nil {
				return err
			}
		}
		return nil
	})
}
