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

// rotateFor is how long messages are signed with both secrets after a rotation.
const rotateFor = 24 * time.Hour

// OneWebhook names a webhook in a path.
type OneWebhook struct {
	Webhook string `path:"webhook" maxLength:"64" pattern:"^ep_[a-z0-9]+$" doc:"The id of the webhook." example:"ep_5x2"`
}

// WebhookRequest is where to send events.
type WebhookRequest struct {
	URL   string            `json:"url" maxLength:"2048" doc:"An https URL without credentials." example:"https://example.com/hook"`
	Kinds []store.EventKind `json:"kinds,omitempty" maxItems:"100" nullable:"false" doc:"Send only events of these kinds; default: all."`
}

// WebhookChange is a partial update. Omitted fields stay unchanged.
type WebhookChange struct {
	URL     string            `json:"url,omitempty" maxLength:"2048" doc:"An https URL without credentials."`
	Kinds   []store.EventKind `json:"kinds,omitempty" maxItems:"100" nullable:"false" doc:"Send only events of these kinds; an empty list sends all."`
	Enabled *bool             `json:"enabled,omitempty" doc:"Whether events are sent. Events that happen while the webhook is disabled are not sent later."`
}

// Webhook is where events of a tenant are sent.
type Webhook struct {
	ID             string            `json:"id"`
	URL            string            `json:"url"`
	Kinds          []store.EventKind `json:"kinds" nullable:"false" doc:"Only events of these kinds are sent; an empty list sends all."`
	Enabled        bool              `json:"enabled" doc:"Whether events are sent."`
	CreatedAt      time.Time         `json:"created_at"`
	DisabledAt     time.Time         `json:"disabled_at,omitzero" doc:"Since when the webhook is disabled; absent while it is enabled."`
	DisabledReason string            `json:"disabled_reason,omitempty" doc:"Why the webhook is disabled."`
	OldSecretEnds  time.Time         `json:"old_secret_ends_at,omitzero" doc:"Until when messages are also signed with the previous secret; absent if they are not."`
}

// WebhookSecret is a webhook with its secret, which is shown only once.
type WebhookSecret struct {
	Webhook
	Secret string `json:"secret" doc:"The signing secret, for verifying signatures. It is not shown again." example:"whsec_…"`
}

func (w WebhookSecret) location() string { return "/v1/webhooks/" + w.ID }

// hide removes the secret from the response stored for repeated requests.
func (w WebhookSecret) hide() any {
	w.Secret = ""
	return w
}

// reveal adds the secret to the response to a repeated request, because the first
// response may have been lost; not after a rotation, or if the webhook was deleted.
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

// WebhookList is all webhooks of a tenant, oldest first.
type WebhookList struct {
	Webhooks []Webhook `json:"webhooks" nullable:"false"`
}

// Delivery is the delivery of an event to a webhook and its status.
type Delivery struct {
	ID        string          `json:"id" doc:"The webhook-id header of all attempts."`
	Kind      store.EventKind `json:"kind"`
	State     webhook.State   `json:"state" enum:"waiting,sending,delivered,dropped,given_up" doc:"dropped: the webhook was disabled or deleted. given_up: the last attempt failed."`
	Attempts  int             `json:"attempts" doc:"Number of attempts started."`
	Error     string          `json:"error,omitempty" doc:"Error of the last failed attempt."`
	CreatedAt time.Time       `json:"created_at"`
	NextAt    time.Time       `json:"next_at,omitzero" doc:"When the next attempt is due; absent if there is none."`
	EndedAt   time.Time       `json:"ended_at,omitzero" doc:"When it ended; absent until then."`
}

// DeliveryList is the latest deliveries of a webhook, newest first.
type DeliveryList struct {
	Deliveries []Delivery `json:"deliveries" nullable:"false"`
}

