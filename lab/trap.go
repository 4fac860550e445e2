package lab

import (
	"fmt"
	"net/url"
	"strings"
)

// Traps is a set of endless URL spaces that every page of a site links into.
type Traps uint8

// The traps. A polite crawler may enter all but the maze, whose entrances are all
// nofollow; a good one notices and stops.
const (
	Calendar Traps = 1 << iota // a month links to the next one, forever
	Facets                     // a catalogue whose filters combine in any order
	Sessions                   // each response contains new session IDs
	Maze                       // entered only through rel=nofollow
)

// trap is one endless URL space.
type trap struct {
	bit    Traps
	name   string
	about  string
	prefix string // prefix of its paths
	entry  string // the link into it
	next   func(path, query string) []string
}

var traps = []trap{
	{Calendar, "calendar", "each month links to the next and to one two years ahead", "/calendar/", "/calendar/2026/1", calendar},
	{Facets, "facets", "a catalogue whose filters combine in any number and order", "/catalogue/", "/catalogue/", facets},
	{Sessions, "sessions", "six pages with new session IDs each time", "/account/", "/account/item-0", sessions},
	{Maze, "maze", "an endless tree behind rel=nofollow links", "/nf/maze/", "/nf/maze/1", maze},
}

// TrapChoices lists the traps by name.
func TrapChoices() []Choice {
	list := make([]Choice, len(traps))
	for i, t := range traps {
		list[i] = Choice{Name: t.name, About: t.about}
	}
	return list
}

// ParseTraps parses a comma-separated list of trap names; "" means none.
func ParseTraps(list string) (Traps, error) {
	var set Traps
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		found := false
		for _, t := range traps {
			if t.name == name {
				set, found = set|t.bit, true
			}
		}
		if !found {
			return 0, fmt.Errorf("unknown trap %q; choose from %s", name, choiceNames(TrapChoices()))
		}
	}
	return set, nil
}

// String lists the names of the set, as [ParseTraps] reads them.
func (s Traps) String() string {
	var names []string
	for _, t := range traps {
		if s&t.bit != 0 {
			names = append(names, t.name)
		}
	}
	return strings.Join(names, ",")
}

// Set parses a list of names; with String and Type, Traps is a flag value.
func (s *Traps) Set(list string) error {
	next, err := ParseTraps(list)
	if err == nil {
		*s = next
	}
	return err
}

// Type names the value in command help.
func (s *Traps) Type() string { return "traps" }

// trapOf returns the trap of a path, or nil.
func trapOf(path string) *trap {
	for i := range traps {
		if strings.HasPrefix(path, traps[i].prefix) {
			return &traps[i]
		}
	}
	return nil
}

// addTraps adds links into the traps of its site to a page.
func addTraps(a *anchors, set Traps) {
	for i := range traps {
		t := &traps[i]
		switch {
		case set&t.bit == 0:
		case t.bit == Maze:
			a.add(t.name, nofollow, t.entry)
		default:
			a.add(t.name, "", t.entry)
		}
	}
}

// calendar links to the month after the one in path, and to one two years later.
func calendar(path, _ string) []string {
	y, m := 2026, 1
	// A path without numbers is the first month.
	_, _ = fmt.Sscanf(path, "/calendar/%d/%d", &y, &m)
	if m++; m > 12 {
		y, m = y+1, 1
	}
	return []string{fmt.Sprintf("/calendar/%d/%d", y, m), fmt.Sprintf("/calendar/%d/%d?view=week", y+2, m)}
}

var facetKeys = [...]string{"colour", "size", "brand", "price", "material", "season"}

var facetValues = [...]string{"a", "b", "c", "d"}

// facets links to every filter that could be added to the query, after those already
// chosen, so that each order of clicks is a different URL.
func facets(path, query string) []string {
	chosen, err := url.ParseQuery(query)
	if err != nil {
		chosen = nil
		query = ""
	}
	if query != "" {
		query = strings.ReplaceAll(query, "&", "&amp;") + "&amp;"
	}
	var out []string
	for _, key := range facetKeys {
		if chosen.Has(key) {
			continue
		}
		for _, value := range facetValues {
			out = append(out, path+"?"+query+key+"="+value)
		}
	}
	return out
}

const sessionPages = 6

// sessions links the six pages to each other, each time with a new ID derived from the
// one in the query.
func sessions(path, query string) []string {
	r := newRNG(hashString(path), hashString(query))
	out := make([]string, sessionPages)
	for i := range out {
		out[i] = fmt.Sprintf("/account/item-%d?sid=%016x", i, r.next())
	}
	return out
}

const mazeDoors = 3

// maze links onward without end.
func maze(path, _ string) []string {
	r := newRNG(hashString(path))
	out := make([]string, mazeDoors)
	for i := range out {
		out[i] = fmt.Sprintf("/nf/maze/%x", r.next())
	}
	return out
}

// hashString is FNV-1a.
func hashString(s string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 0x100000001b3
	}
	return h
}
