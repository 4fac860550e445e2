package warm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"headway/internal/atomicfile"
)

// stateFile is in the folder of the crawl.
const stateFile = "warm.json"

// State is what the first pass leaves for the second.
type State struct {
	Links   bool      `json:"links,omitempty"`   // there was no sitemap: links are followed
	AgainAt time.Time `json:"again_at,omitzero"` // when the second pass began
	Before  *Reading  `json:"before,omitempty"`  // what the first pass found
	First   Sum       `json:"first,omitzero"`    // what it took
}

// Sum is what a pass took.
type Sum struct {
	Pages     int64         `json:"pages,omitempty"`
	Requests  int64         `json:"requests,omitempty"`
	Elapsed   time.Duration `json:"elapsed,omitempty"`
	Incidents int64         `json:"incidents,omitempty"`
}

// Load reads the state in a folder, which is zero if there is none.
func Load(dir string) (State, error) {
	var s State
	text, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return State{}, fmt.Errorf("read results of the first pass: %w", err)
	}
	return s, nil
}

// Save writes the state into a folder, atomically.
func (s State) Save(dir string) error {
	text, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("save results: %w", err)
	}
	err = atomicfile.Write(filepath.Join(dir, stateFile), func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if err != nil {
		return fmt.Errorf("save results: %w", err)
	}
	return nil
}

// Forget removes the state from a folder.
func Forget(dir string) error {
	if err := os.Remove(filepath.Join(dir, stateFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("discard results: %w", err)
	}
	return nil
}
