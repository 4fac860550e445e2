package parquet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"headway/internal/atomicfile"
	"headway/output"
	"headway/visit"
)

// Metadata keys of a file of links.
const (
	LinksKey   = "headway.links"         // AllLinks or FirstLinks
	PagesKey   = "headway.links.pages"   // number of fetched pages with all links in the file
	MissingKey = "headway.links.missing" // number of fetched pages with missing links
	spoolKey   = "headway.links.spool"   // the last spool included
)

// The values of LinksKey.
const (
	AllLinks   = "all"   // each link of each page
	FirstLinks = "first" // the link by which each URL was found first
)

// Files next to a file of links while the crawl runs: the spool, and the file from before
// the crawl was extended.
const (
	spoolSuffix  = ".spool"
	beforeSuffix = ".before"
)

// Links collects the links of the pages of a crawl. It is used by one goroutine.
type Links struct {
	path   string
	spool  *spool // nil while the file is finished, and once closed
	name   string // of the spool
	before bool   // the file from before the extension exists
	broken error
}

var (
	_ output.Writer   = (*Links)(nil)
	_ output.Flusher  = (*Links)(nil)
	_ output.Finisher = (*Links)(nil)
)

// CreateLinks starts over. A finished file of this name stays until Finish replaces it.
func CreateLinks(path string) (*Links, error) {
	if err := errors.Join(atomicfile.Remove(path+spoolSuffix), atomicfile.Remove(path+beforeSuffix)); err != nil {
		return nil, fmt.Errorf("create links: %w", err)
	}
	l := &Links{path: path}
	return l, l.open()
}

// ResumeLinks continues the files of an earlier writer of the same crawl. It reads the spool
// once. A finished file is continued with the first page that is written.
func ResumeLinks(path string) (*Links, error) {
	l := &Links{path: path}
	if err := l.resume(); err != nil {
		return nil, fmt.Errorf("resume links: %w", err)
	}
	return l, nil
}

func (l *Links) resume() error {
	var finished, begun bool
	var err error
	if finished, err = atomicfile.Exists(l.path); err != nil {
		return err
	}
	if begun, err = atomicfile.Exists(l.path + spoolSuffix); err != nil {
		return err
	}
	if l.before, err = atomicfile.Exists(l.path + beforeSuffix); err != nil {
		return err
	}
	if finished && !begun {
		return nil
	}
	if err := l.open(); err != nil || !finished {
		return err
	}
	// Either the file belongs to an earlier crawl, or Finish was killed after
	// writing it.
	has, err := metaOf(l.path)
	if err != nil || has[spoolKey] != l.name {
		return nil //nolint:nilerr // an unreadable file is not ours, and will be replaced
	}
	return errors.Join(l.spool.close(), l.clean())
}

// open opens the spool.
func (l *Links) open() (err error) {
	l.spool, l.name, err = openSpool(l.path+spoolSuffix, rand.Text())
	return err
}

// clean removes what is no longer needed once the file is finished.
func (l *Links) clean() error {
	l.spool, l.before = nil, false
	return errors.Join(atomicfile.Remove(l.path+beforeSuffix), atomicfile.Remove(l.path+spoolSuffix))
}

// Write collects the links of a page. A page that is fetched again gets its new links.
func (l *Links) Write(_ context.Context, v *visit.Visit) error {
	if l.broken != nil {
		return l.broken
	}
	if err := v.Check(); err != nil {
		return err
	}
	add := (*spool).add
	if v.Outcome != visit.Fetched {
		// An unchanged page keeps its links; one that was never requested has none.
		if v.Outcome == visit.NotModified || v.Timing.Sent.IsZero() {
			return nil
		}
		add = (*spool).forget
	}
	if l.spool == nil {
		if err := l.unfinish(); err != nil {
			return l.fail(err)
		}
	}
	if err := add(l.spool, v); err != nil {
		return l.fail(err)
	}
	return nil
}

// unfinish moves the finished file aside and starts a spool for additions.
func (l *Links) unfinish() error {
	if err := os.Rename(l.path, l.path+beforeSuffix); err != nil {
		return err
	}
	l.before = true
	return l.open()
}

func (l *Links) fail(err error) error {
	l.broken = fmt.Errorf("write links: %w", err)
	return l.broken
}

// Flush passes what was collected to the operating system.
func (l *Links) Flush() error {
	if l.broken != nil || l.spool == nil {
		return l.broken
	}
	if err := l.spool.flush(); err != nil {
		return l.fail(err)
	}
	return nil
}

// Close closes the writer. Unless it was finished, the spool stays.
func (l *Links) Close() error {
	var err error
	if l.spool != nil {
		err = l.spool.close()
		l.spool = nil
	}
	if l.broken == nil {
		l.broken = errors.New("write links: already closed")
	}
	return err
}

// Finish writes a Parquet file from the spool and the earlier file.
func (l *Links) Finish(ctx context.Context, ledger output.Ledger) error {
	if l.broken != nil {
		return l.broken
	}
	if l.spool == nil { // finished, and nothing was added
		return nil
	}
	if err := l.Flush(); err != nil {
		return err
	}
	ended, err := ledger.Ended(ctx)
	if err != nil {
		return fmt.Errorf("finish links: %w", err)
	}
	t, err := newTable[Link](l.path)
	if err == nil {
		err = l.fill(ctx, t, ended[output.Ending{Outcome: visit.Fetched}])
		if err == nil {
			err = t.publish()
		}
		err = errors.Join(err, t.drop())
	}
	if err != nil {
		return fmt.Errorf("finish links: %w", err)
	}
	if err := errors.Join(l.spool.close(), l.clean()); err != nil {
		return l.fail(err)
	}
	return nil
}

// fill writes all links, and the number of their pages.
func (l *Links) fill(ctx context.Context, t *table[Link], fetched int64) error {
	pages := l.spool.pages
	if l.before {
		before, err := l.pagesBefore()
		if err != nil {
			return err
		}
		pages += before
	}
	old, err := l.outdated(ctx, pages)
	if err != nil {
		return err
	}
	err = l.walk(ctx, walker{
		link: func(s *linkRun, row Link) error {
			if old[s.at] {
				return nil
			}
			return t.add(row, row.size())
		},
		end: func(s *linkRun, whole bool) error {
			if whole && !s.gone && old[s.at] {
				pages--
			}
			return nil
		},
	})
	if err != nil {
		return err
	}
	if _, err := l.spool.file.Seek(0, io.SeekEnd); err != nil { // position for appending if this fails
		return err
	}
	pages = min(pages, fetched) // pages without links are in no file that shows whether they were fetched again
	t.w.SetKeyValueMetadata(LinksKey, AllLinks)
	t.w.SetKeyValueMetadata(spoolKey, l.name)
	t.w.SetKeyValueMetadata(PagesKey, strconv.FormatInt(pages, 10))
	t.w.SetKeyValueMetadata(MissingKey, strconv.FormatInt(fetched-pages, 10))
	return nil
}

// pagesBefore is the number of pages with all links in the earlier file.
func (l *Links) pagesBefore() (int64, error) {
	meta, err := metaOf(l.path + beforeSuffix)
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseInt(meta[PagesKey], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", l.path+beforeSuffix, err)
	}
	return pages, nil
}

// metaOf reads the metadata of a file.
func metaOf(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	file, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		return nil, err
	}
	meta := map[string]string{}
	for _, kv := range file.Metadata().KeyValueMetadata {
		meta[kv.Key] = kv.Value
	}
	return meta, nil
}
