package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"headway/service/internal/webhook"
	"headway/store"
)

// rotateFor is how long a secret that was replaced still signs, beside the new one.
const rotateFor = 24 * time.Hour

// OneWebhook names a webhook in a path.
type OneWebhook struct {
	Webhook string `path:"webhook" maxLength:"64" pattern:"^ep_[a-z0-9]+$" doc:"The id of the webhook." example:"ep_5x2"`
}

// WebhookRequest is where events are to be sent.
type WebhookRequest struct {
	URL   string            `json:"url" maxLength:"2048" doc:"An address of https, without credentials." example:"https://example.com/hook"`
	Kinds []store.EventKind `json:"kinds,omitempty" maxItems:"100" nullable:"false" doc:"Only events of these kinds; by default all."`
}

// WebhookChange is what is to be different. What is left out stays as it is.
type WebhookChange struct {
	URL     string            `json:"url,omitempty" maxLength:"2048" doc:"An address of https, without credentials."`
	Kinds   []store.EventKind `json:"kinds,omitempty" maxItems:"100" nullable:"false" doc:"Only events of these kinds; an empty list is all."`
	Enabled *bool             `json:"enabled,omitempty" doc:"Whether events are sent. What happens while they are not is not sent later."`
}

// Webhook is where events of a tenant are sent.
type Webhook struct {
	ID             string            `json:"id"`
	URL            string            `json:"url"`
	Kinds          []store.EventKind `json:"kinds" nullable:"false" doc:"Only events of these kinds; none for all."`
	Enabled        bool              `json:"enabled" doc:"Whether events are sent."`
	CreatedAt      time.Time         `json:"created_at"`
	DisabledAt     time.Time         `json:"disabled_at,omitzero" doc:"Since when nothing is sent; missing while something is."`
	DisabledReason string            `json:"disabled_reason,omitempty" doc:"Why nothing is sent."`
	OldSecretEnds  time.Time         `json:"old_secret_ends,omitzero" doc:"Until when the secret that was replaced signs, too; missing where it does not."`
}

// WebhookSecret is a webhook with its secret, which is shown this once.
type WebhookSecret struct {
	Webhook
	Secret string `json:"secret" doc:"What the receiver verifies signatures with. It is not shown again." example:"whsec_…"`
}

func (w WebhookSecret) place() string { return "/v1/webhooks/" + w.ID }

// hide leaves the secret out of what is kept for requests that are sent again.
func (w WebhookSecret) hide() any {
	w.Secret = ""
	return w
}

// reveal shows the secret again to whoever sends the same request again, because the
// answer may have been lost; not once it was replaced, or the webhook is gone.
func (w *WebhookSecret) reveal(ctx context.Context, a *API) error {
	e, err := a.store.Endpoint(ctx, w.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil && len(e.OldSecret) == 0 {
		w.Secret = webhook.FormatSecret(e.Secret)
	}
	return err
}

// WebhookList is all webhooks of a tenant, the oldest first.
type WebhookList struct {
	Webhooks []Webhook `json:"webhooks" nullable:"false"`
}

// Delivery is an event on its way to a webhook, and how it fared.
type Delivery struct {
	ID       string          `json:"id" doc:"The webhook-id of all its attempts."`
	Kind     store.EventKind `json:"kind"`
	State    webhook.State   `json:"state" enum:"waiting,sending,delivered,dropped,given_up" doc:"dropped is one whose webhook was off or gone, given_up one whose last attempt failed."`
	Attempts int             `json:"attempts" doc:"Attempts that have begun."`
	Error    string          `json:"error,omitempty" doc:"What was wrong with the last attempt that failed."`
	MadeAt   time.Time       `json:"made_at"`
	NextAt   time.Time       `json:"next_at,omitzero" doc:"When the next attempt is due; missing where there is none."`
	EndedAt  time.Time       `json:"ended_at,omitzero" doc:"Missing while it has not ended."`
}

// DeliveryList is the latest deliveries of a webhook, the newest first.
type DeliveryList struct {
	Deliveries []Delivery `json:"deliveries" nullable:"false"`
}

func (a *API) registerWebhooks() {
	tags, one := []string{"webhooks"}, "/v1/webhooks/{webhook}"
	register(a, store.ScopeWrite, huma.Operation{
		OperationID: "create-webhook", Method: http.MethodPost, Path: "/v1/webhooks", Tags: tags, DefaultStatus: http.StatusCreated, Summary: "Have events sent to an address",
		Description: fmt.Sprintf("It is sent what happens from now on, signed with the secret of the answer, which is not shown again. A tenant has at most %d.", store.MaxEndpoints),
	}, once(a, "create-webhook", a.createWebhook), http.StatusConflict)
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "list-webhooks", Method: http.MethodGet, Path: "/v1/webhooks", Tags: tags, Summary: "List webhooks, the oldest first",
	}, a.listWebhooks)
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "get-webhook", Method: http.MethodGet, Path: one, Tags: tags, Summary: "Tell how a webhook stands",
	}, func(ctx context.Context, in *OneWebhook) (*struct{ Body Webhook }, error) {
		e, err := a.findWebhook(ctx, in.Webhook)
		return &struct{ Body Webhook }{newWebhook(&e)}, err
	}, http.StatusNotFound)
	register(a, store.ScopeWrite, huma.Operation{
		OperationID: "change-webhook", Method: http.MethodPatch, Path: one, Tags: tags, Summary: "Change a webhook, turn it off or on",
	}, a.changeWebhook, http.StatusNotFound)
	register(a, store.ScopeWrite, huma.Operation{
		OperationID: "rotate-webhook", Method: http.MethodPost, Path: one + "/rotate", Tags: tags, Summary: "Give a webhook a new secret",
		Description: "The old one signs beside it for a day, so that the receiver has time to learn the new one.",
	}, a.rotateWebhook, http.StatusNotFound)
	register(a, store.ScopeWrite, huma.Operation{
		OperationID: "delete-webhook", Method: http.MethodDelete, Path: one, Tags: tags, Summary: "Forget a webhook and what was not sent to it",
	}, func(ctx context.Context, in *OneWebhook) (*struct{}, error) {
		e, err := a.findWebhook(ctx, in.Webhook)
		if err != nil {
			return nil, err
		}
		return nil, a.orderedWebhook(ctx, &e, "delete-webhook", nil, func(ctx context.Context) error { return a.store.DropEndpoint(ctx, e.ID) })
	}, http.StatusNotFound)
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "list-deliveries", Method: http.MethodGet, Path: one + "/deliveries", Tags: tags, Summary: "List the latest deliveries of a webhook, the newest first",
		Description: "Those that ended are kept for a day, for a week if they were given up.",
	}, a.listDeliveries, http.StatusNotFound)
}

