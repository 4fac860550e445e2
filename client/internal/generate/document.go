package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// document is what the generator reads of an OpenAPI document.
type document struct {
	Paths      map[string]map[string]operation
	Components struct{ Schemas map[string]*schema }
}

type operation struct {
	ID          string `json:"operationId"`
	Summary     string
	Description string
	Parameters  []parameter
	Body        struct{ Content content } `json:"requestBody"`
	Responses   map[string]struct{ Content content }
	Security    []map[string][]string

	method, path string
}

type parameter struct {
	Name, In, Description string
	Schema                *schema
}

// content is the schemas of a body by media type.
type content map[string]struct{ Schema *schema }

type schema struct {
	Ref         string `json:"$ref"`
	Type        kinds
	Format      string
	Description string
	Enum        []string
	Properties  map[string]*schema
	Required    []string
	Items       *schema
	Values      values  `json:"additionalProperties"`
	Data        *schema `json:"contentSchema"`
}

// kinds is the type of a schema. Nullability is ignored: in Go a
// slice and a map may be nil.
type kinds string

// UnmarshalJSON implements [json.Unmarshaler].
func (k *kinds) UnmarshalJSON(text []byte) error {
	var list []string
	if err := json.Unmarshal(text, &list); err != nil {
		return json.Unmarshal(text, (*string)(k))
	}
	list = slices.DeleteFunc(list, func(kind string) bool { return kind == "null" })
	if len(list) != 1 {
		return fmt.Errorf("a schema of the types %s", text)
	}
	*k = kinds(list[0])
	return nil
}

// values is the schema of the values of a map, or none.
type values struct{ *schema }

// UnmarshalJSON implements [json.Unmarshaler].
func (v *values) UnmarshalJSON(text []byte) error {
	if string(text) == "false" {
		return nil
	}
	return json.Unmarshal(text, &v.schema)
}

// readDocument reads a document.
func readDocument(text []byte) (*document, error) {
	d := new(document)
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("reading the document: %w", err)
	}
	return d, nil
}

// operations lists the operations in the order of their paths.
func (d *document) operations() []operation {
	var list []operation
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(d.Paths[path])) {
			o := d.Paths[path][method]
			o.method, o.path = strings.ToUpper(method), path
			list = append(list, o)
		}
	}
	return list
}

// severalTypes stands for the media type of a response that depends on the request.
const severalTypes = "several"

// good returns the media type and schema of a successful response, both empty if it
// has no body.
func (o *operation) good() (media string, s *schema) {
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		if !strings.HasPrefix(status, "2") {
			continue
		}
		if len(o.Responses[status].Content) > 1 {
			return severalTypes, nil
		}
		for media := range o.Responses[status].Content {
			return media, o.Responses[status].Content[media].Schema
		}
	}
	return "", nil
}

// body is the schema of the request body, nil for none.
func (o *operation) body() *schema { return o.Body.Content["application/json"].Schema }

// in lists the parameters of some places.
func (o *operation) in(places ...string) []parameter {
	return slices.DeleteFunc(slices.Clone(o.Parameters), func(p parameter) bool { return !slices.Contains(places, p.In) })
}

// sent names the schemas of request bodies: their optional fields are
// distinguished from zero.
func (d *document) sent() map[string]bool {
	names := map[string]bool{}
	var add func(*schema)
	add = func(s *schema) {
		if s == nil {
			return
		}
		if name := s.name(); name != "" && !names[name] {
			names[name] = true
			s = d.Components.Schemas[name]
		}
		add(s.Items)
		for _, p := range s.Properties {
			add(p)
		}
	}
	for _, o := range d.operations() {
		add(o.body())
	}
	return names
}

// name is the name of the schema that is referred to.
func (s *schema) name() string { return strings.TrimPrefix(s.Ref, "#/components/schemas/") }

// goType is the type of a schema in Go.
func (s *schema) goType() (string, error) {
	switch {
	case s.Ref != "":
		return s.name(), nil
	case s.Type == "":
		return "any", nil
	case s.Type == "string" && s.Format == "date-time":
		return "time.Time", nil
	case s.Type == "string" && (s.Format == "" || s.Format == "uri"):
		return "string", nil
	case s.Type == "integer" && s.Format == "int64":
		return "int64", nil
	case s.Type == "number" && s.Format == "double":
		return "float64", nil
	case s.Type == "boolean":
		return "bool", nil
	case s.Type == "array" && s.Items != nil:
		of, err := s.Items.goType()
		return "[]" + of, err
	case s.Type == "object" && s.Values.schema != nil:
		of, err := s.Values.goType()
		return "map[string]" + of, err
	}
	return "", fmt.Errorf("no Go type for the type %q with the format %q", s.Type, s.Format)
}

// isScalar reports whether zero is a meaningful value of the type.
func (s *schema) isScalar() bool {
	return s.Ref == "" && slices.Contains([]kinds{"string", "integer", "number", "boolean"}, s.Type)
}
