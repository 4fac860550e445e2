package exchange

import (
	"context"
	"fmt"
	"time"

	"headway/politeness"
)

// WaitTurn waits until the host's pace allows a request. Only single requests wait like
// this; a crawl schedules hosts instead.
func WaitTurn(ctx context.Context, policy politeness.Policy, host politeness.State) error {
	for {
		now := time.Now()
		wait := policy.Admit(host, now)
		if wait.Reason == politeness.Ready {
			return nil
		}
		if wait.Until.IsZero() {
			return fmt.Errorf("host waits for %s with nothing under way", wait.Reason)
		}
		timer := time.NewTimer(wait.Until.Sub(now))
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
		}
	}
}
