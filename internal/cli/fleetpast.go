package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"headway/answer"
	"headway/ask"
	"headway/internal/config"
	"headway/internal/jobspec"
	"headway/job"
	"headway/politeness"
	"headway/service/orders"
	"headway/store"
	"headway/store/postgres"
	"headway/weburl"
)

// inFleet opens the store for one command.
func inFleet(cmd *cobra.Command, do func(ctx context.Context, s *config.Settings, st *postgres.Store) error) error {
	settings, _, err := config.Load(cmd.Flags(), os.Environ())
	if err != nil {
		return usage(err, hintOf(err))
	}
	st, err := openFleet(cmd.Context(), settings, store.Terms{}, nil)
	if err != nil {
		return err
	}
	defer st.Close()
	return do(cmd.Context(), settings, st)
}

// meansFleet tells whether a command that serves both is about a fleet: one is
// named, and no folder.
func meansFleet(cmd *cobra.Command, dir string) (bool, error) {
	if dir != "" {
		return false, nil
	}
	settings, _, err := config.Load(cmd.Flags(), os.Environ())
	if err != nil {
		return false, usage(err, hintOf(err))
	}
	return settings.Fleet.Store != "", nil
}

// fleetHosts lists the hosts that the workers of a fleet have in memory.
func fleetHosts(ctx context.Context, st *postgres.Store, q answer.HostQuery, errs io.Writer) (*answer.Hosts, error) {
	a, err := askFleet(ctx, st, ask.Question{Kind: ask.KindHosts}, soon)
	if err != nil {
		return nil, err
	}
	if a.Answered < a.Asked {
		fmt.Fprintf(errs, "headway: warning: %d of %s answered; hosts of the others are missing\n", a.Answered, plural(a.Asked, "worker"))
	}
	now := time.Now().UTC()
	list := answer.NewHostLister(q, now, true, store.Job{State: job.Running})
	for i := range a.Hosts {
		h, err := answer.NewHost(&store.HostEntry{Host: store.Host{Host: a.Hosts[i].Host}}, politeness.Policy{}, &a.Hosts[i], now)
		if err != nil {
			return nil, failed(err, "")
		}
		list.Add(h)
	}
	return list.Hosts(), nil
}

// jobAsked is what a job of a fleet was asked for, with the settings of this
// process where the job says nothing, as its workers take theirs.
func jobAsked(cmd *cobra.Command, j store.Job) (answer.Asked, error) {
	spec, err := jobspec.Read(j.Spec)
	if err != nil {
		return answer.Asked{}, err
	}
	s, err := config.LoadJob(cmd.Flags(), os.Environ(), spec.Settings)
	if err != nil {
		return answer.Asked{}, err
	}
	return spec.Asked(s, &j)
}

// askFleet asks the workers of a fleet.
func askFleet(ctx context.Context, st *postgres.Store, q ask.Question, within time.Duration) (ask.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	a, err := ask.NewFleet(st).Ask(ctx, q)
	switch {
	case errors.Is(err, ask.ErrNobody):
		return a, failed(errors.New("no worker answers"),
			"headway admin workers lists the workers; hosts of a dead worker move to another one when its lease expires (--lease)")
	case err != nil:
		return a, failed(err, "headway admin workers lists the workers")
	}
	return a, nil
}

// tellFleetHost gives the owner of a host an order.
func tellFleetHost(ctx context.Context, out io.Writer, st *postgres.Store, name string, q ask.Question, anyway, asJSON bool) error {
	hosts, err := hostsNamed(name)
	if err != nil {
		return err
	}
	for _, h := range hosts {
		_, err := st.Host(ctx, h)
		switch {
		case err == nil && q.Host == "":
			q.Host = h
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return failed(err, "")
		}
	}
	if q.Host == "" && !anyway {
		return usage(fmt.Errorf("host not found: %s", name), "headway job hosts JOB lists the hosts of a job; --anyway stores the instruction until the host is crawled")
	}
	if q.Host == "" {
		q.Host = hosts[0]
	}
	a, err := askFleet(ctx, st, q, patient)
	if err != nil {
		return err
	}
	return printChange(out, a, asJSON)
}

// whyJob answers for a URL of a job of a fleet, which has a list of opt-outs beside
// the files of its workers.
func (p *past) whyJob(ctx context.Context, list store.OptOuts, text string) (*answer.Why, error) {
	readings, err := readURL(text)
	if err != nil {
		return nil, err
	}
	byFile, err := optOutRule()
	if err != nil {
		return nil, err
	}
	byList, err := list.CoveringOptOut(ctx, readings[0].url.Hostname())
	if err != nil {
		return nil, failed(err, "")
	}
	q := answer.WhyQuestion{Store: p.view, Job: p.job, Asked: p.asked}
	q.OptedOut = func(u weburl.URL) string { return cmp.Or(byList, byFile(u)) }
	if p.running {
		q.Running = runningURL(p.asker, p.job.ID)
	}
	return whyAny(ctx, q, text, readings)
}

// ordered does what a person ordered, and logs it with the change.
func ordered(ctx context.Context, st *postgres.Store, o store.Order, do func(context.Context) error) error {
	return orders.Do(ctx, st, userName(), o, do)
}
