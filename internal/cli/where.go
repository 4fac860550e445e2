package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"headway/ask"
	"headway/store"
	"headway/store/sqlite"
)

// crawlFile is what makes a folder that of a crawl.
const crawlFile = "crawl.db"

// dirFlag adds --dir to a command that looks at a crawl.
func dirFlag(fs *pflag.FlagSet) *string {
	return fs.String("dir", "", "`folder` of the crawl (default: the crawl in the current folder)")
}

// findCrawl returns the folder of a crawl: the one named, the current one, or the
// one headway-* folder in it. Among several the one whose name says the host is
// taken.
func findCrawl(dir, host string) (string, error) {
	if dir != "" {
		if !isCrawl(dir) {
			return "", usage(fmt.Errorf("not a crawl folder: %s", dir), "--dir takes a folder created by headway crawl, for example headway-example.com")
		}
		return dir, nil
	}
	if isCrawl(".") {
		return ".", nil
	}
	found, err := crawlsIn(".")
	if err != nil {
		return "", err
	}
	if host != "" && len(found) > 1 {
		name := folderOf(host)
		matching := slices.DeleteFunc(slices.Clone(found), func(d string) bool { return d != name && !strings.HasPrefix(d, name+"-") })
		if len(matching) > 0 {
			found = matching
		}
	}
	switch len(found) {
	case 0:
		return "", usage(errors.New("no crawl found in the current folder"), "change to the folder where headway crawl was started, or give the crawl folder with --dir")
	case 1:
		return found[0], nil
	}
	return "", usage(fmt.Errorf("the current folder contains %d crawls", len(found)), "choose one with --dir: "+strings.Join(found[:min(len(found), 5)], ", "))
}

// crawlsIn lists the crawls in a folder, by name.
func crawlsIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); e.IsDir() && isCrawl(path) {
			found = append(found, path)
		}
	}
	return found, nil
}

func isCrawl(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, crawlFile))
	if errors.Is(err, fs.ErrNotExist) || err != nil {
		return false
	}
	return info.Mode().IsRegular()
}

// folderOf is the folder that a crawl of one host is kept in.
func folderOf(host string) string {
	_, name, ok := strings.Cut(host, "://")
	if !ok {
		name = host
	}
	return "headway-" + strings.NewReplacer(":", "_", "[", "", "]", "").Replace(name)
}

// hostsFile is where all crawls of a user share what they learn of hosts.
func hostsFile() (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" && runtime.GOOS == "windows" {
		dir = os.Getenv("LocalAppData")
	}
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", failed(fmt.Errorf("find the folder for host state: %w", err), "set XDG_STATE_HOME")
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "headway", "hosts.db"), nil
}

// openFailure says why the folder cannot be used.
func openFailure(err error) error {
	open, ok := errors.AsType[*store.OpenError](err)
	switch {
	case openedHosts(err):
		return failed(err, "host state is stored there; set XDG_STATE_HOME to a writable folder")
	case !ok:
		return failed(err, "choose another folder with --dir")
	case errors.Is(err, store.ErrInUse):
		return inUse(open)
	default:
		return failed(err, open.Hint)
	}
}

// openedHosts tells whether it is the file that all crawls share which cannot be made
// or written.
func openedHosts(err error) bool {
	hosts, unknown := hostsFile()
	at, ok := errors.AsType[*fs.PathError](err)
	return unknown == nil && ok && strings.HasPrefix(hosts, at.Path)
}

// inUse says who works in a folder, as far as it answers, and what to do.
func inUse(open *store.OpenError) error {
	dir := strings.TrimSuffix(open.Path, string(filepath.Separator)+crawlFile)
	if running, err := sqlite.Running(dir); err != nil || !running {
		return failed(open, open.Hint) // it is what crawls share that is busy
	}
	who, end := "", "press Ctrl-C in its terminal, or send it SIGTERM"
	a, err := askCrawl(context.Background(), dir, ask.Question{Kind: ask.KindStatus})
	if err == nil && a.Status != nil {
		who = plural(int(a.Status.Pages), "page") + " so far"
		if pid := a.Status.PID; pid != 0 {
			who = fmt.Sprintf("process %d, %s", pid, who)
			end = fmt.Sprintf("press Ctrl-C in its terminal, or run kill %d", pid)
		}
		who = " (" + who + ")"
	}
	return failed(fmt.Errorf("a crawl is already running in %s%s", dir, who),
		"for progress run: headway slow --dir "+dir+"; to stop it "+end+"; for another crawl use another --dir")
}
