package crawl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"syscall"
	"time"

	"headway"
	"headway/internal/cli/command"
)

// slowReader is how long a write may take before a message says so.
const slowReader = 10 * time.Second

// stdout is the pipe to which `headway crawl --stdout` writes lines. The crawl waits for
// its reader. It stops if the reader closes the pipe.
type stdout struct {
	w       io.Writer
	notices io.Writer
	stop    func()          // stops the crawl, as Ctrl-C does
	quit    <-chan struct{} // closed: do not wait for the reader any longer

	closed  bool // by the reader
	dropped bool // lines, because of quit
	warned  bool // that the reader is slow
}

// useStdout makes a run write lines to standard output, and everything else to the stream
// for messages.
func (c *crawlRun) useStdout() {
	// Otherwise the runtime ends the process at the first write after the reader left.
	signal.Ignore(syscall.SIGPIPE)
	c.stdout = &stdout{w: c.out, notices: c.Err, stop: c.interrupt}
	c.out, c.live.plain = c.Err.w, true
}

// Write passes lines to the reader, and waits until it has taken them. Lines that nobody
// reads any more are dropped.
func (s *stdout) Write(b []byte) (int, error) {
	if s.closed || s.dropped {
		return len(b), nil
	}
	done := make(chan error, 1)
	lines := bytes.Clone(b) // may be in use after quit
	go func() {
		_, err := s.w.Write(lines)
		done <- err
	}()
	var slow <-chan time.Time
	if !s.warned {
		slow = time.After(slowReader)
	}
	for {
		select {
		case err := <-done:
			if isClosedPipe(err) {
				s.closed = true
				fmt.Fprintln(s.notices, "headway: standard output was closed by its reader; stopping")
				s.stop()
				err = nil
			}
			return len(b), err
		case <-slow:
			s.warned = true
			fmt.Fprintln(s.notices, "headway: waiting for the reader of standard output")
		case <-s.quit: // the write ends with the process
			s.dropped = true
			fmt.Fprintln(s.notices, "headway: warning: the last lines were not read from standard output")
			return len(b), nil
		}
	}
}

// leftBy reports whether an error is the reader's, who may have read messages from the same
// pipe.
func (s *stdout) leftBy(err error) bool { return s != nil && isClosedPipe(err) }

// exit is the failure of a run whose reader left before the crawl had ended.
func (s *stdout) exit(r headway.Report, dir string) error {
	if s == nil || !s.closed || r.State.Ended() {
		return nil
	}
	return &command.Failure{
		Code: command.ExitInterrupted, Err: errors.New("stopped because standard output was closed"),
		Hint: "progress is saved in " + dir + "; run the same command to resume",
	}
}
