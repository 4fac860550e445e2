//go:build unix

package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the exclusive lock of an open file, or reports that another process has
// it. The system releases it when the process ends, however it ends.
func tryLock(f *os.File) (bool, error) {
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case errors.Is(err, syscall.EINTR):
		default:
			return false, os.NewSyscallError("flock", err)
		}
	}
}
