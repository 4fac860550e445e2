package doccheck

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// Lists of this package.
const (
	phraseList  = "testdata/phrases.txt"
	allowedList = "testdata/phrases-allowed.txt"
)

// phrase is a phrase to avoid.
type phrase struct {
	text    string
	instead string
	before  []string // words that may follow it
}

// allowance is an exception for a file, or for a folder whose path ends in a slash.
type allowance struct {
	path, phrase string // phrase * is any
}

// covers reports whether the exception applies to a phrase in a file.
func (a allowance) covers(file, text string) bool {
	inPath := a.path == file || strings.HasSuffix(a.path, "/") && strings.HasPrefix(file, a.path)
	return inPath && (a.phrase == "*" || a.phrase == text)
}

// rows reads the lines of a list, split into trimmed columns.
func rows(list string) (all [][]string) {
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(line, "|")
		for i := range columns {
			columns[i] = strings.TrimSpace(columns[i])
		}
		all = append(all, columns)
	}
	return all
}

// readPhrases reads the list of phrases.
func readPhrases(list string) (all []phrase, err error) {
	for _, c := range rows(list) {
		if len(c) < 2 || len(c) > 3 || c[0] == "" || c[1] == "" || c[0] != strings.ToLower(c[0]) {
			return nil, fmt.Errorf("%q: want lower case PHRASE | INSTEAD, and optionally | WORDS THAT MAY FOLLOW", strings.Join(c, " | "))
		}
		p := phrase{text: c[0], instead: c[1]}
		if len(c) == 3 {
			for word := range strings.SplitSeq(c[2], ",") {
				p.before = append(p.before, strings.TrimSpace(word))
			}
		}
		all = append(all, p)
	}
	return all, nil
}

// readAllowed reads the list of exceptions, each of which has a reason.
func readAllowed(list string) (all []allowance, err error) {
	for _, c := range rows(list) {
		if len(c) != 3 || slices.Contains(c, "") {
			return nil, fmt.Errorf("%q: want PATH | PHRASE | REASON", strings.Join(c, " | "))
		}
		all = append(all, allowance{c[0], c[1]})
	}
	return all, nil
}

// flatten returns a text in lower case with single spaces, without line breaks and
// comment markers, and the offset of each line in it.
func flatten(text string) (flat string, lines []int) {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for _, marker := range []string{"//", "#", "*", ">", "--"} {
			if rest, ok := strings.CutPrefix(line, marker); ok {
				line = strings.TrimLeft(rest, marker+" \t")
				break
			}
		}
		lines = append(lines, b.Len())
		for word := range strings.FieldsSeq(strings.ToLower(line)) {
			b.WriteString(word + " ")
		}
	}
	return b.String(), lines
}

// inWord reports whether a rune is part of a word or an identifier.
func inWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// find returns the lines of a text that contain a phrase.
func (p *phrase) find(flat string, lines []int) (found []int) {
	for from := 0; ; {
		at := strings.Index(flat[from:], p.text)
		if at < 0 {
			return found
		}
		at += from
		from = at + len(p.text)
		last, _ := utf8.DecodeLastRuneInString(flat[:at])
		next, _ := utf8.DecodeRuneInString(flat[from:])
		if inWord(last) || inWord(next) {
			continue
		}
		word, _, _ := strings.Cut(strings.TrimLeft(flat[from:], " "), " ")
		if slices.Contains(p.before, strings.TrimFunc(word, func(r rune) bool { return !inWord(r) })) {
			continue
		}
		line, exact := slices.BinarySearch(lines, at)
		if exact {
			line++
		}
		for line < len(lines) && lines[line] == at { // empty lines before it
			line++
		}
		found = append(found, line)
	}
}

