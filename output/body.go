package output

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"headway/visit"
)

// Defaults of [BodyConfig].
const (
	DefaultBodyMemory = 16 << 20
	DefaultBodySpool  = 1 << 30
)

// maxBodies is how many pages wait at most, whatever their size.
const maxBodies = 4096

// BodyConfig limits what waits for the function of a [BodyWriter]. Zero values mean the
// default.
type BodyConfig struct {
	Concurrency int    // calls of the function at once; 1
	Memory      int64  // bytes of bodies that wait in memory; [DefaultBodyMemory]
	Spool       int64  // further bytes that wait in a temporary file; [DefaultBodySpool]
	Dir         string // of that file; empty for the system's folder
}

// BodyWriter passes each fetched page with its body to a function of a program.
//
// A page is passed on before its visit is stored, and stored only after the function
// returned: whatever happens to the process, a stored page was passed on. A page is passed
// on again if its visit could not be stored, as after a kill.
//
// Pages wait for the function in the order they were parsed, in memory and, beyond
// [BodyConfig.Memory], in a temporary file. When that is full, too, workers wait, and with
// them the crawl. Nothing is dropped.
//
// If the function returns an error or panics, it is not called again, and the crawl ends
// with that error. Its page, and those that wait, are not stored: the crawl can be resumed.
type BodyWriter struct {
	cfg  BodyConfig
	call func(ctx context.Context, p *Page) error

	mu      sync.Mutex
	changed chan struct{} // closed at the next change
	queue   []*waitingPage
	running []*waitingPage
	taken   int64 // pages so far
	memory  int64
	spool   *spool // nil until it is needed
	broken  error
	calls   sync.WaitGroup
}

// waitingPage is a page that waits for the function, or is being passed to it.
type waitingPage struct {
	call   func(p *Page) error
	number int64
	visit  visit.Visit
	size   int64
	body   []byte
	spool  *region // where the body waits, if not in memory
	ready  bool    // it can be passed on
}

var _ PageWriter = (*BodyWriter)(nil)

// NewBodyWriter returns a writer that passes pages to a function. With a Concurrency above
// 1 it is called concurrently. The page and its bytes are valid until it returns, and must
// not be changed. Its context is not cancelled when the crawl is stopped: pages that were
// fetched are passed on and stored.
func NewBodyWriter(call func(ctx context.Context, p *Page) error, cfg BodyConfig) *BodyWriter {
	cfg.Concurrency = max(cfg.Concurrency, 1)
	cfg.Memory, cfg.Spool = cmp.Or(cfg.Memory, DefaultBodyMemory), cmp.Or(cfg.Spool, DefaultBodySpool)
	return &BodyWriter{cfg: cfg, call: call, changed: make(chan struct{})}
}

// Page adds a page to those that wait. It blocks while there is no room, until ctx ends.
func (w *BodyWriter) Page(ctx context.Context, p *Page) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := &waitingPage{
		call:  func(p *Page) error { return w.call(context.WithoutCancel(ctx), p) },
		visit: *p.Visit, size: int64(len(p.Body)),
	}
	for !w.place(one) {
		if err := w.wait(ctx); err != nil {
			return err
		}
	}
	if w.broken != nil {
		return w.broken
	}
	w.taken++
	one.number = w.taken
	w.queue = append(w.queue, one)
	if one.spool != nil {
		if err := w.write(one, p.Body); err != nil {
			return err
		}
	} else {
		one.body = bytes.Clone(p.Body)
	}
	one.ready = true
	w.start()
	w.notify()
	return nil
}

// place reserves room for a page. It is also done if the writer is broken. w.mu is held.
func (w *BodyWriter) place(one *waitingPage) bool {
	alone := len(w.queue)+len(w.running) == 0 // the largest body must fit
	switch {
	case w.broken != nil:
		return true
	case len(w.queue) >= maxBodies:
		return false
	case alone || w.memory+one.size <= w.cfg.Memory:
		w.memory += one.size
		return true
	}
	if w.spool == nil {
		w.spool = newSpool(w.cfg.Dir, w.cfg.Spool)
	}
	one.spool = w.spool.reserve(one.size)
	return one.spool != nil
}

