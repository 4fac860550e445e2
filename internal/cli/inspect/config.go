package inspect

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"headway/internal/cli/command"
	"headway/internal/config"
)

// ConfigCommand builds `headway config`.
func ConfigCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print every setting and where it was set",
		Long: `Print the settings of a crawl with these flags, this environment and this
headway.yaml: each with its value and where it was set. Flags override
environment variables (HEADWAY_ and the key in capitals, with dots as
underscores), which override the file, then the preset, then the default.`,
		Example: `  headway config
  headway config --preset audit --max-pages 50
  HEADWAY_PACE_DELAY=2s headway config --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, origins, err := loadSettings(cmd.Flags())
			if err != nil {
				return err
			}
			if asJSON {
				return command.PrintJSON(cmd.OutOrStdout(), configJSON(origins))
			}
			return printConfig(cmd.OutOrStdout(), origins)
		},
	}
	config.Register(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	return cmd
}

// loadSettings reads all layers of settings for a command whose flags
// [config.Register] added.
func loadSettings(flags *pflag.FlagSet) (*config.Settings, []config.Origin, error) {
	settings, origins, err := config.Load(flags, os.Environ())
	if err != nil {
		return nil, nil, command.Usage(err, command.HintOf(err))
	}
	if settings.Contact != "" {
		return settings, origins, command.CheckContact(settings.Contact)
	}
	if settings.Contact, err = command.FindContact(""); err != nil || settings.Contact == "" {
		return settings, origins, err
	}
	// It was asked for once and saved.
	file, err := command.ContactFile()
	for i := range origins {
		if origins[i].Setting.Key == "contact" {
			origins[i].Values, origins[i].Layer, origins[i].Source = []string{settings.Contact}, config.ByFile, file
		}
	}
	return settings, origins, err
}

// unprinted stands for a secret.
const unprinted = "(not shown)"

// shownValues are the values of an origin as they may be printed.
func shownValues(o config.Origin) []string {
	if o.Setting.Secret && len(o.Values) > 0 {
		return []string{unprinted}
	}
	return o.Values
}

func printConfig(w io.Writer, origins []config.Origin) error {
	const values = 12 // letters of most values; a longer one moves its origin to the right
	keys := 0
	for _, o := range origins {
		keys = max(keys, len(o.Setting.Key))
	}
	for _, o := range origins {
		value := strings.Join(shownValues(o), " ")
		if value == "" {
			value = "-"
		}
		if _, err := fmt.Fprintf(w, "%-*s  %-*s  %s\n", keys, o.Setting.Key, values, command.OneLine(value), command.OneLine(o.String())); err != nil {
			return err
		}
	}
	return nil
}

// settingJSON is one setting for programs. Value is a list for lists and a
// string, as it would be written, for all others.
type settingJSON struct {
	Key    string       `json:"key"`
	Value  any          `json:"value"`
	Layer  config.Layer `json:"layer"`
	Source string       `json:"source,omitempty"`
}

func configJSON(origins []config.Origin) []settingJSON {
	list := make([]settingJSON, 0, len(origins))
	for _, o := range origins {
		s := settingJSON{Key: o.Setting.Key, Layer: o.Layer, Source: o.Source}
		switch values := shownValues(o); {
		case o.Setting.List():
			s.Value = append([]string{}, values...)
		default:
			s.Value = strings.Join(values, "")
		}
		list = append(list, s)
	}
	return list
}
