package api

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"headway/service/apikey"
	"headway/store"
)

// caller is who sent a request.
type caller struct {
	key store.APIKey
	// anonymous callers have no key and all scopes: the listener is for this
	// machine alone.
	anonymous bool
}

// tenant is the tenant of the caller.
func (c *caller) tenant() string { return c.key.Tenant }

// name is how the caller is named in logs.
func (c *caller) name() string {
	if c.anonymous {
		return "anonymous"
	}
	return "key " + c.key.ID
}

type callerKey struct{}

// callerOf is who sent the request of a handler.
func callerOf(ctx context.Context) *caller {
	c, _ := ctx.Value(callerKey{}).(*caller)
	return c // authenticate rejects requests without one
}

// authenticate accepts requests with a valid key within its rate limit.
func (a *API) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := time.Now()
		c, p := a.identify(r.Context(), now, r.Header.Get("Authorization"))
		if p == nil {
			if wait, ok := a.rates.take(now, c.key.ID); !ok {
				p = newProblem(RateLimited, fmt.Sprintf("rate limit of key %s exceeded: %g requests per second", c.key.ID, a.rates.rate.PerSecond)).retryAfter(wait)
			}
		}
		if p != nil {
			writeProblem(w, p)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, c)))
	})
}

// identify reads who sent a request.
func (a *API) identify(ctx context.Context, now time.Time, header string) (*caller, *Problem) {
	if header == "" {
		if a.anonymous {
			return &caller{key: store.APIKey{Tenant: "", Scope: store.ScopeOperator}, anonymous: true}, nil
		}
		return nil, refuse(MissingKey, "missing API key")
	}
	scheme, text, _ := strings.Cut(header, " ")
	sent, ok := apikey.Read(strings.TrimSpace(text))
	if !strings.EqualFold(scheme, "Bearer") || !ok {
		return nil, refuse(InvalidKey, "the Authorization header does not contain an API key")
	}
	k, err := a.keys.find(ctx, sent.ID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		if ctx.Err() == nil { // the client is still there
			a.log.ErrorContext(ctx, "API key lookup failed", "err", err)
		}
		return nil, newProblem(Unavailable, "the database is not responding").retryAfter(time.Second)
	}
	// An unknown key is compared, too, so that the time taken says nothing.
	sum := sent.Sum()
	same := subtle.ConstantTimeCompare(sum[:], k.Sum[:]) == 1
	switch {
	case err != nil || !same:
		return nil, refuse(InvalidKey, "unknown API key")
	case !k.RevokedAt.IsZero():
		return nil, refuse(RevokedKey, "the API key was revoked")
	case !k.Valid(now):
		return nil, refuse(ExpiredKey, "the API key has expired")
	}
	if now.Sub(k.UsedAt) >= store.KeyUseStep {
		if err := a.store.UseKey(ctx, now, k.ID); err != nil {
			a.log.WarnContext(ctx, "cannot record the last use of an API key", "key", k.ID, "err", err)
		}
	}
	return &caller{key: k}, nil
}

// refuse is the problem of a request without a valid key.
func refuse(code Code, why string) *Problem {
	p := newProblem(code, why)
	p.header = http.Header{"Www-Authenticate": {`Bearer realm="headway"`}}
	return p
}

// requireScope accepts requests whose key has a scope.
func (a *API) requireScope(s store.Scope) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		c := callerOf(ctx.Context())
		if !c.key.Opens(s) {
			a.write(ctx, problem(ScopeTooNarrow, fmt.Sprintf("key %s has scope %s; this operation needs scope %s", c.key.ID, c.key.Scope, s), "use a key with the scope "+string(s)))
			return
		}
		next(ctx)
	}
}
