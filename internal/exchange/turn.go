package exchange

import (
	"context"
	"fmt"
	"time"

	"headway/politeness"
)

// Turn waits until a host may be asked again. Only who asks for single things waits
// like this; in a crawl a host that is not ready is scheduled.
func Turn(ctx context.Context, policy politeness.Policy, host politeness.State) error {
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
