package cli

import (
	"fmt"
	"slices"
	"strings"

	"headway/answer"
)

// changes names what was asked for differently last time.
func changes(before, now *answer.Asked) []string {
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
	add("preset", []string{before.Preset}, []string{now.Preset})
	// Of limits, those that differ.
	same := func(of []string) func(string) bool {
		return func(l string) bool { return slices.Contains(of, l) }
	}
	add("limits", slices.DeleteFunc(slices.Clone(before.Limits), same(now.Limits)), slices.DeleteFunc(slices.Clone(now.Limits), same(before.Limits)))
	return list
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}
