package jobspec

import (
	"context"
	"fmt"
	"time"

	"headway/limit"
	"headway/store"
)

// QuotaError refuses a crawl of a tenant that has used up its monthly quota.
type QuotaError struct {
	Used     limit.Warning // the limit, its value and what was used of it
	RenewsAt time.Time
}

// Error implements error.
func (e *QuotaError) Error() string {
	thing := "pages"
	if e.Used.Limit == limit.Bytes {
		thing = "bytes"
	}
	return fmt.Sprintf("the monthly quota of the tenant is used up: %d of %d %s", e.Used.Observed, e.Used.Max, thing)
}

// Hint says when the quota renews.
func (e *QuotaError) Hint() string {
	return fmt.Sprintf("it renews at %s; the operator can assign a larger plan", e.RenewsAt.Format(time.RFC3339))
}

// Quotas is the part of a [store.Queue] that knows quotas.
type Quotas interface {
	Quota(ctx context.Context, now time.Time, tenant string) (limit.Quota, error)
}

// CheckQuota refuses a crawl of a tenant that has used up its monthly quota, with a
// *[QuotaError].
func CheckQuota(ctx context.Context, st Quotas, now time.Time, tenant string) error {
	quota, err := st.Quota(ctx, now, tenant)
	if err != nil {
		return err
	}
	near, met := quota.Month()
	for _, w := range near {
		if w.Limit == met {
			return &QuotaError{Used: w, RenewsAt: store.MonthOf(now).End()}
		}
	}
	return nil
}
