package parse

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"time"

	"headway/internal/htmltoken"
	"headway/weburl"
)

// The limits of the sitemaps protocol for one file. The rest is left out and reported.
const (
	MaxSitemapURLs  = 50_000
	MaxSitemapBytes = 50 << 20 // uncompressed
)

// ErrNotSitemap reports a body that is not a sitemap, index, feed or list of URLs.
var ErrNotSitemap = errors.New("not a sitemap")

// SitemapForm is the form a sitemap comes in.
type SitemapForm string

// The forms of sitemaps.
const (
	FormURLSet SitemapForm = "urlset" // pages
	FormIndex  SitemapForm = "index"  // other sitemaps
	FormRSS    SitemapForm = "rss"    // RSS 2.0 and 1.0
	FormAtom   SitemapForm = "atom"
	FormText   SitemapForm = "text" // one URL per line
)

// Entry is one URL in a sitemap.
type Entry struct {
	URL weburl.URL
	// Sitemap marks the URL of another sitemap, from an index.
	Sitemap bool
	// LastMod is when the page last changed; zero if missing or invalid.
	LastMod time.Time
	// Priority is from 0 to 1; 0.5 if missing.
	Priority float64
}

// SitemapOptions limit the reading of a sitemap and extend the allowed hosts.
type SitemapOptions struct {
	// Named has a URL on each host whose robots.txt lists this sitemap. The sitemap
	// may list pages of these hosts in addition to its own.
	Named []weburl.URL
	// MaxURLs limits the entries read; 0 means MaxSitemapURLs.
	MaxURLs int
	// MaxBytes limits the file, as sent and uncompressed; 0 means MaxSitemapBytes.
	MaxBytes int64
}

// SitemapReport says what else was in a sitemap.
type SitemapReport struct {
	Form    SitemapForm
	Gzipped bool
	Entries int                 // read, valid or not
	Foreign int                 // of these, on a host the sitemap may not list
	Bad     map[weburl.Code]int // of these, invalid, by reason
	Cut     Bounds              // BoundLinks and BoundBytes, if reached
}

// Sitemap reads a sitemap, a sitemap index, an RSS or Atom feed or a plain list of URLs as
// a stream, with a bounded part in memory.
//
// A sitemap may list URLs of its own host, and of hosts whose robots.txt lists it; others
// are counted and left out. http and https, and a host with and without "www.", count as
// one. The protocol's rule that a sitemap may only list URLs below its own directory is not
// applied, as hardly any site follows it.
type Sitemap struct {
	r       *bufio.Reader
	limits  []*limitedReader // as sent, and uncompressed
	at      weburl.URL
	sites   []site
	maxURLs int

	next   func() (Entry, bool, error) // reads one entry of the detected form; false to leave it out
	xml    xmlScanner
	item   sitemapItem
	depth  int // open elements
	form   *sitemapElements
	report SitemapReport
	err    error
	done   bool
}

// NewSitemap prepares to read the sitemap found at the URL at.
func NewSitemap(r io.Reader, at weburl.URL, o SitemapOptions) *Sitemap {
	if o.MaxURLs == 0 {
		o.MaxURLs = MaxSitemapURLs
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = MaxSitemapBytes
	}
	s := &Sitemap{at: at, maxURLs: o.MaxURLs, sites: []site{siteOf(at)}}
	for _, u := range o.Named {
		s.sites = append(s.sites, siteOf(u))
	}
	s.limits = []*limitedReader{{r: r, left: o.MaxBytes}, {left: o.MaxBytes}}
	return s
}

// Entries returns the entries as they are read. After the loop, check [Sitemap.Err] and
// [Sitemap.Report]; a second loop continues where the first stopped.
func (s *Sitemap) Entries() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for !s.done {
			if e, ok := s.step(); ok && !yield(e) {
				return
			}
		}
	}
}

// Err returns why reading ended early, or nil. The entries before it are valid. It wraps
// [ErrNotSitemap], [ErrDoctype], or an error of the reader, or is a [*PanicError].
func (s *Sitemap) Err() error { return s.err }

// Report returns what was read so far.
func (s *Sitemap) Report() SitemapReport {
	r := s.report
	r.Bad = maps.Clone(r.Bad)
	return r
}

// step reads one entry. ok reports whether to return it.
func (s *Sitemap) step() (e Entry, ok bool) {
	var err error
	defer func() {
		if err != nil {
			e, ok = Entry{}, false
			s.finish(err)
		}
	}()
	defer contain(s.at, &err)
	if s.next == nil {
		if err = s.open(); err != nil {
			return Entry{}, false
		}
	}
	e, ok, err = s.next()
	return e, ok
}

// finish records the end of reading and its reason.
func (s *Sitemap) finish(err error) {
	s.done = true
	for _, l := range s.limits {
		if l.reached { // input cut at a limit looks malformed
			s.report.Cut |= BoundBytes
			return
		}
	}
	if _, panicked := errors.AsType[*PanicError](err); panicked {
		s.err = err
	} else if !isEnd(err) {
		s.err = fmt.Errorf("read sitemap %s: %w", s.at, err)
	}
}

// entry makes an entry of a URL that was parsed, or could not be. It reports whether to
// return it; io.EOF means that enough were read.
func (s *Sitemap) entry(u weburl.URL, err error) (Entry, bool, error) {
	if s.report.Entries == s.maxURLs {
		s.report.Cut |= BoundLinks
		return Entry{}, false, io.EOF
	}
	s.report.Entries++
	if err != nil {
		countBad(&s.report.Bad, err)
		return Entry{}, false, nil
	}
	if !slices.Contains(s.sites, siteOf(u)) {
		s.report.Foreign++
		return Entry{}, false, nil
	}
	return Entry{URL: u, Sitemap: s.report.Form == FormIndex, Priority: defaultPriority}, true, nil
}

// defaultPriority is the protocol's default.
const defaultPriority = 0.5

// maxBadLines is how many lines of a text may be invalid, with no valid URL before them,
// until it is rejected.
const maxBadLines = 100

// nextLine reads an entry of a plain list.
func (s *Sitemap) nextLine() (Entry, bool, error) {
	line, err := s.r.ReadSlice('\n')
	long := isFull(err)
	for isFull(err) {
		_, err = s.r.ReadSlice('\n')
	}
	if err != nil && !isEnd(err) {
		return Entry{}, false, err
	}
	var u weburl.URL
	if long {
		err = &weburl.Error{Code: weburl.TooLong}
	} else if line = htmltoken.TrimSpace(line); len(line) == 0 {
		return Entry{}, false, err
	} else {
		u, err = weburl.Parse(string(line))
	}
	e, ok, err := s.entry(u, err)
	if err == nil && !ok && s.report.Entries == maxBadLines && s.allBad() {
		err = ErrNotSitemap
	}
	return e, ok, err
}

// allBad reports whether no entry so far was a URL.
func (s *Sitemap) allBad() bool {
	n := 0
	for _, count := range s.report.Bad {
		n += count
	}
	return n == s.report.Entries
}
