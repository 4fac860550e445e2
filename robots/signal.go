package robots

import (
	"slices"
	"strings"

	"headway/weburl"
)

// SignalKind is the vocabulary of a signal.
type SignalKind string

// The vocabularies that are read, in robots.txt lines, response headers and meta elements.
const (
	ContentUsage   SignalKind = "content-usage"   // IETF AIPREF drafts: "train-ai=n, search=y", in robots.txt with an optional path
	ContentSignal  SignalKind = "content-signal"  // contentsignals.org: "search=yes, ai-train=no"
	TDMReservation SignalKind = "tdm-reservation" // W3C TDMRep: "1" reserves text and data mining; headers and meta elements only
)

// maxSignalText limits the kept text of a signal; a longer one is cut at the last comma
// before.
const maxSignalText = 1024

// MaxSignals is how many signals of a robots.txt apply to one URL at most; further ones are
// left out.
const MaxSignals = 16

// Signal is a statement on what fetched content may be used for. It is recorded and
// never changes what is fetched.
type Signal struct {
	Kind        SignalKind
	Text        string // the value as written
	Path        string // the path it is limited to; "" means everything
	Line        int    // in robots.txt; 0 elsewhere
	Preferences []Preference
}

// Preference is one use and its value.
type Preference struct {
	Use    string // lower case, such as "train-ai" or "search"
	Value  string // as written, such as "n"
	Stance Stance // what the value means
}

// Stance is the meaning of a preference.
type Stance string

// The stances. An unknown value has none, as the drafts require.
const (
	Unstated Stance = "unstated"
	Permits  Stance = "permits"
	Refuses  Stance = "refuses"
)

// Says returns the stance on a use. If a signal contradicts itself, the refusal counts.
func (s Signal) Says(use string) Stance {
	stance := Unstated
	for _, p := range s.Preferences {
		if p.Use != use || p.Stance == Unstated {
			continue
		}
		if stance = p.Stance; stance == Refuses {
			break
		}
	}
	return stance
}

// Training returns the stance on training AI models. In a vocabulary with nested uses the
// narrowest one that is stated counts; a refusal of generative models alone counts as one.
func (s Signal) Training() Stance {
	for _, use := range []string{"train-genai", "genai"} {
		if s.Says(use) == Refuses {
			return Refuses
		}
	}
	for _, use := range []string{"train-ai", "ai-train", "ai", useMining, "bots"} {
		if stance := s.Says(use); stance != Unstated {
			return stance
		}
	}
	return Unstated
}

// useMining is the use that a TDM reservation is about.
const useMining = "tdm"

// ParseSignal reads the value of a response header or meta element. What cannot be parsed is
// kept in Text only.
func ParseSignal(kind SignalKind, value string) Signal {
	s := Signal{Kind: kind, Text: cutSignal(strings.TrimSpace(value))}
	if kind != TDMReservation {
		s.Preferences = readPreferences(s.Text)
		return s
	}
	switch s.Text {
	case "1":
		s.Preferences = []Preference{{Use: useMining, Value: s.Text, Stance: Refuses}}
	case "0":
		s.Preferences = []Preference{{Use: useMining, Value: s.Text, Stance: Permits}}
	}
	return s
}

// cutSignal shortens a value to maxSignalText.
func cutSignal[T string | []byte](value T) T {
	if len(value) <= maxSignalText {
		return value
	}
	value = value[:maxSignalText]
	return value[:max(strings.LastIndexByte(string(value), ','), 0)]
}

// readPreferences reads "use=value" pairs separated by commas. Parameters after a
// semicolon are extensions, which the drafts say to skip.
func readPreferences(text string) []Preference {
	var prefs []Preference
	for item := range strings.SplitSeq(text, ",") {
		item, _, _ = strings.Cut(item, ";")
		use, value, ok := strings.Cut(item, "=")
		use, value = strings.ToLower(strings.TrimSpace(use)), strings.TrimSpace(value)
		if !ok || use == "" {
			continue
		}
		p := Preference{Use: use, Value: value, Stance: Unstated}
		switch strings.ToLower(value) {
		case "y", "yes":
			p.Stance = Permits
		case "n", "no":
			p.Stance = Refuses
		}
		prefs = append(prefs, p)
	}
	return prefs
}

// signal is a signal line of a file; it is parsed only when needed.
type signal struct {
	value span
	line  uint32
	group uint32
	usage bool // Content-Usage rather than Content-Signal
}

// noGroup marks a signal above every group, which applies to everyone.
const noGroup = ^uint32(0)

func (p *parser) readSignal(n uint32, kind SignalKind, value []byte) {
	if value = cutSignal(value); len(value) == 0 {
		return
	}
	s := signal{value: p.keep(value), line: n, group: noGroup, usage: kind == ContentUsage}
	if p.inGroup {
		s.group = uint32(len(p.file.groups))
	}
	p.file.signals = append(p.file.signals, s)
}

// Signals returns the AI-use signals of the chosen groups and those above every group,
// in file order.
func (r *Rules) Signals() []Signal {
	var out []Signal
	for _, s := range r.file.signals {
		if _, chosen := slices.BinarySearch(r.groups, s.group); !chosen && s.group != noGroup {
			continue
		}
		sig := Signal{Kind: ContentSignal, Text: r.file.at(s.value), Line: int(s.line)}
		rest := sig.Text
		if s.usage {
			sig.Kind = ContentUsage
			if rest[0] == '/' || rest[0] == '*' {
				sig.Path, rest = cutWord(rest)
			}
		}
		sig.Preferences = readPreferences(rest)
		out = append(out, sig)
	}
	return out
}

// SignalsFor returns those of [Rules.Signals] that apply to a URL, at most [MaxSignals]. Of
// Content-Usage lines only those with the longest matching path apply, as with Allow and
// Disallow.
func (r *Rules) SignalsFor(u weburl.URL) []Signal {
	if len(r.file.signals) == 0 {
		return nil
	}
	path := u.PathQuery()
	all, matched, longest := r.Signals(), []int(nil), 0
	for i := range all {
		octets := 0
		if all[i].Path != "" {
			var ok bool
			if octets, ok = matchPath(all[i].Path, path); !ok {
				octets = -1
			}
		}
		matched = append(matched, octets)
		if all[i].Kind == ContentUsage {
			longest = max(longest, octets)
		}
	}
	var out []Signal
	for i, s := range all {
		if (s.Kind != ContentUsage || matched[i] == longest) && len(out) < MaxSignals {
			out = append(out, s)
		}
	}
	return out
}

// matchPath compares the path of a signal with a URL, and returns its octets, at least 1.
func matchPath(path, with string) (octets int, ok bool) {
	pattern, octets, kind, ok := normalise(nil, []byte(path))
	if !ok {
		return 0, false
	}
	if kind&escaped != 0 {
		with = escapeData(with)
	}
	return max(octets, 1), matchPattern(string(pattern), with, kind&anchored != 0)
}

// cutWord splits s after its first word.
func cutWord(s string) (word, rest string) {
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		return s[:i], strings.TrimSpace(s[i:])
	}
	return s, ""
}
