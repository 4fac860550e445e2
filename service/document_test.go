package service_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"

	"headway/store"
)

// documentFile is the published OpenAPI document.
const documentFile = "../docs/reference/openapi.json"

// schema is the part of a JSON schema that tests make values from.
type schema struct {
	Ref        string `json:"$ref"`
	Type       any
	Format     string
	Enum       []any
	Examples   []any
	Pattern    string
	Minimum    *float64
	Maximum    *float64
	MaxLength  *int
	MinItems   *int
	Items      *schema
	Properties map[string]*schema
	Required   []string
}

// parameter is a parameter of an operation.
type parameter struct {
	Name     string
	In       string
	Required bool
	Schema   *schema
}

// operation is one of the routes of the document.
type operation struct {
	method, path string

	OperationID string
	Parameters  []parameter
	Security    []map[string][]string
	RequestBody *struct {
		Content map[string]struct{ Schema *schema }
	}
	Responses map[string]response
}

// response is a described response.
type response struct {
	Content map[string]struct{ Schema *schema }
	Codes   []string `json:"x-problem-codes"`
}

// scope is what the operation needs.
func (o *operation) scope(t testing.TB) store.Scope {
	t.Helper()
	if len(o.Security) != 1 || len(o.Security[0]["key"]) != 1 {
		t.Fatalf("%s: security %v", o.OperationID, o.Security)
	}
	return store.Scope(o.Security[0]["key"][0])
}

// streams reports whether the response is an endless stream.
func (o *operation) streams() bool {
	return o.Responses["200"].Content["text/event-stream"].Schema != nil
}

// body is the schema of the body, if there is one.
func (o *operation) body() *schema {
	if o.RequestBody == nil {
		return nil
	}
	return o.RequestBody.Content["application/json"].Schema
}

// document is what tests read of the OpenAPI document.
type document struct {
	Paths      map[string]map[string]*operation
	Components struct{ Schemas map[string]*schema }
}

func readDocument(t testing.TB) *document {
	t.Helper()
	text, err := os.ReadFile(documentFile)
	if err != nil {
		t.Fatal(err)
	}
	d := new(document)
	if err := json.Unmarshal(text, d); err != nil {
		t.Fatal(err)
	}
	return d
}

// operations are all routes, in the order of their paths.
func (d *document) operations() []*operation {
	var list []*operation
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(d.Paths[path])) {
			o := d.Paths[path][method]
			o.method, o.path = strings.ToUpper(method), path
			list = append(list, o)
		}
	}
	return list
}

// resolve follows a reference.
func (d *document) resolve(s *schema) *schema {
	for s != nil && s.Ref != "" {
		s = d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	return s
}

// newValidator reads the document with an independent implementation of OpenAPI.
func newValidator(t testing.TB) validator.Validator {
	t.Helper()
	text, err := os.ReadFile(documentFile)
	if err != nil {
		t.Fatal(err)
	}
	d, err := libopenapi.NewDocument(text)
	if err != nil {
		t.Fatal(err)
	}
	v, errs := validator.NewValidator(d)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return v
}

// TestDocument checks the document against the OpenAPI standard.
func TestDocument(t *testing.T) {
	t.Parallel()
	if ok, errs := newValidator(t).ValidateDocument(); !ok {
		for _, e := range errs {
			t.Errorf("%s: %s", e.Message, e.Reason)
			for _, s := range e.SchemaValidationErrors {
				t.Errorf("  %s", s.Reason)
			}
		}
	}
	ids := map[string]bool{}
	for _, o := range readDocument(t).operations() {
		if o.OperationID == "" || ids[o.OperationID] {
			t.Errorf("%s %s: operation id %q", o.method, o.path, o.OperationID)
		}
		ids[o.OperationID] = true
		for _, status := range []string{"401", "403", "429", "503"} {
			if o.Responses[status].Content["application/problem+json"].Schema == nil {
				t.Errorf("%s does not describe %s", o.OperationID, status)
			}
		}
		o.scope(t)
		if strings.HasPrefix(o.path, "/v1/jobs/{job}") && o.method != http.MethodGet && o.scope(t) == store.ScopeRead {
			t.Errorf("%s changes a job and needs no more than to read", o.OperationID)
		}
	}
	if len(ids) == 0 {
		t.Error("no operations")
	}
}
