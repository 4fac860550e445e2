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
	Host string `path:"owned_host" minLength:"1" maxLength:"300" doc:"The host: a name alone means https; slashes are written %2F." example:"example.com"`
}

// OfTenant names a tenant in a query.
type OfTenant struct {
	Tenant string `query:"tenant" maxLength:"200" doc:"Whose; by default the caller's tenant. Only operators may name another."`
}

// whose is the tenant that a request of the caller is about.
func (q *OfTenant) whose(c *caller) (string, error) {
	if q.Tenant != "" && q.Tenant != c.tenant() && !c.key.Opens(store.ScopeOperator) {
		return "", problem(http.StatusForbidden, "only an operator may name another tenant", "leave tenant out")
	}
	return cmp.Or(q.Tenant, c.tenant()), nil
}

// OwnedHostRequest says that a host is the tenant's own.
type OwnedHostRequest struct {
	HostName
	Tenant string `json:"tenant,omitempty" maxLength:"200" doc:"Whose it is; by default the caller's tenant. Only operators may name another, and it needs no check then."`
}

// OwnedHost is a host that a tenant says is its own.
type OwnedHost struct {
	Host    string      `json:"host"`
	Owned   bool        `json:"owned" doc:"Whether it is known to be the tenant's."`
	Proof   store.Proof `json:"proof,omitempty" enum:"file,dns,operator" doc:"How that is known; missing while it is not."`
	Token   string      `json:"token" doc:"What proves it: put it where file or record say."`
	File    string      `json:"file" doc:"A file of the host with the token on a line of its own."`
	Record  string      `json:"record,omitempty" doc:"Or a TXT record that is the token; missing for an address."`
	AskedAt time.Time   `json:"asked_at"`
	OwnedAt time.Time   `json:"owned_at,omitzero" doc:"Since when it is known; missing while it is not."`
}

// OwnedHostList is the hosts of a tenant, by name.
type OwnedHostList struct {
	OwnedHosts []OwnedHost `json:"owned_hosts" nullable:"false"`
}

// Prover finds out whether a host holds a token.
type Prover interface {
	ByFile(ctx context.Context, home weburl.URL, token string) (store.Proof, error)
	ByRecord(ctx context.Context, home weburl.URL, token string) (store.Proof, error)
}

func (a *API) registerOwnedHosts() {
	tags, all, one := []string{"owned hosts"}, "/v1/owned-hosts", "/v1/owned-hosts/{owned_host}"
	register(a, store.ScopeWrite, huma.Operation{
		OperationID: "claim-host", Method: http.MethodPost, Path: all, Tags: tags, Summary: "Say that a host is your own, and get the token that proves it",
		Description: fmt.Sprintf("The presets owned and warm, and a pace below 200 ms, are for owned hosts. A host that was claimed before keeps its token, and one that is known to be owned stays so: the request may be sent again, has the same answer and needs no Idempotency-Key. A tenant has at most %d.", store.MaxOwnedHosts),
	}, a.claimHost, http.StatusConflict)
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "list-owned-hosts", Method: http.MethodGet, Path: all, Tags: tags, Summary: "List the hosts you say are your own",
	}, func(ctx context.Context, in *OfTenant) (*struct{ Body OwnedHostList }, error) {
		tenant, err := in.whose(callerOf(ctx))
		if err != nil {
			return nil, err
		}
		list, err := a.store.OwnedHosts(ctx, tenant)
		out := &struct{ Body OwnedHostList }{OwnedHostList{OwnedHosts: []OwnedHost{}}}
		for i := range list {
			out.Body.OwnedHosts = append(out.Body.OwnedHosts, newOwnedHost(&list[i]))
		}
		return out, err
	})
	register(a, store.ScopeWrite, huma.Operation{
		OperationID: "check-owned-host", Method: http.MethodPost, Path: one + "/check", Tags: tags, Summary: "Look for the token of a host, in the record and in the file",
		Description: fmt.Sprintf("A domain is looked at once in %d seconds at most. Redirects are not followed. A host that was found to be yours is not asked again.", int(store.CheckEvery.Seconds())),
	}, a.checkOwnedHost, http.StatusNotFound, http.StatusConflict)
	register(a, store.ScopeWrite, huma.Operation{
		OperationID: "drop-owned-host", Method: http.MethodDelete, Path: one, Tags: tags, Summary: "Say that a host is no longer your own",
		Description: "Jobs that run go on as they began; those that start from now on treat it as anybody's. Sent again it changes nothing, and is answered with 404.",
	}, a.dropOwnedHost, http.StatusNotFound)
}

