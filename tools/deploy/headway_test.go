package deploy

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Where things are: in the tree, and where deployed files expect the program.
const (
	tree      = "../.."
	installed = "/usr/local/bin/headway"
)

// nobody is who the image runs as.
const nobody = 65532

// image is the file system of the image, as a folder.
var image string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

// run runs the tests with the image that they are about.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "deploy")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	image = filepath.Join(dir, "image")
	if err := errors.Join(os.Chmod(dir, 0o755), build(dir, image)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// use is a place that runs headway.
type use struct {
	args []string
	env  map[string]string
}

// Exit codes of headway.
const (
	exitOK     = 0
	exitFailed = 5
)

// check runs a command as the image would: alone in its file system, as nobody, and
// with no variable but its own. The database is where nobody listens, so what is
// understood ends there.
func (u use) check(t *testing.T) {
	t.Helper()
	args, want, says := u.args, exitFailed, "connection refused"
	if len(args) == 0 {
		t.Fatal("no command")
	}
	for name := range u.env {
		if strings.HasPrefix(name, "HEADWAY_SAFETY_") || name == "HEADWAY_FLEET_MAX_RUNNING" {
			t.Errorf("%s is a setting of the fleet: its database has it", name)
		}
	}
	if args[0] == "fetch" {
		args, want, says = u.answered(t), exitOK, "fetched"
	}
	code, out := headway(t, u.environ(), args...)
	if code != want || !strings.Contains(out, says) {
		t.Errorf("headway %s ends with %d and not with %d and %q:\n%s", strings.Join(args, " "), code, want, says, out)
	}
}

// dsnHost is where a connection string says who to connect to.
var dsnHost = regexp.MustCompile(`\bhost=(\S+)`)

// environ is the environment, with a database that refuses connections.
func (u use) environ() (list []string) {
	for name, value := range u.env {
		if name == "HEADWAY_FLEET_STORE" {
			value = dsnHost.ReplaceAllStringFunc(value, func(hosts string) string {
				n := strings.Count(hosts, ",")
				return "host=127.0.0.1" + strings.Repeat(",127.0.0.1", n) + " port=1" + strings.Repeat(",1", n)
			})
		}
		list = append(list, name+"="+value)
	}
	return list
}

// answered is a fetch of a path that a server is asked about, from one that is there
// and says yes.
func (u use) answered(t *testing.T) []string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintln(w, "ok")
	}))
	t.Cleanup(s.Close)
	asked, err := url.Parse(u.args[1])
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(strings.ReplaceAll(strings.Join(u.args, " "), ":"+asked.Port(), ":"+port))
}

// ports are where a command listens, that of its own first.
func (u use) ports(t *testing.T) (list []string) {
	t.Helper()
	for _, flag := range []string{"--listen", "--metrics"} {
		at := slices.Index(u.args, flag)
		if at < 0 {
			continue
		}
		_, port, err := net.SplitHostPort(u.args[at+1])
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, port)
	}
	if len(list) == 0 || u.args[0] == "serve" && len(list) != 2 {
		t.Fatalf("%v shows its metrics nowhere", u.args)
	}
	return list
}

// headway runs the program of the image to its end.
func headway(t *testing.T, env []string, args ...string) (code int, out string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(image, installed), args...)
	cmd.Env, cmd.Dir = env, filepath.Join(image, "etc/headway")
	if os.Getuid() == 0 {
		cmd = exec.CommandContext(ctx, installed, args...)
		cmd.Err = nil // it is looked for outside the image
		cmd.Env, cmd.Dir = env, "/etc/headway"
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: image, Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	var both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &both, &both
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok && err != nil {
		t.Fatal(err)
	} else if ok && !exit.Exited() {
		t.Fatalf("headway %v: %v\n%s", args, err, &both)
	}
	return cmd.ProcessState.ExitCode(), both.String()
}

// TestStatic wants a binary that needs nothing but a kernel.
func TestStatic(t *testing.T) {
	file, err := elf.Open(filepath.Join(image, installed))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("the binary has a segment %v: it wants a loader", p.Type)
		}
	}
	if code, out := headway(t, nil, "version"); code != exitOK || !strings.Contains(out, builtVersion) {
		t.Errorf("version ends with %d: %s", code, out)
	}
}

// TestMistakesAreFound makes sure that a check can fail.
func TestMistakesAreFound(t *testing.T) {
	store := map[string]string{"HEADWAY_FLEET_STORE": "host=a,b dbname=headway", "HEADWAY_CONTACT": "you@example.com"}
	for name, u := range map[string]use{
		"a flag that does not exist":     {[]string{"worker", "--metrics", "127.0.0.1:9464"}, store},
		"a variable that does not exist": {[]string{"worker"}, map[string]string{"HEADWAY_STORE": "host=a"}},
		"an invalid value":               {[]string{"worker", "--log", "xml"}, store},
		"a command that does not exist":  {[]string{"server"}, store},
	} {
		t.Run(name, func(t *testing.T) {
			if code, out := headway(t, u.environ(), u.args...); code == exitOK || code == exitFailed {
				t.Errorf("ends with %d: %s", code, out)
			}
		})
	}
}

// builtVersion is what the binary is told that it is.
const builtVersion = "v0.0.0-deploy"

// build runs the build of the Dockerfile on what it would be sent, and lays the
// image out in a folder.
func build(dir, image string) error {
	line, err := buildLine()
	if err != nil {
		return err
	}
	source := filepath.Join(dir, "src")
	if err := buildContext(source); err != nil {
		return err
	}
	binary := filepath.Join(image, installed)
	for _, d := range []string{filepath.Dir(binary), filepath.Join(image, "etc/headway")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	cmd := exec.Command("sh", "-c", strings.ReplaceAll(line, "/out/headway", binary))
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "VERSION="+builtVersion, "GOFLAGS=-buildvcs=false")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", line, err, out)
	}
	return nil
}

// copyFile copies a file of the tree to where it stands in a folder.
func copyFile(to, name string) error {
	text, err := os.ReadFile(filepath.Join(tree, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was removed and that is not committed yet
	}
	if err != nil {
		return err
	}
	path := filepath.Join(to, name)
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o600))
}
