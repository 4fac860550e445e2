package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"headway/weburl"
)

// optOutFile lists hosts whose owners asked not to be crawled.
func optOutFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "headway", "optout.txt"), nil
}

// readOptOuts reads the list of those who asked not to be crawled: a host or
// domain a line, which stands for itself and all names below it. It is asked
// before robots.txt.
func readOptOuts() (func(weburl.URL) bool, error) {
	none := func(weburl.URL) bool { return false }
	path, err := optOutFile()
	if err != nil {
		return none, nil // no home, so there is no list
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return nil, failed(fmt.Errorf("read opt-outs: %w", err), "look whether "+path+" can be read")
	}
	defer f.Close()
	listed := map[string]bool{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if name := strings.ToLower(strings.TrimSpace(lines.Text())); name != "" && !strings.HasPrefix(name, "#") {
			listed[name] = true
		}
	}
	if err := lines.Err(); err != nil {
		return nil, failed(fmt.Errorf("read opt-outs: %w", err), "look whether "+path+" can be read")
	}
	return func(u weburl.URL) bool {
		for name := u.Hostname(); name != ""; {
			if listed[name] {
				return true
			}
			_, rest, ok := strings.Cut(name, ".")
			if !ok {
				return false
			}
			name = rest
		}
		return false
	}, nil
}
