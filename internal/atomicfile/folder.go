package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// oldSuffix is the suffix of the previous folder while a new one replaces it.
const oldSuffix = ".old"

// Folder is a folder that appears with all its files or not at all. It must be used by one
// goroutine.
//
// A killed process leaves the unpublished folder behind, or, between the two renames that
// replace a folder, the previous one under another name; Begin removes both.
type Folder struct {
	path  string
	begun bool
}

// NewFolder returns the folder at path, which is not touched yet.
func NewFolder(path string) *Folder { return &Folder{path: path} }

// Part is the path of the folder until it is published.
func (f *Folder) Part() string { return f.path + PartSuffix }

// Begin starts with an empty folder. A published folder of this name stays until Publish.
func (f *Folder) Begin() error {
	if err := errors.Join(os.RemoveAll(f.Part()), os.RemoveAll(f.path+oldSuffix)); err != nil {
		return err
	}
	f.begun = true
	return os.Mkdir(f.Part(), 0o755)
}

// Publish renames the folder to its final name, replacing any existing folder. Its files
// must be durable.
func (f *Folder) Publish() error {
	if err := SyncDir(f.Part()); err != nil {
		return err
	}
	there, err := Exists(f.path)
	if err != nil {
		return err
	}
	if there { // a non-empty folder cannot be replaced atomically
		if err := os.Rename(f.path, f.path+oldSuffix); err != nil {
			return err
		}
	}
	if err := os.Rename(f.Part(), f.path); err != nil {
		return err
	}
	f.begun = false
	if err := SyncDir(filepath.Dir(f.path)); err != nil {
		return err
	}
	return os.RemoveAll(f.path + oldSuffix)
}

// Drop removes the folder, unless it was published.
func (f *Folder) Drop() error {
	if !f.begun {
		return nil
	}
	f.begun = false
	return os.RemoveAll(f.Part())
}

// Withdraw removes the published folder.
func (f *Folder) Withdraw() error { return os.RemoveAll(f.path) }
