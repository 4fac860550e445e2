package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"headway/output/format"
)

// The lines of the guide around the table of formats. The rest of the page is written
// by hand.
const (
	formatsBegin = "<!-- formats, from output/format by make generate -->\n"
	formatsEnd   = "<!-- end of formats -->\n"
)

// writeFormats replaces the table of formats in the guide.
func writeFormats(name string) error {
	page, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	before, rest, begins := bytes.Cut(page, []byte(formatsBegin))
	_, after, ends := bytes.Cut(rest, []byte(formatsEnd))
	if !begins || !ends {
		return fmt.Errorf("%s has no place for the table of formats", name)
	}
	var b bytes.Buffer
	b.Write(before)
	b.WriteString(formatsBegin)
	formats(&b)
	b.WriteString(formatsEnd)
	b.Write(after)
	return os.WriteFile(name, b.Bytes(), 0o644)
}

func formats(b *bytes.Buffer) {
	b.WriteString("| format | files | for |\n|---|---|---|\n")
	for _, f := range format.All {
		name, files := "`"+f.Name+"`", f.Shown
		if f.Name == format.Default {
			name += " (the default)"
		}
		if files == "" {
			files = "`" + strings.Join(f.Files, "`, `") + "`"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, files, f.Use)
	}
}
