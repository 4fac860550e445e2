//go:build linux

package sqlite

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"headway/store"
	"headway/store/storetest"
)

// TestPower simulates a power loss: the crawl works on its own file system, in an image on a
// loop device. At a random time the process is stopped and the image copied: with what the
// file system has written to the device, and without what it only has in memory. The copy is
// mounted in its place, and every acknowledged commit must be there. It needs root:
//
//	HEADWAY_POWER=1 HEADWAY_KILLS=50 go test ./store/sqlite -run TestPower -v -timeout 30m
func TestPower(t *testing.T) {
	open := func(t testing.TB, dir string, fault store.Fault) store.Store {
		s, err := Open(t.Context(), Config{Dir: filepath.Join(dir, "crawl"), Hosts: filepath.Join(dir, "hosts.db"), Fault: fault})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if os.Getenv("HEADWAY_POWER") == "" {
		t.Skip("set HEADWAY_POWER, as root")
	}
	if os.Getenv("HEADWAY_KILL_PLACE") != "" {
		storetest.KillBy(t, open, "", storetest.Crash{})
		return
	}
	d := &device{t: t, image: filepath.Join(t.TempDir(), "image"), mount: t.TempDir()}
	d.run("truncate", "-s", "128M", d.image)
	d.run("mkfs.ext4", "-q", "-F", d.image)
	d.run("mount", "-o", "loop", d.image, d.mount)
	defer d.run("umount", d.mount)
	storetest.KillBy(t, open, d.mount, storetest.Crash{Cut: d.cut, Restore: d.restore})
}

// device is an image with a file system.
type device struct {
	t            *testing.T
	image, mount string
}

func (d *device) run(name string, args ...string) {
	d.t.Helper()
	if out, err := exec.CommandContext(d.t.Context(), name, args...).CombinedOutput(); err != nil {
		d.t.Errorf("%s %v: %v\n%s", name, args, err, out)
	}
}

// cut copies the device while nothing is written, and kills the process.
func (d *device) cut(p *os.Process) error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	d.run("cp", "--sparse=always", d.image, d.image+".cut")
	return p.Kill()
}

// restore replaces the device by the copy.
func (d *device) restore() error {
	d.run("umount", d.mount)
	d.run("mv", d.image+".cut", d.image)
	d.run("mount", "-o", "loop", d.image, d.mount)
	return nil
}
