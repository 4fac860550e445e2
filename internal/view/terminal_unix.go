//go:build unix

package view

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// CanSuspend tells whether a process can be stopped and go on later.
const CanSuspend = true

// Foreground tells whether the process may speak with the terminal: one in the
// background would be stopped if it tried to.
func Foreground(terminal *os.File) bool {
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// Suspend stops the process as Ctrl-Z does, and returns when it goes on.
func Suspend() error {
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGCONT)
	defer signal.Stop(again)
	if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
		return fmt.Errorf("suspend: %w", err)
	}
	<-again
	return nil
}
