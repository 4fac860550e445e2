package api

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"headway/answer"
	"headway/ask"
	"headway/job"
	"headway/limit"
	"headway/output/format"
	"headway/service/internal/event"
	"headway/store"
	"headway/visit"
)

// Short names of the types that handlers use most.
type (
	jobID    = job.ID
	jobState = job.State
)

// The closed sets as types with schemas. The packages that define the values know
// nothing about schemas, so the registry uses these types in their place.
type (
	outcomeWord string
	reasonWord  string
	foundWord   string
	stateWord   string
	scopeWord   string
	kindWord    string
	codeWord    string
	changeWord  string
	levelWord   string
	limitWord   string
	problemURI  string
	formatWord  string
	seconds     float64
)

func enum[T ~string](words []T) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, w := range words {
		s.Enum = append(s.Enum, string(w))
	}
	return s
}

// Schema lists the words.
func (outcomeWord) Schema(huma.Registry) *huma.Schema { return enum(visit.Outcomes) }

// Schema lists the words.
func (reasonWord) Schema(huma.Registry) *huma.Schema {
	return enum(append(append([]visit.Reason{}, visit.Reasons[visit.Skipped]...), visit.Reasons[visit.Failed]...))
}

// Schema lists the words.
func (foundWord) Schema(huma.Registry) *huma.Schema {
	return enum([]visit.FoundBy{visit.FoundSeed, visit.FoundLink, visit.FoundSitemap, visit.FoundRedirect})
}

// Schema lists the words.
func (stateWord) Schema(huma.Registry) *huma.Schema { return enum(job.States) }

// Schema lists the words.
func (scopeWord) Schema(huma.Registry) *huma.Schema { return enum(store.Scopes) }

// Schema lists the words.
func (kindWord) Schema(huma.Registry) *huma.Schema { return enum(store.EventKinds()) }

// Schema lists the words.
func (codeWord) Schema(huma.Registry) *huma.Schema { return enum(Codes()) }

// Schema lists the URIs.
func (problemURI) Schema(huma.Registry) *huma.Schema {
	s := enum(problemURIs())
	s.Format = "uri"
	return s
}

// Schema lists the words.
func (changeWord) Schema(huma.Registry) *huma.Schema { return enum(answer.ChangeKinds) }

// Schema lists the words.
func (levelWord) Schema(huma.Registry) *huma.Schema {
	return enum([]limit.Level{limit.Safety, limit.Plan, limit.Usage, limit.Job})
}

// Schema lists the words.
func (limitWord) Schema(huma.Registry) *huma.Schema { return enum(limit.Names) }

// Schema lists the words.
func (formatWord) Schema(huma.Registry) *huma.Schema { return enum(format.Exportable()) }

// Schema is a number of seconds.
func (seconds) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeNumber, Format: "double"}
}

// schemaName names a type in the document. The live state of a host has the
// same type name as the reported one, and an order on a receipt as one in the log. The data
// of an event is named without its package.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.PkgPath() == reflect.TypeFor[ask.Host]().PkgPath():
		return "Live" + name
	case t == reflect.TypeFor[answer.Order]():
		return "Receipt" + name
	case t == reflect.TypeFor[event.Data]():
		return "Event" + name
	}
	return name
}

// wordsInSchemas adds the values of the closed sets to the schemas.
func wordsInSchemas(r huma.Registry) {
	alias[visit.Outcome, outcomeWord](r)
	alias[visit.Reason, reasonWord](r)
	alias[visit.FoundBy, foundWord](r)
	alias[job.State, stateWord](r)
	alias[store.Scope, scopeWord](r)
	alias[store.EventKind, kindWord](r)
	alias[Code, codeWord](r)
	alias[answer.ChangeKind, changeWord](r)
	alias[limit.Level, levelWord](r)
	alias[limit.Name, limitWord](r)
	alias[ask.Seconds, seconds](r)
	alias[limit.Fields, limitFields](r)
}

func alias[T, By any](r huma.Registry) {
	r.RegisterTypeAlias(reflect.TypeFor[T](), reflect.TypeFor[By]())
}
