package export

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"headway/job"
	"headway/output/format"
	"headway/store"
)

// order is a job to be exported: the arguments of a job of River.
type order struct {
	Job     job.ID   `json:"job"`
	Formats []string `json:"formats"`
}

// Kind implements [river.JobArgs].
func (order) Kind() string { return "export" }

// State is the state of an export.
type State string

// The states of an export.
const (
	Waiting State = "waiting" // queued, or waiting for a retry
	Running State = "running"
	Done    State = "done"
	Failed  State = "failed" // permanently
)

// Export is a requested export and its status.
type Export struct {
	ID        int64
	Job       job.ID
	Formats   []string
	State     State
	URLs      int64    // in each file
	Files     []string // their locations, once the export is done
	Sizes     []int64  // of the files in bytes, in the same order; -1 for a folder
	Error     string   // of the last attempt that failed
	CreatedAt time.Time
	EndedAt   time.Time // zero while it has not
}

// Ask queues an export. While the same export is unfinished, it is not queued
// twice.
func (x *Exporter) Ask(ctx context.Context, client *river.Client[pgx.Tx], id job.ID, formats []string) (Export, error) {
	if x.cfg.To == "" {
		return Export{}, ErrNoPlace
	}
	formats = slices.Compact(slices.Sorted(slices.Values(formats)))
	if len(formats) == 0 {
		return Export{}, errors.New("no format given")
	}
	for _, f := range formats {
		if !slices.Contains(format.Exportable(), f) {
			return Export{}, fmt.Errorf("unknown export format %q", f)
		}
	}
	if _, err := x.store.Job(ctx, id); err != nil {
		return Export{}, err
	}
	made, err := client.Insert(ctx, order{Job: id, Formats: formats}, &river.InsertOpts{Queue: Queue, MaxAttempts: attempts, UniqueOpts: river.UniqueOpts{
		ByArgs: true, ByState: []rivertype.JobState{
			rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning, rivertype.JobStateRetryable, rivertype.JobStateScheduled,
		},
	}})
	if err != nil {
		return Export{}, fmt.Errorf("create an export of job %d: %w", id, err)
	}
	return read(made.Job)
}

// Get returns an export, or [store.ErrNotFound]. It is kept for a day after
// it ends, for a week if it failed.
func (x *Exporter) Get(ctx context.Context, client *river.Client[pgx.Tx], id int64) (Export, error) {
	row, err := client.JobGet(ctx, id)
	if errors.Is(err, river.ErrNotFound) || err == nil && row.Kind != (order{}).Kind() {
		return Export{}, fmt.Errorf("export %d: %w", id, store.ErrNotFound)
	}
	if err != nil {
		return Export{}, fmt.Errorf("export %d: %w", id, err)
	}
	return read(row)
}

// MaxListed is how many exports of a job are listed.
const MaxListed = 100

// List returns the newest exports of a job, the newest first, as far as they are kept; see
// [Exporter.Get].
func (x *Exporter) List(ctx context.Context, client *river.Client[pgx.Tx], id job.ID) ([]Export, error) {
	found, err := client.JobList(ctx, river.NewJobListParams().Kinds((order{}).Kind()).First(MaxListed).OrderBy(river.JobListOrderByID, river.SortOrderDesc).
		Where("args @> @wanted::jsonb", river.NamedArgs{"wanted": fmt.Sprintf(`{"job": %d}`, id)}))
	if err != nil {
		return nil, fmt.Errorf("list exports of job %d: %w", id, err)
	}
	list := []Export{}
	for _, row := range found.Jobs {
		e, err := read(row)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

// written is what is kept of an export that was made.
type written struct {
	URLs  int64    `json:"urls"`
	Files []string `json:"files"`
	Sizes []int64  `json:"sizes"`
}

// read reads an export from its row.
func read(row *rivertype.JobRow) (Export, error) {
	var o order
	if err := json.Unmarshal(row.EncodedArgs, &o); err != nil {
		return Export{}, fmt.Errorf("export %d: %w", row.ID, err)
	}
	e := Export{ID: row.ID, Job: o.Job, Formats: o.Formats, State: Waiting, CreatedAt: row.CreatedAt}
	switch row.State {
	case rivertype.JobStateRunning:
		e.State = Running
	case rivertype.JobStateCompleted:
		e.State = Done
	case rivertype.JobStateCancelled, rivertype.JobStateDiscarded:
		e.State = Failed
	default:
	}
	if row.FinalizedAt != nil {
		e.EndedAt = *row.FinalizedAt
	}
	if n := len(row.Errors); n > 0 {
		e.Error = row.Errors[n-1].Error
	}
	if text := row.Output(); text != nil && e.State == Done {
		var w written
		if err := json.Unmarshal(text, &w); err != nil {
			return Export{}, fmt.Errorf("export %d: %w", row.ID, err)
		}
		e.URLs, e.Files, e.Sizes, e.Error = w.URLs, w.Files, w.Sizes, ""
	}
	return e, nil
}
