package api

import (
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"headway/internal/config"
	"headway/limit"
)

// longestSpan bounds durations among the limits of a job.
const longestSpan = 365 * 24 * time.Hour

// JobCeilings are the limits of a job by their fields, see [limit.Rule.Field]; 0 is no
// limit.
type JobCeilings map[string]*int64

// Schema has a property for each limit that a job can ask for.
func (JobCeilings) Schema(r huma.Registry) *huma.Schema {
	const name = "JobCeilings"
	s := &huma.Schema{Type: huma.TypeObject, AdditionalProperties: false, Properties: map[string]*huma.Schema{}}
	for i := range limit.Rules {
		if rule := &limit.Rules[i]; rule.Asked {
			s.Properties[rule.Field()] = ceilingSchema(rule)
		}
	}
	s.PrecomputeMessages()
	r.Map()[name] = s
	return &huma.Schema{Ref: "#/components/schemas/" + name}
}

func ceilingSchema(rule *limit.Rule) *huma.Schema {
	least, most := rule.Least, rule.Most
	if rule.Kind == limit.Span {
		least, most = time.Duration(least).Milliseconds(), longestSpan.Milliseconds()
	}
	s := &huma.Schema{
		Type: huma.TypeInteger, Format: "int64", Minimum: new(float64(least)), Description: strings.ToUpper(rule.Doc[:1]) + rule.Doc[1:] + ".",
	}
	if most > 0 {
		s.Maximum = new(float64(most))
	}
	s.PrecomputeMessages()
	return s
}

// ask adds the limits to the requested settings of a job.
func (c JobCeilings) ask(asked config.Asked) {
	for i := range limit.Rules {
		rule := &limit.Rules[i]
		if rule.Kind == limit.Span {
			span(asked, string(rule.Name), c[rule.Field()])
		} else {
			number(asked, string(rule.Name), c[rule.Field()])
		}
	}
}
