package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"headway/job"
	"headway/store"
	"headway/store/sqlite"
	"headway/visit"
)

// Bounds of the search for crawls.
const (
	runsDepth   = 4       // folders below the one that is searched
	runsFolders = 100_000 // folders looked at
	runsSeeds   = 20      // seeds of a crawl that are named
)

func runsCommand() *cobra.Command {
	var asJSON, wide bool
	cmd := &cobra.Command{
		Use:   "runs [DIR…]",
		Short: "List crawls and their state",
		Long: `List the crawls below the current folder, or the given ones: seed, state and
reason, pages, start time and size. A crawl that was killed is shown as
interrupted; run the same crawl command to resume it.`,
		Example: `  headway runs
  headway runs /srv/crawls --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"."}
			}
			answer := runsAnswer{Runs: []runRow{}}
			for _, root := range args {
				if err := answer.search(cmd.Context(), root); err != nil {
					return err
				}
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), answer)
			}
			return answer.print(cmd.OutOrStdout(), args, wide)
		},
	}
	jsonFlag(cmd, &asJSON)
	wideFlag(cmd, &wide)
	return cmd
}

// runsAnswer is what `headway runs` says.
type runsAnswer struct {
	Runs []runRow `json:"runs"`
	// Truncated says that there were more folders than are looked at.
	Truncated bool `json:"truncated,omitempty"`
}

// runRow is one crawl.
type runRow struct {
	Dir       string    `json:"dir"`
	Seeds     []string  `json:"seeds"`                // the first few
	MoreSeeds bool      `json:"more_seeds,omitempty"` // and others
	State     job.State `json:"state,omitempty"`      // as stored: a crawl that was killed is still running there
	Running   bool      `json:"running"`              // a process works in it
	Reason    string    `json:"reason,omitempty"`
	Pages     int64     `json:"pages"`
	Waiting   int64     `json:"waiting"`
	Started   time.Time `json:"started,omitzero"`
	Ended     time.Time `json:"ended,omitzero"`
	Bytes     int64     `json:"bytes"` // on disk
	Error     string    `json:"error,omitempty"`
}

// search adds the crawls below a folder, in the order of their names. Links are
// not followed and hidden folders not entered.
func (a *runsAnswer) search(ctx context.Context, root string) error {
	folders := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == root:
			return usage(fmt.Errorf("search for crawls: %w", err), "give a readable folder")
		case err != nil:
			return nil //nolint:nilerr // what cannot be read is not ours
		case !d.IsDir() && path == root:
			return usage(fmt.Errorf("%s is not a folder", root), "give the folder of a crawl, or a folder that contains crawls")
		case !d.IsDir():
			return nil
		case path != root && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		}
		if folders++; folders > runsFolders {
			a.Truncated = true
			return fs.SkipAll
		}
		if isCrawl(path) {
			a.Runs = append(a.Runs, readRun(ctx, path))
			return fs.SkipDir
		}
		if below, err := filepath.Rel(root, path); err == nil && below != "." && strings.Count(below, string(filepath.Separator)) >= runsDepth-1 {
			return fs.SkipDir
		}
		return ctx.Err()
	})
	return err
}

// readRun looks at one crawl. What cannot be read is said in its row.
func readRun(ctx context.Context, dir string) runRow {
	row := runRow{Dir: dir, Seeds: []string{}, Bytes: folderSize(dir)}
	if err := row.read(ctx); err != nil {
		row.Error = err.Error()
	}
	return row
}

func (r *runRow) read(ctx context.Context) (err error) {
	if r.Running, err = sqlite.Running(r.Dir); err != nil {
		return err
	}
	view, err := sqlite.OpenView(ctx, r.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	j, err := lastJob(ctx, view)
	if err != nil {
		return err
	}
	r.State, r.Reason, r.Started, r.Ended = j.State, j.Reason, j.CreatedAt, j.EndedAt
	counts, err := view.Counts(ctx, j.ID)
	if err != nil {
		return err
	}
	r.Pages, r.Waiting = counts.Pages(), counts.Waiting
	// Seeds are stored before anything that was found from them.
	page, err := view.List(ctx, store.Query{Job: j.ID, Max: runsSeeds + 1})
	if err != nil {
		return err
	}
	for i := range page.Entries {
		if it := &page.Entries[i].Item; it.Found == visit.FoundSeed {
			r.Seeds = append(r.Seeds, visit.Redact(it.URL))
		}
	}
	if len(r.Seeds) > runsSeeds {
		r.Seeds, r.MoreSeeds = r.Seeds[:runsSeeds], true
	}
	return nil
}

// folderSize is how much room a folder takes, as far as it can be read.
func folderSize(dir string) int64 {
	var sum int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // files come and go while a crawl runs
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

// standing is how a crawl stands, and why it ended so.
func (r *runRow) standing() string {
	if r.Reason != "" && r.State.Ended() && r.State != job.Complete {
		return r.stands() + ": " + oneLine(r.Reason)
	}
	return r.stands()
}

// stands is how a crawl stands, in a word.
func (r *runRow) stands() string {
	switch {
	case r.Error != "":
		return "unreadable"
	case r.Running:
		return "running"
	case !r.State.Ended():
		return "interrupted"
	default:
		return string(r.State)
	}
}

func (a *runsAnswer) print(w io.Writer, roots []string, wide bool) error {
	if len(a.Runs) == 0 {
		_, err := fmt.Fprintf(w, "no crawls found in %s\n", oneLine(strings.Join(roots, " ")))
		return err
	}
	tab := newTable("~FOLDER", "~STATE", "PAGES", "STARTED", "+ENDED", "+SIZE", "~SEEDS")
	var unreadable []string
	for i := range a.Runs {
		r := &a.Runs[i]
		state := r.stands()
		if r.Reason != "" && r.State.Ended() {
			state += ": " + oneLine(r.Reason)
		}
		seeds := strings.Join(r.Seeds[:min(len(r.Seeds), 2)], " ")
		if len(r.Seeds) > 2 {
			seeds += " …"
		}
		if r.Error != "" {
			seeds = r.Error
			unreadable = append(unreadable, oneLine(r.Dir)+": "+oneLine(r.Error))
		}
		tab.add(oneLine(r.Dir), state, r.Pages, shortTime(r.Started), shortTime(r.Ended), bytesText(r.Bytes), shorten(oneLine(seeds), 120))
	}
	if err := tab.print(w, wide); err != nil {
		return err
	}
	if !wide && len(unreadable) > 0 { // which the table may have cut
		fmt.Fprintf(w, "\n%s\n", strings.Join(unreadable, "\n"))
	}
	if a.Truncated {
		fmt.Fprintf(w, "\nonly the first %d folders were searched\n", runsFolders)
	}
	return nil
}

// shortTime is a moment for a table, in the reader's own time.
func shortTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04")
}

// bytesText is a size in three digits.
func bytesText(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, units := float64(n)/unit, []string{"KiB", "MiB", "GiB", "TiB"}
	for value >= unit && len(units) > 1 {
		value, units = value/unit, units[1:]
	}
	return fmt.Sprintf("%.3g %s", value, units[0])
}

// lastJob is the job of a folder: the latest crawl.
func lastJob(ctx context.Context, r store.Reader) (store.Job, error) {
	var last *store.Job
	for after := job.ID(0); ; {
		list, err := r.JobList(ctx, after, store.MaxPage)
		if err != nil {
			return store.Job{}, err
		}
		if len(list) == 0 {
			break
		}
		last = &list[len(list)-1]
		after = last.ID
	}
	if last == nil {
		return store.Job{}, errors.New("nothing crawled yet")
	}
	return *last, nil
}
