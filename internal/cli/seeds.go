package cli

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"headway/internal/jobspec"
	"headway/weburl"
)

// seeds is where a crawl begins.
type seeds struct {
	urls []weburl.URL
	// fallback has the http form of seeds that were written without a scheme,
	// by the host of their https form.
	fallback map[string]weburl.URL
}

// maxSeedLine bounds a line of a file of seeds.
const maxSeedLine = 64 << 10

// add reads one seed. A bare example.com means https, then http.
func (s *seeds) add(raw string) error {
	from := jobspec.Seeds{URLs: s.urls, Fallback: s.fallback}
	err := from.Add(raw)
	if bad, ok := errors.AsType[*jobspec.Error](err); ok {
		return usage(bad.Err, bad.Hint)
	}
	s.urls, s.fallback = from.URLs, from.Fallback
	return err
}

// read adds the seeds of a file, one a line; empty lines and those that begin
// with # are left out.
func (s *seeds) read(name string, stdin io.Reader) error {
	in := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return usage(fmt.Errorf("read seeds: %w", err), "--seeds takes a file with one URL per line, or - for standard input")
		}
		defer f.Close()
		in = f
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxSeedLine)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if n == 1 {
			line = strings.TrimPrefix(line, "\ufeff") // some editors begin a file so
		}
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := s.add(line); err != nil {
			failure, _ := errors.AsType[*Failure](err)
			return usage(fmt.Errorf("invalid seed in %s, line %d: %w", name, n, failure.Err), failure.Hint)
		}
	}
	if err := lines.Err(); err != nil {
		return usage(fmt.Errorf("read seeds from %s: %w", name, err), "write one URL per line")
	}
	return nil
}

// hashLength is how much of a hash tells directories of one host apart.
const hashLength = 6

// dir is the folder of a crawl that names none: it follows from seeds and scope
// alone, so that the same command finds it again.
func (s *seeds) dir(scope string) string {
	first := s.urls[0]
	name := folderOf(first.Host())
	if len(s.urls) == 1 && scope == "host" && first.PathQuery() == "/" {
		return name
	}
	h := sha256.New()
	fmt.Fprintln(h, scope)
	for _, u := range s.urls {
		fmt.Fprintln(h, u)
	}
	return name + "-" + hex.EncodeToString(h.Sum(nil))[:hashLength]
}

// readSeeds collects the seeds of arguments, config and files.
func (c *crawlRun) readSeeds(args []string) error {
	if len(args) == 0 {
		args = c.set.Seeds
	}
	for _, raw := range args {
		if err := c.seeds.add(raw); err != nil {
			return err
		}
	}
	if c.set.SeedsFile != "" {
		if err := c.seeds.read(c.set.SeedsFile, c.in); err != nil {
			return err
		}
	}
	if len(c.seeds.urls) == 0 {
		return usage(errors.New("no seed given"), "give a seed, for example headway crawl https://example.com, or a file of seeds with --seeds")
	}
	return nil
}
