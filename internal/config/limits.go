package config

import (
	"math"
	"strings"
	"time"

	"headway/limit"
)

// many is the maximum of numbers without a bound of their own.
const many = math.MaxInt64

// limitSettings are the limits that a job can request.
func limitSettings() (list []Setting) {
	for i := range limit.Rules {
		r := &limit.Rules[i]
		if !r.Asked {
			continue
		}
		s := Setting{
			Key: string(r.Name), Flag: strings.ReplaceAll(string(r.Name), "_", "-"), Default: none(r), Preset: r.Preset, Doc: r.Doc + "; 0 means no limit",
			at: func(s *Settings) value { return limitValue(r, &s.Limits, r.Least) },
		}
		if r.Name == limit.Patience { // there is always one
			s.Default, s.Doc = "10m", r.Doc+" (fleet jobs: 24h)"
		}
		list = append(list, s)
	}
	return list
}

// safetySettings are the operator's limits. The last one does not limit a crawl.
func safetySettings() (list []Setting) {
	var last []Setting
	for i := range limit.Rules {
		r := &limit.Rules[i]
		if !r.Safety {
			continue
		}
		s := Setting{
			Key: "safety." + string(r.Name), Default: none(r), Doc: "upper bound for " + string(r.Name) + "; 0 means none",
			at: func(s *Settings) value { return limitValue(r, &s.Safety, 0) },
		}
		if !r.Asked {
			s.Doc = r.Doc + "; 0 means no limit"
		}
		if r.Name == limit.Patience {
			last = append(last, s)
			continue
		}
		list = append(list, s)
	}
	return append(list, last...)
}

// none is the text for no limit.
func none(r *limit.Rule) string {
	if r.Kind == limit.Span {
		return "0s"
	}
	return "0"
}

// limitValue reads a limit.
func limitValue(r *limit.Rule, l *limit.Limits, least int64) value {
	to, most := r.At(l), r.Most
	switch r.Kind {
	case limit.Span:
		if most == 0 {
			most = int64(maxSpan)
		}
		return span{(*time.Duration)(to), time.Duration(least), time.Duration(most)}
	case limit.Size:
		return size{to, least}
	default:
		if most == 0 {
			most = many
		}
		return number{to, least, most}
	}
}