// findWebhook reads a webhook of the caller's tenant. That of another is not there.
func (a *API) findWebhook(ctx context.Context, id string) (store.Endpoint, error) {
	e, err := a.store.Endpoint(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && e.Tenant != callerOf(ctx).tenant() {
		return store.Endpoint{}, problem(http.StatusNotFound, "there is no webhook "+id, "GET /v1/webhooks lists the webhooks")
	}
	return e, err
}

func newWebhook(e *store.Endpoint) Webhook {
	w := Webhook{ID: e.ID, URL: e.URL, Kinds: e.Kinds, Enabled: e.Enabled(), CreatedAt: e.CreatedAt, DisabledAt: e.DisabledAt, DisabledReason: e.Disabled}
	if len(e.Secrets(time.Now())) > 1 {
		w.OldSecretEnds = e.OldEnds
	}
	if w.Kinds == nil {
		w.Kinds = []store.EventKind{}
	}
	return w
}

// checkAddress refuses what nothing is sent to.
func (a *API) checkAddress(address string) error {
	if err := webhook.CheckURL(address, a.private); err != nil {
		return problem(http.StatusUnprocessableEntity, err.Error(), "name a public address that begins with https://; docs/guide/webhooks.md says what is sent there")
	}
	return nil
}

// ofTenant refuses callers who speak for nobody: what is done later needs somebody
// it is done for.
func ofTenant(ctx context.Context) (string, error) {
	tenant := callerOf(ctx).tenant()
	if tenant == "" {
		return "", problem(http.StatusForbidden, "the request speaks for no tenant", "use a key that headway admin key create --tenant makes")
	}
	return tenant, nil
}

// orderedWebhook does what is ordered of a webhook, and logs it.
func (a *API) orderedWebhook(ctx context.Context, was *store.Endpoint, what string, is *store.Endpoint, do func(context.Context) error) error {
	o := store.Order{What: what, Tenant: callerOf(ctx).tenant(), Before: webhookInWords(was), After: webhookInWords(is)}
	for _, e := range []*store.Endpoint{was, is} {
		if e != nil {
			o.About = e.ID
		}
	}
	return a.ordered(ctx, o, do)
}

// webhookInWords is how a webhook stands, for the log; nothing for none.
func webhookInWords(e *store.Endpoint) string {
	if e == nil {
		return ""
	}
	words := e.URL
	if len(e.Kinds) > 0 {
		words += fmt.Sprintf(" %v", e.Kinds)
	}
	if !e.Enabled() {
		words += ", off"
	}
	return words
}

func (a *API) createWebhook(ctx context.Context, in *Creating[WebhookRequest]) (made WebhookSecret, err error) {
	tenant, err := ofTenant(ctx)
	if err != nil {
		return made, err
	}
	if err := a.checkAddress(in.Body.URL); err != nil {
		return made, err
	}
	e := webhook.NewEndpoint(tenant, in.Body.URL, in.Body.Kinds)
	if err := e.Check(); err != nil {
		return made, newProblem(http.StatusUnprocessableEntity, err.Error())
	}
	e.CreatedAt = store.Stored(time.Now())
	err = a.orderedWebhook(ctx, nil, "create-webhook", &e, func(ctx context.Context) error { return a.store.CreateEndpoint(ctx, e.CreatedAt, e) })
	if errors.Is(err, store.ErrConflict) {
		return made, problem(http.StatusConflict, fmt.Sprintf("there are %d webhooks already", store.MaxEndpoints), "delete one first")
	}
	return WebhookSecret{Webhook: newWebhook(&e), Secret: webhook.FormatSecret(e.Secret)}, err
}

// showSecret shows a webhook whose secret is new.
func (a *API) showSecret(ctx context.Context, id string) (*struct{ Body WebhookSecret }, error) {
	e, err := a.findWebhook(ctx, id)
	if err != nil {
		return nil, err
	}
	return &struct{ Body WebhookSecret }{WebhookSecret{Webhook: newWebhook(&e), Secret: webhook.FormatSecret(e.Secret)}}, nil
}

func (a *API) listWebhooks(ctx context.Context, _ *struct{}) (*struct{ Body WebhookList }, error) {
	list, err := a.store.Endpoints(ctx, store.EndpointQuery{Tenant: callerOf(ctx).tenant()})
	if err != nil {
		return nil, err
	}
	out := &struct{ Body WebhookList }{WebhookList{Webhooks: []Webhook{}}}
	for i := range list {
		out.Body.Webhooks = append(out.Body.Webhooks, newWebhook(&list[i]))
	}
	return out, nil
}

// changeWebhookInput is a change of a webhook.
type changeWebhookInput struct {
	OneWebhook
	Body WebhookChange
}

func (a *API) changeWebhook(ctx context.Context, in *changeWebhookInput) (*struct{ Body Webhook }, error) {
	e, err := a.findWebhook(ctx, in.Webhook)
	if err != nil {
		return nil, err
	}
	was := e
	if in.Body.URL != "" {
		if err := a.checkAddress(in.Body.URL); err != nil {
			return nil, err
		}
		e.URL = in.Body.URL
	}
	if in.Body.Kinds != nil {
		e.Kinds = in.Body.Kinds
	}
	if err := store.CheckEndpoint(e.URL, e.Kinds); err != nil {
		return nil, newProblem(http.StatusUnprocessableEntity, err.Error())
	}
	now, on := time.Now(), in.Body.Enabled
	if on != nil && !*on && e.Enabled() {
		e.DisabledAt = now
	} else if on != nil && *on {
		e.DisabledAt = time.Time{}
	}
	err = a.orderedWebhook(ctx, &was, "change-webhook", &e, func(ctx context.Context) error {
		if err := a.store.SetEndpoint(ctx, e.ID, e.URL, e.Kinds); err != nil || on == nil {
			return err
		}
		if *on {
			return a.store.EnableEndpoint(ctx, now, e.ID)
		}
		return a.store.DisableEndpoint(ctx, now, e.ID, "by "+callerOf(ctx).name())
	})
	if err != nil {
		return nil, err
	}
	e, err = a.findWebhook(ctx, e.ID)
	return &struct{ Body Webhook }{newWebhook(&e)}, err
}

func (a *API) rotateWebhook(ctx context.Context, in *OneWebhook) (*struct{ Body WebhookSecret }, error) {
	e, err := a.findWebhook(ctx, in.Webhook)
	if err != nil {
		return nil, err
	}
	err = a.orderedWebhook(ctx, &e, "rotate-webhook", &e, func(ctx context.Context) error {
		return a.store.RotateEndpoint(ctx, e.ID, webhook.NewSecret(), time.Now().Add(rotateFor))
	})
	if err != nil {
		return nil, err
	}
	return a.showSecret(ctx, e.ID)
}

// deliveriesInput asks for deliveries.
type deliveriesInput struct {
	OneWebhook
	Limit int `query:"limit" minimum:"1" maximum:"100" default:"100" doc:"How many to return at most."`
}

func (a *API) listDeliveries(ctx context.Context, in *deliveriesInput) (*struct{ Body DeliveryList }, error) {
	e, err := a.findWebhook(ctx, in.Webhook)
	if err != nil {
		return nil, err
	}
	list, err := a.chores.Deliveries(ctx, e.ID, in.Limit)
	if err != nil {
		return nil, err
	}
	out := &struct{ Body DeliveryList }{DeliveryList{Deliveries: []Delivery{}}}
	for _, d := range list {
		out.Body.Deliveries = append(out.Body.Deliveries, Delivery(d))
	}
	return out, nil
}
