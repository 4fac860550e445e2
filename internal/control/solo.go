package control

import (
	"context"
	"os"
	"time"

	"headway/ask"
	"headway/job"
)

// Solo is a crawl on its own.
type Solo struct {
	Mail     ask.Mail // nil: nobody can ask
	Job      job.ID   // the only one there is
	Standing func(now time.Time) Standing
	// StopDiscovery follows no further links, and returns whether that was so before.
	StopDiscovery func() (before bool)
}

// NewSolo returns the control of a crawl on its own.
func NewSolo(cfg Config, s Solo) *Control {
	c := newControl(cfg)
	c.mail, c.role = s.Mail, &solo{c, s}
	return c
}

// solo is the role of a crawl on its own: every question is its own, and an order waits
// in memory until its host is loaded.
type solo struct {
	control *Control
	Solo
}

func (s *solo) checkOwner(ask.Question) error { return nil }

func (s *solo) jobOf(ask.Question) job.ID { return s.Job }

// status is how the whole crawl stands.
func (s *solo) status(now time.Time, _ ask.Question) ask.Answer {
	c, standing := s.control, s.Standing(now)
	stats := c.cfg.Frontier.Stats()
	a := c.newStatus(now, &standing)
	a.PID, a.Pages, a.Requests, a.Bytes, a.Rate = os.Getpid(), standing.Spent.Pages, standing.Spent.Requests, standing.Spent.Bytes, standing.Rate
	a.Seen, a.Waiting, a.Outcomes = standing.Counts.Seen(), standing.Counts.Waiting, outcomesOf(standing.Counts)
	a.Hosts, a.Ready, a.InFlight = stats.Working, stats.Ready, stats.InFlight
	a.Shares = c.shares(now)
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

// askWorker is not for a crawl on its own.
func (s *solo) askWorker(_ time.Time, q ask.Question) (ask.Answer, error) {
	return ask.Answer{}, errUnknown(q.Kind)
}

// orderUnmet leaves the order waiting for its host.
func (s *solo) orderUnmet(_ context.Context, _ ask.Question, change ask.Change, reply replyFunc) {
	s.control.replyStored(s.control.changed(change), reply)
}

// nextRead reads mail at every tick: that is a look into a folder.
func (s *solo) nextRead(time.Time, bool) time.Time { return time.Time{} }
