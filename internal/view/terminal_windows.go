package view

import "os"

// CanSuspend tells whether a process can be stopped and go on later.
const CanSuspend = false

// Foreground tells whether the process may speak with the terminal. On Windows
// every process that has one may.
func Foreground(*os.File) bool { return true }

// Suspend does nothing where [CanSuspend] is false.
func Suspend() error { return nil }
