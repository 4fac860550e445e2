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

// How often events are polled without a notification, and how
// long to wait after a failure.
const (
	lookEvery  = 5 * time.Second
	retryAfter = time.Second
)

// Config is how deliveries are sent.
type Config struct {
	// Guard guards the network access. Ranges in its AllowPrivate may be sent to,
	// also over plain http.
	Guard guard.Config
	// Roots are the trusted roots for receivers; nil for those of the system.
	Roots *x509.CertPool
	// Retries are the waits between attempts; nil for [Retries].
	Retries []time.Duration
	// Log gets disabled endpoints and deliveries that were given up; nil for
	// none.
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

// Run makes deliveries of events until ctx ends. Any number of processes can run it.
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
			s.log.WarnContext(ctx, "cannot read events", "err", err)
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

// listen wakes [Sender.Run] when there may be new events. Without a
// connection, polling continues.
func (s *Sender) listen(ctx context.Context, wake chan<- struct{}) {
	for ctx.Err() == nil {
		err := s.store.AwaitEvents(ctx, func() {
			select {
			case wake <- struct{}{}:
			default:
			}
		})
		if ctx.Err() == nil {
			s.log.WarnContext(ctx, "event listener lost, polling instead", "err", err)
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

// deliveries are the deliveries of events to their subscribed endpoints.
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
