//go:build linux

package doctest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// record collects the output of a process.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // signals new output
}

func newRecord() *record { return &record{more: make(chan struct{}, 1)} }

// Write implements [io.Writer].
func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case r.more <- struct{}{}:
	default:
	}
	return r.text.Write(p)
}

// String is the output so far.
func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// take removes and returns the output up to a mark.
func (r *record) take(end *regexp.Regexp) (before, mark string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := end.FindSubmatchIndex(r.text.Bytes())
	if at == nil {
		return "", "", false
	}
	all := r.text.String()
	r.text.Reset()
	r.text.WriteString(all[at[1]:])
	return all[:at[0]], all[at[2]:at[3]], true
}

// wait blocks until there is new output.
func (r *record) wait(ctx context.Context) error {
	select {
	case <-r.more:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// reader types the commands of a document into a shell.
type reader struct {
	dir         string
	env         []string
	shell       *exec.Cmd
	in          io.WriteCloser
	stdout      *record
	stderr      *record
	terminals   []*terminal
	lastCommand *command // failed: the next command must be "echo $?"
	lastCode    int
	lastOutput  string
}

// terminal is a command that keeps running, and its output.
type terminal struct {
	command command
	cmd     *exec.Cmd
	screen  *record
	done    chan error
}

// process is a command in its own process group, so that it can be killed with all its
// children.
func (r *reader) process(args ...string) (*exec.Cmd, *record, *record) {
	cmd := exec.Command(args[0], args[1:]...) // ended by stop
	cmd.Dir, cmd.Env = r.dir, r.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	out, diag := newRecord(), newRecord()
	cmd.Stdout, cmd.Stderr = out, diag
	return cmd, out, diag
}

// start opens the shell.
func (r *reader) start() (err error) {
	r.shell, r.stdout, r.stderr = r.process("bash", "--norc", "--noprofile")
	if r.in, err = r.shell.StdinPipe(); err != nil {
		return err
	}
	return r.shell.Start()
}

// ended is what the shell prints after a command: its exit code.
var ended = regexp.MustCompile("\x1e([0-9]+)\x1e")

// run types one command and returns what it printed.
func (r *reader) run(ctx context.Context, c command) (string, error) {
	if c.stays {
		return "", r.stay(ctx, c)
	}
	if last := r.lastCommand; last != nil && c.text != "echo $?" {
		return "", r.failed()
	}
	r.lastCommand = nil
	if _, err := fmt.Fprintf(r.in, "{\n%s\n} </dev/null\nCODE=$?; printf '\\036%%d\\036' $CODE; printf '\\036%%d\\036' $CODE >&2; (exit $CODE)\n", c.text); err != nil {
		return "", fmt.Errorf("line %d: $ %s\nthe shell has ended: %w", c.line, c.text, err)
	}
	stdout, code, err := until(ctx, r.stdout)
	if err != nil {
		return "", fmt.Errorf("line %d: $ %s\n%w, after\n%s%s", c.line, c.text, err, r.stdout, r.stderr)
	}
	stderr, _, err := until(ctx, r.stderr)
	if err != nil {
		return "", fmt.Errorf("line %d: $ %s\n%w", c.line, c.text, err)
	}
	if c.output != nil {
		if err := matches(c.output, stdout, stderr); err != nil {
			return "", fmt.Errorf("line %d: $ %s\n%w%s", c.line, c.text, err, stderr)
		}
	}
	if code != 0 {
		r.lastCommand, r.lastCode, r.lastOutput = &c, code, stdout+stderr
	}
	return stdout + stderr, nil
}

// failed returns an error if the last command failed without "echo $?".
func (r *reader) failed() error {
	return fmt.Errorf("line %d: $ %s\n%sexit code %d", r.lastCommand.line, r.lastCommand.text, r.lastOutput, r.lastCode)
}

// until reads the output of a command and its exit code.
func until(ctx context.Context, r *record) (text string, code int, err error) {
	for {
		if text, mark, ok := r.take(ended); ok {
			code, err = strconv.Atoi(mark)
			return text, code, err
		}
		if err := r.wait(ctx); err != nil {
			return "", 0, err
		}
	}
}

// stay keeps a command running in its own terminal, and waits until it has printed the
// documented output, or anything.
func (r *reader) stay(ctx context.Context, c command) error {
	t := &terminal{command: c, done: make(chan error, 1)}
	t.cmd, t.screen, _ = r.process("bash", "-c", "exec "+c.text)
	t.cmd.Stderr = t.cmd.Stdout
	if err := t.cmd.Start(); err != nil {
		return err
	}
	r.terminals = append(r.terminals, t)
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("it does not print what the document says"))
	defer cancel()
	go func() { t.done <- t.cmd.Wait() }()
	for {
		screen := t.screen.String()
		if c.output == nil && strings.Contains(screen, "\n") || c.output != nil && begins(c.output, screen) {
			return nil
		}
		select {
		case <-t.screen.more:
		case err := <-t.done:
			t.done <- err
			return fmt.Errorf("line %d: $ %s\nit does not stay: %w\n%s", c.line, c.text, err, screen)
		case <-ctx.Done():
			return fmt.Errorf("line %d: $ %s\n%w; it printed\n%sand the document says\n%s", c.line, c.text, context.Cause(ctx), screen, text(c.output))
		}
	}
}

// patience is how long a command may take to start in its own terminal, and to stop.
const patience = 20 * time.Second

// stop closes the shell and the terminals, as a person would.
func (r *reader) stop() error {
	var errs []error
	if r.lastCommand != nil {
		errs = append(errs, r.failed())
	}
	for _, t := range r.terminals {
		errs = append(errs, t.close())
	}
	errs = append(errs, r.in.Close())
	err := r.shell.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
		err = nil // with the code of the last command
	}
	errs = append(errs, err)
	return errors.Join(errs...)
}

// close presses Ctrl-C.
func (t *terminal) close() error {
	select {
	case err := <-t.done: // it stopped after Ctrl-C
		t.done <- err
	default:
		if err := syscall.Kill(-t.cmd.Process.Pid, syscall.SIGINT); err != nil {
			return fmt.Errorf("interrupt %s: %w", t.command.text, err)
		}
	}
	timer := time.AfterFunc(patience, func() { _ = syscall.Kill(-t.cmd.Process.Pid, syscall.SIGKILL) }) // gone is fine
	defer timer.Stop()
	err := <-t.done
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() && exit.ExitCode() == interrupted {
		return nil
	}
	if err != nil {
		return fmt.Errorf("line %d: $ %s\nended with %w\n%s", t.command.line, t.command.text, err, t.screen)
	}
	return nil
}

// interrupted is the exit code after Ctrl-C.
const interrupted = 130

// kill kills all processes that were started.
func (r *reader) kill() {
	for _, t := range r.terminals {
		_ = syscall.Kill(-t.cmd.Process.Pid, syscall.SIGKILL) // gone is fine
	}
	_ = syscall.Kill(-r.shell.Process.Pid, syscall.SIGKILL) // gone is fine
}

// readerEnv is the environment of a new user: nothing of the environment of the tests,
// except Go's caches.
func readerEnv(home, path string, more ...string) []string {
	env := []string{"HOME=" + home, "PATH=" + path, "TERM=dumb", "LANG=C.UTF-8", "TMPDIR=" + os.TempDir()}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOFLAGS", "GOTOOLCHAIN", "GOPROXY"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return append(env, more...)
}
