package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/riverqueue/river"

	"headway/store"
)

// Queue is the queue of River that deliveries wait in.
const Queue = "webhook"

// Bounds of deliveries.
const (
	MaxWorking = 1000             // jobs that a process has fetched: in progress, or waiting for their lane
	timeout    = 15 * time.Second // of an attempt
	spare      = 15 * time.Second // extra time of a job for the database
	maxAnswer  = 64 << 10         // bytes read of a response
	storeRetry = 5 * time.Second  // after a store error
	jitter     = 0.2              // maximum random extension of a delay
)

// Retries are the delays between attempts as in the standard: about 76 hours in total.
var Retries = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// delivery is an event on its way to an endpoint: the arguments of a job of River.
type delivery struct {
	Endpoint string          `json:"endpoint"`
	ID       string          `json:"id"`
	Body     json.RawMessage `json:"body"`
}

// Kind implements [river.JobArgs].
func (delivery) Kind() string { return "webhook" }

// worker makes attempts at deliveries.
type worker struct {
	river.WorkerDefaults[delivery]
	*Sender
}

// Timeout implements [river.Worker].
func (w *worker) Timeout(*river.Job[delivery]) time.Duration { return w.timeout + spare }

// NextRetry implements [river.Worker].
func (w *worker) NextRetry(j *river.Job[delivery]) time.Time {
	return time.Now().Add(w.waitAfter(j.Attempt))
}

// waitAfter is how long to wait after an attempt, the first of which is 1.
func (s *Sender) waitAfter(attempt int) time.Duration {
	wait := s.retries[min(max(attempt, 1), len(s.retries))-1]
	return wait + time.Duration(rand.Float64()*jitter*float64(wait))
}

// Work implements [river.Worker]: one attempt.
func (w *worker) Work(ctx context.Context, j *river.Job[delivery]) error {
	d := &j.Args
	if turn := w.lanes.enter(ctx, d.Endpoint); turn > 0 {
		return river.JobSnooze(turn)
	}
	begun := time.Now()
	defer func() { w.lanes.leave(d.Endpoint, time.Since(begun)) }()
	e, err := w.store.Endpoint(ctx, d.Endpoint)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return river.JobCancel(errors.New("the webhook was deleted"))
	case err != nil:
		return w.later(ctx, d, err)
	case !e.Enabled():
		return river.JobCancel(fmt.Errorf("the webhook is disabled: %s", e.Disabled))
	}
	status, err := w.post(ctx, &e, d)
	switch {
	case err != nil && errors.Is(ctx.Err(), context.Canceled):
		return river.JobSnooze(0) // the server is stopping, which is not the receiver's fault
	case err == nil && status/100 == 2:
		return nil
	case err == nil && status == http.StatusGone:
		if err := w.store.DisableEndpoint(ctx, time.Now(), e.ID, "received 410 Gone"); err != nil && !errors.Is(err, store.ErrNotFound) {
			return w.later(ctx, d, err)
		}
		w.log.InfoContext(ctx, "webhook endpoint disabled", "endpoint", e.ID, "status", status)
		return river.JobCancel(errors.New("received 410 Gone"))
	case err == nil && status/100 == 3:
		err = fmt.Errorf("status %d: redirects are not followed", status)
	case err == nil:
		err = fmt.Errorf("status %d", status)
	}
	if j.Attempt >= j.MaxAttempts {
		w.log.WarnContext(ctx, "webhook delivery given up", "endpoint", e.ID, "attempt", j.Attempt, "err", err)
	}
	return err
}

// later postpones a delivery because of a store error; it does not count as an attempt.
func (w *worker) later(ctx context.Context, d *delivery, err error) error {
	w.log.WarnContext(ctx, "webhook delivery postponed", "endpoint", d.Endpoint, "err", err)
	return river.JobSnooze(storeRetry)
}

// post sends one request and returns the status of the response. Errors of
// a URL or a connection do not contain the URL, which may hold secrets.
func (s *Sender) post(ctx context.Context, e *store.Endpoint, d *delivery) (status int, err error) {
	if err := CheckURL(e.URL, s.private); err != nil {
		return 0, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(d.Body))
	if err != nil {
		return 0, err
	}
	now := time.Now()
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "Headway-Webhook")
	r.Header.Set("Webhook-Id", d.ID)
	r.Header.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
	r.Header.Set("Webhook-Signature", sign(e.Secrets(now), d.ID, now, d.Body))
	answer, err := s.client.Do(r)
	if err != nil {
		if at, ok := errors.AsType[*url.Error](err); ok {
			err = at.Err
		}
		return 0, err
	}
	defer answer.Body.Close()
	// Read so that the connection can be reused. The content is ignored.
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer))
	return answer.StatusCode, nil
}
