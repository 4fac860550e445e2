package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"headway/answer"
	"headway/ask"
	"headway/internal/cli/command"
	"headway/internal/cli/inspect"
	"headway/internal/config"
	"headway/job"
	"headway/politeness"
	"headway/store"
	"headway/store/postgres"
)

// soon is how long workers are given to answer before a list is printed without
// them.
const soon = 2 * time.Second

// Client is a fleet as `headway host` and `headway hosts` use it: through its store.
type Client struct{}

var _ inspect.Fleet = Client{}

// Chosen tells whether a command that works with both is about a fleet: one is
// named, and no folder.
func (Client) Chosen(cmd *cobra.Command, dir string) (bool, error) {
	if dir != "" {
		return false, nil
	}
	settings, _, err := config.Load(cmd.Flags(), os.Environ())
	if err != nil {
		return false, command.Usage(err, command.HintOf(err))
	}
	return settings.Fleet.Store != "", nil
}

// Hosts lists the hosts that the workers of a fleet have in memory.
func (Client) Hosts(cmd *cobra.Command, q answer.HostQuery) (list *answer.Hosts, err error) {
	err = inFleet(cmd, func(ctx context.Context, _ *config.Settings, st *postgres.Store) error {
		list, err = listHosts(ctx, st, q, cmd.ErrOrStderr())
		return err
	})
	return list, err
}

func listHosts(ctx context.Context, st *postgres.Store, q answer.HostQuery, errs io.Writer) (*answer.Hosts, error) {
	a, err := askFleet(ctx, st, ask.Question{Kind: ask.KindHosts}, soon)
	if err != nil {
		return nil, err
	}
	if a.Answered < a.Asked {
		fmt.Fprintf(errs, "headway: warning: %d of %s answered; hosts of the others are missing\n", a.Answered, command.Plural(a.Asked, "worker"))
	}
	now := time.Now().UTC()
	list := answer.NewHostLister(q, now, true, store.Job{State: job.Running})
	for i := range a.Hosts {
		h, err := answer.NewHost(&store.HostEntry{Host: store.Host{Host: a.Hosts[i].Host}}, politeness.Policy{}, &a.Hosts[i], now)
		if err != nil {
			return nil, command.Failed(err, "")
		}
		list.Add(h)
	}
	return list.Hosts(), nil
}

// OrderHost gives the worker that owns a host an order.
func (Client) OrderHost(cmd *cobra.Command, name string, q ask.Question, anyway bool) (a ask.Answer, err error) {
	err = inFleet(cmd, func(ctx context.Context, _ *config.Settings, st *postgres.Store) error {
		a, err = orderHost(ctx, st, name, q, anyway)
		return err
	})
	return a, err
}

func orderHost(ctx context.Context, st *postgres.Store, name string, q ask.Question, anyway bool) (a ask.Answer, err error) {
	hosts, err := command.HostsNamed(name)
	if err != nil {
		return a, err
	}
	for _, h := range hosts {
		_, err := st.Host(ctx, h)
		switch {
		case err == nil && q.Host == "":
			q.Host = h
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return a, command.Failed(err, "")
		}
	}
	if q.Host == "" && !anyway {
		return a, command.Usage(fmt.Errorf("host not found: %s", name), "headway job hosts JOB lists the hosts of a job; --anyway stores the instruction until the host is crawled")
	}
	if q.Host == "" {
		q.Host = hosts[0]
	}
	return askFleet(ctx, st, q, command.Patience)
}
