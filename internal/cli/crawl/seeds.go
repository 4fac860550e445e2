package crawl

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"headway/internal/cli/command"
	"headway/internal/config"
	"headway/internal/jobspec"
	"headway/weburl"
)

// Seeds is where a crawl begins.
type Seeds struct {
	URLs []weburl.URL
	// fallback has the http form of seeds that were written without a scheme,
	// by the host of their https form.
	fallback map[string]weburl.URL
}

// maxSeedLine bounds a line of a file of seeds.
const maxSeedLine = 64 << 10

// add reads one seed. A bare example.com means https, then http.
func (s *Seeds) add(raw string) error {
	from := jobspec.Seeds{URLs: s.URLs, Fallback: s.fallback}
	err := from.Add(raw)
	if bad, ok := errors.AsType[*jobspec.Error](err); ok {
		return command.Usage(bad.Err, bad.Hint)
	}
	s.URLs, s.fallback = from.URLs, from.Fallback
	return err
}

// read adds the seeds of a file, one a line; empty lines and those that begin
// with # are left out.
func (s *Seeds) read(name string, stdin io.Reader) error {
	in := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return command.Usage(fmt.Errorf("read seeds: %w", err), "--seeds takes a file with one URL per line, or - for standard input")
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
			failure, _ := errors.AsType[*command.Failure](err)
			return command.Usage(fmt.Errorf("invalid seed in %s, line %d: %w", name, n, failure.Err), failure.Hint)
		}
	}
	if err := lines.Err(); err != nil {
		return command.Usage(fmt.Errorf("read seeds from %s: %w", name, err), "write one URL per line")
	}
	return nil
}

// hashLength is how much of a hash tells directories of one host apart.
const hashLength = 6

// dir is the folder of a crawl that names none: it follows from seeds and scope
// alone, so that the same command finds it again.
func (s *Seeds) dir(scope string) string {
	first := s.URLs[0]
	name := command.FolderOf(first.Host())
	if len(s.URLs) == 1 && scope == "host" && first.PathQuery() == "/" {
		return name
	}
	h := sha256.New()
	fmt.Fprintln(h, scope)
	for _, u := range s.URLs {
		fmt.Fprintln(h, u)
	}
	return name + "-" + hex.EncodeToString(h.Sum(nil))[:hashLength]
}

// ReadSeeds collects the seeds of arguments, config and files.
func ReadSeeds(set *config.Settings, args []string, stdin io.Reader) (s Seeds, err error) {
	if len(args) == 0 {
		args = set.Seeds
	}
	for _, raw := range args {
		if err := s.add(raw); err != nil {
			return s, err
		}
	}
	if set.SeedsFile != "" {
		if err := s.read(set.SeedsFile, stdin); err != nil {
			return s, err
		}
	}
	if len(s.URLs) == 0 {
		return s, command.Usage(errors.New("no seed given"), "give a seed, for example headway crawl https://example.com, or a file of seeds with --seeds")
	}
	return s, nil
}
