// Package journal finds URLs that crash the crawler.
//
// A page can crash a process: by a bug in a parser, or by using all memory. Fetched again
// after the restart it would do so again, forever. The journal is a small file next to the
// store in which the owner records what is in flight. It is written without fsync: a write
// takes about a microsecond and survives any end of the process. A power loss may lose it,
// which loses only the suspicion.
//
// After a crash [Open] returns the URLs that were in flight as suspects. The owner fetches
// at most one suspect at a time. If it is the only suspect in flight at two further
// crashes, it is quarantined ([Suspect.Quarantined]) and should end as failed: quarantined.
// A suspect that completes is cleared.
package journal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"headway/job"
	"headway/weburl"
)

const (
	// maxSize is how large the file grows before it is rewritten with what still matters.
	maxSize = 4 << 20
	// maxSuspects is how many suspects are kept: the latest.
	maxSuspects = 10_000
	// quarantineAt is at how many further crashes a suspect may be the only one in flight.
	quarantineAt = 2
)

// Suspect is a URL that was in flight at a crash.
type Suspect struct {
	Job   job.ID
	URL   weburl.URL
	Alone int // further crashes at which it was the only suspect in flight
}

// Quarantined reports whether the URL should not be fetched again.
func (s Suspect) Quarantined() bool { return s.Alone >= quarantineAt }

// note is what the journal keeps about a URL.
type note struct {
	suspect  bool
	inFlight bool
	alone    int
	order    int // sequence number of becoming a suspect
}

// id identifies one URL of one job.
type id struct {
	job job.ID
	url weburl.URL
}

// Journal is an open journal. Its methods are safe for concurrent use.
type Journal struct {
	waiting atomic.Pointer[entry] // to be written, latest first; bounded by the callers

	mu    sync.Mutex // guards the file and what it says
	path  string
	f     *os.File
	size  int64
	lines []byte       // buffer of a write
	notes map[id]*note // bounded by what is in flight and by maxSuspects
	next  int
}

// entry is a line to be written, and the caller that waits for it.
type entry struct {
	id
	done    bool // the URL completed; otherwise it starts
	next    *entry
	written chan error
}

// Open opens the journal at a path, and creates it if there is none. It returns the
// suspects, oldest first: those of the last crash, if the journal was not closed, and
// those of earlier ones that were not cleared. Damaged lines are ignored.
func Open(path string) (*Journal, []Suspect, error) {
	j := &Journal{path: path, notes: map[id]*note{}}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("open journal: %w", err)
	}
	j.replay(data)
	j.findSuspects()
	if err := j.rewrite(); err != nil {
		return nil, nil, fmt.Errorf("open journal %s: %w", path, err)
	}
	return j, j.suspects(), nil
}

// The lines of the file: a mark, the job, for suspects the count, the URL.
const (
	markSuspect = "?"
	markStart   = "+"
	markDone    = "-"
)

// replay reads the file. A line that was cut off by the crash is ignored.
func (j *Journal) replay(data []byte) {
	for line := range bytes.Lines(data) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			return
		}
		fields := strings.Fields(string(line))
		if len(fields) != 4 {
			continue
		}
		number, err1 := strconv.ParseInt(fields[1], 10, 64)
		alone, err2 := strconv.Atoi(fields[2])
		u, err3 := weburl.Parse(fields[3])
		if err1 != nil || err2 != nil || err3 != nil {
			continue
		}
		k := id{job.ID(number), u}
		switch fields[0] {
		case markSuspect:
			j.next++
			j.notes[k] = &note{suspect: true, alone: alone, order: j.next}
		case markStart:
			j.note(k).inFlight = true
		case markDone:
			delete(j.notes, k)
		}
	}
}

func (j *Journal) note(k id) *note {
	n := j.notes[k]
	if n == nil {
		n = &note{}
		j.notes[k] = n
	}
	return n
}

// findSuspects evaluates a crash: URLs in flight become suspects, and if exactly one of
// them was a suspect before, its count is increased. After a clean end nothing was in
// flight.
func (j *Journal) findSuspects() {
	var known []*note
	for _, n := range j.notes {
		if n.inFlight && n.suspect {
			known = append(known, n)
		}
	}
	if len(known) == 1 {
		known[0].alone++
	}
	keys := make([]id, 0, len(j.notes))
	for k := range j.notes {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b id) int {
		return cmp.Or(cmp.Compare(a.job, b.job), strings.Compare(a.url.String(), b.url.String()))
	})
	for _, k := range keys {
		n := j.notes[k]
		if n.inFlight && !n.suspect {
			j.next++
			n.suspect, n.order = true, j.next
		}
		n.inFlight = false
	}
	for _, s := range j.byAge()[:max(0, len(j.notes)-maxSuspects)] {
		delete(j.notes, s)
	}
}

