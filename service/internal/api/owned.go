package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"headway/internal/config"
	"headway/internal/jobspec"
	"headway/service/internal/proof"
	"headway/service/orders"
	"headway/store"
	"headway/weburl"
)

// OneOwnedHost names a host in a path.
type OneOwnedHost struct {
	Host string `path:"owned_host" minLength:"1" maxLength:"300" doc:"The host; a name alone means https. Encode slashes as %2F." example:"example.com"`
}

// OfTenant names a tenant in a query.
type OfTenant struct {
	Tenant string `query:"tenant" maxLength:"200" doc:"Tenant to list; default: your own. Other tenants are for operators only."`
}

// tenantFor is the tenant that a request of the caller applies to.
func (q *OfTenant) tenantFor(c *caller) (string, error) {
	if q.Tenant != "" && q.Tenant != c.tenant() && !c.key.Opens(store.ScopeOperator) {
		return "", problem(OperatorOnly, "only an operator can name another tenant", "omit tenant")
	}
	return cmp.Or(q.Tenant, c.tenant()), nil
}

// OwnedHostRequest claims a host for a tenant.
type OwnedHostRequest struct {
	HostName
	Tenant string `json:"tenant,omitempty" maxLength:"200" doc:"The tenant that owns the host; default: your own. Only operators can name another tenant; the host then needs no check."`
}

// OwnedHost is a host that a tenant has claimed.
type OwnedHost struct {
	ID        string      `json:"id" doc:"The host, as in the path of the claim."`
	Host      string      `json:"host"`
	Owned     bool        `json:"owned" doc:"Whether ownership is verified."`
	Proof     store.Proof `json:"proof,omitempty" enum:"file,dns,operator" doc:"How ownership was verified; absent until then."`
	Token     string      `json:"token" doc:"The token that proves ownership: publish it as file or record says."`
	File      string      `json:"file" doc:"URL of a file on the host that has the token on its own line."`
	Record    string      `json:"record,omitempty" doc:"Alternatively, the name of a DNS TXT record that contains the token; absent for an IP address."`
	CreatedAt time.Time   `json:"created_at"`
	OwnedAt   time.Time   `json:"owned_at,omitzero" doc:"When ownership was verified; absent until then."`
}

// OwnedHostList is the hosts of a tenant, by name.
type OwnedHostList struct {
	OwnedHosts []OwnedHost `json:"owned_hosts" nullable:"false"`
}

// Prover checks whether a host publishes a token.
type Prover interface {
	ByFile(ctx context.Context, home weburl.URL, token string) (store.Proof, error)
	ByRecord(ctx context.Context, home weburl.URL, token string) (store.Proof, error)
}

func (a *API) registerOwnedHosts() {
	tags, all, one := []string{"owned hosts"}, "/v1/owned-hosts", "/v1/owned-hosts/{owned_host}"
	register(a, store.ScopeWrite, huma.Operation{
		OperationID: "claim-host", Method: http.MethodPost, Path: all, Tags: tags, Summary: "Claim a host as your own and get the token that proves it",
		Description: fmt.Sprintf("The presets owned and warm, and a pace below 200 ms, need an owned host. The request can be repeated without an Idempotency-Key: a claimed host keeps its token, a verified host stays verified, and the response is the same. The maximum is %d hosts per tenant.", store.MaxOwnedHosts),
	}, a.claimHost, TooManyObjects, OperatorOnly)
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "list-owned-hosts", Method: http.MethodGet, Path: all, Tags: tags, Summary: "List the hosts you have claimed",
	}, func(ctx context.Context, in *OfTenant) (*struct{ Body OwnedHostList }, error) {
		tenant, err := in.tenantFor(callerOf(ctx))
		if err != nil {
			return nil, err
		}
		list, err := a.store.OwnedHosts(ctx, tenant)
		out := &struct{ Body OwnedHostList }{OwnedHostList{OwnedHosts: []OwnedHost{}}}
		for i := range list {
			out.Body.OwnedHosts = append(out.Body.OwnedHosts, newOwnedHost(&list[i]))
		}
		return out, err
	}, OperatorOnly)
	register(a, store.ScopeWrite, huma.Operation{
		OperationID: "check-owned-host", Method: http.MethodPost, Path: one + "/check", Tags: tags, Summary: "Verify a claimed host: look for its token in the DNS record and in the file",
		Description: fmt.Sprintf("Each domain is checked at most once every %d seconds. Redirects are not followed. A verified host is not checked again.", int(store.CheckEvery.Seconds())),
	}, a.checkOwnedHost, NotFound, NotVerified, CheckedRecently)
	register(a, store.ScopeWrite, huma.Operation{
		OperationID: "drop-owned-host", Method: http.MethodDelete, Path: one, Tags: tags, Summary: "Remove a claimed host",
		Description: "Running jobs continue unchanged; jobs started from now on no longer treat the host as owned. Repeating the request changes nothing and returns 404.",
	}, a.dropOwnedHost, NotFound, OperatorOnly)
}

func newOwnedHost(h *store.OwnedHost) OwnedHost {
	out := OwnedHost{ID: h.Host, Host: h.Host, Owned: h.Owned(), Proof: h.Proof, Token: h.Token, CreatedAt: h.AskedAt, OwnedAt: h.OwnedAt}
	if home, err := store.ParseHost(h.Host); err == nil {
		out.File, out.Record = proof.Names(home)
	}
	return out
}

