package robots

import (
	"slices"
	"strings"
)

// SignalKind is the vocabulary of a signal.
type SignalKind string

// The vocabularies that are read, in robots.txt lines and in response headers.
const (
	ContentUsage  SignalKind = "content-usage"  // IETF AIPREF drafts: "train-ai=n, search=y", in robots.txt with an optional path
	ContentSignal SignalKind = "content-signal" // contentsignals.org: "search=yes, ai-train=no"
)

// maxSignalText limits the kept text of a signal; a longer one is cut at the last comma
// before.
const maxSignalText = 1024

// Signal is a statement on what fetched content may be used for. It is recorded and
// never changes what is fetched.
type Signal struct {
	Kind        SignalKind
	Text        string // the value as written
	Path        string // the path it is limited to; "" means everything
	Line        int    // in robots.txt; 0 for a header
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

// ParseSignal reads the value of a Content-Usage or Content-Signal response header. What
// cannot be parsed is kept in Text only.
func ParseSignal(kind SignalKind, value string) Signal {
	s := Signal{Kind: kind, Text: cutSignal(strings.TrimSpace(value))}
	s.Preferences = readPreferences(s.Text)
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

// cutWord splits s after its first word.
func cutWord(s string) (word, rest string) {
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		return s[:i], strings.TrimSpace(s[i:])
	}
	return s, ""
}
