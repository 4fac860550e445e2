package chore

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"headway/service/internal/webhook"
	"headway/store"
)

// receiver is a webhook receiver. It accepts only what the reference library of
// Standard Webhooks verifies.
type receiver struct {
	testing.TB
	server *httptest.Server

	mu     sync.Mutex
	secret []byte
	answer func(w http.ResponseWriter, r *http.Request, id string) // responds to verified deliveries
	took   map[string][]store.EventNumber                          // verified and answered with 2xx, by id
	asked  map[string]int                                          // all attempts, by id
	busy   int
	most   int // at once
	wrong  int // not verified
}

func newReceiver(t testing.TB, answer func(w http.ResponseWriter, r *http.Request, id string)) *receiver {
	t.Helper()
	v := &receiver{TB: t, answer: answer, took: map[string][]store.EventNumber{}, asked: map[string]int{}}
	v.server = httptest.NewServer(v)
	t.Cleanup(v.server.Close)
	return v
}

// port is where it listens.
func (v *receiver) port() uint16 { return v.server.Listener.Addr().(*net.TCPAddr).AddrPort().Port() }

// endpoint adds an endpoint of a tenant that points here.
func (v *receiver) endpoint(b *bench, tenant string, kinds ...store.EventKind) store.Endpoint {
	v.Helper()
	e := webhook.NewEndpoint(tenant, v.server.URL+"/hook", kinds)
	fatal(v.TB, b.store.CreateEndpoint(v.Context(), time.Now(), e))
	v.mu.Lock()
	defer v.mu.Unlock()
	v.secret = e.Secret
	return e
}

// ServeHTTP implements [http.Handler].
func (v *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender was killed
	}
	id := r.Header.Get(standardwebhooks.HeaderWebhookID)
	v.mu.Lock()
	secret := v.secret
	v.asked[id]++
	v.busy++
	v.most = max(v.most, v.busy)
	v.mu.Unlock()
	defer func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.busy--
	}()
	wh, err := standardwebhooks.NewWebhook(webhook.FormatSecret(secret))
	if err == nil {
		err = wh.Verify(body, r.Header)
	}
	var said struct {
		Type      store.EventKind `json:"type"`
		Timestamp time.Time       `json:"timestamp"`
		Data      struct {
			Event store.EventNumber `json:"event"`
			State string            `json:"state"`
		} `json:"data"`
	}
	if err == nil {
		err = json.Unmarshal(body, &said)
	}
	if err != nil {
		v.mu.Lock()
		v.wrong++
		v.mu.Unlock()
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if said.Type != store.EventKind("job.created") || said.Data.State != "queued" || said.Timestamp.IsZero() {
		v.Errorf("sent %s", body)
	}
	answer := &watched{ResponseWriter: w, status: http.StatusOK}
	if v.answer != nil {
		v.answer(answer, r, id)
	}
	if answer.status/100 == 2 && r.Context().Err() == nil {
		v.mu.Lock()
		v.took[id] = append(v.took[id], said.Data.Event)
		v.mu.Unlock()
	}
}

// watched remembers the status of an answer.
type watched struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (w *watched) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// has is how many different deliveries were accepted.
func (v *receiver) has() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.took)
}

// attempts returns the number of requests, and for how many deliveries.
func (v *receiver) attempts() (all, ids int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, n := range v.asked {
		all += n
	}
	return all, len(v.asked)
}

// judge compares the accepted deliveries with the events: each at least once, under a
// unique id. It returns how many came more than once.
func (v *receiver) judge(events []store.Event) (again int) {
	v.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	ids := map[store.EventNumber]string{}
	for id, list := range v.took {
		again += len(list) - 1
		for _, n := range list {
			if known, ok := ids[n]; ok && known != id {
				v.Errorf("event %d came as %s and %s", n, known, id)
			}
			if n != list[0] {
				v.Errorf("%s carried events %d and %d", id, list[0], n)
			}
			ids[n] = id
		}
	}
	for _, e := range events {
		if ids[e.Number] == "" {
			v.Errorf("event %d never came", e.Number)
		}
		delete(ids, e.Number)
	}
	if len(ids) > 0 {
		v.Errorf("%d events came that did not happen", len(ids))
	}
	return again
}
