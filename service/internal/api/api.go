package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"headway/ask"
	"headway/fetch/guard"
	"headway/internal/config"
	"headway/internal/jobspec"
	"headway/service/internal/export"
	"headway/service/internal/webhook"
	"headway/store"
)

// maxBody bounds the body of a request: a job has room for its spec.
const maxBody = store.MaxSpec

// bodyTime is how long a client may take to send a body.
const bodyTime = 10 * time.Second

// Store is what the API needs of a store.
type Store interface {
	store.Reader
	store.Keys
	store.Events
	store.Submissions
	store.JobLists
	store.Notices
	store.Tenants
	store.Control
	store.Endpoints
	store.Schedules
	store.Settings
	store.OptOuts
	store.OwnedHosts
	ask.MessageStore
	jobspec.Quotas

	CreateJob(ctx context.Context, j store.Job) (id jobID, err error)
	SetState(ctx context.Context, now time.Time, id jobID, from, to jobState, reason string) error
	SetPace(ctx context.Context, now time.Time, id jobID, pace time.Duration) error
	ExtendLimits(ctx context.Context, now time.Time, id jobID, to store.Extension) error
}

// Chores is what the API needs of the background jobs.
type Chores interface {
	Deliveries(ctx context.Context, endpoint string, most int) ([]webhook.Delivery, error)
	Export(ctx context.Context, id jobID, formats []string) (export.Export, error)
	ExportOf(ctx context.Context, id int64) (export.Export, error)
	Exports(ctx context.Context, id jobID) ([]export.Export, error)
	OpenExport(ctx context.Context, j *store.Job, name string) (*export.File, error)
}

// Config is how the API is set up.
type Config struct {
	Store  Store
	Chores Chores
	Prover Prover
	// Archive is where raw responses are read from; nil for none.
	Archive Archive
	// Private are the private addresses that webhooks may be sent to.
	Private []guard.Range
	// Settings applies the settings of a job on top of the server's.
	Settings func(config.Asked) (*config.Settings, error)
	// Anonymous accepts requests without a key, with all scopes, for the
	// jobs without a tenant. It is for loopback listeners only.
	Anonymous bool
	Rate      Rate         // of each key; zero is no limit
	Observe   Observer     // nil for none
	Version   string       // of this program, for reports
	Log       *slog.Logger // nil for none
}

// API answers requests. Make one with [New].
type API struct {
	store     Store
	chores    Chores
	prover    Prover
	archive   Archive
	private   []guard.Range
	settings  func(config.Asked) (*config.Settings, error)
	anonymous bool
	keys      *keys
	rates     *rates
	log       *slog.Logger
	followers *followers
	observe   Observer
	version   string
	reports   chan struct{} // one for each report being made
	// operations are the names of operations by their patterns.
	operations map[string]string
	mux        *http.ServeMux
	huma       huma.API
}

// New makes an API. It follows events while [API.Run] runs.
func New(c Config) *API {
	useProblems()
	a := &API{
		store: c.Store, chores: c.Chores, prover: c.Prover, archive: c.Archive, private: c.Private, settings: c.Settings, anonymous: c.Anonymous, rates: newRates(c.Rate), log: LogRequestIDs(cmp.Or(c.Log, slog.New(slog.DiscardHandler))),
		followers: newFollowers(), observe: c.Observe, version: c.Version, reports: make(chan struct{}, maxReports), operations: map[string]string{}, mux: http.NewServeMux(),
	}
	a.keys = newKeys(func(ctx context.Context, id string) (store.APIKey, error) { return a.store.APIKey(ctx, id) })
	h := huma.DefaultConfig("Headway", "1")
	h.Info.Description = "A polite web crawler as a service: create jobs, read the outcome of every URL and follow events. Every request needs an API key; docs/guide/api.md explains how to get one."
	h.Info.License = &huma.License{Name: "Apache 2.0", Identifier: "Apache-2.0"}
	h.OpenAPIPath, h.DocsPath, h.SchemasPath, h.CreateHooks = "", "", "", nil
	h.RejectUnknownQueryParameters = true
	h.Servers = []*huma.Server{{URL: "http://127.0.0.1:8788", Description: "default address of headway serve"}}
	h.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"key": {Type: "http", Scheme: "bearer", Description: "An API key (hw_…) as printed by headway admin key create. Its scope is read, write (includes read) or operator (includes both)."},
	}
	h.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	wordsInSchemas(h.Components.Schemas)
	a.huma = humago.New(a.mux, h)
	a.mux.HandleFunc("/", a.notFound)
	a.registerMe()
	a.registerJobs()
	a.registerSlow()
	a.registerPages()
	a.registerEvidence()
	a.registerWhy()
	a.registerContent()
	a.registerReport()
	a.registerScrape()
	a.registerLimits()
	a.registerSafety()
	a.registerPlan()
	a.registerEvents()
	a.registerWebhooks()
	a.registerSchedules()
	a.registerExports()
	a.registerHosts()
	a.registerCourtesy()
	a.registerOptOuts()
	a.registerOwnedHosts()
	a.registerControl()
	return a
}

