package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"headway/ask"
	"headway/store"
	"headway/store/sqlite"
)

// CrawlFile is the file that every crawl folder contains.
const CrawlFile = "crawl.db"

// DirFlag adds --dir to a command that reads a crawl.
func DirFlag(fs *pflag.FlagSet) *string {
	return fs.String("dir", "", "`folder` of the crawl (default: the crawl in the current folder)")
}

// FolderName is the name of a folder, also of the current one.
func FolderName(dir string) string {
	if full, err := filepath.Abs(dir); err == nil {
		dir = full
	}
	return filepath.Base(dir)
}

// FindCrawl returns the folder of a crawl: the one named, the current one, or the
// one headway-* folder in it. Of several, it takes the one named after the host.
func FindCrawl(dir, host string) (string, error) {
	if dir != "" {
		if !IsCrawl(dir) {
			return "", Usage(fmt.Errorf("not a crawl folder: %s", dir), "--dir takes a folder created by headway crawl, for example headway-example.com")
		}
		return dir, nil
	}
	if IsCrawl(".") {
		return ".", nil
	}
	found, err := CrawlsIn(".")
	if err != nil {
		return "", err
	}
	if host != "" && len(found) > 1 {
		name := FolderOf(host)
		matching := slices.DeleteFunc(slices.Clone(found), func(d string) bool { return d != name && !strings.HasPrefix(d, name+"-") })
		if len(matching) > 0 {
			found = matching
		}
	}
	switch len(found) {
	case 0:
		return "", Usage(errors.New("no crawl found in the current folder"), "change to the folder where headway crawl was started, or give the crawl folder with --dir")
	case 1:
		return found[0], nil
	}
	return "", Usage(fmt.Errorf("the current folder contains %d crawls", len(found)), "choose one with --dir: "+strings.Join(found[:min(len(found), 5)], ", "))
}

// CrawlsIn lists the crawls in a folder, by name.
func CrawlsIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); e.IsDir() && IsCrawl(path) {
			found = append(found, path)
		}
	}
	return found, nil
}

// IsCrawl tells whether a folder contains a crawl.
func IsCrawl(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, CrawlFile))
	if errors.Is(err, fs.ErrNotExist) || err != nil {
		return false
	}
	return info.Mode().IsRegular()
}

// FolderOf is the default folder of a crawl of one host.
func FolderOf(host string) string {
	_, name, ok := strings.Cut(host, "://")
	if !ok {
		name = host
	}
	return "headway-" + strings.NewReplacer(":", "_", "[", "", "]", "").Replace(name)
}

// HostsFile is the database in which all crawls of a user share what they learn
// about hosts.
func HostsFile() (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" && runtime.GOOS == "windows" {
		dir = os.Getenv("LocalAppData")
	}
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", Failed(fmt.Errorf("find the folder for host state: %w", err), "set XDG_STATE_HOME")
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "headway", "hosts.db"), nil
}

// OpenFailure says why the folder of a crawl cannot be opened.
func OpenFailure(err error) error {
	open, ok := errors.AsType[*store.OpenError](err)
	switch {
	case openedHosts(err):
		return Failed(err, "host state is stored there; set XDG_STATE_HOME to a writable folder")
	case !ok:
		return Failed(err, "choose another folder with --dir")
	case errors.Is(err, store.ErrInUse):
		return inUse(open)
	default:
		return Failed(err, open.Hint)
	}
}

// openedHosts tells whether the database that all crawls share cannot be created or
// written.
func openedHosts(err error) bool {
	hosts, unknown := HostsFile()
	at, ok := errors.AsType[*fs.PathError](err)
	return unknown == nil && ok && strings.HasPrefix(hosts, at.Path)
}

// inUse says which process crawls into a folder, if it answers, and what to do.
func inUse(open *store.OpenError) error {
	dir := strings.TrimSuffix(open.Path, string(filepath.Separator)+CrawlFile)
	if running, err := sqlite.Running(dir); err != nil || !running {
		return Failed(open, open.Hint) // it is what crawls share that is busy
	}
	who, end := "", "press Ctrl-C in its terminal, or send it SIGTERM"
	a, err := AskCrawl(context.Background(), dir, ask.Question{Kind: ask.KindStatus})
	if err == nil && a.Status != nil {
		who = Plural(int(a.Status.Pages), "page") + " so far"
		if pid := a.Status.PID; pid != 0 {
			who = fmt.Sprintf("process %d, %s", pid, who)
			end = fmt.Sprintf("press Ctrl-C in its terminal, or run kill %d", pid)
		}
		who = " (" + who + ")"
	}
	return Failed(fmt.Errorf("a crawl is already running in %s%s", dir, who),
		"for progress run: headway slow --dir "+dir+"; to stop it "+end+"; for another crawl use another --dir")
}

// SizeOf is the size of a file, or of all files in a folder. If some cannot be read, it
// is the size of the others, and the first error.
func SizeOf(path string) (size int64, failed error) {
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				size += info.Size()
			}
		}
		failed = cmp.Or(failed, err)
		return nil
	})
	return size, failed
}

// Patience is how long to wait for an answer of a running crawl.
const Patience = 5 * time.Second

// AskCrawl sends a question or an order to the crawl that runs in a folder.
func AskCrawl(ctx context.Context, dir string, q ask.Question) (ask.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	a, err := ask.NewMailbox(dir).Ask(ctx, q)
	if errors.Is(err, ask.ErrNoAnswer) {
		return a, Usage(fmt.Errorf("no crawl is running in %s", dir), "this needs a running crawl: start it with headway crawl --dir "+dir+
			" and repeat this command while it runs; earlier instructions apply from its start")
	}
	return a, err
}

// EscapeGlob escapes the pattern characters in the name of a folder.
func EscapeGlob(dir string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(dir)
}

// SameFolder tells whether two paths name the same folder.
func SameFolder(a, b string) (bool, error) {
	x, err := os.Stat(a)
	if err != nil {
		return false, Usage(fmt.Errorf("--since: %w", err), "give the folder of an earlier crawl")
	}
	y, err := os.Stat(b)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return os.SameFile(x, y), nil
}
