//go:build unix

package view

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// CanSuspend reports whether a process can be suspended and resumed.
const CanSuspend = true

// Foreground reports whether the process may use the terminal: one in the background
// would be stopped if it tried to.
func Foreground(terminal *os.File) bool {
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// Suspend stops the process as Ctrl-Z does, and returns when it is resumed.
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
