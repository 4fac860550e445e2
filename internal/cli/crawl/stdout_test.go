package crawl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"headway"
	"headway/internal/cli/command"
	"headway/job"
)

// TestStdoutWaits: a slow reader gets every line, and a message says what the crawl waits for.
func TestStdoutWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		var notices bytes.Buffer
		s := &stdout{w: w, notices: &notices}
		go func() {
			for n := range 3 {
				if _, err := fmt.Fprintf(s, "line %d\n", n); err != nil {
					t.Error(err)
				}
			}
			w.Close()
		}()
		time.Sleep(2 * slowReader) // in virtual time
		got, err := io.ReadAll(r)
		if err != nil || string(got) != "line 0\nline 1\nline 2\n" {
			t.Errorf("%q, %v", got, err)
		}
		if n := strings.Count(notices.String(), "waiting for the reader"); n != 1 {
			t.Errorf("%d messages: %s", n, &notices)
		}
	})
}

// TestStdoutQuit: after a second Ctrl-C a reader that does not read holds nothing up.
func TestStdoutQuit(t *testing.T) {
	r, w := io.Pipe()
	defer r.Close()
	quit := make(chan struct{})
	close(quit)
	var notices bytes.Buffer
	s := &stdout{w: w, notices: &notices, quit: quit}
	for range 2 {
		if n, err := s.Write([]byte("line\n")); n != 5 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if n := strings.Count(notices.String(), "not read from standard output"); n != 1 {
		t.Errorf("%d messages: %s", n, &notices)
	}
	if err := s.exit(headway.Report{State: job.Running}, "dir"); err != nil {
		t.Errorf("not the reader's fault: %v", err)
	}
}

type failingWriter struct{ err error }

func (f failingWriter) Write([]byte) (int, error) { return 0, f.err }

// TestStdoutClosed: a reader that leaves stops the crawl once; another error is one.
func TestStdoutClosed(t *testing.T) {
	if !isClosedPipe(syscall.EPIPE) {
		t.Skip("this system does not report a closed pipe as EPIPE")
	}
	stops := 0
	s := &stdout{w: failingWriter{syscall.EPIPE}, notices: io.Discard, stop: func() { stops++ }}
	for range 3 {
		if _, err := s.Write([]byte("line\n")); err != nil {
			t.Error(err)
		}
	}
	if stops != 1 {
		t.Errorf("stopped %d times", stops)
	}
	failure, ok := errors.AsType[*command.Failure](s.exit(headway.Report{State: job.Running}, "dir"))
	if !ok || failure.Code != command.ExitInterrupted {
		t.Errorf("a crawl that was stopped: %v", failure)
	}
	if err := s.exit(headway.Report{State: job.Complete}, "dir"); err != nil {
		t.Errorf("a crawl that was complete: %v", err)
	}
	s = &stdout{w: failingWriter{syscall.ENOSPC}, notices: io.Discard}
	if _, err := s.Write([]byte("line\n")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk: %v", err)
	}
}
