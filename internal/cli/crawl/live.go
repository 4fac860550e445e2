package crawl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/term"

	"headway"
	"headway/internal/cli/command"
	"headway/internal/view"
)

// live is what a person sees of a crawl while it runs: a view on a terminal,
// lines elsewhere, or nothing.
type live struct {
	title     string
	quiet     bool
	plain     bool
	noColour  bool
	out       *Notices
	in        io.Reader
	progress  func() *headway.Progress
	interrupt func()
}

// watch begins to show the crawl. What it returns ends that, and gives the
// terminal back as it was.
func (l *live) watch(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var showing sync.WaitGroup
	showing.Go(func() { l.show(ctx) })
	return func() {
		cancel()
		showing.Wait()
	}
}

// show shows the crawl until ctx ends, in the best way there is.
func (l *live) show(ctx context.Context) {
	if l.quiet {
		return
	}
	began := time.Now()
	terminal := l.terminal()
	for terminal != nil && view.Foreground(terminal) {
		screen := view.NewScreen(view.Config{
			Title: l.title, Out: terminal, In: terminalOf(l.in), Progress: l.progress, Interrupt: l.interrupt,
			Colour: !l.noColour && os.Getenv("NO_COLOR") == "", Began: began,
		})
		l.out.through(screen)
		err := screen.Run(ctx)
		l.out.through(nil)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, view.ErrSuspended) {
			err = view.Suspend()
		}
		if err != nil {
			fmt.Fprintf(l.out, "headway: warning: %s; continuing with plain lines\n", command.OneLine(err.Error()))
			break
		}
	}
	printLines(ctx, l.out, func() view.Model {
		return view.Model{Title: l.title, Now: time.Now(), Began: began, Progress: l.progress()}
	})
}

// terminal is the one to show a view on, if there is one that can.
func (l *live) terminal() *os.File {
	if l.plain || os.Getenv("TERM") == "dumb" || runtime.GOOS != "windows" && os.Getenv("TERM") == "" {
		return nil
	}
	return terminalOf(l.out.w)
}

// terminalOf is the terminal behind a stream, if there is one.
func terminalOf(stream any) *os.File {
	if f, ok := stream.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// widthOf is how wide the terminal behind a stream is; 0 where there is none.
func widthOf(stream any) int {
	f := terminalOf(stream)
	if f == nil {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0 // lines are broken by the terminal
	}
	return width
}

// Notices is the stream for people: plain, or above a view while there is one.
type Notices struct {
	mu     sync.Mutex
	w      io.Writer
	screen *view.Screen
	part   []byte // of a line that has not ended yet
}

// through sends lines above a screen; nil: no more.
func (n *Notices) through(s *view.Screen) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.screen = s
	if s == nil && len(n.part) > 0 {
		_, _ = n.w.Write(n.part) // a terminal; nobody is left to be told
		n.part = nil
	}
}

// Write implements [io.Writer].
func (n *Notices) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.screen == nil {
		return n.w.Write(b)
	}
	n.part = append(n.part, b...)
	for {
		line, rest, ok := bytes.Cut(n.part, []byte("\n"))
		if !ok {
			return len(b), nil
		}
		n.screen.Print(string(line))
		n.part = rest
	}
}
