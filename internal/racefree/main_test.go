package main

import (
	"slices"
	"strings"
	"testing"
)

// TestTouched finds the tests that depend on the build tag, directly or through
// helpers.
func TestTouched(t *testing.T) {
	differs := map[string]map[string]bool{racePackage: {"Enabled": true}, "headway/store/storetest": {"Run": true}}
	const flag = "package p\nconst raced = false\n"
	for _, tc := range []struct {
		name, source string
		want         []string
		err          string
	}{
		{name: "itself", source: "func TestA() { if raced { return } }\nfunc TestB() {}", want: []string{"TestA"}},
		{name: "by a function", source: "func TestA() { help() }\nfunc help() { more() }\nfunc more() { _ = raced }\nfunc TestB() {}", want: []string{"TestA"}},
		{name: "by a method", source: "type w struct{}\nfunc (w) measurable() { _ = raced }\nfunc TestA() { w{}.measurable() }\nfunc TestB() { w{}.other() }\nfunc (w) other() {}", want: []string{"TestA"}},
		{name: "by a variable", source: "var most = f(raced)\nfunc f(bool) int { return 1 }\nfunc TestA() { _ = most }\nfunc TestB() {}", want: []string{"TestA"}},
		{name: "by one of a group", source: "var (\n\ta = 1\n\tb = raced\n)\nfunc TestA() { _ = b }", want: []string{"TestA"}},
		{name: "in a closure", source: "func TestA() { func() { _ = raced }() }", want: []string{"TestA"}},
		{name: "a seed of fuzzing and an example", source: "func FuzzA() { _ = raced }\nfunc ExampleA() { _ = raced }", want: []string{"ExampleA", "FuzzA"}},
		{name: "each test", source: "func TestMain() { _ = raced }", err: "every test"},
		{name: "before each test", source: "func init() { _ = raced }", err: "every test"},
		{name: "no test", source: "func TestA() {}"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sources := map[string][]byte{"norace_test.go": []byte(flag), "a_test.go": []byte("package p\n" + tc.source)}
			got, err := touched(sources, differs, false, func(name string) bool { return name == "norace_test.go" })
			if tests := testsOf(got); !slices.Equal(tests, tc.want) {
				t.Errorf("found %q, want %q", tests, tc.want)
			}
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("error %v, want %q", err, tc.err)
			}
		})
	}
	// A test that uses the package race, and one that uses a helper which does.
	got, err := touched(map[string][]byte{
		"a_test.go": []byte("package p\nimport \"headway/internal/race\"\nfunc TestA() { _ = race.Enabled }\nfunc TestB() {}"),
		"b_test.go": []byte("package p\nimport suite \"headway/store/storetest\"\nfunc TestC() { suite.Run() }\nfunc TestD() { race := 1; _ = race; suite.New() }"),
	}, differs, false, func(string) bool { return false })
	if tests := testsOf(got); err != nil || !slices.Equal(tests, []string{"TestA", "TestC"}) {
		t.Errorf("found %q, %v", tests, err)
	}
	// A test in a file that only one build has.
	got, err = touched(map[string][]byte{"arrow_test.go": []byte("package p\nfunc TestArrow() {}"), "a_test.go": []byte("package p\nfunc TestA() {}")}, differs, false, func(name string) bool { return name == "arrow_test.go" })
	if tests := testsOf(got); err != nil || !slices.Equal(tests, []string{"TestArrow"}) {
		t.Errorf("found %q, %v", tests, err)
	}
	// A helper: a type differs when one of its methods does, and with it what makes one.
	got, err = touched(map[string][]byte{
		"a.go": []byte("package p\nimport \"headway/internal/race\"\ntype slow struct{}\nfunc (*slow) Write() { _ = race.Enabled }\nfunc New() any { return &slow{} }\nfunc Other() any { return nil }"),
	}, differs, true, func(string) bool { return false })
	if err != nil || !got["slow"] || !got["Write"] || !got["New"] || got["Other"] {
		t.Errorf("found %v, %v", got, err)
	}
}
