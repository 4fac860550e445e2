package parquet

import (
	"github.com/parquet-go/parquet-go"

	"headway/internal/atomicfile"
)

// The limits of a row group, which is built in memory: whichever is reached first. They are
// variables for tests.
var (
	groupRows        = 50_000
	groupBytes int64 = 16 << 20
)

// batchRows is how many rows are converted to columns at a time.
const batchRows = 512

// table is a Parquet file being written.
type table[T any] struct {
	file  *atomicfile.File
	w     *parquet.GenericWriter[T]
	batch []T
	rows  int   // in the row group
	bytes int64 // approximate
}

func newTable[T any](path string) (*table[T], error) {
	zip, err := newCodec()
	if err != nil {
		return nil, err
	}
	file, err := atomicfile.Create(path)
	if err != nil {
		return nil, err
	}
	return &table[T]{
		file: file, batch: make([]T, 0, batchRows),
		w: parquet.NewGenericWriter[T](file, parquet.Compression(zip), parquet.PageBufferSize(pageSize), parquet.CreatedBy("headway", "", "")),
	}, nil
}

// add appends a row of about this size.
func (t *table[T]) add(row T, size int64) error {
	t.batch = append(t.batch, row)
	t.rows++
	t.bytes += size
	full := t.rows >= groupRows || t.bytes >= groupBytes
	if len(t.batch) == cap(t.batch) || full {
		if err := t.flush(); err != nil {
			return err
		}
	}
	if !full {
		return nil
	}
	t.rows, t.bytes = 0, 0
	return t.w.Flush()
}

func (t *table[T]) flush() error {
	_, err := t.w.Write(t.batch)
	clear(t.batch) // releases the strings
	t.batch = t.batch[:0]
	return err
}

// publish completes the file and renames it to its final name.
func (t *table[T]) publish() error {
	if err := t.flush(); err != nil {
		return err
	}
	if err := t.w.Close(); err != nil {
		return err
	}
	return t.file.Publish()
}

// drop removes the file, unless it was published. A nil table has none.
func (t *table[T]) drop() error {
	if t == nil {
		return nil
	}
	return t.file.Drop()
}
