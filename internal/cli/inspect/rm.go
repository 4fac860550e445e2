package inspect

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"headway/internal/cli/command"
	"headway/output/format"
	"headway/store"
	"headway/store/sqlite"
)

// RmCommand builds `headway rm`.
func RmCommand() *cobra.Command {
	var asJSON, yes bool
	cmd := &cobra.Command{
		Use:   "rm DIR…",
		Short: "Delete crawls",
		Long: `Delete the files that crawls have written: URLs, outcomes and pages. The folder
of a running crawl and folders that are not crawls are skipped. Other files in
a folder are kept, and the folder with them.

What was learned about hosts is shared by all crawls and is kept.`,
		Example: `  headway rm headway-example.com
  headway rm headway-* --yes`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := remover{in: cmd.InOrStdin(), ask: cmd.ErrOrStderr()}
			defer r.release()
			for _, dir := range args {
				if err := r.add(dir); err != nil {
					return err
				}
			}
			if err := r.confirm(yes); err != nil {
				return err
			}
			answer, err := r.remove()
			if asJSON {
				return errors.Join(command.PrintJSON(cmd.OutOrStdout(), answer), err)
			}
			answer.print(cmd.OutOrStdout())
			return err
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	command.JSONFlag(cmd, &asJSON)
	return cmd
}

// ourFiles are the names that crawls write in their folder. What marks the folder
// as one of a crawl goes last, so that a removal that was cut short can be
// repeated.
var ourFiles = slices.Concat([]string{
	"ask", "pages.*", "links.*", "*.warc.gz", "*.warc.gz.part", "*.cdxj", "*.cdxj.part", "*.parquet",
}, resultFiles(), []string{
	"export", "report.html",
	"check*.json", "check*.xml", "verdicts.json", "warm*.json", "control.jsonl", "asked.json", "inflight.journal", "inflight.journal.*",
	"crawl.db-wal", "crawl.db-shm", "crawl.db-journal", command.CrawlFile,
})

// resultFiles are the files of all formats, and what they are made from.
func resultFiles() (patterns []string) {
	for _, name := range format.Files(format.Names()...) {
		patterns = append(patterns, name, name+".*")
	}
	return patterns
}

// lockName is the file whose lock says that a crawl runs.
const lockName = "crawl.lock"

// remover removes crawls that it keeps everybody else out of.
type remover struct {
	in    io.Reader
	ask   io.Writer
	dirs  []string
	holds []*sqlite.Held
}

// rmAnswer is what `headway rm` says.
type rmAnswer struct {
	Removed []removedRow `json:"removed"`
}

type removedRow struct {
	Dir   string   `json:"dir"`
	Bytes int64    `json:"bytes"`
	Files int      `json:"files"`
	Kept  []string `json:"kept,omitempty"`  // what is not a crawl's, and keeps the folder
	Error string   `json:"error,omitempty"` // what kept the rest from being removed
}

// add takes a folder that may be removed.
func (r *remover) add(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return command.Usage(fmt.Errorf("folder not found: %s", dir), "headway runs lists the crawls")
	case err != nil:
		return command.Failed(err, "check that the folder is readable")
	case info.Mode()&fs.ModeSymlink != 0:
		return command.Usage(fmt.Errorf("%s is a symbolic link", dir), "give the folder it points to")
	}
	held, err := sqlite.Hold(dir)
	switch {
	case errors.Is(err, store.ErrInUse):
		return command.Failed(fmt.Errorf("a crawl is running in %s", dir), "stop it first with Ctrl-C or SIGTERM")
	case errors.Is(err, store.ErrNotFound):
		return command.Usage(fmt.Errorf("not a crawl folder: %s", dir), "headway runs lists the crawls")
	case errors.Is(err, sqlite.ErrStrange):
		return command.Usage(fmt.Errorf("not written by headway: %s", filepath.Join(dir, command.CrawlFile)), "if you are sure, delete the folder yourself")
	case err != nil:
		return command.Failed(err, "check that the folder is writable")
	}
	r.dirs, r.holds = append(r.dirs, dir), append(r.holds, held)
	return nil
}

// confirm asks the person at the terminal.
func (r *remover) confirm(yes bool) error {
	if yes {
		return nil
	}
	if !command.IsTerminal(r.in) {
		return command.Usage(errors.New("cannot ask for confirmation: not a terminal"), "use --yes to remove without confirmation")
	}
	var size int64
	for _, d := range r.dirs {
		size += sizeOf(d)
	}
	fmt.Fprintf(r.ask, "Remove %s, %s? [y/N] ", command.OneLine(strings.Join(r.dirs, ", ")), command.Bytes(size))
	line, err := bufio.NewReader(r.in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return command.Failed(err, "use --yes to remove without confirmation")
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return &command.Failure{Code: command.ExitFailed, Err: errors.New("nothing was removed"), Hint: "answer y, or use --yes"}
}

// remove removes the folders, and says what it removed also when that fails.
func (r *remover) remove() (rmAnswer, error) {
	answer := rmAnswer{Removed: []removedRow{}}
	for i, dir := range r.dirs {
		row, err := removeCrawl(dir, r.holds[i])
		if err != nil {
			row.Error = err.Error()
			row.Bytes -= sizeOf(dir)
		}
		answer.Removed = append(answer.Removed, row)
		if err != nil {
			return answer, command.Failed(err, "run the same command to remove the rest")
		}
	}
	r.dirs, r.holds = nil, nil
	return answer, nil
}

// sizeOf is the size of the files in a folder, as far as they can be read.
func sizeOf(dir string) int64 {
	size, _ := command.SizeOf(dir) // what cannot be read is reported when it is removed
	return size
}

// removeCrawl removes what a crawl wrote, and the folder if nothing else is in it.
func removeCrawl(dir string, held *sqlite.Held) (removedRow, error) {
	row := removedRow{Dir: dir, Bytes: sizeOf(dir)}
	for _, pattern := range ourFiles {
		names, err := filepath.Glob(filepath.Join(command.EscapeGlob(dir), pattern))
		if err != nil {
			return row, err
		}
		for _, name := range names {
			if err := os.RemoveAll(name); err != nil {
				return row, err
			}
			row.Files++
		}
	}
	if err := held.Release(); err != nil {
		return row, err
	}
	if err := os.Remove(filepath.Join(dir, lockName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return row, err
	}
	row.Files++
	left, err := os.ReadDir(dir)
	if err != nil {
		return row, err
	}
	for _, e := range left {
		row.Kept = append(row.Kept, e.Name())
	}
	if len(row.Kept) > 0 {
		row.Bytes -= sizeOf(dir)
		return row, nil
	}
	return row, os.Remove(dir)
}

// release lets others into what was not removed.
func (r *remover) release() {
	for _, h := range r.holds {
		_ = h.Release() // its file is read only, and the process ends
	}
}

// print says what was removed.
func (a *rmAnswer) print(w io.Writer) {
	for _, row := range a.Removed {
		part := ""
		if row.Error != "" {
			part = "part of "
		}
		fmt.Fprintf(w, "removed %s%s (%s, %s)\n", part, command.OneLine(row.Dir), command.Plural(row.Files, "file"), command.Bytes(row.Bytes))
		if len(row.Kept) > 0 {
			kept := slices.Clone(row.Kept)
			if len(kept) > 5 {
				kept = append(kept[:5], "…")
			}
			fmt.Fprintf(w, "  folder kept: it contains files that are not part of a crawl: %s\n", command.OneLine(strings.Join(kept, ", ")))
		}
	}
}
