package robots

import (
	"testing"
	"time"
)

// TestEvidence follows a host from the first request to an outage.
func TestEvidence(t *testing.T) {
	var p Policy
	file := Parse([]byte("User-agent: *\nCrawl-delay: 2\nDisallow: /cart # no\nAllow: /cart/help\n"))
	mine := file.For(ourAgent)
	first := day0
	s := p.Observe(State{}, first, Answer{Status: 200, File: file})
	stale := p.Observe(s, first.Add(25*time.Hour), Answer{Status: 503})
	missing := p.Observe(State{}, first, Answer{Status: 404})
	down := p.Observe(State{}, first, Answer{Status: 503})
	delay := 2 * time.Second
	tests := []struct {
		name   string
		policy Policy
		state  State
		after  time.Duration
		rules  *Rules
		path   string
		want   Evidence
	}{
		{"blocked by a rule", p, s, time.Hour, mine, "/cart/1", Evidence{Kind: EvidenceBlocked, Reason: DisallowRule, Rule: "Disallow: /cart", Line: 3, Group: "*", Delay: delay, Delayed: true, Sum: file.Sum(), FetchedAt: first, Confidence: High}},
		{"allowed by a rule", p, s, time.Hour, mine, "/cart/help", Evidence{Kind: EvidenceAllowed, Reason: AllowRule, Rule: "Allow: /cart/help", Line: 4, Group: "*", Delay: delay, Delayed: true, Sum: file.Sum(), FetchedAt: first, Confidence: High}},
		{"allowed, no rule", p, s, time.Hour, mine, "/", Evidence{Kind: EvidenceAllowed, Reason: NoRule, Group: "*", Delay: delay, Delayed: true, Sum: file.Sum(), FetchedAt: first, Confidence: High}},
		{"robots.txt itself", p, s, time.Hour, mine, "/robots.txt", Evidence{Kind: EvidenceAllowed, Reason: RobotsFile, Group: "*", Delay: delay, Delayed: true, Sum: file.Sum(), FetchedAt: first, Confidence: High}},
		{"last good copy", p, stale, 40 * time.Hour, mine, "/cart", Evidence{Kind: EvidenceBlocked, Reason: DisallowRule, Rule: "Disallow: /cart", Line: 3, Group: "*", Delay: delay, Delayed: true, Sum: file.Sum(), FetchedAt: first, Confidence: Medium}},
		{"silence", p, stale, 26 * time.Hour, nil, "/", Evidence{Kind: EvidenceBlocked, Reason: Unreachable, Confidence: High}},
		{"no file", p, missing, time.Hour, nil, "/cart", Evidence{Kind: EvidenceAllowed, Reason: NoFile, FetchedAt: first, Confidence: High}},
		{"unreachable, going on", Policy{AllowUnreachable: true}, down, time.Hour, nil, "/cart", Evidence{Kind: EvidenceAllowed, Reason: Unreadable, Confidence: Low}},
		{"never asked", p, State{}, 0, nil, "/", Evidence{Kind: EvidenceBlocked, Reason: Unknown, Confidence: High}},
		{"file not loaded yet", p, s, time.Hour, nil, "/", Evidence{Kind: EvidenceBlocked, Reason: Unknown, Sum: file.Sum(), FetchedAt: first, Confidence: High}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			at := first.Add(tt.after)
			v := tt.policy.Verdict(tt.state, at)
			got := v.Evidence(v.Decide(tt.rules, parseURL(t, "https://site.test"+tt.path)), at)
			tt.want.At = at
			if got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}
