package doctest

import (
	"fmt"
	"regexp"
	"strings"
)

// volatile matches what differs from run to run, with its replacement.
var volatile = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?( UTC|Z)?`), "TIME"},
	{regexp.MustCompile(`~?\b\d\d:\d\d(:\d\d)?\b`), "TIME"},
	{regexp.MustCompile(`[<~]?\b(\d+h)?(\d+m)?\d+(\.\d+)? ?(s|ms|µs)\b`), "DURATION"},
	{regexp.MustCompile(`\b\d+(\.\d+)?( pages)?/s\b`), "RATE"},
	{regexp.MustCompile(`\b\d+(\.\d+)? %`), "SHARE"},
	{regexp.MustCompile(`\b[\d,.]+ (bytes|kB|KB|KiB|MB|MiB)`), "SIZE"},
	{regexp.MustCompile(`▇+`), ""},
	{regexp.MustCompile(`\b[0-9a-f]{12}…`), "HASH"},
	{regexp.MustCompile(`\s+`), " "},
}

// steady replaces what differs from run to run.
func steady(line string) string {
	for _, v := range volatile {
		line = v.pattern.ReplaceAllString(line, v.name)
	}
	return strings.TrimRight(line, " ")
}

// gap stands for any text, alone on a line for any number of lines.
const gap = "…"

// pattern is a regular expression for the documented lines.
func pattern(lines []string) *regexp.Regexp {
	var p strings.Builder
	p.WriteString(`\A`)
	for _, line := range lines {
		if strings.TrimSpace(line) == gap {
			p.WriteString(`(?:[^\n]*\n)*?`)
			continue
		}
		parts := strings.Split(steady(line), gap)
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		p.WriteString(strings.Join(parts, `[^\n]*`) + `\n`)
	}
	return regexp.MustCompile(p.String())
}

// steadyLines is steady for each line.
func steadyLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(steady(strings.TrimSuffix(line, "\n")) + "\n")
	}
	return b.String()
}

// split separates the lines of standard error from those of standard output.
func split(lines []string) (stdout, stderr []string) {
	for _, line := range lines {
		if strings.HasPrefix(line, "headway: ") {
			stderr = append(stderr, gap, line)
		} else {
			stdout = append(stdout, line)
		}
	}
	return trim(stdout), stderr
}

// begins reports whether a screen begins with the documented lines.
func begins(lines []string, screen string) bool {
	return pattern(trim(lines)).MatchString(steadyLines(screen))
}

// trim removes empty lines from the end.
func trim(lines []string) []string {
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// matches returns where the output differs from the document.
func matches(lines []string, stdout, stderr string) error {
	out, diag := split(lines)
	got := steadyLines(strings.TrimRight(stdout, "\n") + "\n")
	if strings.TrimSpace(stdout) == "" {
		got = ""
	}
	if p := regexp.MustCompile(pattern(out).String() + `\z`); !p.MatchString(got) {
		return fmt.Errorf("it prints\n%sand the document says\n%s", text(strings.Split(strings.TrimRight(stdout, "\n"), "\n")), text(out))
	}
	if !pattern(diag).MatchString(steadyLines(stderr)) {
		return fmt.Errorf("on the standard error it prints\n%sand the document says\n%s", text(strings.Split(stderr, "\n")), text(diag))
	}
	return nil
}

func text(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("    " + line + "\n")
	}
	return b.String()
}
