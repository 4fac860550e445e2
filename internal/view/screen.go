package view

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"headway"
)

// Screen is a terminal that shows a crawl. Make one with [NewScreen].
type Screen struct {
	cfg  Config
	told atomic.Bool

	mu      sync.Mutex
	program *tea.Program // while it runs
	drawn   bool         // the program has drawn itself
	lines   []string     // to print above it
}

// Config is what a Screen needs.
type Config struct {
	Title     string
	Out       *os.File                 // the terminal
	In        *os.File                 // where keys come from; nil: the terminal of the process
	Progress  func() *headway.Progress // the state of the crawl; nil while it is being opened
	Interrupt func()                   // is called each time Ctrl-C is pressed
	Colour    bool
	Began     time.Time // when the crawl did; zero: now

	Width, Height int // used if Out is not a terminal
}

// redrawEvery is the interval between two drawings, and firstAfter the delay of the
// first.
const (
	redrawEvery = 250 * time.Millisecond
	firstAfter  = 100 * time.Millisecond
)

// ErrSuspended says that Ctrl-Z was pressed. The terminal was restored; call
// [Suspend], then run the screen again.
var ErrSuspended = errors.New("suspended")

// NewScreen returns a screen that is ready to run.
func NewScreen(cfg Config) *Screen {
	if cfg.Began.IsZero() {
		cfg.Began = time.Now()
	}
	return &Screen{cfg: cfg}
}

// Run shows the crawl until ctx ends, then removes the view and restores the terminal.
// A view that fails restores it, too, and returns the error.
func (s *Screen) Run(ctx context.Context) error {
	options := []tea.ProgramOption{
		tea.WithOutput(&output{File: s.cfg.Out, drawn: s.hasDrawn}),
		tea.WithoutSignalHandler(),                 // the crawl handles signals
		tea.WithFPS(int(time.Second / firstAfter)), // unchanged rows are not drawn
	}
	if s.cfg.Width > 0 {
		options = append(options, tea.WithWindowSize(s.cfg.Width, s.cfg.Height))
	}
	if s.cfg.In != nil {
		options = append(options, tea.WithInput(s.cfg.In))
	}
	program := tea.NewProgram(&scene{screen: s}, options...)
	s.begin(program)
	defer s.end()

	var ticking sync.WaitGroup
	over, stop := context.WithCancel(ctx)
	ticking.Go(func() {
		tick := time.NewTicker(redrawEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				program.Send(ticked{})
			case <-over.Done():
				program.Send(finished{})
				return
			}
		}
	})
	last, err := program.Run()
	stop()
	ticking.Wait()
	if err != nil {
		return fmt.Errorf("show the crawl: %w", err)
	}
	scene := last.(*scene)
	if _, err := s.cfg.Out.WriteString(erase(scene.rows)); err != nil {
		return fmt.Errorf("take the view off the screen: %w", err)
	}
	if scene.suspended {
		return ErrSuspended
	}
	return scene.err
}

// Print writes lines above the view, or at the cursor if there is no view.
func (s *Screen) Print(lines ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.program != nil {
		s.lines = append(s.lines, lines...)
		return
	}
	for _, l := range lines {
		fmt.Fprintln(s.cfg.Out, l)
	}
}

func (s *Screen) begin(p *tea.Program) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.program, s.drawn = p, false
}

// hasDrawn records that the view was drawn: from then on lines can be printed above
// it.
func (s *Screen) hasDrawn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drawn = true
}

// takeLines returns the lines to print now.
func (s *Screen) takeLines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.drawn {
		return nil
	}
	lines := s.lines
	s.lines = nil
	return lines
}

// end prints the remaining lines.
func (s *Screen) end() {
	s.mu.Lock()
	s.program = nil
	lines := s.lines
	s.lines = nil
	s.mu.Unlock()
	s.Print(lines...)
}

// mark is part of every screen: once it was written, a view is drawn.
const mark = "headway"

// output is the terminal, which notices when the view is first drawn.
type output struct {
	*os.File
	drawn func()
	done  bool
}

// Write implements [io.Writer].
func (o *output) Write(b []byte) (int, error) {
	n, err := o.File.Write(b)
	if !o.done && bytes.Contains(b, []byte(mark)) {
		o.done = true
		o.drawn()
	}
	return n, err
}

// eraseAll clears the screen but not the scrollback, and moves to its top.
const eraseAll = "\x1b[2J\x1b[H"

// Messages to the scene.
type (
	ticked   struct{}
	finished struct{}
)

// scene is the view as bubbletea sees it.
type scene struct {
	screen        *Screen
	watch         Watch
	model         Model
	width, height int
	rows          int // of the current view
	suspended     bool
	err           error // why the view ended
}

// Init implements [tea.Model].
func (c *scene) Init() tea.Cmd {
	c.look()
	return nil
}

// look reads the state of the crawl.
func (c *scene) look() {
	defer c.catch()
	s := c.screen
	c.model = Model{Title: s.cfg.Title, Now: time.Now(), Began: s.cfg.Began, Progress: s.cfg.Progress(), Interrupted: s.told.Load(), Colour: s.cfg.Colour}
	c.watch.Look(&c.model)
}

// catch keeps a panic of the view from ending the crawl: only the view ends.
func (c *scene) catch() {
	if v := recover(); v != nil {
		c.err = fmt.Errorf("show the crawl: %v", v)
	}
}

// Update implements [tea.Model].
func (c *scene) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		resized := c.width > 0
		c.width, c.height, c.rows = msg.Width, msg.Height, 0
		if resized {
			// The terminal may have broken our rows into more than we drew.
			return c, tea.Sequence(tea.Raw(eraseAll), tea.ClearScreen)
		}
	case ticked:
		c.look()
		if c.err != nil {
			return c, tea.Quit
		}
		return c, c.print(c.screen.takeLines())
	case finished:
		return c, tea.Sequence(c.print(c.screen.takeLines()), tea.Quit)
	case tea.KeyPressMsg:
		switch msg.String() {
		case "ctrl+c":
			c.screen.told.Store(true)
			c.model.Interrupted = true
			c.screen.cfg.Interrupt()
		case "ctrl+z":
			if CanSuspend {
				c.suspended = true
				return c, tea.Quit
			}
		}
	}
	return c, nil
}

// print puts lines above the view, each broken so that it fits.
func (c *scene) print(lines []string) tea.Cmd {
	if len(lines) == 0 {
		return nil
	}
	var rows []string
	for _, l := range lines {
		for c.width > 0 && len([]rune(l)) > c.width {
			head := cut(l, c.width)
			rows, l = append(rows, head), l[len(head):]
		}
		rows = append(rows, l)
	}
	return tea.Println(strings.Join(rows, "\n"))
}

// View implements [tea.Model]. A view never has fewer rows than the one before:
// otherwise bubbletea miscounts rows and leaves the first ones behind.
func (c *scene) View() (v tea.View) {
	defer c.catch()
	v.DisableBracketedPasteMode = true // nothing is pasted here
	if c.width == 0 {
		return v
	}
	screen := Render(c.model, c.width, c.height)
	rows := 1 + strings.Count(screen, "\n")
	if more := c.rows - rows; more > 0 {
		screen, rows = screen+strings.Repeat("\n", more), c.rows
	}
	c.rows = rows
	v.SetContent(screen)
	return v
}

// erase is the sequence that removes a view of this many rows, from its last row.
func erase(rows int) string {
	if rows > 1 {
		return fmt.Sprintf("\r\x1b[%dA\x1b[J", rows-1)
	}
	return "\r\x1b[J"
}
