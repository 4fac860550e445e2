package inspect

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"headway/extract"
	"headway/internal/cli/command"
	"headway/visit"
)

// readRules reads the file of --extract.
func (f *fetchFlags) readRules() (err error) {
	if f.extract == "" {
		return nil
	}
	f.rules, err = extract.ReadFile(f.extract)
	if bad, ok := errors.AsType[*extract.Error](err); ok {
		return command.Usage(fmt.Errorf("invalid rules for --extract: %w", bad), bad.Hint())
	}
	return err
}

// printFields prints the fields of a page, one value a line. What is wrong with them goes to
// the stream for messages.
func (f *fetchFlags) printFields(out, messages io.Writer, v visit.Visit) error {
	names := f.rules.Names(v.Item.URL)
	if len(names) == 0 {
		return printNone(messages, v, "fields", "no rule applies to this URL", "check the patterns after when:")
	}
	if v.Outcome != visit.Fetched || v.Page.Charset == "" {
		reason, hint := noContent(v)
		return printNone(messages, v, "fields", reason, hint)
	}
	var values map[string]json.RawMessage
	var problems map[string]string
	if c := v.Page.Content; c != nil {
		if err := errors.Join(readObject(c.Fields, &values), readObject(c.FieldProblems, &problems)); err != nil {
			return err
		}
	}
	var missing []string
	for _, name := range names {
		lines := linesOf(values[name])
		for _, line := range lines {
			if _, err := fmt.Fprintf(out, "%s: %s\n", name, command.OneLine(line)); err != nil {
				return err
			}
		}
		if problem := problems[name]; problem != "" {
			fmt.Fprintf(messages, "headway: warning: %s: %s\n", name, command.OneLine(problem))
		} else if len(lines) == 0 {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		fmt.Fprintf(messages, "headway: warning: not on this page: %s\n", strings.Join(missing, ", "))
	}
	return nil
}

// readObject reads a JSON object, if there is one.
func readObject(text visit.Object, to any) error {
	if text == "" {
		return nil
	}
	return json.Unmarshal([]byte(text), to)
}

// linesOf are the values of a field as people read them.
func linesOf(value json.RawMessage) []string {
	var list []json.RawMessage
	if json.Unmarshal(value, &list) != nil {
		if len(value) == 0 {
			return nil
		}
		list = []json.RawMessage{value}
	}
	var lines []string
	for _, one := range list {
		var text string
		if json.Unmarshal(one, &text) != nil {
			text = string(one)
		}
		lines = append(lines, text)
	}
	return lines
}
