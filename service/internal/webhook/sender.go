package webhook

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"headway/fetch/guard"
	"headway/store"
)

// follower is the name by which deliveries follow events.
const follower = "webhook"

// How often events are looked for where nobody says that there are any, and how
// long to wait after a failure.
const (
	lookEvery  = 5 * time.Second
	retryAfter = time.Second
)

// Config is how deliveries are sent.
type Config struct {
	// Guard is the door to the network. Ranges in its AllowPrivate are sent to,
	// by plain http, too.
	Guard guard.Config
	// Roots are who may vouch for receivers; nil for those of the system.
	Roots *x509.CertPool
	// Retries are the waits between attempts; nil for [Retries].
	Retries []time.Duration
	// Log is told of endpoints turned off and of deliveries given up; nil for
	// nobody.
	Log *slog.Logger
}

// Store is what a sender needs of a store.
type Store interface {
	store.Endpoints
	store.Events
	// Follow gives events that a follower has not had, with all endpoints, in one
	// transaction with what is made of them.
	Follow(ctx context.Context, now time.Time, name string, take func(context.Context, pgx.Tx, []store.Event, []store.Endpoint) error) (had int, err error)
}

// Sender makes deliveries and sends them. Make one with [New].
type Sender struct {
	store   Store
	client  *http.Client
	private []guard.Range
	retries []time.Duration
	timeout time.Duration
	lanes   *lanes
	log     *slog.Logger
}

// New returns a sender.
func New(cfg Config, s Store) (*Sender, error) {
	dialer, err := guard.New(cfg.Guard)
	if err != nil {
		return nil, fmt.Errorf("webhooks: %w", err)
	}
	w := &Sender{
		store: s, client: dialer.Client(timeout), private: cfg.Guard.AllowPrivate, retries: cfg.Retries, timeout: timeout,
		lanes: newLanes(), log: cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)),
	}
	if w.retries == nil {
		w.retries = Retries
	}
	if t, ok := w.client.Transport.(*http.Transport); ok {
		t.MaxIdleConnsPerHost = laneWidth
		if cfg.Roots != nil {
			t.TLSClientConfig = &tls.Config{RootCAs: cfg.Roots, MinVersion: tls.VersionTLS12}
		}
	}
	return w, nil
}

// Register adds the work of deliveries, which wait in [Queue].
func (s *Sender) Register(workers *river.Workers) { river.AddWorker(workers, &worker{Sender: s}) }

// Run makes deliveries of events until ctx ends. Any number of processes may.
func (s *Sender) Run(ctx context.Context, client *river.Client[pgx.Tx]) error {
	wake := make(chan struct{}, 1)
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		s.listen(ctx, wake)
	}()
	defer func() { <-heard }()
	for {
		had, err := s.follow(ctx, client)
		wait := lookEvery
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			s.log.WarnContext(ctx, "events not followed", "err", err)
			wait = retryAfter
		case had == store.MaxEvents:
			continue
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-wake:
		case <-time.After(wait):
		}
	}
}

// listen wakes whoever looks for events when there may be some. Without a
// connection there is still the next look.
func (s *Sender) listen(ctx context.Context, wake chan<- struct{}) {
	for ctx.Err() == nil {
		err := s.store.AwaitEvents(ctx, func() {
			select {
			case wake <- struct{}{}:
			default:
			}
		})
		if ctx.Err() == nil {
			s.log.WarnContext(ctx, "events not heard of", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryAfter):
		}
	}
}

// follow makes deliveries of the next events.
func (s *Sender) follow(ctx context.Context, client *river.Client[pgx.Tx]) (had int, err error) {
	return s.store.Follow(ctx, time.Now(), follower, func(ctx context.Context, tx pgx.Tx, list []store.Event, to []store.Endpoint) error {
		jobs, err := s.deliveries(list, to)
		if err != nil || len(jobs) == 0 {
			return err
		}
		_, err = client.InsertManyFastTx(ctx, tx, jobs)
		return err
	})
}

// deliveries are those of events to the endpoints that want them.
func (s *Sender) deliveries(list []store.Event, to []store.Endpoint) (jobs []river.InsertManyParams, err error) {
	for i := range list {
		e := &list[i]
		var body []byte
		for k := range to {
			if !to[k].Wants(e) {
				continue
			}
			if body == nil {
				if body, err = bodyOf(e); err != nil {
					return nil, err
				}
			}
			jobs = append(jobs, river.InsertManyParams{
				Args:       delivery{Endpoint: to[k].ID, ID: idOf(e, to[k].ID), Body: body},
				InsertOpts: &river.InsertOpts{Queue: Queue, MaxAttempts: len(s.retries) + 1},
			})
		}
	}
	return jobs, nil
}
