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

// Mail delivers questions and orders to a running crawl. [*Mailbox] implements it.
type Mail interface {
	// Receive returns the questions since the last call, without waiting for more.
	Receive(ctx context.Context) ([]Message, error)
	// Reply answers a message. What an order changed is logged first.
	Reply(ctx context.Context, id string, a Answer) error
}

var _ Mail = (*Mailbox)(nil)

// Mailbox exchanges questions and answers with a crawl through files in a folder of the
// crawl's directory. Files appear atomically: each is written under another name and
// renamed. It works wherever the directory does and needs no port. Files of a killed
// sender are removed by the next crawl.
type Mailbox struct {
	dir string
	log string
}

// Limits of a mailbox.
const (
	maxMessages     = 100     // answered at a time
	maxMessageBytes = 8 << 20 // size of one in bytes
)

// File names.
const (
	questionEnd = ".question.json"
	answerEnd   = ".answer.json"
)

// NewMailbox returns the mailbox of a crawl's directory.
func NewMailbox(dir string) *Mailbox {
	return &Mailbox{dir: filepath.Join(dir, "ask"), log: filepath.Join(dir, "control.jsonl")}
}

// Message is a question with its ID.
type Message struct {
	ID string
	Question
}

// Open prepares the mailbox for a new crawl and drops old questions.
func (m *Mailbox) Open() error {
	if err := os.RemoveAll(m.dir); err != nil {
		return fmt.Errorf("empty mailbox: %w", err)
	}
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		return fmt.Errorf("create mailbox: %w", err)
	}
	return nil
}

// Close removes the mailbox, so that senders see that no crawl is running.
func (m *Mailbox) Close() error {
	if err := os.RemoveAll(m.dir); err != nil {
		return fmt.Errorf("remove mailbox: %w", err)
	}
	return nil
}

// Receive returns the pending questions in order.
func (m *Mailbox) Receive(ctx context.Context) ([]Message, error) {
	files, err := os.ReadDir(m.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read mailbox: %w", err)
	}
	var messages []Message
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), questionEnd)
		if !ok || len(messages) == maxMessages {
			continue
		}
		path := filepath.Join(m.dir, f.Name())
		l := Message{ID: id}
		err := readFile(path, &l.Question)
		if errors.Is(err, fs.ErrNotExist) {
			continue // withdrawn
		}
		if gone := os.Remove(path); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			return messages, fmt.Errorf("read request: %w", gone)
		}
		if err != nil {
			if err := m.Reply(ctx, id, Answer{Error: fmt.Sprintf("invalid request: %v", err)}); err != nil {
				return messages, err
			}
			continue
		}
		messages = append(messages, l)
	}
	slices.SortStableFunc(messages, func(a, b Message) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return messages, nil
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

// Record appends to the log of changes.
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

// Log returns the logged changes, oldest first.
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
			break // truncated by a crash
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			return list, fmt.Errorf("read change log: %w", err)
		}
		list = append(list, c)
	}
	return list, nil
}

// ErrNoAnswer means that no crawl answers.
var ErrNoAnswer = errors.New("no crawl is running")

// askEvery is how often the sender polls for the answer.
const askEvery = 20 * time.Millisecond

// Ask sends a question and waits for the answer until ctx ends. An answer with an error
// text is returned as an error.
func (m *Mailbox) Ask(ctx context.Context, q Question) (Answer, error) {
	q.At = cmp.Or(q.At, time.Now().UTC())
	id := rand.Text()
	err := m.write(id+questionEnd, q)
	if errors.Is(err, fs.ErrNotExist) {
		return Answer{}, ErrNoAnswer
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
			return Answer{}, errors.Join(ErrNoAnswer, m.withdraw(id))
		}
		if _, err := os.Stat(m.dir); errors.Is(err, fs.ErrNotExist) {
			return Answer{}, ErrNoAnswer // it has ended in the meantime
		}
	}
}

// withdraw removes a question that was not received.
func (m *Mailbox) withdraw(id string) error {
	err := os.Remove(filepath.Join(m.dir, id+questionEnd))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// write creates a file atomically.
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

// readFile reads a message.
func readFile(path string, into any) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() > maxMessageBytes {
		return fmt.Errorf("too large: %d bytes, maximum %d", info.Size(), maxMessageBytes)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}
