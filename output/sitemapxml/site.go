package sitemapxml

import (
	"bufio"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"headway/internal/atomicfile"
)

// The protocol's limits of one sitemap. They are variables for tests.
var (
	maxURLs        = 50_000
	maxBytes int64 = 50 << 20 // not compressed
)

const (
	head      = xml.Header + `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n"
	foot      = "</urlset>\n"
	indexHead = xml.Header + `<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n"
	indexFoot = "</sitemapindex>\n"
	indexName = "sitemap.xml"
)

// escaper escapes a URL for XML as the protocol requires.
var escaper = strings.NewReplacer("&", "&amp;", "'", "&apos;", `"`, "&quot;", "<", "&lt;", ">", "&gt;")

// site is the sitemaps of one host. The current file is plain text until it is full, so that
// it can be closed and appended to again.
type site struct {
	host   string // as [weburl.URL.Host] writes it
	folder string
	files  int   // started
	urls   int   // in the last one
	bytes  int64 // of the last one
	used   int64 // last use, counted in additions

	file   *os.File // the current one, nil while closed
	buffer *bufio.Writer
}

// folderName is a folder name for a host that is valid on any file system.
func folderName(host string) string {
	name := strings.TrimPrefix(host, "https://")
	return strings.NewReplacer("://", "_", ":", "_", "[", "", "]", "").Replace(name)
}

func newSite(dir, host string) (*site, error) {
	folder := filepath.Join(dir, folderName(host))
	s := &site{host: host, folder: folder}
	err := os.Mkdir(s.folder, 0o755)
	for n := 2; n <= MaxSites && errors.Is(err, fs.ErrExist); n++ { // two hosts may get the same name, such as http_a and http://a
		s.folder = fmt.Sprintf("%s-%d", folder, n)
		err = os.Mkdir(s.folder, 0o755)
	}
	return s, err
}

func (s *site) name(n int) string { return fmt.Sprintf("sitemap-%d.xml", n) }

// add appends a page.
func (s *site) add(url string, changed time.Time, known bool) error {
	entry := "<url><loc>" + escaper.Replace(url) + "</loc>"
	if known {
		entry += "<lastmod>" + changed.Format(time.RFC3339) + "</lastmod>"
	}
	entry += "</url>\n"
	if s.files == 0 || s.urls == maxURLs || s.bytes+int64(len(entry)+len(foot)) > maxBytes {
		if err := s.next(); err != nil {
			return err
		}
	}
	s.urls++
	return s.write(entry)
}

// next completes the current file and starts another.
func (s *site) next() error {
	if err := s.complete(); err != nil {
		return err
	}
	s.files++
	s.urls, s.bytes = 0, 0
	return s.write(head)
}

func (s *site) write(text string) error {
	if s.file == nil {
		f, err := os.OpenFile(filepath.Join(s.folder, s.name(s.files)), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
		if err != nil {
			return err
		}
		s.file, s.buffer = f, bufio.NewWriter(f)
	}
	s.bytes += int64(len(text))
	_, err := s.buffer.WriteString(text)
	return err
}

// close closes the open file.
func (s *site) close() error {
	if s.file == nil {
		return nil
	}
	err := errors.Join(s.buffer.Flush(), s.file.Close())
	s.file, s.buffer = nil, nil
	return err
}

// complete completes the current file and compresses it.
func (s *site) complete() error {
	if s.files == 0 {
		return nil
	}
	if err := s.write(foot); err != nil {
		return err
	}
	if err := s.close(); err != nil {
		return err
	}
	name := filepath.Join(s.folder, s.name(s.files))
	if err := compress(name); err != nil {
		return err
	}
	return os.Remove(name)
}

// compress writes name.gz next to a file.
func compress(name string) (err error) {
	from, err := os.Open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	return create(name+".gz", func(to io.Writer) error {
		z := gzip.NewWriter(to)
		if _, err := io.Copy(z, from); err != nil {
			return err
		}
		return z.Close()
	})
}

// finish completes the last file and writes the index.
func (s *site) finish() error {
	if err := s.complete(); err != nil {
		return err
	}
	err := create(filepath.Join(s.folder, indexName), func(w io.Writer) error {
		b := bufio.NewWriter(w) // keeps the first error for Flush
		fmt.Fprint(b, indexHead)
		for n := range s.files {
			fmt.Fprintf(b, "<sitemap><loc>%s/%s.gz</loc></sitemap>\n", escaper.Replace(s.host), s.name(n+1))
		}
		fmt.Fprint(b, indexFoot)
		return b.Flush()
	})
	if err != nil {
		return err
	}
	return atomicfile.SyncDir(s.folder)
}

// create writes a file and syncs it to disk.
func create(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
