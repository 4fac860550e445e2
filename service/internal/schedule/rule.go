package schedule

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"headway/answer"
	"headway/store"
)

// Shares of pages changed between two runs: from the first a schedule runs twice as
// often, up to the second half as often. In between the interval stays unchanged.
const (
	busy = 0.10
	calm = 0.02
)

// looks is how many times of an expression are compared to find its shortest gap: as
// many as in an hour with one each minute.
const looks = 60

// parse reads a cron expression of five fields, or a shorthand such as @daily. It is in
// UTC unless it begins with a time zone such as CRON_TZ=Europe/Berlin.
func parse(text string) (cron.Schedule, error) {
	for _, zone := range []string{"TZ=", "CRON_TZ="} {
		if strings.HasPrefix(text, zone) && !strings.Contains(text, " ") {
			return nil, fmt.Errorf("time zone without a cron expression: %q", text)
		}
	}
	if !strings.HasPrefix(text, "TZ=") && !strings.HasPrefix(text, "CRON_TZ=") {
		text = "CRON_TZ=UTC " + text
	}
	s, err := cron.ParseStandard(text)
	if err != nil {
		return nil, fmt.Errorf("invalid cron expression %q: %w", strings.TrimPrefix(text, "CRON_TZ=UTC "), err)
	}
	return s, nil
}

// Check reports an invalid cron expression.
func Check(text string, now time.Time) error {
	if len(text) > store.MaxCron {
		return fmt.Errorf("cron expression too long: %d bytes, the maximum is %d", len(text), store.MaxCron)
	}
	s, err := parse(text)
	if err != nil {
		return err
	}
	last := s.Next(now)
	if last.IsZero() {
		return fmt.Errorf("cron expression %q never matches", text)
	}
	for range looks {
		next := s.Next(last)
		if next.IsZero() {
			break
		}
		if next.Sub(last) < store.MinEvery {
			return fmt.Errorf("cron expression %q matches more often than every %s", text, store.MinEvery)
		}
		last = next
	}
	return nil
}

// Make completes a requested schedule, to be stored with
// [store.Schedules]: its id, and when it is first due. One with a cron expression
// is due at its next time, an adaptive one immediately.
func Make(s store.Schedule, now time.Time) (store.Schedule, error) {
	s.ID, s.CreatedAt, s.DueAt = "sc_"+strings.ToLower(rand.Text()), now, now
	if s.Cron != "" {
		if err := Check(s.Cron, now); err != nil {
			return s, err
		}
		var err error
		if s.DueAt, err = Next(&s, now); err != nil {
			return s, err
		}
	}
	return s, s.Check()
}

// Change completes an update of a schedule: when it is due with new times, or after a
// pause. An interval counts from the last job.
func Change(was, s store.Schedule, now time.Time) (store.Schedule, error) {
	if s.Cron != "" && s.Cron != was.Cron {
		if err := Check(s.Cron, now); err != nil {
			return s, err
		}
	}
	resumed := !was.PausedAt.IsZero() && s.PausedAt.IsZero()
	var err error
	switch {
	case resumed, s.Cron != "" && s.Cron != was.Cron:
		s.DueAt, err = Next(&s, now)
	case s.Cron == "" && (s.Every != was.Every || was.Cron != ""):
		if s.DueAt = s.BegunAt.Add(s.Every); s.BegunAt.IsZero() || s.DueAt.Before(now) {
			s.DueAt = now
		}
	}
	if err != nil {
		return s, err
	}
	return s, s.Check()
}

// Next is when a schedule is due after it was run at now: at the next time of its
// expression, however many have passed, or after its interval.
func Next(s *store.Schedule, now time.Time) (time.Time, error) {
	if s.Cron == "" {
		return now.Add(s.Every), nil
	}
	c, err := parse(s.Cron)
	if err != nil {
		return time.Time{}, err
	}
	next := c.Next(now).UTC()
	if next.IsZero() {
		return time.Time{}, errors.New("the schedule will never be due again")
	}
	return next, nil
}

// adapt is the interval of a schedule after a run in which this share of pages
// changed.
func adapt(s *store.Schedule, share float64) time.Duration {
	every := s.Every
	switch {
	case share >= busy:
		every /= 2
	case share <= calm:
		every *= 2
	}
	return min(max(every, s.Least), s.Most)
}

// changed are the kinds of change that count. A page that is only slower has not
// changed, and for a page that was not fetched it is unknown.
var changed = map[answer.ChangeKind]bool{
	answer.PageNew: true, answer.PageGone: true, answer.PageDead: true, answer.PageRecovered: true, answer.PageChanged: true,
}

// shareOf is the share of pages that changed, among those known in both runs. It is
// unknown without any.
func shareOf(c *answer.Comparison) (share float64, known bool) {
	var n int64
	for _, k := range c.Changes {
		if changed[k.Kind] && (k.Kind != answer.PageGone || c.Certain) && (k.Kind != answer.PageNew || c.Whole) {
			n += k.Total
		}
	}
	if n+c.Same == 0 {
		return 0, false
	}
	return float64(n) / float64(n+c.Same), true
}
