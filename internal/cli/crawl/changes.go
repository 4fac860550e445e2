package crawl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"headway/answer"
	"headway/limit"
)

// changes names what was asked for differently last time.
func changes(before, now *answer.CrawlSpec) []string {
	var list []string
	add := func(what string, before, after []string) {
		if !slices.Equal(before, after) {
			list = append(list, fmt.Sprintf("%s %s, was %s", what, orNone(after), orNone(before)))
		}
	}
	add("scope", []string{before.Scope}, []string{now.Scope})
	add("scope_hosts", before.ScopeHosts, now.ScopeHosts)
	add("include", before.Include, now.Include)
	add("exclude", before.Exclude, now.Exclude)
	add("content", before.Content, now.Content)
	add("extract", one(before.Extract), one(now.Extract))
	add("links", []string{strconv.FormatBool(before.Links)}, []string{strconv.FormatBool(now.Links)})
	add("preset", []string{before.Preset}, []string{now.Preset})
	// Of limits, those that differ.
	same := func(of []string) func(string) bool {
		return func(l string) bool { return slices.Contains(of, l) }
	}
	add("limits", slices.DeleteFunc(slices.Clone(before.Limits), same(now.Limits)), slices.DeleteFunc(slices.Clone(now.Limits), same(before.Limits)))
	switch {
	case before.SeedCount != now.SeedCount:
		list = append(list, fmt.Sprintf("seeds %d, was %d", now.SeedCount, before.SeedCount))
	case !slices.Equal(before.Seeds, now.Seeds):
		list = append(list, fmt.Sprintf("seeds: %d different ones", now.SeedCount))
	}
	return list
}

// otherScope tells whether what belongs to the crawl may differ from last time.
func otherScope(before, now *answer.CrawlSpec) bool {
	depth := func(a *answer.CrawlSpec) (n int64) {
		for _, c := range a.Ceilings {
			if c.Limit == limit.Depth {
				n = c.Max
			}
		}
		return n
	}
	return before.Scope != now.Scope || before.Files != now.Files || depth(before) != depth(now) || before.SeedCount != now.SeedCount || !slices.Equal(before.Seeds, now.Seeds) ||
		!slices.Equal(before.ScopeHosts, now.ScopeHosts) || !slices.Equal(before.Include, now.Include) || !slices.Equal(before.Exclude, now.Exclude)
}

// one is a list of a text, empty if that is.
func one(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}
