package store

import (
	"context"
	"crypto/sha256"
	"time"
)

// Submissions is an optional interface of stores behind a service: idempotent creation.
type Submissions interface {
	// Once calls do, unless the tenant has sent this submission within SubmissionLife. It
	// returns the result of do and whether it is from before. What do changes in the store
	// with its context is stored atomically with its result, as with [Control.Together].
	// Two concurrent ones wait for each other. ErrConflict says that the key was used for
	// something else.
	Once(ctx context.Context, now time.Time, tenant string, s Submission, do func(context.Context) ([]byte, error)) (text []byte, repeated bool, err error)
}

// SubmissionLife is how long a submission is remembered.
const SubmissionLife = 24 * time.Hour

// Submission identifies a repeated request.
type Submission struct {
	Key string            // the idempotency key, chosen by the client
	Sum [sha256.Size]byte // of the request
}
