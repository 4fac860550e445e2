package weburl

// Step is one change on the way to the canonical form.
type Step struct {
	Reason string // why, in one line, such as "default port 443 removed"
	Before string // the whole link before the change
	After  string // the whole link after it
}

// Explain does what [Parse] does, or [URL.Resolve] if base is not zero, and lists each
// change with its reason. The first step starts with raw, each further one with the
// result of the one before, and the last one ends in the canonical form; a canonical
// link has no steps. With an error, the steps before it are returned.
//
// The steps repeat raw as given, credentials included: show them to the person who
// typed it, do not log them.
func Explain(raw string, base URL) (URL, []Step, error) {
	t := &trace{text: raw}
	u, err := read(raw, base, t)
	return u, t.steps, err
}

// trace records the steps for one link. A nil trace records nothing; that is the normal
// case.
type trace struct {
	text  string // after the last step
	steps []Step
}

// note records a change whose result is expensive to format.
func (t *trace) note(reason string, text func() string) {
	if t != nil {
		t.noteText(reason, text())
	}
}

// noteText records a change, unless text is unchanged.
func (t *trace) noteText(reason, text string) {
	if t == nil || text == t.text {
		return
	}
	t.steps = append(t.steps, Step{Reason: reason, Before: t.text, After: text})
	t.text = text
}
