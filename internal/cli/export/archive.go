package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"headway/content"
	"headway/internal/atomicfile"
	"headway/internal/cli/command"
	"headway/internal/config"
	"headway/internal/replay"
	"headway/internal/result"
	"headway/output/format"
	"headway/output/warc"
	"headway/store/sqlite"
)

// archiveFlags are the flags that read the archive of a crawl instead of its database.
type archiveFlags struct {
	paths   []string
	content []string
}

func (f *archiveFlags) register(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.paths, "from-archive", nil, "read WARC files of a crawl: a `folder` or files (repeatable)")
	fs.StringSliceVar(&f.content, "content", nil, "with --from-archive: main text of pages, in `forms` separated by commas: text, markdown")
}

func (f *archiveFlags) given() bool { return len(f.paths) > 0 }

// checkArgs accepts more files after --from-archive, as a shell writes them for a pattern.
func (f *archiveFlags) checkArgs(more []string) error {
	if len(more) > 0 && !f.given() {
		return command.Usage(fmt.Errorf("unexpected argument %q", more[0]), "choose the crawl with --dir, or files of an archive with --from-archive")
	}
	return nil
}

func (f *archiveFlags) check(dir bool) error {
	switch {
	case !f.given() && len(f.content) > 0:
		return command.Usage(errors.New("--content needs --from-archive"), "texts that a crawl kept (headway crawl --content) are exported without this flag")
	case f.given() && dir:
		return command.Usage(errors.New("--from-archive and --dir were both given"), "choose one: the archive, or the database of the crawl")
	}
	for _, form := range f.content {
		if form != config.ContentText && form != config.ContentMarkdown {
			return command.Usage(fmt.Errorf("invalid content %q", form), "choose from "+config.ContentText+", "+config.ContentMarkdown)
		}
	}
	return nil
}

// archiveExport is an export from an archive.
type archiveExport struct {
	forms []string
	files []string // of the archive, in the order they were written
	size  int64
	read  replay.Result
	ends  []archiveEnd
}

// archiveEnd is a file that ends within an exchange.
type archiveEnd struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"` // of what was read
}

// find lists the files of an archive, and the folder of the first one.
func (f *archiveFlags) find(more []string) (a *archiveExport, dir string, err error) {
	a = &archiveExport{forms: f.content}
	for _, path := range slices.Concat(f.paths, more) {
		info, err := os.Stat(path)
		if err != nil {
			return nil, "", command.Usage(fmt.Errorf("--from-archive: %w", err), "give the folder of a crawl with --format warc, or its .warc.gz files")
		}
		if !info.IsDir() {
			a.files, a.size = append(a.files, path), a.size+info.Size()
			continue
		}
		for _, end := range []string{"", atomicfile.PartSuffix} { // the part file is the last
			list, err := filepath.Glob(filepath.Join(command.EscapeGlob(path), "*.warc.gz"+end))
			if err != nil {
				return nil, "", command.Failed(err, "")
			}
			for _, name := range list {
				size, err := command.SizeOf(name)
				if err != nil {
					return nil, "", command.Failed(err, "")
				}
				a.files, a.size = append(a.files, name), a.size+size
			}
		}
	}
	// The names begin with a time: the last response of a URL counts, whatever the order of the
	// arguments.
	slices.SortStableFunc(a.files, func(a, b string) int { return cmp.Compare(filepath.Base(a), filepath.Base(b)) })
	if len(a.files) == 0 {
		return nil, "", command.Usage(fmt.Errorf("no .warc.gz files in %s", strings.Join(f.paths, ", ")), "give the folder of a crawl with --format warc")
	}
	return a, filepath.Dir(a.files[0]), nil
}

// runArchive reads the archive into a temporary store, and writes the files from there.
func (e *exporting) runArchive(ctx context.Context, dir string) (err error) {
	if err := os.MkdirAll(e.out, 0o755); err != nil {
		return command.Usage(err, "choose a writable folder with --out")
	}
	tmp := filepath.Join(e.out, "archive"+atomicfile.PartSuffix) // one of a killed export is replaced
	if err := os.RemoveAll(tmp); err != nil {
		return command.Failed(err, "check that "+e.out+" is writable")
	}
	st, err := sqlite.Open(ctx, sqlite.Config{Dir: tmp})
	if err != nil {
		return command.Failed(err, "check that "+e.out+" is writable")
	}
	defer func() { err = errors.Join(err, st.Close(), os.RemoveAll(tmp)) }()
	if err := e.archive.replay(ctx, st, e); err != nil {
		return err
	}
	l := &result.Ledger{Reader: st, Job: e.archive.read.Job, Seen: e.progress.step}
	e.progress.say = sayURLs
	return e.write(ctx, l, dir)
}

// replay reads the exchanges of the archive.
func (a *archiveExport) replay(ctx context.Context, st *sqlite.Store, e *exporting) error {
	r := warc.NewReader(a.files...)
	defer r.Close()
	r.Damaged = func(path string, size int64, _ error) { a.ends = append(a.ends, archiveEnd{path, size}) }
	e.progress.say = sayBytesRead
	e.progress.begin(a.size)
	forms := slices.Concat(a.forms, format.Content(e.formats...))
	var err error
	a.read, err = replay.Run(ctx, replay.Config{
		Store: st, Agent: command.Product, Content: content.Options{Text: slices.Contains(forms, config.ContentText), Markdown: slices.Contains(forms, config.ContentMarkdown)},
		Read: func() { e.progress.reach(r.Bytes()) },
	}, r)
	e.progress.end()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return interrupted()
	default:
		return command.Failed(err, "check the files of the archive, and that "+e.out+" has free disk space")
	}
}

// archiveSum is what was read, for programs.
type archiveSum struct {
	Files     int          `json:"files"`
	Exchanges int64        `json:"exchanges"`
	Pages     int64        `json:"pages"` // responses to requests for pages
	Lost      int64        `json:"lost"`  // of them, those without their body
	Damaged   []archiveEnd `json:"damaged"`
}

func (a *archiveExport) sum() archiveSum {
	return archiveSum{Files: len(a.files), Exchanges: a.read.Exchanges, Pages: a.read.Pages, Lost: a.read.Lost, Damaged: append([]archiveEnd{}, a.ends...)}
}

// print says what was read.
func (a *archiveExport) print(w io.Writer) {
	fmt.Fprintf(w, "from %s: %s\n", command.Plural(len(a.files), "archive file"), command.Plural(int(a.read.Pages), "response"))
	for _, end := range a.ends {
		fmt.Fprintf(w, "warning: %s ends within an exchange; %s were read\n", end.Path, command.Bytes(end.Bytes))
	}
	if a.read.Lost > 0 {
		fmt.Fprintf(w, "warning: %s without text: the body is in an archive file that was not given\n", command.Plural(int(a.read.Lost), "page"))
	}
}
