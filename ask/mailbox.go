package ask

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Mail brings questions and orders to a running crawl. [*Mailbox] is one.
type Mail interface {
	// Receive returns what was asked since the last call, without waiting for
	// more.
	Receive(ctx context.Context) ([]Letter, error)
	// Reply answers a letter. What an order changed is logged first.
	Reply(ctx context.Context, id string, a Answer) error
}

var _ Mail = (*Mailbox)(nil)

// Mailbox carries questions to a crawl and answers back, through files in a
// folder of the crawl's directory. Files appear whole: each is written under
// another name and renamed. It works wherever the directory does, needs no port
// and leaves nothing to clean up but what a killed asker left, which the next
// crawl removes.
type Mailbox struct {
	dir string
	log string
}

// Bounds of a mailbox.
const (
	maxLetters = 100     // are answered at a time
	maxLetter  = 8 << 20 // bytes of one
)

// Names of files.
const (
	questionEnd = ".question.json"
	answerEnd   = ".answer.json"
)

// NewMailbox returns the mailbox of a crawl's directory.
func NewMailbox(dir string) *Mailbox {
	return &Mailbox{dir: filepath.Join(dir, "ask"), log: filepath.Join(dir, "control.jsonl")}
}

// Letter is a question with a number to answer to.
type Letter struct {
	ID string
	Question
}

// Open makes the mailbox ready for a crawl that begins: what was asked of one
// that is gone is forgotten.
func (m *Mailbox) Open() error {
	if err := os.RemoveAll(m.dir); err != nil {
		return fmt.Errorf("empty mailbox: %w", err)
	}
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		return fmt.Errorf("create mailbox: %w", err)
	}
	return nil
}

// Close takes the mailbox down: nobody answers any more.
func (m *Mailbox) Close() error {
	if err := os.RemoveAll(m.dir); err != nil {
		return fmt.Errorf("remove mailbox: %w", err)
	}
	return nil
}

// Receive returns the questions that wait, in the order they were put.
func (m *Mailbox) Receive(ctx context.Context) ([]Letter, error) {
	files, err := os.ReadDir(m.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read mailbox: %w", err)
	}
	var letters []Letter
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), questionEnd)
		if !ok || len(letters) == maxLetters {
			continue
		}
		path := filepath.Join(m.dir, f.Name())
		l := Letter{ID: id}
		err := readFile(path, &l.Question)
		if errors.Is(err, fs.ErrNotExist) {
			continue // taken back
		}
		if gone := os.Remove(path); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			return letters, fmt.Errorf("read request: %w", gone)
		}
		if err != nil {
			if err := m.Reply(ctx, id, Answer{Error: fmt.Sprintf("invalid request: %v", err)}); err != nil {
				return letters, err
			}
			continue
		}
		letters = append(letters, l)
	}
	slices.SortStableFunc(letters, func(a, b Letter) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return letters, nil
}

// Reply answers a question, and logs what an order changed.
func (m *Mailbox) Reply(_ context.Context, id string, a Answer) error {
	if a.Change != nil {
		if err := m.Record(a.Change); err != nil {
			return err
		}
	}
	return m.write(id+answerEnd, a)
}

// Record adds to the log of changes.
func (m *Mailbox) Record(c *Change) (err error) {
	line, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("log change: %w", err)
	}
	f, err := os.OpenFile(m.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("log change: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("log change: %w", err)
	}
	return f.Sync()
}

// Log returns the changes that were ordered, oldest first.
func (m *Mailbox) Log() ([]Change, error) {
	b, err := os.ReadFile(m.log)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read change log: %w", err)
	}
	var list []Change
	for line := range strings.Lines(string(b)) {
		var c Change
		if !strings.HasSuffix(line, "\n") {
			break // cut off by a crash
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			return list, fmt.Errorf("read change log: %w", err)
		}
		list = append(list, c)
	}
	return list, nil
}

// ErrNobody says that no crawl answers.
var ErrNobody = errors.New("no crawl is running")

// askEvery is how often the asker looks for the answer.
const askEvery = 20 * time.Millisecond

// Ask puts a question and waits for the answer until ctx ends. An answer that
// says what is wrong is an error.
func (m *Mailbox) Ask(ctx context.Context, q Question) (Answer, error) {
	q.At = cmp.Or(q.At, time.Now().UTC())
	id := rand.Text()
	err := m.write(id+questionEnd, q)
	if errors.Is(err, fs.ErrNotExist) {
		return Answer{}, ErrNobody
	}
	if err != nil {
		return Answer{}, err
	}
	path := filepath.Join(m.dir, id+answerEnd)
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		var a Answer
		switch err := readFile(path, &a); {
		case err == nil:
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return a, fmt.Errorf("read response: %w", err)
			}
			if a.Error != "" {
				return Answer{}, errors.New(a.Error)
			}
			return a, nil
		case !errors.Is(err, fs.ErrNotExist):
			return a, fmt.Errorf("read response: %w", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return Answer{}, errors.Join(ErrNobody, m.takeBack(id))
		}
		if _, err := os.Stat(m.dir); errors.Is(err, fs.ErrNotExist) {
			return Answer{}, ErrNobody // it has ended meanwhile
		}
	}
}

// takeBack removes a question that nobody took.
func (m *Mailbox) takeBack(id string) error {
	err := os.Remove(filepath.Join(m.dir, id+questionEnd))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// write makes a file appear whole.
func (m *Mailbox) write(name string, what any) error {
	b, err := json.Marshal(what)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	part := filepath.Join(m.dir, name+".part")
	if err := os.WriteFile(part, b, 0o600); err != nil {
		return err
	}
	return os.Rename(part, filepath.Join(m.dir, name))
}

// readFile reads a letter.
func readFile(path string, into any) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() > maxLetter {
		return fmt.Errorf("too large: %d bytes, maximum %d", info.Size(), maxLetter)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}
