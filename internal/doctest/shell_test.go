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

// record collects what a process prints.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // has a value when something came
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

// String is what came so far.
func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// take is what came up to a mark, which is taken out.
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

// wait blocks until something came.
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
	lastCommand *command // ended with an error that the next command has to explain
	lastCode    int
	lastOutput  string
}

// terminal is where a command stays, and what is to be seen there.
type terminal struct {
	command command
	cmd     *exec.Cmd
	screen  *record
	done    chan error
}

// process is a command in a group of its own, so that it can be ended with all
// it started.
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

// ended is what the shell prints behind a command: its exit code.
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

// failed tells of a command that ended with an error nobody explains.
func (r *reader) failed() error {
	return fmt.Errorf("line %d: $ %s\n%sexit code %d", r.lastCommand.line, r.lastCommand.text, r.lastOutput, r.lastCode)
}

// until reads what a command prints, and its exit code.
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

// stay runs a command on in a terminal of its own, and waits until it has printed
// what the document says, or anything.
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

// patience is how long a command may take to begin in a terminal of its own, and
// to end when it is told to.
const patience = 20 * time.Second

// stop closes the shell and the terminals, as a reader would.
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
	case err := <-t.done: // it was asked to stop
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

// interrupted is the exit code behind Ctrl-C.
const interrupted = 130

// kill ends everything that was started.
func (r *reader) kill() {
	for _, t := range r.terminals {
		_ = syscall.Kill(-t.cmd.Process.Pid, syscall.SIGKILL) // gone is fine
	}
	_ = syscall.Kill(-r.shell.Process.Pid, syscall.SIGKILL) // gone is fine
}

// readerEnv is the environment of someone who has just installed what is needed:
// nothing of whoever runs the tests, except where Go keeps what it has built.
func readerEnv(home, path string, more ...string) []string {
	env := []string{"HOME=" + home, "PATH=" + path, "TERM=dumb", "LANG=C.UTF-8", "TMPDIR=" + os.TempDir()}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOFLAGS", "GOTOOLCHAIN", "GOPROXY"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return append(env, more...)
}
