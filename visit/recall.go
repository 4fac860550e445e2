package visit

import (
	"cmp"
	"slices"
)

// Recall copies the page of an earlier visit to one that was not modified, whose response
// has no body.
func (v *Visit) Recall(was *Visit) {
	signals := recallSignals(v.Page.Signals, was.Page.Signals)
	v.Page = was.Page
	v.Page.Signals = signals
	if was.Page.Links != nil {
		v.Links = was.Links
	}
	v.Answer.ContentType = cmp.Or(v.Answer.ContentType, was.Answer.ContentType)
	is, had := &v.Answer.Validators, was.Answer.Validators // a 304 response need not repeat them
	is.ETag, is.LastModified = cmp.Or(is.ETag, had.ETag), cmp.Or(is.LastModified, had.LastModified)
}

// recallSignals joins the AI-use signals of a response without a body and those recorded
// with the page: robots.txt counts as it is now, and what the page or its headers said still
// counts.
func recallSignals(now, was []Signal) []Signal {
	list := slices.Clone(now)
	for _, s := range was {
		if s.Source != SignalRobots && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}
