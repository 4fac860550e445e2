//go:build unix

package crawl

import (
	"errors"
	"syscall"
)

// isClosedPipe reports whether a write failed because the reader has closed the pipe.
func isClosedPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