// write writes a body to the spool. w.mu is held, but not during the write.
func (w *BodyWriter) write(one *waitingPage, body []byte) error {
	s := w.spool
	w.mu.Unlock()
	err := s.write(one.spool, body)
	w.mu.Lock()
	if err != nil {
		return w.fail(fmt.Errorf("spool page %s: %w", one.visit.Item.URL, err))
	}
	return w.broken
}

// start starts calls of the function, as many as may run. w.mu is held.
func (w *BodyWriter) start() {
	for len(w.running) < w.cfg.Concurrency && len(w.queue) > 0 && w.queue[0].ready && w.broken == nil {
		one := w.queue[0]
		w.queue = slices.Delete(w.queue, 0, 1)
		w.running = append(w.running, one)
		w.calls.Go(func() { w.run(one) })
	}
}

// run passes one page on.
func (w *BodyWriter) run(one *waitingPage) {
	err := w.load(one)
	if err == nil {
		err = one.pass()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running = slices.DeleteFunc(w.running, func(other *waitingPage) bool { return other == one })
	if one.spool == nil {
		w.memory -= one.size
	}
	if err != nil {
		_ = w.fail(err) // what writes next returns it
		return
	}
	w.start()
	w.notify()
}

// load reads a body from the spool, whose room is then free again.
func (w *BodyWriter) load(one *waitingPage) (err error) {
	if one.spool == nil {
		return nil
	}
	if one.body, err = w.spool.read(one.spool); err != nil {
		return fmt.Errorf("read spooled page %s: %w", one.visit.Item.URL, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spool.free(one.spool)
	w.notify()
	return nil
}

// pass calls the function.
func (one *waitingPage) pass() (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PagePanicError{URL: one.visit.Item.URL.String(), Value: v, Stack: debug.Stack()}
		}
	}()
	if err := one.call(&Page{Visit: &one.visit, Body: one.body}); err != nil {
		return fmt.Errorf("function for page %s: %w", one.visit.Item.URL, err)
	}
	return nil
}

// Sync waits until the function has returned for every page so far.
func (w *BodyWriter) Sync(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := w.taken
	before := func(one *waitingPage) bool { return one.number <= last }
	for w.broken == nil && (slices.ContainsFunc(w.running, before) || len(w.queue) > 0 && before(w.queue[0])) {
		if err := w.wait(ctx); err != nil {
			return err
		}
	}
	return w.broken
}

// Write does nothing: the visit was passed on with its page.
func (w *BodyWriter) Write(context.Context, *visit.Visit) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broken
}

// Close waits for calls of the function that run, and removes the temporary file. Pages
// that still wait are not passed on; they are not stored either.
func (w *BodyWriter) Close() error {
	w.mu.Lock()
	if w.broken == nil {
		_ = w.fail(errors.New("pass on pages: already closed"))
	}
	w.mu.Unlock()
	w.calls.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.spool == nil {
		return nil
	}
	err := w.spool.close()
	w.spool = nil
	return err
}

// Waiting returns how many pages wait for the function, and the bytes of their bodies in
// memory and in the temporary file. Those being passed on are included.
func (w *BodyWriter) Waiting() (pages int, memory, spooled int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.spool != nil {
		spooled = w.spool.used
	}
	return len(w.queue) + len(w.running), w.memory, spooled
}

// fail breaks the writer: nothing more is passed on. w.mu is held.
func (w *BodyWriter) fail(err error) error {
	if w.broken == nil {
		w.broken = err
		w.queue = nil
	}
	w.notify()
	return w.broken
}

// wait waits for a change. w.mu is held, but not meanwhile.
func (w *BodyWriter) wait(ctx context.Context) error {
	changed := w.changed
	w.mu.Unlock()
	defer w.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// notify wakes all who wait for a change. w.mu is held.
func (w *BodyWriter) notify() {
	close(w.changed)
	w.changed = make(chan struct{})
}