// byAge lists the suspects, oldest first.
func (j *Journal) byAge() []id {
	var keys []id
	for k, n := range j.notes {
		if n.suspect {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b id) int { return cmp.Compare(j.notes[a].order, j.notes[b].order) })
	return keys
}

func (j *Journal) suspects() []Suspect {
	var list []Suspect
	for _, k := range j.byAge() {
		list = append(list, Suspect{k.job, k.url, j.notes[k].alone})
	}
	return list
}

// rewrite replaces the file by one with what still matters. Files are closed before one
// replaces another, because some systems require it.
func (j *Journal) rewrite() error {
	var b []byte
	for _, k := range j.byAge() {
		b = appendLine(b, markSuspect, k, j.notes[k].alone)
	}
	for k, n := range j.notes {
		if n.inFlight {
			b = appendLine(b, markStart, k, 0)
		}
	}
	part := j.path + ".part"
	if err := os.WriteFile(part, b, 0o644); err != nil {
		return err
	}
	if j.f != nil {
		if err := j.f.Close(); err != nil {
			return err
		}
		j.f = nil
	}
	if err := os.Rename(part, j.path); err != nil {
		return err
	}
	f, err := os.OpenFile(j.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	j.f, j.size = f, int64(len(b))
	return err
}

func appendLine(b []byte, mark string, k id, alone int) []byte {
	b = append(append(b, mark...), ' ')
	b = append(strconv.AppendInt(b, int64(k.job), 10), ' ')
	b = append(strconv.AppendInt(b, int64(alone), 10), ' ')
	return append(append(b, k.url.String()...), '\n')
}

// Start records that a URL is about to be requested. The request must not be sent before
// Start returns.
func (j *Journal) Start(run job.ID, u weburl.URL) error {
	return j.record(&entry{id: id{run, u}})
}

// Done records that a URL completed without a crash. If it was a suspect, it is cleared.
func (j *Journal) Done(run job.ID, u weburl.URL) error {
	return j.record(&entry{id: id{run, u}, done: true})
}

// record returns when the entry is written. The caller that finds no other waiting writes for
// all that come until it has the lock, and only that caller takes it. The order of lines does
// not matter: a URL has one that waits at most.
func (j *Journal) record(e *entry) error {
	e.written = make(chan error, 1)
	for {
		e.next = j.waiting.Load()
		if j.waiting.CompareAndSwap(e.next, e) {
			break
		}
	}
	if e.next == nil {
		j.writeWaiting()
	}
	return <-e.written
}

// writeWaiting writes the lines of all entries that wait.
func (j *Journal) writeWaiting() {
	j.mu.Lock()
	batch := j.waiting.Swap(nil)
	err := j.write(batch)
	j.mu.Unlock()
	for e := batch; e != nil; {
		next := e.next
		e.written <- err
		e = next
	}
}

// write appends lines in one system call: they are then held by the kernel and survive the
// process.
func (j *Journal) write(batch *entry) error {
	j.lines = j.lines[:0]
	for e := batch; e != nil; e = e.next {
		mark := markStart
		if e.done {
			mark = markDone
			delete(j.notes, e.id)
		} else {
			j.note(e.id).inFlight = true
		}
		j.lines = appendLine(j.lines, mark, e.id, 0)
	}
	if j.f == nil {
		return fmt.Errorf("journal %s: %w", j.path, fs.ErrClosed)
	}
	n, err := j.f.Write(j.lines)
	if j.size += int64(n); err == nil && j.size > maxSize {
		err = j.rewrite()
	}
	if err != nil {
		return fmt.Errorf("journal %s: %w", j.path, err)
	}
	return nil
}

// Close ends the journal cleanly: what is still in flight was cancelled and is not
// suspect.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.f == nil {
		return nil
	}
	for k, n := range j.notes {
		if n.inFlight = false; !n.suspect {
			delete(j.notes, k)
		}
	}
	err := j.rewrite()
	if j.f != nil {
		err = errors.Join(err, j.f.Close())
		j.f = nil
	}
	return err
}
