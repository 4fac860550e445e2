package atomicfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// SyncTree makes a folder and everything below it durable. It syncs the whole file system
// once, because one call per file would take minutes for a large crawl.
func SyncTree(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return &os.PathError{Op: "syncfs", Path: dir, Err: err}
	}
	return nil
}
