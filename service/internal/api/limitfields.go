package api

import (
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"headway/ask"
	"headway/internal/config"
	"headway/limit"
)

// longestSpan bounds durations among the limits of a job.
const longestSpan = 365 * 24 * time.Hour

// largestCount bounds the other limits: all whole numbers up to it are exact in JSON.
const largestCount = 1 << 53

// limitFields is the schema of [limit.Fields] of jobs: the same object in requests and
// responses.
type limitFields struct{}

// Schema has a property for each limit that a job can ask for.
func (limitFields) Schema(r huma.Registry) *huma.Schema {
	const name = "Limits"
	s := &huma.Schema{Type: huma.TypeObject, AdditionalProperties: false, Properties: map[string]*huma.Schema{}}
	for i := range limit.Rules {
		if rule := &limit.Rules[i]; rule.Asked {
			s.Properties[rule.Field()] = limitSchema(rule)
		}
	}
	s.PrecomputeMessages()
	r.Map()[name] = s
	return &huma.Schema{Ref: "#/components/schemas/" + name}
}

func limitSchema(rule *limit.Rule) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeInteger, Format: "int64", Description: strings.ToUpper(rule.Doc[:1]) + rule.Doc[1:]}
	if rule.Least == 0 {
		s.Description += "; 0 means no limit"
	}
	s.Description += "."
	least, most := float64(rule.Least), float64(rule.Most)
	switch {
	case rule.Kind == limit.Span:
		s.Type, s.Format = huma.TypeNumber, "double"
		least, most = time.Duration(rule.Least).Seconds(), longestSpan.Seconds()
	case most == 0:
		most = largestCount
	}
	s.Minimum, s.Maximum = &least, &most
	s.PrecomputeMessages()
	return s
}

// askLimits adds limits to the requested settings of a job.
func askLimits(asked config.Asked, f limit.Fields) {
	for i := range limit.Rules {
		rule := &limit.Rules[i]
		n, ok := f[rule.Field()]
		if !ok {
			continue
		}
		text := strconv.FormatInt(int64(n), 10)
		if rule.Kind == limit.Span {
			text = ask.FromSeconds(n).Duration().String()
		}
		asked[string(rule.Name)] = []string{text}
	}
}
