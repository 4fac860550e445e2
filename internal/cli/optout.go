package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"headway/internal/atomicfile"
	"headway/store"
	"headway/weburl"
)

func optOutCommand() *cobra.Command {
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
				return editOptOuts(cmd, args, asJSON, (*optOutList).add)
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
				return editOptOuts(cmd, args, asJSON, (*optOutList).remove)
			},
		},
	} {
		jsonFlag(sub, &asJSON)
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
func editOptOuts(cmd *cobra.Command, args []string, asJSON bool, edit func(*optOutList, string) (bool, error)) error {
	path, err := optOutFile()
	if err != nil {
		return failed(fmt.Errorf("find the opt-out list: %w", err), "set XDG_CONFIG_HOME")
	}
	list, err := openOptOuts(path)
	if err != nil {
		return err
	}
	var changed []string
	for _, arg := range args {
		name, err := optOutName(arg)
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
			fmt.Fprintf(cmd.ErrOrStderr(), "headway: %s is already opted out (entry: %s)\n", name, list.coveredBy(name))
		}
	}
	if len(changed) > 0 {
		if err := list.save(); err != nil {
			return failed(fmt.Errorf("write opt-outs: %w", err), "check that "+path+" is writable")
		}
	}
	answer := optOutAnswer{File: path, Hosts: list.names()}
	word := "added"
	if cmd.Name() == "remove" {
		answer.Removed, word = changed, "removed"
	} else {
		answer.Added = changed
	}
	out := cmd.OutOrStdout()
	if asJSON {
		return printJSON(out, answer)
	}
	for _, name := range changed {
		fmt.Fprintf(out, "%s %s\n", word, name)
	}
	if edit == nil {
		for _, name := range answer.Hosts {
			fmt.Fprintln(out, name)
		}
		if len(answer.Hosts) == 0 {
			fmt.Fprintf(out, "no opt-outs (%s)\n", oneLine(path))
		}
	}
	return nil
}

// optOutName reads a host as people name it; a URL stands for its host.
func optOutName(text string) (string, error) {
	raw := text
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	u, err := weburl.Parse(raw)
	if err != nil {
		return "", usage(fmt.Errorf("invalid host %q", text), "give a host name, for example example.com")
	}
	return u.Hostname(), nil
}

// optOutFile lists hosts whose owners asked not to be crawled.
func optOutFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "headway", "optout.txt"), nil
}

// optOutList is the list: a host or domain a line, which stands for itself and
// all names below it. Empty lines and those that begin with # are for people, and
// stay.
type optOutList struct {
	path  string
	lines []string
}

// maxOptOuts bounds the file.
const maxOptOuts = 64 << 20

// openOptOuts reads the list. A file that is not there is an empty one.
func openOptOuts(path string) (*optOutList, error) {
	list := &optOutList{path: path}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err == nil && info.Size() > maxOptOuts {
		err = fmt.Errorf("%s is too large: %d bytes, maximum %d", path, info.Size(), maxOptOuts)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, failed(fmt.Errorf("read opt-outs: %w", err), "check that "+path+" is readable")
	}
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) { // some editors begin a file so
		list.lines = append(list.lines, strings.TrimRight(line, "\r\n"))
	}
	return list, nil
}

// optOutLine is the name on a line, empty where there is none.
func optOutLine(line string) string {
	name := strings.ToLower(strings.TrimSpace(line))
	if strings.HasPrefix(name, "#") {
		return ""
	}
	return name
}

// names are all names on the list, in order.
func (l *optOutList) names() []string {
	names := []string{}
	for _, line := range l.lines {
		if name := optOutLine(line); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// coveredBy is the name on the list that speaks for a host, empty for none.
func (l *optOutList) coveredBy(host string) string { return store.NewNames(l.names()).Covering(host) }

// add puts a name on the list, unless it is covered already.
func (l *optOutList) add(name string) (bool, error) {
	if l.coveredBy(name) != "" {
		return false, nil
	}
	l.lines = append(l.lines, name)
	return true, nil
}

// remove takes a name off the list.
func (l *optOutList) remove(name string) (bool, error) {
	before := len(l.lines)
	l.lines = slices.DeleteFunc(l.lines, func(line string) bool { return optOutLine(line) == name })
	switch above := l.coveredBy(name); {
	case above != "":
		return false, usage(fmt.Errorf("%s is opted out by the entry %s", name, above), "remove "+above+"; that entry covers all its subdomains")
	case len(l.lines) == before:
		return false, usage(fmt.Errorf("%s is not on the opt-out list", name), "headway optout list shows all entries")
	}
	return true, nil
}

// save makes the new list appear whole.
func (l *optOutList) save() error {
	if err := os.MkdirAll(filepath.Dir(l.path), 0o755); err != nil {
		return err
	}
	text := strings.Join(l.lines, "\n")
	if text != "" {
		text += "\n"
	}
	return atomicfile.Write(l.path, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// readOptOuts tells who asked not to be crawled. It is asked before robots.txt.
func readOptOuts() (func(weburl.URL) bool, error) {
	path, err := optOutFile()
	if err != nil {
		return func(weburl.URL) bool { return false }, nil //nolint:nilerr // no home, so there is no list
	}
	list, err := openOptOuts(path)
	if err != nil {
		return nil, err
	}
	listed := store.NewNames(list.names())
	return func(u weburl.URL) bool { return listed.Covering(u.Hostname()) != "" }, nil
}
