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
	Tenant    string      `json:"tenant" doc:"The tenant of the key; empty for jobs without a tenant."`
	Key       string      `json:"key,omitempty" doc:"The public id of the key."`
	Name      string      `json:"name,omitempty" doc:"The name of the key."`
	Scope     store.Scope `json:"scope" doc:"The scope of the key."`
	Anonymous bool        `json:"anonymous" doc:"Whether the request came without a key, from this machine."`
	ExpiresAt time.Time   `json:"expires_at,omitzero" doc:"When the key expires; absent if it never does."`
}

func (a *API) registerMe() {
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "get-me", Method: http.MethodGet, Path: "/v1/me", Tags: []string{"keys"}, Summary: "Get the tenant and scope of the API key",
	}, func(ctx context.Context, _ *struct{}) (*struct{ Body Me }, error) {
		c := callerOf(ctx)
		k := &c.key
		return &struct{ Body Me }{Me{Tenant: k.Tenant, Key: k.ID, Name: k.Name, Scope: k.Scope, Anonymous: c.anonymous, ExpiresAt: k.ExpiresAt}}, nil
	})
}
