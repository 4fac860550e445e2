package crawl

import (
	"errors"

	"golang.org/x/sys/windows"
)

// isClosedPipe reports whether a write failed because the reader has closed the pipe.
func isClosedPipe(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}