// checkable returns the part of a file whose words are checked: not the releases in the
// changelog, and not the bad examples in the style guide.
func checkable(file, text string) string {
	switch file {
	case "CHANGELOG.md":
		unreleased := "## Unreleased\n"
		if from := strings.Index(text, unreleased); from >= 0 {
			if to := strings.Index(text[from+len(unreleased):], "\n## "); to >= 0 {
				return text[:from+len(unreleased)+to]
			}
		}
	case "docs/style.md":
		var b strings.Builder
		for line := range strings.Lines(text) {
			switch cells := strings.Split(line, "|"); {
			case strings.HasPrefix(line, "Words to avoid:"):
				line = "\n"
			case strings.HasPrefix(line, "|") && len(cells) > 3: // where | before | after
				cells[2] = ""
				line = strings.Join(cells, "|")
			}
			b.WriteString(line)
		}
		return b.String()
	}
	return text
}

// TestPhrases looks for phrases to avoid in all files of the repository.
func TestPhrases(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "git", "-C", moduleRoot, "ls-files", "-z").Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && bytes.Contains(exit.Stderr, []byte("not a git repository")) {
		t.Skip("needs a git checkout: it checks the tracked files")
	}
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(phraseList)
	if err != nil {
		t.Fatal(err)
	}
	phrases, err := readPhrases(string(list))
	if err != nil {
		t.Fatal(err)
	}
	list, err = os.ReadFile(allowedList)
	if err != nil {
		t.Fatal(err)
	}
	allowed, err := readAllowed(string(list))
	if err != nil {
		t.Fatal(err)
	}
	used := make([]bool, len(allowed))
	for file := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(moduleRoot, file))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted but not committed
		}
		if err != nil {
			t.Fatal(err)
		}
		if bytes.IndexByte(text, 0) >= 0 || !utf8.Valid(text) {
			continue // not text
		}
		flat, lines := flatten(checkable(file, string(text)))
		for i := range phrases {
			found := phrases[i].find(flat, lines)
			if len(found) == 0 {
				continue
			}
			if at := slices.IndexFunc(allowed, func(a allowance) bool { return a.covers(file, phrases[i].text) }); at >= 0 {
				used[at] = true
				continue
			}
			for _, line := range found {
				t.Errorf("%s:%d: %q; write: %s", file, line, phrases[i].text, phrases[i].instead)
			}
		}
	}
	for i, a := range allowed {
		if !used[i] {
			t.Errorf("%s: the exception %s | %s is not needed", allowedList, a.path, a.phrase)
		}
	}
}

// TestPhrasesFound: the check finds phrases across lines and comments, as whole words.
func TestPhrasesFound(t *testing.T) {
	phrases, err := readPhrases("# comment\n\nthat is no | that is not a | longer, more\nanew | again\n")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]int{
		"start Anew.":                                {1},
		"renew, janew, anew_field, anewx":            nil,
		"one\n\n\t// a file that\n\t// is no file\n": {3},
		"a file that is no longer, more":             nil,
		"that is no more; that is no use\nanew":      {1, 2},
		"\n\nanew\nx\n# anew":                        {3, 5},
	} {
		var got []int
		flat, lines := flatten(text)
		for i := range phrases {
			got = append(got, phrases[i].find(flat, lines)...)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%q: found in lines %v, want %v", text, got, want)
		}
	}
	for _, bad := range []string{"anew", "anew |", "Anew | again", "a | b | c | d"} {
		if _, err := readPhrases(bad); err == nil {
			t.Errorf("phrases %q were accepted", bad)
		}
	}
	for _, bad := range []string{"a | b", "a | b |"} {
		if _, err := readAllowed(bad); err == nil {
			t.Errorf("exceptions %q were accepted", bad)
		}
	}
	style := checkable("docs/style.md", "| where | before | after |\n| log | begin anew | start over |\nWords to avoid: anew\nbegin\n")
	if strings.Contains(style, "anew") || strings.Count(style, "\n") != 4 || !strings.Contains(style, "start over") {
		t.Errorf("style guide: %q", style)
	}
	log := checkable("CHANGELOG.md", "# Changelog\n\n## Unreleased\n\n- new\n\n## 1.0\n\n- anew\n")
	if strings.Contains(log, "anew") || !strings.Contains(log, "new") {
		t.Errorf("changelog: %q", log)
	}
}
