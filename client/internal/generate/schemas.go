package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// schemas writes a type for each schema.
func schemas(d *document) (string, error) {
	var b strings.Builder
	b.WriteString("import \"time\"\n")
	sent, uses := d.sent(), d.uses()
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		s := d.Components.Schemas[name]
		b.WriteString("\n")
		comment(&b, "", name+" is "+uses[name]+".", s.Description)
		fmt.Fprintf(&b, "type %s struct {\n", name)
		for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
			if err := field(&b, key, s.Properties[key], slices.Contains(s.Required, key), sent[name]); err != nil {
				return "", fmt.Errorf("%s.%s: %w", name, key, err)
			}
		}
		b.WriteString("}\n")
	}
	codes(&b, d)
	return b.String(), nil
}

// codes writes a constant for each code of a problem.
func codes(b *strings.Builder, d *document) {
	problem := d.Components.Schemas["Problem"]
	if problem == nil {
		return
	}
	b.WriteString("\n// The codes of a [Problem]; docs/reference/problems.md explains them.\nconst (\n")
	for _, code := range problem.Properties["code"].Enum {
		fmt.Fprintf(b, "\tCode%s = %q\n", goName(code), code)
	}
	b.WriteString(")\n")
}

// field writes a field of a type. Optional fields of a request are pointers, so that
// zero can be sent.
func field(b *strings.Builder, key string, s *schema, required, sent bool) error {
	kind, err := s.goType()
	if err != nil {
		return err
	}
	tag := key
	if !required {
		tag += ",omitzero"
		if s.Ref != "" || sent && s.isScalar() {
			kind = "*" + kind
		}
	}
	words := s.Enum
	if s.Items != nil {
		words = s.Items.Enum
	}
	comment(b, "\t", strings.TrimSpace(s.Description+" "+enum(words)))
	fmt.Fprintf(b, "\t%s %s `json:%q`\n", goName(key), kind, tag)
	return nil
}

// uses says where each schema is used: as a request, a response or a part.
func (d *document) uses() map[string]string {
	answers, sends, parts := map[string][]string{}, map[string][]string{}, map[string][]string{}
	for _, o := range d.operations() {
		if s := o.body(); s != nil {
			sends[s.name()] = append(sends[s.name()], "[Client."+goName(o.ID)+"]")
		}
		_, s := o.good()
		if s != nil && s.Data != nil {
			s = s.Data
		}
		if s != nil && s.Ref != "" {
			answers[s.name()] = append(answers[s.name()], "[Client."+goName(o.ID)+"]")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		for _, p := range d.Components.Schemas[name].Properties {
			for ; p != nil; p = p.Items {
				if p.Ref != "" {
					parts[p.name()] = append(parts[p.name()], "["+name+"]")
				}
			}
		}
	}
	texts := map[string]string{}
	for name := range d.Components.Schemas {
		switch {
		case len(sends[name]) > 0:
			texts[name] = "the request body of " + listed(sends[name])
		case len(answers[name]) > 0:
			texts[name] = "the response of " + listed(answers[name])
		case len(parts[name]) > 0:
			texts[name] = "part of " + listed(parts[name])
		default:
			texts[name] = "the error of a failed operation"
		}
	}
	return texts
}

// listed joins names for a sentence.
func listed(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