func (a *API) claimHost(ctx context.Context, in *struct{ Body OwnedHostRequest }) (*struct{ Body OwnedHost }, error) {
	home, err := namedHost(in.Body.Host)
	if err != nil {
		return nil, err
	}
	c, claim := callerOf(ctx), orders.Claim(in.Body.Tenant, home.Host())
	var h store.OwnedHost
	switch {
	case claim.Tenant == "":
		claim.Tenant = c.tenant()
		h, err = a.store.ClaimHost(ctx, claim)
	case c.key.Opens(store.ScopeOperator):
		h, err = orders.Own(ctx, a.store, c.name(), claim, store.ByOperator)
	default:
		err = problem(OperatorOnly, "only an operator can claim a host for another tenant", "omit tenant and prove that the host is yours")
	}
	if errors.Is(err, store.ErrConflict) {
		return nil, newProblem(TooManyObjects, fmt.Sprintf("maximum of %d claimed hosts reached", store.MaxOwnedHosts))
	}
	return &struct{ Body OwnedHost }{newOwnedHost(&h)}, err
}

// findOwnedHost reads a claim of the caller's tenant; that of another is not found.
func (a *API) findOwnedHost(ctx context.Context, text string) (h store.OwnedHost, home weburl.URL, err error) {
	home, err = namedHost(text)
	if err != nil {
		return h, home, err
	}
	list, err := a.store.OwnedHosts(ctx, callerOf(ctx).tenant())
	if err != nil {
		return h, home, err
	}
	at := slices.IndexFunc(list, func(h store.OwnedHost) bool { return h.Host == home.Host() })
	if at < 0 {
		return h, home, noOwnedHost()
	}
	return list[at], home, nil
}

// dropHostInput names a host of a tenant.
type dropHostInput struct {
	OneOwnedHost
	OfTenant
}

func (a *API) dropOwnedHost(ctx context.Context, in *dropHostInput) (*struct{}, error) {
	c := callerOf(ctx)
	tenant, err := in.tenantFor(c)
	if err != nil {
		return nil, err
	}
	home, err := namedHost(in.Host)
	if err != nil {
		return nil, err
	}
	err = orders.Disown(ctx, a.store, c.name(), tenant, home.Host())
	if errors.Is(err, store.ErrNotFound) {
		return nil, noOwnedHost()
	}
	return nil, err
}

// noOwnedHost is the problem of a host that the tenant has not claimed.
func noOwnedHost() *Problem {
	return problem(NotFound, "claimed host not found", "list your claimed hosts with GET /v1/owned-hosts; claim one with POST")
}

func (a *API) checkOwnedHost(ctx context.Context, in *OneOwnedHost) (*struct{ Body OwnedHost }, error) {
	h, home, err := a.findOwnedHost(ctx, in.Host)
	if err != nil {
		return nil, err
	}
	if !h.Owned() {
		p, err := a.findToken(ctx, home, h.Token)
		if err == nil {
			h, err = orders.Own(ctx, a.store, callerOf(ctx).name(), h, p)
		}
		if err != nil {
			return nil, err
		}
	}
	return &struct{ Body OwnedHost }{newOwnedHost(&h)}, nil
}

// findToken looks for the token of a host. The DNS record comes first, because it
// needs no request to the host; a host that is on hold or opted out gets none.
func (a *API) findToken(ctx context.Context, home weburl.URL, token string) (store.Proof, error) {
	ok, err := a.store.BeginCheck(ctx, time.Now(), home.Domain())
	if err != nil {
		return store.NoProof, err
	}
	if !ok {
		return store.NoProof, newProblem(CheckedRecently, home.Domain()+" was checked a moment ago").retryAfter(store.CheckEvery)
	}
	p, inRecord := a.prover.ByRecord(ctx, home, token)
	if inRecord == nil {
		return p, nil
	}
	inFile := a.mayContact(ctx, home)
	if inFile == nil {
		if p, inFile = a.prover.ByFile(ctx, home, token); inFile == nil {
			return p, nil
		}
	}
	if ctx.Err() != nil {
		return store.NoProof, ctx.Err()
	}
	file, record := proof.Names(home)
	hint := "put the token on its own line into " + file
	if record != "" {
		hint += ", or into a TXT record of " + record
	}
	return store.NoProof, problem(NotVerified, fmt.Sprintf("cannot verify ownership of %s: %v; %v", home.Host(), inRecord, inFile), hint)
}

// mayContact returns an error if no request may be sent to a host now.
func (a *API) mayContact(ctx context.Context, home weburl.URL) error {
	out, err := a.store.CoveringOptOut(ctx, home.Hostname())
	if err != nil || out != "" {
		return cmp.Or(err, errors.New(out+" has opted out of crawling"))
	}
	h, err := a.store.Host(ctx, home.Host())
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err == nil && h.HoldUntil.After(time.Now()):
		return fmt.Errorf("the host is on hold until %s", h.HoldUntil.Format(time.RFC3339))
	default:
		return err
	}
}

// mustOwn refuses a job with settings for owned hosts only, unless
// all its seeds are on hosts of its tenant, or on hosts named by the operator.
func (a *API) mustOwn(ctx context.Context, spec *jobspec.Spec, set *config.Settings, tenant string) error {
	needs := set.OwnedOnly()
	if len(needs) == 0 {
		return nil
	}
	from, err := jobspec.ReadSeeds(spec.Seeds)
	if err != nil {
		return err
	}
	list, err := a.store.OwnedHosts(ctx, tenant)
	if err != nil {
		return err
	}
	for _, u := range from.URLs {
		theirs := slices.ContainsFunc(list, func(h store.OwnedHost) bool { return h.Owned() && h.Host == u.Host() })
		if !theirs && !slices.Contains(set.Owned, u.Hostname()) {
			return newProblem(HostNotOwned, fmt.Sprintf("%s needs an owned host, and ownership of %s is not verified", strings.Join(needs, ", "), u.Host()))
		}
	}
	return nil
}