func newOwnedHost(h *store.OwnedHost) OwnedHost {
	out := OwnedHost{Host: h.Host, Owned: h.Owned(), Proof: h.Proof, Token: h.Token, AskedAt: h.AskedAt, OwnedAt: h.OwnedAt}
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
		err = problem(http.StatusForbidden, "only an operator may say whose a host is", "leave tenant out, and prove that the host is yours")
	}
	if errors.Is(err, store.ErrConflict) {
		return nil, problem(http.StatusConflict, fmt.Sprintf("there are %d hosts already", store.MaxOwnedHosts), "delete one first")
	}
	return &struct{ Body OwnedHost }{newOwnedHost(&h)}, err
}

// findOwnedHost reads a claim of the caller's tenant. That of another is not there.
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
	tenant, err := in.whose(c)
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

// noOwnedHost says that a tenant has no such host.
func noOwnedHost() *Problem {
	return problem(http.StatusNotFound, "there is no such host among yours", "POST /v1/owned-hosts says that it is, GET lists them")
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

// findToken looks for the token of a host. The record comes first, which costs the
// host nothing; the file is left where the host wants to be left alone.
func (a *API) findToken(ctx context.Context, home weburl.URL, token string) (store.Proof, error) {
	ok, err := a.store.BeginCheck(ctx, time.Now(), home.Domain())
	if err != nil {
		return store.NoProof, err
	}
	if !ok {
		return store.NoProof, problem(http.StatusTooManyRequests, home.Domain()+" was looked at a moment ago", "wait as long as Retry-After says").retryAfter(store.CheckEvery)
	}
	p, inRecord := a.prover.ByRecord(ctx, home, token)
	if inRecord == nil {
		return p, nil
	}
	inFile := a.leftAlone(ctx, home)
	if inFile == nil {
		if p, inFile = a.prover.ByFile(ctx, home, token); inFile == nil {
			return p, nil
		}
	}
	if ctx.Err() != nil {
		return store.NoProof, ctx.Err()
	}
	file, record := proof.Names(home)
	hint := "put the token on a line of its own into " + file
	if record != "" {
		hint += ", or into a TXT record of " + record
	}
	return store.NoProof, problem(http.StatusConflict, fmt.Sprintf("%s is not known to be yours: %v; %v", home.Host(), inRecord, inFile), hint)
}

// leftAlone tells why a host must not be asked for anything now.
func (a *API) leftAlone(ctx context.Context, home weburl.URL) error {
	out, err := a.store.CoveringOptOut(ctx, home.Hostname())
	if err != nil || out != "" {
		return cmp.Or(err, errors.New(out+" asked not to be crawled"))
	}
	h, err := a.store.Host(ctx, home.Host())
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err == nil && h.HoldUntil.After(time.Now()):
		return fmt.Errorf("the host asked to be left alone until %s", h.HoldUntil.Format(time.RFC3339))
	default:
		return err
	}
}

// mustOwn refuses a job with settings that only the owner of a site may use, unless
// all its seeds are at hosts of its tenant, or at such that the operator named.
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
			return problem(http.StatusUnprocessableEntity, fmt.Sprintf("%s needs an owned host, and %s is not known to be yours", strings.Join(needs, ", "), u.Host()),
				"say that it is yours with POST /v1/owned-hosts, and prove it as the answer tells")
		}
	}
	return nil
}
