//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// write replaces the last results in a Markdown file, between two comments, with new ones. It
// says when, from which commit and on which processor they were measured.
func (b *bench) write(name string, results []byte) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	commit, err := exec.CommandContext(context.Background(), "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return fmt.Errorf("ask for the commit: %w", err)
	}
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return err
	}
	about := fmt.Sprintf("Measured on %s, commit %s, %d cores of %s, medians of %d.\n", time.Now().UTC().Format(time.DateOnly), bytes.TrimSpace(commit), runtime.NumCPU(), processor(string(info)), b.rounds)
	text, err = replaceSection(text, b.section(), append([]byte(about), results...))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(name, text, 0o644) //nolint:gosec // a document
}

// section is the name of the results in a document.
func (b *bench) section() string {
	if b.wide {
		return "bench-wide"
	}
	return "bench"
}

// replaceSection replaces what is between the comments <!-- NAME --> and <!-- end NAME -->.
func replaceSection(text []byte, name string, with []byte) ([]byte, error) {
	begin, end := []byte("<!-- "+name+" -->\n"), []byte("<!-- end "+name+" -->\n")
	from, to := bytes.Index(text, begin), bytes.Index(text, end)
	if from < 0 || to < from {
		return nil, errors.New("the comments around section " + name + " are missing")
	}
	return bytes.Join([][]byte{text[:from+len(begin)], with, text[to:]}, []byte("\n")), nil
}

// processor is the model of the processor in /proc/cpuinfo.
func processor(info string) string {
	for line := range strings.Lines(info) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "an unknown model"
}
