package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"headway/service/internal/event"
	"headway/store"
)

// Times of a stream of events.
const (
	aliveEvery      = 15 * time.Second // a comment as keep-alive, so that no proxy closes the stream
	eventWriteTime  = 10 * time.Second // how long a client may take to read what it is sent
	eventRetry      = time.Second      // how soon a client should reconnect
	maxEventStreams = 1000             // on one server
)

// EventList is events in order.
type EventList struct {
	Events []event.Event `json:"events" nullable:"false"`
	Last   int64         `json:"last" doc:"The id of the last event; pass it as after to read on."`
}

// eventStream is the type of server-sent events.
const eventStream = "text/event-stream"

func (a *API) registerEvents() {
	tags := []string{"events"}
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "list-events", Method: http.MethodGet, Path: "/v1/events", Tags: tags, Summary: "List events, oldest first",
		Description: fmt.Sprintf("Events are kept for %d days.", int(store.EventLife.Hours()/24)),
	}, a.listEvents, NotFound)
	schema := a.huma.OpenAPI().Components.Schemas.Schema(typeOf[event.Event](), true, "Event")
	register(a, store.ScopeRead, huma.Operation{
		OperationID: "follow-events", Method: http.MethodGet, Path: "/v1/events/stream", Tags: tags, Summary: "Follow events as they happen",
		Description: "Server-sent events: id is the number of the event, event its kind, data the Event object. A client that reconnects with Last-Event-ID misses nothing: the stream starts with an id, before any event. Without Last-Event-ID or the parameter after, the stream starts with the next new event.",
		Responses: map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
			eventStream: {Schema: &huma.Schema{Type: huma.TypeString, Description: "The data field of each event is an Event.", Extensions: map[string]any{"contentMediaType": "application/json", "contentSchema": schema}}},
		}}},
	}, a.followEvents, NotFound, TooManyStreams)
}

// EventFilter selects events.
type EventFilter struct {
	Job int64 `query:"job" minimum:"1" doc:"Only events of this job."`
}

type listEventsInput struct {
	EventFilter
	After int64 `query:"after" minimum:"0" doc:"Only events after this id."`
	Limit int   `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Maximum number of results."`
}

func (a *API) listEvents(ctx context.Context, in *listEventsInput) (*struct{ Body EventList }, error) {
	q, err := a.eventQuery(ctx, in.Job)
	if err != nil {
		return nil, err
	}
	q.After, q.Max = store.EventNumber(in.After), in.Limit
	list, err := a.store.Events(ctx, time.Now(), q)
	if err != nil {
		return nil, err
	}
	out := &struct{ Body EventList }{EventList{Events: []event.Event{}, Last: in.After}}
	for i := range list {
		e, err := event.Read(&list[i])
		if err != nil {
			return nil, err
		}
		out.Body.Events, out.Body.Last = append(out.Body.Events, e), int64(e.ID)
	}
	return out, nil
}

// eventQuery selects events that the caller may see.
func (a *API) eventQuery(ctx context.Context, n int64) (store.EventQuery, error) {
	q := store.EventQuery{Tenant: callerOf(ctx).tenant(), Max: store.MaxEvents}
	if n == 0 {
		return q, nil
	}
	j, err := a.findJob(ctx, n)
	q.Job = j.ID
	return q, err
}

type followInput struct {
	EventFilter
	After  string `query:"after" pattern:"^[0-9]{1,18}$" doc:"Start after this event id; 0 replays all stored events."`
	LastID string `header:"Last-Event-ID" pattern:"^[0-9]{1,18}$" doc:"Start after this event id; takes precedence over after. Browsers send it when they reconnect."`
}

func (a *API) followEvents(ctx context.Context, in *followInput) (*huma.StreamResponse, error) {
	q, err := a.eventQuery(ctx, in.Job)
	if err != nil {
		return nil, err
	}
	f := a.followers.join(q.Tenant)
	if f == nil {
		return nil, newProblem(TooManyStreams, "too many open event streams on this server").retryAfter(aliveEvery)
	}
	if q.After, err = a.eventStart(ctx, in); err != nil {
		a.followers.leave(f)
		return nil, err
	}
	return &huma.StreamResponse{Body: func(h huma.Context) {
		defer a.followers.leave(f)
		r, w := humago.Unwrap(h)
		w.Header().Set("Content-Type", eventStream)
		w.Header().Set("Cache-Control", "no-store")
		if r.Method == http.MethodHead {
			return // a HEAD request must not wait for a body that never ends
		}
		if err := a.sendEvents(ctx, w, f, q); err != nil && !isGone(err) {
			a.log.InfoContext(ctx, "event stream ended", "err", err)
		}
	}}, nil
}

// eventStart is the number after which a stream begins.
func (a *API) eventStart(ctx context.Context, in *followInput) (store.EventNumber, error) {
	for _, text := range []string{in.LastID, in.After} {
		if text != "" {
			n, err := strconv.ParseInt(text, 10, 64)
			return store.EventNumber(n), err
		}
	}
	return a.store.LastEvent(ctx, time.Now())
}

// sendEvents writes events until the client disconnects, the server stops or the
// key is no longer valid.
func (a *API) sendEvents(ctx context.Context, w http.ResponseWriter, f *follower, q store.EventQuery) error {
	out := eventWriter{w: w, control: http.NewResponseController(w)}
	// Without data it is no event; a client that loses the stream before the first
	// event reconnects from here.
	if err := out.send(fmt.Appendf(nil, "id: %d\nretry: %d\n\n", q.After, eventRetry.Milliseconds())); err != nil {
		return err
	}
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	for {
		list, err := a.store.Events(ctx, time.Now(), q)
		if err != nil {
			return err
		}
		var text bytes.Buffer
		for i := range list {
			if err := writeEvent(&text, &list[i]); err != nil {
				return err
			}
			q.After = list[i].Number
		}
		if err := out.send(text.Bytes()); err != nil {
			return err
		}
		if len(list) == q.Max {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-a.followers.stopped:
			return nil
		case <-f.news:
		case <-alive.C:
			if err := out.send([]byte(":\n\n")); err != nil {
				return err
			}
			if err := a.stillValid(ctx); err != nil {
				return err
			}
		}
	}
}

// stillValid checks whether the key of a long request was revoked meanwhile.
func (a *API) stillValid(ctx context.Context) error {
	c := callerOf(ctx)
	if c.anonymous {
		return nil
	}
	k, err := a.store.APIKey(ctx, c.key.ID)
	if err == nil && !k.Valid(time.Now()) {
		err = refuse(RevokedKey, "the API key is no longer valid")
	}
	return err
}

// writeEvent writes one event as it is sent. JSON has no line feeds.
func writeEvent(b *bytes.Buffer, e *store.Event) error {
	shown, err := event.Read(e)
	if err != nil {
		return err
	}
	data, err := json.Marshal(shown)
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "id: %d\nevent: %s\ndata: %s\n\n", e.Number, e.Kind, data)
	return nil
}

// eventWriter sends parts of a stream, each within a time.
type eventWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func (e *eventWriter) send(text []byte) error {
	if err := e.control.SetWriteDeadline(time.Now().Add(eventWriteTime)); err != nil {
		return err
	}
	if _, err := e.w.Write(text); err != nil {
		return err
	}
	return e.control.Flush()
}
