//go:build unix

package postgres

import "syscall"

// readable reports whether a read would return at once, possibly with an error. Sockets of
// package net do not block.
func readable(fd uintptr) bool {
	var next [1]byte
	_, _, err := syscall.Recvfrom(int(fd), next[:], syscall.MSG_PEEK)
	return err != syscall.EAGAIN
}
