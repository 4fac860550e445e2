package exchange

import (
	"headway/robots"
	"headway/visit"
)

// signalHeaders are the response headers that hold AI-use signals.
var signalHeaders = []struct {
	kind robots.SignalKind
	name string
}{
	{robots.ContentUsage, "Content-Usage"},
	{robots.ContentSignal, "Content-Signal"},
	{robots.TDMReservation, "Tdm-Reservation"},
}

// maxSignalHeaders is how many lines of each header are read.
const maxSignalHeaders = 4

// signalsOf returns the AI-use signals for a page: those of robots.txt, of the response
// headers and of the page itself.
func signalsOf(r *reading, header, meta robots.Directives) (list []visit.Signal) {
	if r.rules != nil {
		for _, s := range r.rules.SignalsFor(r.res.URL) {
			list = append(list, signal(visit.SignalRobots, s))
		}
	}
	for _, h := range signalHeaders {
		lines := r.res.Header.Values(h.name)
		for _, line := range lines[:min(len(lines), maxSignalHeaders)] {
			if s := robots.ParseSignal(h.kind, line); s.Text != "" {
				list = append(list, signal(visit.SignalHeader, s))
			}
		}
	}
	list = appendDirectives(list, visit.SignalHeader, "x-robots-tag", header)
	list = appendDirectives(list, visit.SignalMeta, "robots", meta)
	if r.page.TDM != "" {
		list = append(list, signal(visit.SignalMeta, robots.ParseSignal(robots.TDMReservation, r.page.TDM)))
	}
	return list
}

func signal(from visit.SignalSource, s robots.Signal) visit.Signal {
	return visit.Signal{Source: from, Line: s.Line, Text: string(s.Kind) + ": " + s.Text, Training: training(s.Training())}
}

func appendDirectives(list []visit.Signal, from visit.SignalSource, name string, d robots.Directives) []visit.Signal {
	words, stance := d.AIUse()
	if words == "" {
		return list
	}
	return append(list, visit.Signal{Source: from, Text: name + ": " + words, Training: training(stance)})
}

func training(s robots.Stance) visit.Training {
	switch s {
	case robots.Refuses:
		return visit.TrainingRefused
	case robots.Permits:
		return visit.TrainingPermitted
	default:
		return ""
	}
}
