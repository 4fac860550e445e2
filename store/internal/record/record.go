// Package record encodes visits and items for the columns of a database, the same in every
// engine. What has its own row is left out, and facts that many visits share are
// referenced.
package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"headway/store"
	"headway/visit"
)

// version is the version of the encoding. A field may be added without a new version.
const version = 1

// Record is a visit as it is stored: without its item, its links and the texts of its page,
// which have rows of their own. F is the engine's reference to a fact.
type Record[F any] struct {
	Version  int          `json:"v"`
	Wait     visit.Wait   `json:"wait,omitempty"`
	Detail   string       `json:"detail,omitempty"`
	Attempt  int          `json:"attempt,omitempty"`
	Answer   visit.Answer `json:"answer,omitzero"`
	Timing   visit.Timing `json:"timing,omitzero"`
	Page     *visit.Page  `json:"page,omitempty"`
	Evidence []Ref[F]     `json:"evidence,omitempty"`

	// How an attempt ended its URL, which was reopened since. For other visits the row
	// says it.
	Outcome visit.Outcome `json:"outcome,omitempty"`
	Reason  visit.Reason  `json:"reason,omitempty"`
}

// Ref references a fact and says when it was relied on.
type Ref[F any] struct {
	Fact F     `json:"fact"`
	At   int64 `json:"at"` // Unix milliseconds
}

// Of returns the record of a visit. It calls name for each fact behind the visit, as
// evidence without its time, and stores the reference that name returns.
func Of[F any](v *visit.Visit, name func(visit.Evidence) (F, error)) (Record[F], error) {
	r := Record[F]{Version: version, Wait: v.Wait, Detail: v.Detail, Attempt: v.Item.Attempt, Answer: v.Answer, Timing: v.Timing}
	if !isZeroPage(&v.Page) {
		page := v.Page
		page.Content = page.Content.Facts()
		r.Page = &page
	}
	for _, e := range v.Evidence {
		at := Milli(e.At)
		e.At, e.SourceAt = time.Time{}, store.Stored(e.SourceAt)
		fact, err := name(e)
		if err != nil {
			return r, fmt.Errorf("encode visit %s: %w", v.Item.URL, err)
		}
		r.Evidence = append(r.Evidence, Ref[F]{fact, at})
	}
	return r, nil
}

func isZeroPage(p *visit.Page) bool {
	return p.Title == "" && p.Description == "" && p.Canonical.IsZero() && p.Language == "" && p.Charset == "" && len(p.Robots) == 0 && p.Digest == "" && p.SimHash == 0 && p.Content == nil && len(p.Signals) == 0 && p.Links == nil
}

// Text encodes the record, using a buffer that can be reused.
func (r *Record[F]) Text(b *bytes.Buffer) (string, error) {
	b.Reset()
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false) // not for browsers, and URLs stay readable
	err := enc.Encode(r)
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), err
}

// Read decodes what Text wrote.
func Read[F any](text string, r *Record[F]) error {
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return fmt.Errorf("stored visit: %w: %w", store.ErrCorrupt, err)
	}
	if r.Version < 1 || r.Version > version {
		return fmt.Errorf("stored visit of version %d: %w", r.Version, store.ErrNewer)
	}
	return nil
}

// Visit returns the visit of the record, for this item and with the ending of its row. It
// reads the texts of facts with fact.
func (r *Record[F]) Visit(it visit.Item, e store.Ending, fact func(F) (string, error)) (*visit.Visit, error) {
	v := &visit.Visit{Item: it, Outcome: e.Outcome, Reason: e.Reason, Wait: r.Wait, Detail: r.Detail, Answer: r.Answer, Timing: r.Timing}
	v.Item.Attempt = r.Attempt
	if r.Outcome != "" {
		v.Outcome, v.Reason = r.Outcome, r.Reason
	}
	if r.Page != nil {
		v.Page = *r.Page
	}
	for _, ref := range r.Evidence {
		text, err := fact(ref.Fact)
		if err != nil {
			return nil, fmt.Errorf("visit of %s: %w", it.URL, err)
		}
		var e visit.Evidence
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			return nil, fmt.Errorf("visit of %s: fact %v: %w: %w", it.URL, ref.Fact, store.ErrCorrupt, err)
		}
		e.At = Instant(ref.At)
		v.Evidence = append(v.Evidence, e)
	}
	return v, nil
}

// Ended is the text of a visit whose URL was reopened: the row with its ending is removed,
// so the record stores the ending.
func Ended[F any](text string, e store.Ending, b *bytes.Buffer) (string, error) {
	var r Record[F]
	if err := Read(text, &r); err != nil {
		return "", err
	}
	r.Outcome, r.Reason = e.Outcome, e.Reason
	return r.Text(b)
}
