package csv

import (
	"strings"

	"headway/internal/atomicfile"
	"headway/output"
	"headway/visit"
)

// Draft is one file. It is used by one goroutine.
type Draft struct {
	path string
	file *atomicfile.File
	row  []byte
}

var _ output.Draft = (*Draft)(nil)

// New returns the draft of a file at path.
func New(path string) *Draft { return &Draft{path: path} }

// Begin starts the file with the names of the columns.
func (d *Draft) Begin() error {
	if err := d.Drop(); err != nil {
		return err
	}
	var err error
	if d.file, err = atomicfile.Create(d.path); err != nil {
		return err
	}
	_, err = d.file.WriteString(strings.Join(Columns, ",") + "\r\n")
	return err
}

// Add writes the row of a URL.
func (d *Draft) Add(v *visit.Visit) error {
	d.row = appendRow(d.row[:0], v)
	_, err := d.file.Write(d.row)
	return err
}

// Publish renames the file to its final name.
func (d *Draft) Publish() error { return d.file.Publish() }

// Drop removes an unpublished file.
func (d *Draft) Drop() error {
	err := d.file.Drop()
	d.file = nil
	return err
}

// Withdraw removes the finished file.
func (d *Draft) Withdraw() error { return atomicfile.Remove(d.path) }
