package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"headway/internal/cli/command"
)

func versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of headway",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := struct {
				Version string `json:"version"`
				Go      string `json:"go"`
				OS      string `json:"os"`
				Arch    string `json:"arch"`
			}{command.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH}
			if asJSON {
				return command.PrintJSON(cmd.OutOrStdout(), v)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), command.VersionLine())
			return err
		},
	}
	command.JSONFlag(cmd, &asJSON)
	return cmd
}
