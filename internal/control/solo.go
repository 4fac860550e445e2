package control

import (
	"context"
	"os"
	"time"

	"headway/ask"
	"headway/job"
)

// Solo configures the control of a crawl on one machine.
type Solo struct {
	Mail      ask.Mail // nil for none
	Job       job.ID   // its only job
	JobStatus func(now time.Time) JobStatus
	// StopDiscovery stops following links, and returns whether that was so before.
	StopDiscovery func() (before bool)
}

// NewSolo returns the control of a crawl on one machine.
func NewSolo(cfg Config, s Solo) *Control {
	c := newControl(cfg)
	c.mail, c.role = s.Mail, &solo{c, s}
	return c
}

// solo is the role of a crawl on one machine: it answers every question, and an order waits
// in memory until its host is loaded.
type solo struct {
	control *Control
	Solo
}

func (s *solo) checkOwner(ask.Question) error { return nil }

func (s *solo) jobOf(ask.Question) job.ID { return s.Job }

// status describes the whole crawl.
func (s *solo) status(now time.Time, _ ask.Question) ask.Answer {
	c, status := s.control, s.JobStatus(now)
	stats := c.cfg.Frontier.Stats()
	a := c.newStatus(now, &status)
	a.PID, a.Pages, a.Requests, a.Bytes, a.Rate = os.Getpid(), status.Spent.Pages, status.Spent.Requests, status.Spent.Bytes, status.Rate
	a.Seen, a.Waiting, a.Outcomes = status.Counts.Seen(), status.Counts.Waiting, outcomesOf(status.Counts)
	a.Hosts, a.Ready, a.InFlight = stats.Working, stats.Ready, stats.InFlight
	a.Shares = shares(c.cfg.Frontier.Account().Shares(now))
	for _, v := range c.cfg.Frontier.Slowest(MaxSlowest) {
		a.Slowest = append(a.Slowest, DescribeHost(&v))
	}
	return ask.Answer{Status: a}
}

// stopDiscovery lets the crawl finish what waits.
func (s *solo) stopDiscovery(now time.Time, q ask.Question) (ask.Answer, error) {
	change := ask.Change{At: now, By: q.By, Order: q.Kind, Before: discovery(s.StopDiscovery()), After: discovery(true)}
	s.control.cfg.Log.Info("discovery stopped", "by", q.By)
	return ask.Answer{Change: &change}, nil
}

func discovery(stopped bool) string {
	if stopped {
		return "stopped"
	}
	return "on"
}

// askWorker is not for a crawl on one machine.
func (s *solo) askWorker(_ time.Time, q ask.Question) (ask.Answer, error) {
	return ask.Answer{}, errUnknown(q.Kind)
}

// orderUnloaded leaves the order waiting for its host.
func (s *solo) orderUnloaded(_ context.Context, _ ask.Question, change ask.Change, reply replyFunc) {
	s.control.replyStored(s.control.changed(change), reply)
}

// nextRead reads at every tick: that only lists a folder.
func (s *solo) nextRead(time.Time, bool) time.Time { return time.Time{} }
