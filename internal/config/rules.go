package config

import (
	"errors"
	"fmt"

	"headway/extract"
)

// rules are extraction rules. A setting names their file; a job of a fleet, and a crawl
// that is resumed by its folder alone, has the text of the file instead.
type rules struct{ to **extract.Rules }

func (r rules) set(texts []string) error {
	name, err := single(texts)
	if err != nil {
		return err
	}
	if name == "" {
		*r.to = nil
		return nil
	}
	return r.keep(extract.ReadFile(name))
}

// setText reads the rules themselves; an empty text means none.
func (r rules) setText(text string) error {
	if text == "" {
		*r.to = nil
		return nil
	}
	return r.keep(extract.Read("extract", []byte(text)))
}

func (r rules) keep(is *extract.Rules, err error) error {
	if err != nil {
		hint := ""
		if bad, ok := errors.AsType[*extract.Error](err); ok {
			hint = bad.Hint()
		}
		return &valueError{kind: "rules", hint: hint, cause: err}
	}
	*r.to = is
	return nil
}

func (r rules) texts() []string {
	if *r.to == nil {
		return nil
	}
	return []string{(*r.to).String()}
}

func (r rules) kind() string { return "path" }

// hasText reports whether a setting names a file whose text is kept with a crawl.
func (s *Setting) hasText() bool {
	_, ok := s.at(new(Settings)).(rules)
	return ok
}

// textOf is the text of the file that a setting names; empty if it names none.
func (s *Setting) textOf(set *Settings) []string {
	return []string{(*s.at(set).(rules).to).Text()}
}

// assign gives a setting the value of one layer.
func (g *given) assign(at value) error {
	r, ok := at.(rules)
	if !ok || !g.text {
		return at.set(g.texts)
	}
	if len(g.texts) != 1 {
		return fmt.Errorf("takes one value, not %d", len(g.texts))
	}
	return r.setText(g.texts[0])
}
