package visit

import (
	"encoding/json"
	"fmt"
)

// MaxText is the maximum size in bytes of a page's text, of its Markdown, and of its
// fields with their problems.
const MaxText = 1 << 20

// Content is what a page says: its main text, as text and as Markdown, facts about it, and
// the fields that rules found.
type Content struct {
	Text      string `json:"text,omitempty"`
	Markdown  string `json:"markdown,omitempty"`
	Author    string `json:"author,omitempty"`
	Published string `json:"published,omitempty"`
	Words     int    `json:"words,omitempty"`
	Digest    string `json:"digest,omitempty"` // of the main text
	Cut       bool   `json:"cut,omitempty"`    // the page is too long: the end of its text is missing

	// Fields are the values that extraction rules found, and FieldProblems what is cut,
	// invalid or could not be read: JSON objects by the name of the field; empty for none.
	Fields        Object `json:"fields,omitempty"`
	FieldProblems Object `json:"field_problems,omitempty"`
}

// Object is a JSON object as text, on one line.
type Object string

// MarshalJSON returns the object itself.
func (o Object) MarshalJSON() ([]byte, error) { return []byte(o), nil }

// UnmarshalJSON keeps the object as it is written.
func (o *Object) UnmarshalJSON(text []byte) error {
	*o = Object(text)
	return nil
}

var (
	_ json.Marshaler   = Object("")
	_ json.Unmarshaler = (*Object)(nil)
)

// Facts returns the content without its texts and fields; nil for nil.
func (c *Content) Facts() *Content {
	if c == nil {
		return nil
	}
	facts := *c
	facts.Text, facts.Markdown, facts.Fields, facts.FieldProblems = "", "", "", ""
	return &facts
}

// Size is the size of the texts and fields in bytes; 0 for nil.
func (c *Content) Size() int {
	if c == nil {
		return 0
	}
	return len(c.Text) + len(c.Markdown) + c.fieldsSize()
}

func (c *Content) fieldsSize() int { return len(c.Fields) + len(c.FieldProblems) }

// check reports texts that are too long.
func (c *Content) check() error {
	if c == nil || max(len(c.Text), len(c.Markdown), c.fieldsSize()) <= MaxText {
		return nil
	}
	return fmt.Errorf("text of %d bytes, Markdown of %d and fields of %d, at most %d each", len(c.Text), len(c.Markdown), c.fieldsSize(), MaxText)
}
