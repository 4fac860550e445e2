package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"headway/internal/atomicfile"
	"headway/store"
	"headway/weburl"
)

// OptOutName reads a host as people name it; a URL stands for its host.
func OptOutName(text string) (string, error) {
	raw := text
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	u, err := weburl.Parse(raw)
	if err != nil {
		return "", Usage(fmt.Errorf("invalid host %q", text), "give a host name, for example example.com")
	}
	return u.Hostname(), nil
}

// OptOutFile is the path of the opt-out list.
func OptOutFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "headway", "optout.txt"), nil
}

// OptOutList is the opt-out list: one host or domain per line, which covers itself
// and all its subdomains. Empty lines and comments (#) are kept.
type OptOutList struct {
	path  string
	lines []string
}

// maxOptOuts bounds the file.
const maxOptOuts = 64 << 20

// OpenOptOuts reads the list. A file that is not there is an empty one.
func OpenOptOuts(path string) (*OptOutList, error) {
	list := &OptOutList{path: path}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err == nil && info.Size() > maxOptOuts {
		err = fmt.Errorf("%s is too large: %d bytes, maximum %d", path, info.Size(), maxOptOuts)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, Failed(fmt.Errorf("read opt-outs: %w", err), "check that "+path+" is readable")
	}
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) { // some editors begin a file so
		list.lines = append(list.lines, strings.TrimRight(line, "\r\n"))
	}
	return list, nil
}

// optOutLine is the name on a line, empty where there is none.
func optOutLine(line string) string {
	name := strings.ToLower(strings.TrimSpace(line))
	if strings.HasPrefix(name, "#") {
		return ""
	}
	return name
}

// Names are all names on the list, in order.
func (l *OptOutList) Names() []string {
	names := []string{}
	for _, line := range l.lines {
		if name := optOutLine(line); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// CoveredBy is the entry that covers a host, empty for none.
func (l *OptOutList) CoveredBy(host string) string { return store.NewNames(l.Names()).Covering(host) }

// Add puts a name on the list, unless it is covered already.
func (l *OptOutList) Add(name string) (bool, error) {
	if l.CoveredBy(name) != "" {
		return false, nil
	}
	l.lines = append(l.lines, name)
	return true, nil
}

// Remove takes a name off the list.
func (l *OptOutList) Remove(name string) (bool, error) {
	before := len(l.lines)
	l.lines = slices.DeleteFunc(l.lines, func(line string) bool { return optOutLine(line) == name })
	switch above := l.CoveredBy(name); {
	case above != "":
		return false, Usage(fmt.Errorf("%s is opted out by the entry %s", name, above), "remove "+above+"; that entry covers all its subdomains")
	case len(l.lines) == before:
		return false, Usage(fmt.Errorf("%s is not on the opt-out list", name), "headway optout list shows all entries")
	}
	return true, nil
}

// Save writes the list atomically.
func (l *OptOutList) Save() error {
	if err := os.MkdirAll(filepath.Dir(l.path), 0o755); err != nil {
		return err
	}
	text := strings.Join(l.lines, "\n")
	if text != "" {
		text += "\n"
	}
	return atomicfile.Write(l.path, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// ReadOptOuts reads the opt-out list and returns whether it covers a URL. It is
// checked before robots.txt.
func ReadOptOuts() (func(weburl.URL) bool, error) {
	path, err := OptOutFile()
	if err != nil {
		return func(weburl.URL) bool { return false }, nil //nolint:nilerr // no home, so there is no list
	}
	list, err := OpenOptOuts(path)
	if err != nil {
		return nil, err
	}
	listed := store.NewNames(list.Names())
	return func(u weburl.URL) bool { return listed.Covering(u.Hostname()) != "" }, nil
}

// OptOutRule finds the entry of the opt-out list that covers a URL.
func OptOutRule() (func(weburl.URL) string, error) {
	path, err := OptOutFile()
	if err != nil {
		return nil, Failed(fmt.Errorf("find the opt-out list: %w", err), "set XDG_CONFIG_HOME")
	}
	list, err := OpenOptOuts(path)
	if err != nil {
		return nil, err
	}
	return func(u weburl.URL) string { return list.CoveredBy(u.Hostname()) }, nil
}
