package store

import (
	"context"
	"crypto/sha256"
	"time"
)

// Submissions is a further ability of stores behind a service: what is created
// once, however often it is asked for.
type Submissions interface {
	// Once does something, unless the tenant has sent this submission within
	// SubmissionLife. It returns what do answered when it was done, and whether
	// that was before. What do changes in the store with the context it is given
	// is kept with its answer or not at all, as with [Control.Together]. Two that
	// are sent at once wait for each other. ErrConflict says that the key was used
	// for something else.
	Once(ctx context.Context, now time.Time, tenant string, s Submission, do func(context.Context) ([]byte, error)) (text []byte, repeated bool, err error)
}

// SubmissionLife is how long a submission is remembered.
const SubmissionLife = 24 * time.Hour

// Submission is how a request is known again.
type Submission struct {
	Key string            // chosen by the sender
	Sum [sha256.Size]byte // of what was asked for
}
