package weburl

// Step is one change on the way to the canonical form.
type Step struct {
	Reason string // why, in one line, such as "default port 443 removed"
	Before string // the whole link before the change
	After  string // the whole link after it
}

// Explain does what [Parse] does, or [URL.Resolve] when base is not zero, and
// says step by step what was changed and why. The first step begins with raw,
// each further one with the result of the one before, and the last ends in the
// canonical form; a link that is canonical already has no steps. Beside an
// error stand the steps that were made before it.
//
// The steps repeat raw as it was given, credentials included: they are for the
// person who typed it, not for a log.
func Explain(raw string, base URL) (URL, []Step, error) {
	t := &trace{text: raw}
	u, err := read(raw, base, t)
	return u, t.steps, err
}

// trace records the steps of one link. A nil trace records nothing, which is
// how links are read when nobody asked why.
type trace struct {
	text  string // after the last step
	steps []Step
}

// note records a change whose result is expensive to write down.
func (t *trace) note(reason string, text func() string) {
	if t != nil {
		t.noteText(reason, text())
	}
}

// noteText records a change, unless text is what it was before.
func (t *trace) noteText(reason, text string) {
	if t == nil || text == t.text {
		return
	}
	t.steps = append(t.steps, Step{Reason: reason, Before: t.text, After: text})
	t.text = text
}