// Handler answers all requests except health checks.
func (a *API) Handler() http.Handler {
	return a.observed(a.recovered(a.checkOrigin(a.authenticate(a.mux))))
}

// Run reads new events and wakes the open streams until ctx ends.
func (a *API) Run(ctx context.Context) error { return a.follow(ctx) }

// Document is the OpenAPI document of the API.
func (a *API) Document() ([]byte, error) {
	text, err := json.MarshalIndent(a.huma.OpenAPI(), "", "  ")
	if err != nil {
		return nil, err
	}
	return append(text, '\n'), nil
}

// codesExtension is where a response of the document lists the codes of its problems.
const codesExtension = "x-problem-codes"

// everyCode are the problems that every operation can have.
var everyCode = []Code{MissingKey, InvalidKey, RevokedKey, ExpiredKey, ScopeTooNarrow, CrossOrigin, WrongHostname, InvalidValue, RateLimited, Internal, Unavailable}

// codesOf are the problems of an operation with this input, in addition to more.
func codesOf(in reflect.Type, more []Code) []Code {
	codes := slices.Concat(everyCode, more)
	if _, ok := in.FieldByName("Body"); ok {
		codes = append(codes, MalformedBody, BodyTimeout, BodyTooLarge, UnsupportedMediaType)
	}
	if _, ok := in.FieldByName("Cursor"); ok {
		codes = append(codes, InvalidCursor)
	}
	if reflect.PointerTo(in).Implements(reflect.TypeFor[submitter]()) {
		codes = append(codes, IdempotencyKeyReused)
	}
	return codes
}

// describeProblems lists the codes of an operation by status in the document.
func describeProblems(op *huma.Operation, codes []Code) {
	for i := range problemTypes {
		t := &problemTypes[i]
		r := op.Responses[strconv.Itoa(t.status)]
		if r == nil || !slices.Contains(codes, t.code) {
			continue
		}
		if r.Extensions == nil {
			r.Extensions = map[string]any{codesExtension: []Code{}}
		}
		listed, _ := r.Extensions[codesExtension].([]Code)
		r.Extensions[codesExtension] = append(listed, t.code)
		r.Description = strings.TrimPrefix(fmt.Sprintf("%s; %s", r.Description, t.meaning), http.StatusText(t.status)+"; ")
	}
}

// register adds an operation that needs a scope. The codes are those of its
// problems in addition to the ones that every operation has.
func register[I, O any](a *API, scope store.Scope, op huma.Operation, do func(context.Context, *I) (*O, error), more ...Code) {
	op.Security = []map[string][]string{{"key": {string(scope)}}}
	op.Middlewares = huma.Middlewares{a.requireScope(scope)}
	op.MaxBodyBytes, op.BodyReadTimeout = maxBody, bodyTime
	a.operations[op.Method+" "+op.Path] = op.OperationID
	codes := codesOf(reflect.TypeFor[I](), more)
	for _, c := range codes {
		op.Errors = append(op.Errors, typeOfProblem(c).status)
	}
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := do(ctx, in)
		if err != nil {
			return nil, a.explain(ctx, err)
		}
		return out, nil
	})
	path := a.huma.OpenAPI().Paths[op.Path]
	for _, added := range []*huma.Operation{path.Get, path.Post, path.Patch, path.Delete} {
		if added != nil && added.OperationID == op.OperationID {
			describeProblems(added, codes)
		}
	}
}

// notFound answers requests that match no operation.
func (a *API) notFound(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := a.mux.Handler(other); pattern != "/" && pattern != "" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		writeProblem(w, newProblem(UnknownPath, "path not found"))
		return
	}
	p := newProblem(MethodNotAllowed, "method "+r.Method+" is not allowed for this path")
	p.header = http.Header{"Allow": {strings.Join(allowed, ", ")}}
	writeProblem(w, p)
}

// recovered keeps a panic in one request from ending the server.
func (a *API) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch fault := recover(); fault {
			case nil:
			case http.ErrAbortHandler:
				panic(fault)
			default:
				a.log.ErrorContext(r.Context(), "request panicked", "method", r.Method, "path", r.URL.Path, "err", fault)
				writeProblem(w, newProblem(Internal, "internal server error"))
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// write sends a problem from a middleware.
func (a *API) write(ctx huma.Context, p *Problem) {
	_, w := humago.Unwrap(ctx)
	writeProblem(w, p)
}

// writeProblem sends a problem.
func writeProblem(w http.ResponseWriter, p *Problem) {
	text, err := json.Marshal(p)
	if err != nil {
		text = []byte(`{}`) // plain strings and numbers: it cannot fail
	}
	for name, values := range p.header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(text, '\n')) // an error here means that the client has gone
}

// isGone reports whether the client went away or the server is stopping.
func isGone(err error) bool { return errors.Is(err, context.Canceled) }
