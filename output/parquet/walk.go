package parquet

import (
	"context"
	"errors"
	"hash/maphash"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// linkRun is a run of consecutive links of one page, in the earlier file or in the spool. A
// page that was fetched again has several.
type linkRun struct {
	at   int64 // number of link runs before it
	from string
	gone bool // no longer a page with links
}

// walker is called for link runs in order: for each link, and for the end, which is
// incomplete if the process was killed.
type walker struct {
	link func(s *linkRun, row Link) error
	end  func(s *linkRun, whole bool) error

	now  linkRun
	open bool
	next int64
}

func (w *walker) begin(from string, gone bool) error {
	if err := w.close(false); err != nil {
		return err
	}
	w.now, w.open = linkRun{at: w.next, from: from, gone: gone}, true
	w.next++
	return nil
}

// close ends the linkRun, if there is one.
func (w *walker) close(whole bool) error {
	if !w.open {
		return nil
	}
	w.open = false
	return w.end(&w.now, whole)
}

// walk reads the earlier file and the spool.
func (l *Links) walk(ctx context.Context, w walker) error {
	if l.before {
		if err := w.file(ctx, l.path+beforeSuffix); err != nil {
			return err
		}
	}
	if _, err := readSpool(l.spool.file, func(line string) error { return w.line(ctx, line) }); err != nil {
		return err
	}
	return w.close(false)
}

// file reads a finished file.
func (w *walker) file(ctx context.Context, path string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := parquet.NewGenericReader[Link](f)
	defer func() { err = errors.Join(err, r.Close()) }()
	rows := make([]Link, batchRows)
	for {
		n, err := r.Read(rows)
		for _, row := range rows[:n] {
			if !w.open || row.From != w.now.from {
				if err := errors.Join(w.close(true), w.begin(strings.Clone(row.From), false)); err != nil {
					return err
				}
			}
			if err := w.link(&w.now, row); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return w.close(true)
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
	}
}

// line handles one line of a spool.
func (w *walker) line(ctx context.Context, line string) error {
	if line == "" {
		return nil
	}
	switch line[:1] {
	case pageBegin:
		return errors.Join(w.begin(line[1:], false), ctx.Err())
	case pageGone:
		return errors.Join(w.begin(line[1:], true), w.close(true))
	case pageMore:
		return nil
	case pageEnd:
		return w.close(true)
	}
	to, rest, ok := strings.Cut(line, " ")
	nofollow, kind, ok2 := strings.Cut(rest, " ")
	if !ok || !ok2 {
		return nil // the name of the spool
	}
	return w.link(&w.now, Link{From: w.now.from, To: to, Kind: kind, Nofollow: nofollow == "1"})
}

// mostPages limits how many pages are checked for duplicates together: 32 MB. Larger crawls
// take several rounds. It is a variable for tests.
var mostPages = 4 << 20

// outdated finds the link runs of pages that were fetched again later: of each page the last
// complete one counts, or else the last. Memory grows only with the number of such pages.
// Pages are identified by keyed 64-bit hashes.
func (l *Links) outdated(ctx context.Context, pages int64) (map[int64]bool, error) {
	seed := maphash.MakeSeed()
	type best struct {
		at    int64
		whole bool
	}
	again := map[uint64]best{} // those that occur twice
	rounds := uint64(pages)/uint64(mostPages) + 1
	noLink := func(*linkRun, Link) error { return nil }
	var hashes []uint64
	for round := range rounds {
		hashes = hashes[:0]
		err := l.walk(ctx, walker{link: noLink, end: func(s *linkRun, _ bool) error {
			if h := maphash.String(seed, s.from); h%rounds == round {
				hashes = append(hashes, h)
			}
			return nil
		}})
		if err != nil {
			return nil, err
		}
		slices.Sort(hashes)
		for i, h := range hashes {
			if i > 0 && h == hashes[i-1] {
				again[h] = best{at: -1}
			}
		}
	}
	if len(again) == 0 {
		return nil, nil
	}
	old := map[int64]bool{}
	err := l.walk(ctx, walker{link: noLink, end: func(s *linkRun, whole bool) error {
		h := maphash.String(seed, s.from)
		before, twice := again[h]
		switch {
		case !twice:
		case whole || !before.whole:
			if before.at >= 0 {
				old[before.at] = true
			}
			again[h] = best{s.at, whole}
		default:
			old[s.at] = true
		}
		return nil
	}})
	return old, err
}
