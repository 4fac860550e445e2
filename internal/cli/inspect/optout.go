package inspect

import (
	"fmt"

	"github.com/spf13/cobra"

	"headway/internal/cli/command"
)

// OptOutCommand builds `headway optout`.
func OptOutCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "optout",
		Short: "Manage the hosts that must not be crawled",
		Long: `Manage the opt-out list: hosts and domains whose owners asked not to be
crawled. An entry covers the name and all its subdomains. None of your crawls
contacts them, not even for robots.txt; their URLs end as skipped: opted_out. A
crawl reads the list when it starts or resumes.`,
	}
	var asJSON bool
	for _, sub := range []*cobra.Command{
		{
			Use: "add HOST…", Short: "Add hosts or domains to the opt-out list", Args: cobra.MinimumNArgs(1),
			Example: "  headway optout add example.com shop.example.org",
			RunE: func(cmd *cobra.Command, args []string) error {
				return editOptOuts(cmd, args, asJSON, (*command.OptOutList).Add)
			},
		},
		{
			Use: "list", Short: "List the opt-outs", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return editOptOuts(cmd, nil, asJSON, nil) },
		},
		{
			Use: "remove HOST…", Short: "Remove hosts or domains from the opt-out list", Args: cobra.MinimumNArgs(1),
			Example: "  headway optout remove example.com",
			RunE: func(cmd *cobra.Command, args []string) error {
				return editOptOuts(cmd, args, asJSON, (*command.OptOutList).Remove)
			},
		},
	} {
		command.JSONFlag(sub, &asJSON)
		cmd.AddCommand(sub)
	}
	return cmd
}

// optOutAnswer is what `headway optout` says.
type optOutAnswer struct {
	File    string   `json:"file"`
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
	Hosts   []string `json:"hosts"` // the list as it is now
}

// editOptOuts changes the list, or only shows it, and prints what it is.
func editOptOuts(cmd *cobra.Command, args []string, asJSON bool, edit func(*command.OptOutList, string) (bool, error)) error {
	path, err := command.OptOutFile()
	if err != nil {
		return command.Failed(fmt.Errorf("find the opt-out list: %w", err), "set XDG_CONFIG_HOME")
	}
	list, err := command.OpenOptOuts(path)
	if err != nil {
		return err
	}
	var changed []string
	for _, arg := range args {
		name, err := command.OptOutName(arg)
		if err != nil {
			return err
		}
		done, err := edit(list, name)
		if err != nil {
			return err
		}
		if done {
			changed = append(changed, name)
		} else if !asJSON {
			fmt.Fprintf(cmd.ErrOrStderr(), "headway: %s is already opted out (entry: %s)\n", name, list.CoveredBy(name))
		}
	}
	if len(changed) > 0 {
		if err := list.Save(); err != nil {
			return command.Failed(fmt.Errorf("write opt-outs: %w", err), "check that "+path+" is writable")
		}
	}
	answer := optOutAnswer{File: path, Hosts: list.Names()}
	word := "added"
	if cmd.Name() == "remove" {
		answer.Removed, word = changed, "removed"
	} else {
		answer.Added = changed
	}
	out := cmd.OutOrStdout()
	if asJSON {
		return command.PrintJSON(out, answer)
	}
	for _, name := range changed {
		fmt.Fprintf(out, "%s %s\n", word, name)
	}
	if edit == nil {
		for _, name := range answer.Hosts {
			fmt.Fprintln(out, name)
		}
		if len(answer.Hosts) == 0 {
			fmt.Fprintf(out, "no opt-outs (%s)\n", command.OneLine(path))
		}
	}
	return nil
}
