//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"headway/lab"
)

// lookEvery is how often a crawler's open files are counted.
const lookEvery = 50 * time.Millisecond

// result is the cost of one crawl and what the lab counted.
type result struct {
	wall   time.Duration // from start to exit of the process
	cpu    time.Duration // user and system
	rss    int64         // peak, bytes
	files  int           // peak of open file descriptors
	stats  lab.Stats
	labCPU float64 // seconds that the lab used meanwhile
	fault  string  // how it failed, "" if it did not
}

// crawl runs one crawler against a lab with reset counters. A crawler that fails or takes
// too long is a result, too.
func (b *bench) crawl(ctx context.Context, l *webLab, c crawler, state string, limit time.Duration, args []string) (result, error) {
	if err := os.MkdirAll(state, 0o700); err != nil {
		return result{}, err
	}
	if err := l.ask(ctx, "reset", nil); err != nil {
		return result{}, err
	}
	before, err := l.stats(ctx)
	if err != nil {
		return result{}, err
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(limited, b.binary(c.name), args...) //nolint:gosec // our own binary
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Dir = state
	// Isolated from this machine: no settings, no saved contact, and what was learned
	// about hosts is empty at the start of each round.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + state, "XDG_STATE_HOME=" + state, "XDG_CONFIG_HOME=" + state, "SSL_CERT_FILE=" + l.ca}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return result{}, err
	}
	files := watchFiles(cmd.Process.Pid)
	err = cmd.Wait()
	r := result{wall: time.Since(start), files: files()}
	if b.verbose {
		fmt.Fprintf(b.err, "%s", said.Bytes())
	}
	switch {
	case ctx.Err() != nil:
		return r, context.Cause(ctx)
	case limited.Err() != nil:
		r.fault = fmt.Sprintf("ended after %v", limit)
	case err != nil:
		r.fault = fmt.Sprintf("%v: %s", err, tail(said.String()))
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return r, fmt.Errorf("no resource usage in %T", cmd.ProcessState.SysUsage())
	}
	r.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	r.rss = usage.Maxrss * 1024
	r.stats, err = l.stats(ctx)
	r.labCPU = r.stats.LabCPUSeconds - before.LabCPUSeconds
	return r, err
}

// tail returns the last line of a text.
func tail(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// watchFiles counts the open files of a process until the returned function is called,
// which returns the maximum.
func watchFiles(pid int) func() int {
	stop, most := make(chan struct{}), make(chan int)
	go func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		peak := 0
		for {
			if entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)); err == nil { // otherwise the process has just ended
				peak = max(peak, len(entries))
			}
			select {
			case <-stop:
				most <- peak
				return
			case <-tick.C:
			}
		}
	}()
	return func() int {
		close(stop)
		return <-most
	}
}
