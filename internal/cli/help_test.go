package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"headway/internal/cli/command"
)

// manyFlags is from how many on --help shows only some of them.
const manyFlags = 16

// TestHelp holds the help of every command to its form: it fits a small terminal, and
// where there are many flags it shows those that people use most.
func TestHelp(t *testing.T) {
	paths := map[string]bool{}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		paths[path] = true
		if cmd.HasParent() && !cmd.Parent().HasParent() && cmd.GroupID == "" {
			t.Errorf("%s is in no group", path)
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: short help %q", path, cmd.Short)
		}
		flags := 0
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" && f.Name != helpAllName {
				flags++
			}
		})
		if many := flags >= manyFlags; many != (commonFlags[path] != nil) {
			t.Errorf("%s has %d flags, and common ones are %q", path, flags, commonFlags[path])
		}
		for _, name := range commonFlags[path] {
			if cmd.Flags().Lookup(name) == nil {
				t.Fatalf("%s has no flag --%s", path, name)
			}
		}
		for _, all := range []bool{false, true} {
			var b bytes.Buffer
			writeHelp(&b, cmd, all)
			for line := range strings.Lines(b.String()) {
				if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > command.LineWidth || strings.HasSuffix(line, " ") {
					t.Errorf("%s: a line of %d letters: %q", path, utf8.RuneCountInString(line), line)
				}
			}
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(Root())
	for path := range commonFlags {
		if !paths[path] {
			t.Errorf("there is no command %s", path)
		}
	}
}

// TestJSON wants an answer for programs from every command that has one.
func TestJSON(t *testing.T) {
	without := []string{"headway help", "headway completion", "headway serve", "headway worker"}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		if !cmd.HasSubCommands() && (cmd.Flags().Lookup("json") == nil) != slices.Contains(without, path) {
			t.Errorf("%s: --json is there, or is missing", path)
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(Root())
}