func (a *API) registerWebhooks() {
	tags, one := []string{"webhooks"}, "/v1/webhooks/{webhook}"
	register(a, store.ScopeWrite, huma.Operation{
		OperationID: "create-webhook", Method: http.MethodPost, Path: "/v1/webhooks", Tags: tags, DefaultStatus: http.StatusCreated, Summary: "Create a webhook: send events to a URL",
		Description: fmt.Sprintf("New events are sent from now on, signed with the secret in the response, which is not shown again. The maximum is %d webhooks per tenant.", store.MaxEndpoints),
	}, once(a, "create-webhook", a.createWebhook), NoTenant, TooManyObjects)
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "list-webhooks", Method: http.MethodGet, Path: "/v1/webhooks", Tags: tags, Summary: "List webhooks, oldest first",
	}, a.listWebhooks)
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "get-webhook", Method: http.MethodGet, Path: one, Tags: tags, Summary: "Get a webhook",
	}, func(ctx context.Context, in *OneWebhook) (*struct{ Body Webhook }, error) {
		e, err := a.findWebhook(ctx, in.Webhook)
		return &struct{ Body Webhook }{newWebhook(&e)}, err
	}, NotFound)
	register(a, store.ScopeWrite, huma.Operation{
		OperationID: "change-webhook", Method: http.MethodPatch, Path: one, Tags: tags, Summary: "Update, disable or enable a webhook",
	}, a.changeWebhook, NotFound)
	register(a, store.ScopeWrite, huma.Operation{
		OperationID: "rotate-webhook", Method: http.MethodPost, Path: one + "/rotate", Tags: tags, Summary: "Rotate the signing secret of a webhook",
		Description: "For one day, messages are signed with both the old and the new secret, so that the receiver has time to switch.",
	}, a.rotateWebhook, NotFound)
	register(a, store.ScopeWrite, huma.Operation{
		OperationID: "delete-webhook", Method: http.MethodDelete, Path: one, Tags: tags, Summary: "Delete a webhook and its undelivered events",
	}, func(ctx context.Context, in *OneWebhook) (*struct{}, error) {
		e, err := a.findWebhook(ctx, in.Webhook)
		if err != nil {
			return nil, err
		}
		return nil, a.orderedWebhook(ctx, &e, "delete-webhook", nil, func(ctx context.Context) error { return a.store.DropEndpoint(ctx, e.ID) })
	}, NotFound)
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "list-deliveries", Method: http.MethodGet, Path: one + "/deliveries", Tags: tags, Summary: "List the latest deliveries of a webhook, newest first",
		Description: "Deliveries are kept for one day after they end, for one week if they were given up.",
	}, a.listDeliveries, NotFound)
}

// findWebhook reads a webhook of the caller's tenant; that of another is not found.
func (a *API) findWebhook(ctx context.Context, id string) (store.Endpoint, error) {
	e, err := a.store.Endpoint(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && e.Tenant != callerOf(ctx).tenant() {
		return store.Endpoint{}, problem(NotFound, "webhook not found: "+id, "list the webhooks with GET /v1/webhooks")
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

// checkAddress refuses URLs to which no events are sent.
func (a *API) checkAddress(address string) error {
	if err := webhook.CheckURL(address, a.private); err != nil {
		return problem(InvalidValue, err.Error(), "give a public URL that begins with https://; docs/guide/webhooks.md describes what is sent")
	}
	return nil
}

// ofTenant refuses callers without a tenant: what happens later needs a tenant to
// belong to.
func ofTenant(ctx context.Context) (string, error) {
	tenant := callerOf(ctx).tenant()
	if tenant == "" {
		return "", newProblem(NoTenant, "the request has no tenant")
	}
	return tenant, nil
}

// orderedWebhook carries out an order to a webhook and logs it.
func (a *API) orderedWebhook(ctx context.Context, was *store.Endpoint, what string, is *store.Endpoint, do func(context.Context) error) error {
	o := store.Order{What: what, Tenant: callerOf(ctx).tenant(), Before: webhookInWords(was), After: webhookInWords(is)}
	for _, e := range []*store.Endpoint{was, is} {
		if e != nil {
			o.About = e.ID
		}
	}
	return a.ordered(ctx, o, do)
}

// webhookInWords describes a webhook for the control log; empty for none.
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
		return made, newProblem(InvalidValue, err.Error())
	}
	e.CreatedAt = store.Stored(time.Now())
	err = a.orderedWebhook(ctx, nil, "create-webhook", &e, func(ctx context.Context) error { return a.store.CreateEndpoint(ctx, e.CreatedAt, e) })
	if errors.Is(err, store.ErrConflict) {
		return made, newProblem(TooManyObjects, fmt.Sprintf("maximum of %d webhooks reached", store.MaxEndpoints))
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
		return nil, newProblem(InvalidValue, err.Error())
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

// deliveriesInput selects deliveries.
type deliveriesInput struct {
	OneWebhook
	Limit int `query:"limit" minimum:"1" maximum:"100" default:"100" doc:"Maximum number of results."`
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
