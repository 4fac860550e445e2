package jobrun

import (
	"context"
	"slices"
	"testing"

	"headway/visit"
	"headway/weburl"
)

// TestRecallSignals: of an unchanged page, robots.txt counts as it is now, and what the page
// and its headers said before still counts.
func TestRecallSignals(t *testing.T) {
	old := visit.Signal{Source: visit.SignalRobots, Line: 2, Text: "content-signal: ai-train=yes", Training: visit.TrainingPermitted}
	now := visit.Signal{Source: visit.SignalRobots, Line: 2, Text: "content-signal: ai-train=no", Training: visit.TrainingRefused}
	header := visit.Signal{Source: visit.SignalHeader, Text: "x-robots-tag: noai", Training: visit.TrainingRefused}
	meta := visit.Signal{Source: visit.SignalMeta, Text: "tdm-reservation: 1", Training: visit.TrainingRefused}
	s := &Stored{Spec: Spec{Known: func(context.Context, weburl.URL) (*visit.Visit, error) {
		return &visit.Visit{Outcome: visit.Fetched, Page: visit.Page{Title: "kept", Signals: []visit.Signal{old, header, meta}}}, nil
	}}}
	for name, tc := range map[string]struct {
		outcome   visit.Outcome
		now, want []visit.Signal
	}{
		"robots.txt changed": {visit.NotModified, []visit.Signal{now, header}, []visit.Signal{now, header, meta}},
		"nothing now":        {visit.NotModified, nil, []visit.Signal{header, meta}},
		"fetched again":      {visit.Fetched, []visit.Signal{now}, []visit.Signal{now}},
	} {
		v := &visit.Visit{Outcome: tc.outcome, Page: visit.Page{Signals: tc.now}}
		if err := s.Recall(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(v.Page.Signals, tc.want) || (v.Page.Title == "kept") != (tc.outcome == visit.NotModified) {
			t.Errorf("%s: %+v", name, v.Page)
		}
	}
}

// TestRecallValidators: a 304 response without validators does not lose those of the page, so
// that the next crawl is conditional, too.
func TestRecallValidators(t *testing.T) {
	had := visit.Validators{ETag: `"1"`, LastModified: "Mon, 16 Nov 2026 08:00:00 GMT"}
	s := &Stored{Spec: Spec{Known: func(context.Context, weburl.URL) (*visit.Visit, error) {
		return &visit.Visit{Outcome: visit.Fetched, Answer: visit.Answer{Validators: had}}, nil
	}}}
	for _, sent := range []visit.Validators{{}, {ETag: `"2"`}, had} {
		v := &visit.Visit{Outcome: visit.NotModified, Answer: visit.Answer{Validators: sent}}
		if err := s.Recall(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		want := had
		if sent.ETag != "" {
			want.ETag = sent.ETag
		}
		if v.Answer.Validators != want {
			t.Errorf("sent %+v: kept %+v, want %+v", sent, v.Answer.Validators, want)
		}
	}
}
