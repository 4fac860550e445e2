package doctest

import (
	"fmt"
	"regexp"
	"strings"
)

// command is a line to type and its documented output.
type command struct {
	line   int // in the document
	text   string
	output []string // nil if it is not shown
	stays  bool
}

// notRun is a block that the tests cannot run.
type notRun struct {
	line   int
	reason string
}

// document is the commands of a page.
type document struct {
	commands []command
	notRun   []notRun
}

// block is a code block of a page.
type block struct {
	line     int // of its first line
	language string
	mark     string // the comment before it
	lines    []string
}

var (
	fence = regexp.MustCompile("^```([a-z]*)")
	mark  = regexp.MustCompile(`^<!-- (stays|not run: .+) -->$`)
	// typed is a line that looks like a command.
	typed = regexp.MustCompile(`^(\$ |(bin/)?headway [a-z]|make( |$)|duckdb |sqlite3 |jq |curl |go (test|run|build) )`)
)

// indent marks a block without fences.
const indent = "    "

// blocks finds the code blocks of a page.
func blocks(page string) []block {
	var list []block
	var b *block
	fenced, before := false, ""
	for i, line := range strings.Split(page, "\n") {
		open := fence.FindStringSubmatch(line)
		switch {
		case fenced && open != nil:
			list, b, fenced = append(list, *b), nil, false
		case fenced:
			b.lines = append(b.lines, line)
		case open != nil:
			b, fenced = &block{line: i + 2, language: open[1], mark: before}, true
			before = ""
		case strings.HasPrefix(line, indent) && (b != nil || blank(page, i)):
			if b == nil {
				b, before = &block{line: i + 1, mark: before}, ""
			}
			b.lines = append(b.lines, line[len(indent):])
		case b != nil && line == "":
			b.lines = append(b.lines, "")
		default:
			if b != nil {
				list, b = append(list, *b), nil
			}
			if m := mark.FindStringSubmatch(line); m != nil {
				before = m[1]
			} else if line != "" {
				before = ""
			}
		}
	}
	if b != nil {
		list = append(list, *b)
	}
	return list
}

// blank reports whether the line before line i is empty: in a paragraph or a list, an
// indented line is text.
func blank(page string, i int) bool {
	lines := strings.SplitN(page, "\n", i+1)
	return i > 0 && lines[i-1] == ""
}

// read finds the commands of a page.
func read(page string) (document, error) {
	var d document
	for _, b := range blocks(page) {
		reason, skipped := strings.CutPrefix(b.mark, "not run: ")
		commands, err := b.commands()
		switch {
		case err != nil:
			return d, err
		case skipped && len(commands) == 0:
			return d, fmt.Errorf("line %d: nothing to run, and it is marked as not run", b.line)
		case skipped:
			d.notRun = append(d.notRun, notRun{b.line, reason})
			continue
		case b.mark == "stays" && len(commands) != 1:
			return d, fmt.Errorf("line %d: one command can stay, not %d", b.line, len(commands))
		}
		for _, c := range commands {
			c.stays = b.mark == "stays"
			d.commands = append(d.commands, c)
		}
	}
	return d, nil
}

// commands are the commands of one block.
func (b block) commands() ([]command, error) {
	switch {
	case b.language == "sh":
		return b.script()
	case b.language == "console", b.language == "" && strings.HasPrefix(b.lines[0], "$ "):
		return b.session()
	}
	for i, line := range b.lines {
		if typed.MatchString(line) {
			return nil, fmt.Errorf("line %d: a command in a block that is not run: %s", b.line+i, line)
		}
	}
	return nil, nil
}

// script reads a block of commands without output. A command continues after a
// backslash, and to the end of a here-document.
func (b block) script() ([]command, error) {
	var list []command
	var text []string
	first, until := 0, ""
	for i, line := range b.lines {
		if len(text) == 0 {
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			first = b.line + i
		}
		text = append(text, line)
		if m := hereDocument.FindStringSubmatch(line); m != nil && until == "" {
			until = m[1]
		}
		if until != "" && line != until || until == "" && strings.HasSuffix(line, `\`) {
			continue
		}
		list = append(list, command{line: first, text: strings.Join(text, "\n")})
		text, until = nil, ""
	}
	if text != nil {
		return nil, fmt.Errorf("line %d: the command has no end", first)
	}
	return list, nil
}

var hereDocument = regexp.MustCompile(`<<'?([A-Z]+)'?$`)

// session reads a block of commands with their output.
func (b block) session() ([]command, error) {
	var list []command
	for i, line := range b.lines {
		text, typed := strings.CutPrefix(line, "$ ")
		switch {
		case typed:
			list = append(list, command{line: b.line + i, text: text, output: []string{}})
		case len(list) == 0:
			return nil, fmt.Errorf("line %d: the output of no command", b.line+i)
		default:
			c := &list[len(list)-1]
			if n := len(c.text); len(c.output) == 0 && c.text[n-1] == '\\' {
				c.text += "\n" + line
				continue
			}
			c.output = append(c.output, line)
		}
	}
	return list, nil
}
