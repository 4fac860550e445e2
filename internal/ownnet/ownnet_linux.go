package ownnet

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Command makes a command start in its own network.
func Command(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
}

// Allowed reports whether this machine allows it.
func Allowed(ctx context.Context) bool {
	cmd := exec.CommandContext(ctx, "true")
	Command(cmd)
	return cmd.Run() == nil
}

// Up enables the loopback of this network.
func Up() error { return set("lo", unix.IFF_UP|unix.IFF_RUNNING) }

// Down disables the loopback, so that no address has a route.
func Down() error { return set("lo", 0) }

// Add adds an address to the loopback, identified by a number.
func Add(n int, addr netip.Addr) error {
	alias, err := unix.NewIfreq(alias(n))
	if err != nil {
		return err
	}
	if err := alias.SetInet4Addr(addr.AsSlice()); err != nil {
		return err
	}
	if err := control(unix.SIOCSIFADDR, alias); err != nil {
		return fmt.Errorf("give the loopback the address %s: %w", addr, err)
	}
	return nil
}

// Remove removes an address.
func Remove(n int) error { return set(alias(n), 0) }

func alias(n int) string { return fmt.Sprintf("lo:%d", n) }

func set(name string, flags uint16) error {
	link, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	link.SetUint16(flags)
	if err := control(unix.SIOCSIFFLAGS, link); err != nil {
		return fmt.Errorf("set the flags of %s to %#x: %w", name, flags, err)
	}
	return nil
}

func control(request uint, link *unix.Ifreq) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open a socket: %w", err)
	}
	defer unix.Close(fd)
	return unix.IoctlIfreq(fd, request, link)
}
