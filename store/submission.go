package store

import (
	"context"
	"crypto/sha256"
	"time"

	"headway/job"
)

// Submissions is a further ability of stores behind a service: jobs that are
// created once, however often they are asked for.
type Submissions interface {
	// Submit creates a job as [Jobs.CreateJob] does, unless the tenant has sent
	// this submission within SubmissionLife. It returns what answer said to the
	// number of the job when it was created, and whether that was before. Two
	// that are sent at once wait for each other. ErrConflict says that the key
	// was used for something else.
	Submit(ctx context.Context, j Job, s Submission, answer func(job.ID) ([]byte, error)) (text []byte, repeated bool, err error)
}

// SubmissionLife is how long a submission is remembered.
const SubmissionLife = 24 * time.Hour

// Submission is how a request is known again.
type Submission struct {
	Key string            // chosen by the sender
	Sum [sha256.Size]byte // of what was asked for
}
