package view

import "os"

// CanSuspend reports whether a process can be suspended and resumed.
const CanSuspend = false

// Foreground reports whether the process may use the terminal. On Windows every
// process that has one may.
func Foreground(*os.File) bool { return true }

// Suspend does nothing where [CanSuspend] is false.
func Suspend() error { return nil }
