package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"headway/ask"
	"headway/limit"
	"headway/store"
)

// SafetyLimits are the safety limits of the fleet: [limit.Fields] with those that no job can
// request.
type SafetyLimits limit.Fields

// Schema has a property for each safety limit.
func (SafetyLimits) Schema(r huma.Registry) *huma.Schema {
	const name = "SafetyLimits"
	s := &huma.Schema{Type: huma.TypeObject, AdditionalProperties: false, Properties: map[string]*huma.Schema{}}
	for i := range limit.Rules {
		rule := limit.Rules[i]
		if !isSafety(&rule) {
			continue
		}
		rule.Least = 0 // 0 removes the limit
		if rule.Name == limit.ConcurrentCrawls {
			rule.Doc = "maximum concurrent crawls in the fleet"
		}
		s.Properties[rule.Field()] = limitSchema(&rule)
	}
	s.PrecomputeMessages()
	r.Map()[name] = s
	return &huma.Schema{Ref: "#/components/schemas/" + name}
}

// isSafety reports whether the operator can set a limit for the fleet.
func isSafety(r *limit.Rule) bool { return r.Safety || r.Name == limit.ConcurrentCrawls }

// SafetyChange changes settings of the fleet. Those that are absent stay as they are.
type SafetyChange struct {
	Safety    SafetyLimits `json:"safety,omitempty" doc:"Safety limits to change; 0 means no limit."`
	Lease     *ask.Seconds `json:"lease_seconds,omitempty" minimum:"1" maximum:"3600" doc:"How long a worker keeps its hosts after its last heartbeat."`
	CommitGap *ask.Seconds `json:"commit_gap_seconds,omitempty" minimum:"0" maximum:"0.25" doc:"Minimum interval between two commits of a worker."`
}

// Safety is a version of the settings of the fleet.
type Safety struct {
	ID        int64        `json:"id" doc:"The version; each change adds one."`
	CreatedAt time.Time    `json:"created_at,omitzero"`
	By        string       `json:"by" doc:"Who made it."`
	Safety    SafetyLimits `json:"safety" doc:"The safety limits. A limit that is absent is not set."`
	Lease     ask.Seconds  `json:"lease_seconds" doc:"How long a worker keeps its hosts after its last heartbeat."`
	CommitGap ask.Seconds  `json:"commit_gap_seconds" doc:"Minimum interval between two commits of a worker."`
}

// SafetyHistory is a page of versions, newest first.
type SafetyHistory struct {
	Versions   []Safety `json:"versions" nullable:"false"`
	NextCursor string   `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last page."`
}

func newSafety(v *store.SettingsVersion) Safety {
	return Safety{v.Version, v.At, v.By, SafetyLimits(v.Safety.Fields()), ask.Seconds(v.Lease), ask.Seconds(v.CommitGap)}
}

func (a *API) registerSafety() {
	tags, path := []string{"safety"}, "/v1/safety"
	register(a, store.ScopeOperator, huma.Operation{
		OperationID: "get-safety", Method: http.MethodGet, Path: path, Tags: tags, Summary: "Get the safety limits and other settings of the fleet",
	}, func(ctx context.Context, _ *struct{}) (*struct{ Body Safety }, error) {
		v, err := a.store.FleetSettings(ctx)
		if err == nil && v.Version == 0 {
			err = problem(NotFound, "the fleet has no safety limits", "set them with PATCH /v1/safety")
		}
		return &struct{ Body Safety }{newSafety(&v)}, err
	}, NotFound)
	register(a, store.ScopeOperator, huma.Operation{
		OperationID: "change-safety", Method: http.MethodPatch, Path: path, Tags: tags, Summary: "Change safety limits or other settings of the fleet",
		Description: "No plan, job, key of another scope or worker can exceed the safety limits. Workers follow within 5 seconds, running jobs too. Each change is a new version, recorded in the control log.",
	}, a.changeSafety, Conflict)
	register(a, store.ScopeOperator, huma.Operation{
		OperationID: "list-safety-history", Method: http.MethodGet, Path: path + "/history", Tags: tags, Summary: "List the versions of the settings of the fleet, newest first",
	}, a.listSafety)
}

func (a *API) changeSafety(ctx context.Context, in *struct{ Body SafetyChange }) (*struct{ Body Safety }, error) {
	v, err := a.store.FleetSettings(ctx)
	if err != nil {
		return nil, err
	}
	next := v.FleetSettings
	if v.Version == 0 {
		next = store.NewFleetSettings()
	}
	for i := range limit.Rules {
		r := &limit.Rules[i]
		if n, ok := in.Body.Safety[r.Field()]; ok {
			*r.At(&next.Safety) = int64(n)
			if r.Kind == limit.Span {
				*r.At(&next.Safety) = int64(ask.FromSeconds(n).Duration())
			}
		}
	}
	if in.Body.Lease != nil {
		next.Lease = in.Body.Lease.Duration()
	}
	if in.Body.CommitGap != nil {
		next.CommitGap = in.Body.CommitGap.Duration()
	}
	if err := next.Check(); err != nil {
		return nil, newProblem(InvalidValue, err.Error())
	}
	if v.Version == 0 || next != v.FleetSettings {
		v, err = a.store.SetFleetSettings(ctx, time.Now().UTC(), callerOf(ctx).name(), v.Version, next)
	}
	if errors.Is(err, store.ErrConflict) {
		return nil, newProblem(Conflict, "the settings of the fleet changed at the same time")
	}
	return &struct{ Body Safety }{newSafety(&v)}, err
}

func (a *API) listSafety(ctx context.Context, in *Paging) (*struct{ Body SafetyHistory }, error) {
	list := listName("safety")
	place, err := a.openCursor(list, in.Cursor)
	var below int64
	if err == nil && place != "" {
		below, err = strconv.ParseInt(place, 10, 64)
	}
	if err != nil {
		return nil, err
	}
	found, err := a.store.SettingsHistory(ctx, below, in.Limit+1)
	if err != nil {
		return nil, err
	}
	out := &struct{ Body SafetyHistory }{SafetyHistory{Versions: []Safety{}}}
	for i := range found {
		if i == in.Limit {
			out.Body.NextCursor = a.sealCursor(list, strconv.FormatInt(found[i-1].Version, 10))
			break
		}
		out.Body.Versions = append(out.Body.Versions, newSafety(&found[i]))
	}
	return out, nil
}
