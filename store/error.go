package store

import (
	"errors"
	"fmt"
)

// The errors to branch on.
var (
	// ErrFenced says that the caller no longer owns what it relies on. Nothing
	// was changed, and trying again will not help: what was not committed
	// belongs to the next owner.
	ErrFenced = errors.New("the lease is no longer valid")
	// ErrNotWaiting says that a URL to be finished is not waiting: it was never
	// seen or has ended.
	ErrNotWaiting = errors.New("the URL is not waiting")
	// ErrTokens says that more pages were committed or tokens returned than the
	// worker had reserved.
	ErrTokens = errors.New("not enough page tokens reserved")
	// ErrNotFound says that there is no such job, URL, host or version.
	ErrNotFound = errors.New("not found")
	// ErrConflict says that something is not in the state the caller thought.
	ErrConflict = errors.New("the state has changed")
	// ErrFull says that there is no room left to store on. Nothing was changed;
	// the store works again when there is.
	ErrFull = errors.New("the disk is full")
	// ErrScarce says that a file could not be opened, which is so when the process
	// has no descriptor left. Nothing was changed; trying again may help.
	ErrScarce = errors.New("too many open files")
	// ErrCorrupt says that the files are damaged.
	ErrCorrupt = errors.New("the file is damaged")
	// ErrNewer says that a newer version of the program has written the files.
	ErrNewer = errors.New("written by a newer version")
	// ErrInUse says that another process has opened the store.
	ErrInUse = errors.New("in use by another process")
)

var errTerms = errors.New("lease terms: renew, start, cancel and take-over must each be longer than the one before")

// OpenError is a store that cannot be opened, with what a person can do.
type OpenError struct {
	Path string
	Err  error  // wraps ErrCorrupt, ErrNewer, ErrInUse or what else went wrong
	Hint string // one sentence, without a full stop
}

// Error says what was opened and what is wrong with it.
func (e *OpenError) Error() string { return fmt.Sprintf("open store %s: %v", e.Path, e.Err) }

// Unwrap returns what is wrong.
func (e *OpenError) Unwrap() error { return e.Err }
