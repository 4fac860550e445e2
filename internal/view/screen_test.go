package view_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"headway"
	"headway/internal/view"
)

// pipe is a file that a screen writes to, and what was written.
type pipe struct {
	out  *os.File
	mu   sync.Mutex
	buf  bytes.Buffer
	done sync.WaitGroup
}

func newPipe(t *testing.T) *pipe {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &pipe{out: w}
	p.done.Go(func() {
		b := make([]byte, 4096)
		for {
			n, err := r.Read(b)
			p.mu.Lock()
			p.buf.Write(b[:n])
			p.mu.Unlock()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Error(err)
				}
				return
			}
		}
	})
	t.Cleanup(func() {
		_ = w.Close() // it may be closed already
		p.done.Wait()
		_ = r.Close() // it was only read
	})
	return p
}

func (p *pipe) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.buf.String()
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond) // a terminal program runs in real time and reports no redraw
	defer tick.Stop()
	over := time.After(20 * time.Second)
	for !is() {
		select {
		case <-tick.C:
		case <-over:
			t.Fatalf("never: %s", what)
		}
	}
}

// keys is an input with typed keys.
func keys(t *testing.T) (in, typed *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = w.Close(), r.Close() })
	return r, w
}

// TestScreenLeavesNothing runs a screen with key presses and lines printed above: no
// goroutine stays, each Ctrl-C is passed on, and no printed line is lost.
func TestScreenLeavesNothing(t *testing.T) {
	out := newPipe(t)
	in, typed := keys(t)
	ignore := goleak.IgnoreCurrent()
	pressed := make(chan struct{}, 10)
	s := view.NewScreen(view.Config{
		Title: "https://shop.example/", Out: out.out, In: in, Progress: func() *headway.Progress { return running().Progress },
		Interrupt: func() { pressed <- struct{}{} }, Width: 100, Height: 30,
	})
	s.Print("before it runs")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	s.Print("a warning at once")
	eventually(t, "it is drawn", func() bool { return strings.Contains(out.text(), "waiting on") })
	s.Print("a warning while it runs")
	eventually(t, "the warning is printed", func() bool { return strings.Contains(out.text(), "a warning while it runs") })
	for range 2 {
		if _, err := typed.WriteString("\x03"); err != nil {
			t.Fatal(err)
		}
		<-pressed
	}
	s.Print("a last warning")
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	s.Print("after it has run")
	eventually(t, "all lines are printed", func() bool {
		rest := out.text()
		for _, line := range []string{"before it runs\n", "a warning at once", "a warning while it runs", "a last warning", "after it has run\n"} {
			_, after, ok := strings.Cut(rest, line)
			if !ok {
				return false
			}
			rest = after
		}
		return true
	})
	if text := out.text(); strings.LastIndex(text, "\x1b[?25h") < strings.LastIndex(text, "\x1b[?25l") {
		t.Error("the cursor stays hidden")
	}
	goleak.VerifyNone(t, ignore)
}

// TestScreenSurvivesPanic restores the terminal when drawing panics, and returns an
// error.
func TestScreenSurvivesPanic(t *testing.T) {
	out := newPipe(t)
	in, _ := keys(t)
	looks := 0
	s := view.NewScreen(view.Config{
		Title: "https://shop.example/", Out: out.out, In: in, Interrupt: func() {}, Width: 100, Height: 30,
		Progress: func() *headway.Progress {
			if looks++; looks > 3 {
				panic("out of order")
			}
			return nil
		},
	})
	err := s.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "out of order") {
		t.Errorf("got %v", err)
	}
	s.Print("still here")
	eventually(t, "a line is printed", func() bool { return strings.HasSuffix(out.text(), "still here\n") })
	if text := out.text(); strings.LastIndex(text, "\x1b[?25h") < strings.LastIndex(text, "\x1b[?25l") {
		t.Error("the cursor stays hidden")
	}
}

// TestScreenSuspends ends the view at Ctrl-Z, and can be run again.
func TestScreenSuspends(t *testing.T) {
	if !view.CanSuspend {
		t.Skip("processes are not suspended here")
	}
	out := newPipe(t)
	in, typed := keys(t)
	s := view.NewScreen(view.Config{
		Title: "https://shop.example/", Out: out.out, In: in, Progress: func() *headway.Progress { return nil }, Interrupt: func() {}, Width: 100, Height: 30,
	})
	if _, err := typed.WriteString("\x1a"); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); !errors.Is(err, view.ErrSuspended) {
		t.Fatalf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	eventually(t, "it is drawn again", func() bool { return strings.Contains(out.text(), "starting") })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
