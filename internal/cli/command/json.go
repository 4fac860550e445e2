package command

import (
	"encoding/json"
	"io"

	"github.com/spf13/cobra"
)

// JSONFlag adds the flag that every command with an answer has.
func JSONFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "json", false, "print JSON")
}

// PrintJSON writes one indented JSON value. HTML is not escaped: the output
// goes to a terminal or a program, and URLs should stay readable.
func PrintJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
