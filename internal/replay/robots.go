package replay

import (
	"context"
	"net/http"

	"headway/internal/exchange"
	"headway/output"
	"headway/robots"
	"headway/visit"
)

// maxHosts is of how many hosts the robots.txt is remembered; the oldest are forgotten first.
const maxHosts = 1 << 16

// hosts is what the archive says about the robots.txt of hosts.
type hosts struct {
	policy robots.Policy
	files  *robots.Cache
	states map[string]robots.State
	order  []string // a ring
	next   int
}

func newHosts() *hosts {
	return &hosts{files: robots.NewCache(0, nil), states: map[string]robots.State{}}
}

// learn remembers a robots.txt. Of one that redirects, nothing is known.
func (h *hosts) learn(ctx context.Context, from *exchange.Requester, x *output.Exchange) {
	u := x.Item.URL
	if u.PathQuery() != "/robots.txt" || x.Status >= http.StatusMultipleChoices && x.Status < http.StatusBadRequest {
		return
	}
	r := from.Robots(ctx, exchange.Host{Home: u}, robots.State{}, 0)
	defer r.Close()
	if r.LocalErr != nil || r.Err != nil {
		return
	}
	host := u.Host()
	if _, ok := h.states[host]; !ok {
		if len(h.order) < maxHosts {
			h.order = append(h.order, host)
		} else {
			delete(h.states, h.order[h.next])
			h.order[h.next] = host
			h.next = (h.next + 1) % maxHosts
		}
	}
	h.states[host] = h.policy.Observe(robots.State{}, x.Timing.Sent, r.Says)
}

// judge records the evidence of a page that was fetched, and returns the rules of its host;
// nil if none are known.
func (h *hosts) judge(v *visit.Visit, agent string) *robots.Rules {
	state, ok := h.states[v.Item.URL.Host()]
	if !ok {
		return nil
	}
	at := v.Timing.Sent
	verdict := h.policy.Verdict(state, at)
	var rules *robots.Rules
	if exchange.ByRules(verdict) {
		file := h.files.Peek(verdict.Sum)
		if file == nil {
			return nil
		}
		rules = file.For(agent)
	}
	judged := visit.Visit{Item: v.Item}
	if exchange.Judge(&judged, verdict, rules, at).Allowed { // otherwise it was overridden
		v.Evidence = append(v.Evidence, judged.Evidence...)
	}
	return rules
}
