package store

import (
	"errors"
	"fmt"
)

// Errors that callers check for.
var (
	// ErrFenced says that the caller no longer owns what it relies on. Nothing was
	// changed, and a retry will not help: what was not committed belongs to the next
	// owner.
	ErrFenced = errors.New("the lease is no longer valid")
	// ErrNotWaiting says that a URL to be finished is not waiting: it was never
	// seen or has ended.
	ErrNotWaiting = errors.New("the URL is not waiting")
	// ErrTokens says that more pages were committed or tokens returned than the
	// worker had reserved.
	ErrTokens = errors.New("not enough page tokens reserved")
	// ErrNotFound says that there is no such job, URL, host or version.
	ErrNotFound = errors.New("not found")
	// ErrConflict says that something is not in the state the caller expected.
	ErrConflict = errors.New("the state has changed")
	// ErrFull says that the disk is full. Nothing was changed; the store works again
	// when there is room.
	ErrFull = errors.New("the disk is full")
	// ErrScarce says that a file could not be opened because the process has no file
	// descriptor left. Nothing was changed; a retry may help.
	ErrScarce = errors.New("too many open files")
	// ErrCorrupt says that the files are damaged.
	ErrCorrupt = errors.New("the file is damaged")
	// ErrNewer says that a newer version of the program has written the files.
	ErrNewer = errors.New("written by a newer version")
	// ErrInUse says that another process has opened the store.
	ErrInUse = errors.New("in use by another process")
)

var errTerms = errors.New("lease terms: renew, start, cancel and take-over must each be longer than the one before")

// OpenError says why a store cannot be opened, with a hint for the user.
type OpenError struct {
	Path string
	Err  error  // wraps ErrCorrupt, ErrNewer, ErrInUse or another cause
	Hint string // one sentence, without a full stop
}

// Error says what was opened and what failed.
func (e *OpenError) Error() string { return fmt.Sprintf("open store %s: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *OpenError) Unwrap() error { return e.Err }
