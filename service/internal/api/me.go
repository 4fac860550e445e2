package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"headway/store"
)

// Me is who sent a request.
type Me struct {
	Tenant    string      `json:"tenant" doc:"For whom the key speaks; empty for jobs that are nobody's."`
	Key       string      `json:"key,omitempty" doc:"The public part of the key."`
	Name      string      `json:"name,omitempty" doc:"What the key is called."`
	Scope     store.Scope `json:"scope" doc:"What the key opens."`
	Anonymous bool        `json:"anonymous" doc:"The request came without a key, from this machine."`
	ExpiresAt time.Time   `json:"expires_at,omitzero" doc:"When the key ends; missing for never."`
}

func (a *API) registerMe() {
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "get-me", Method: http.MethodGet, Path: "/v1/me", Tags: []string{"keys"}, Summary: "Tell who a key speaks for",
	}, func(ctx context.Context, _ *struct{}) (*struct{ Body Me }, error) {
		c := callerOf(ctx)
		k := &c.key
		return &struct{ Body Me }{Me{Tenant: k.Tenant, Key: k.ID, Name: k.Name, Scope: k.Scope, Anonymous: c.anonymous, ExpiresAt: k.ExpiresAt}}, nil
	})
}
