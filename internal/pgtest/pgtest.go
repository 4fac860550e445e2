//go:build unix

// Package pgtest starts PostgreSQL clusters for tests.
//
// A test binary that needs PostgreSQL runs its tests through [Main], which
// starts a cluster of its own in a temporary directory and always ends it,
// whatever the tests do. Tests that crash servers or count their CPU start
// further ones with [Start]. Nothing outside the directory is read or written
// and no other server is spoken to.
//
// A missing PostgreSQL fails the tests; they are never skipped.
package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// missing says what to install.
const missing = "PostgreSQL 15 or newer is needed: on Debian, apt-get install postgresql (pg_config or /usr/lib/postgresql/*/bin must be there)"

// How long a server may take to come up or go down.
const patience = "60"

// Config is how a cluster is started. The zero Config does not sync to disk, which is
// enough for most tests.
type Config struct {
	// Durable makes the server wait for the disk at every commit, as in production.
	Durable bool
	// Settings are added to the configuration, such as "shared_buffers=1GB".
	Settings []string
	// Dir is where the cluster is created; empty for a new temporary directory, in
	// memory if the cluster is not durable.
	Dir string
	// From, when not nil, makes the cluster a standby of another one.
	From *Cluster
}

// Cluster is a running server and its files. End it with [Cluster.Close].
type Cluster struct {
	Dir  string // holds data, socket and log
	Port int

	bin     string
	account *syscall.Credential // nil when the tests run as an ordinary user
}

// Main runs the tests of a binary with a cluster and returns the exit code. use is
// called before the first test.
func Main(m *testing.M, c Config, use func(*Cluster) error) (code int) {
	cluster, err := Start(context.Background(), c)
	if err != nil {
		fmt.Fprintf(os.Stderr, "pgtest: %v\n", err)
		return 1
	}
	defer func() {
		if err := cluster.Close(); err != nil {
			fmt.Fprintf(os.Stderr, "pgtest: %v\n", err)
			code = 1
		}
	}()
	if err := use(cluster); err != nil {
		fmt.Fprintf(os.Stderr, "pgtest: %v\n", err)
		return 1
	}
	return m.Run()
}

// Start creates a cluster and starts it.
func Start(ctx context.Context, c Config) (*Cluster, error) {
	bin, err := binaries(ctx)
	if err != nil {
		return nil, err
	}
	account, err := serverAccount()
	if err != nil {
		return nil, err
	}
	if c.Dir == "" {
		if c.Dir, err = os.MkdirTemp(parent(c), "pg"); err != nil {
			return nil, err
		}
	}
	p := &Cluster{Dir: c.Dir, bin: bin, account: account}
	if err := p.create(ctx, c); err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.Dir))
	}
	if err := p.StartServer(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.Dir))
	}
	return p, nil
}

// StartFor starts a cluster that ends with the test.
func StartFor(t testing.TB, c Config) *Cluster {
	t.Helper()
	p, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// parent is where the directory of a cluster is created. One that does not sync to
// disk is kept in memory where there is room: tests create and drop hundreds of
// databases of some 300 files each, a quarter of their time on a disk.
func parent(c Config) string {
	const memory, room = "/dev/shm", 4 << 30
	var fs syscall.Statfs_t
	if c.Durable || os.Getenv("TMPDIR") != "" || syscall.Statfs(memory, &fs) != nil || fs.Bavail*uint64(fs.Bsize) < room {
		return "" // the directory for temporary files
	}
	return memory
}

// binaries finds the directory of the server's programs.
func binaries(ctx context.Context) (string, error) {
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		if dir := strings.TrimSpace(string(out)); isFile(filepath.Join(dir, "initdb")) {
			return dir, nil
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", errors.New(missing)
	}
	return filepath.Dir(found[len(found)-1]), nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// serverAccount is the user that runs the server: PostgreSQL refuses to run as root.
func serverAccount() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil // not root: run as this user
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("tests run as root and the server must not: %w; %s", err, missing)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// create creates the files of the cluster.
func (p *Cluster) create(ctx context.Context, c Config) error {
	if p.account != nil {
		if err := os.Chown(p.Dir, int(p.account.Uid), int(p.account.Gid)); err != nil {
			return err
		}
	}
	var err error
	if p.Port, err = freePort(ctx); err != nil {
		return err
	}
	if c.From != nil {
		err = p.run(ctx, "pg_basebackup", "-D", p.data(), "-R", "-X", "stream", "-c", "fast", "-d", c.From.DSN("postgres")+"&application_name="+filepath.Base(p.Dir))
	} else {
		err = p.run(ctx, "initdb", "-D", p.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	}
	if err != nil {
		return err
	}
	lines := []string{"listen_addresses='127.0.0.1'", "unix_socket_directories='" + p.Dir + "'", "port=" + strconv.Itoa(p.Port), "max_connections=200"}
	if !c.Durable {
		lines = append(lines, "fsync=off", "synchronous_commit=off", "full_page_writes=off")
	}
	lines = append(lines, c.Settings...)
	conf, err := os.OpenFile(filepath.Join(p.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = conf.WriteString("\n" + strings.Join(lines, "\n") + "\n")
	return errors.Join(err, conf.Close())
}

// freePort returns an unused port.
func freePort(ctx context.Context) (int, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// run runs one of the server's programs to its end.
func (p *Cluster) run(ctx context.Context, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, program), args...)
	cmd.Dir = p.Dir
	cmd.Env = append(os.Environ(), "HOME="+p.Dir, "LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.account}
	// Output goes to a file: a running server would keep a pipe open.
	out, err := os.OpenFile(filepath.Join(p.Dir, "output"), os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		said, _ := os.ReadFile(out.Name()) // the command error is reported anyway
		return fmt.Errorf("%s: %w\n%s", program, err, said)
	}
	return nil
}

func (p *Cluster) data() string { return filepath.Join(p.Dir, "data") }

// StartServer starts the server of a stopped or killed cluster, and returns when it
// accepts connections.
func (p *Cluster) StartServer(ctx context.Context) error {
	log := filepath.Join(p.Dir, "log")
	err := p.run(ctx, "pg_ctl", "start", "-w", "-t", patience, "-D", p.data(), "-l", log)
	if err != nil {
		said, _ := os.ReadFile(log) // the command error is reported anyway
		err = fmt.Errorf("%w\n%s", err, said[max(0, len(said)-2000):])
	}
	return err
}

// Stop shuts the server down.
func (p *Cluster) Stop(ctx context.Context) error {
	return p.run(ctx, "pg_ctl", "stop", "-m", "fast", "-w", "-t", patience, "-D", p.data())
}

// Promote makes a standby the primary.
func (p *Cluster) Promote(ctx context.Context) error {
	return p.run(ctx, "pg_ctl", "promote", "-w", "-t", patience, "-D", p.data())
}

// MakeSynchronous makes commits of a primary wait for its standby, once that is
// connected.
func (p *Cluster) MakeSynchronous(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, p.DSN("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, q := range []string{"alter system set synchronous_standby_names = '*'", "select pg_reload_conf()"} {
		if _, err := conn.Exec(ctx, q); err != nil {
			return err
		}
	}
	for tick := time.NewTicker(10 * time.Millisecond); ; <-tick.C { // PostgreSQL reports it to nobody
		var state string
		err := conn.QueryRow(ctx, "select coalesce(max(sync_state), '') from pg_stat_replication where state = 'streaming'").Scan(&state)
		if err != nil || state == "sync" {
			return err
		}
	}
}

// PID is the postmaster's process, read from its file.
func (p *Cluster) PID() (int, error) {
	text, err := os.ReadFile(filepath.Join(p.data(), "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strconv.Atoi(line)
}

// Kill ends the postmaster with SIGKILL, as a failing machine would, and waits
// until its children have noticed and gone too.
func (p *Cluster) Kill() error {
	pid, err := p.PID()
	if err != nil {
		return err
	}
	children := childrenOf(pid)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	for _, child := range append(children, pid) {
		if err := p.awaitEnd(child); err != nil {
			return err
		}
	}
	// If nobody reaps the killed process, its number is still in use, and the next
	// server would take this one for alive.
	return errors.Join(os.Remove(filepath.Join(p.data(), "postmaster.pid")), os.Remove(filepath.Join(p.Dir, fmt.Sprintf(".s.PGSQL.%d.lock", p.Port))))
}

// awaitEnd waits for the end of a process of the cluster. Backends notice the
// death of the postmaster when they next wait for something.
func (p *Cluster) awaitEnd(pid int) error {
	deadline := time.Now().Add(30 * time.Second)
	for tick := time.NewTicker(5 * time.Millisecond); ; <-tick.C {
		if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) || isZombie(pid) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("process %d of the cluster outlives its postmaster", pid)
		}
	}
}

// Close stops the server, if it runs, and removes its files.
func (p *Cluster) Close() error {
	var err error
	if _, running := p.PID(); running == nil {
		if err = p.Stop(context.Background()); err != nil {
			err = errors.Join(err, p.run(context.Background(), "pg_ctl", "stop", "-m", "immediate", "-w", "-D", p.data()))
		}
	}
	return errors.Join(err, os.RemoveAll(p.Dir))
}

// DSN addresses a database of the cluster by its socket.
func (p *Cluster) DSN(database string) string {
	return fmt.Sprintf("postgres://postgres@/%s?host=%s&port=%d", database, url.QueryEscape(p.Dir), p.Port)
}

// template is the database that [Cluster.Copy] copies.
const template = "empty"

// MakeTemplate creates the database that is copied for each test: copying an empty store
// is faster than creating its tables. open opens the store, which is closed at once.
func (p *Cluster) MakeTemplate(ctx context.Context, open func(dsn string) (io.Closer, error)) error {
	if err := p.exec(ctx, "create database "+template); err != nil {
		return err
	}
	c, err := open(p.DSN(template))
	if err != nil {
		return err
	}
	return c.Close()
}

// Copy copies the template to a new database, until the end of the test. The server copies
// files: to write each page to its log costs twice the CPU where nothing is synced.
func (p *Cluster) Copy(t testing.TB, name string) error {
	t.Helper()
	if err := p.exec(t.Context(), "create database "+name+" template "+template+" strategy file_copy"); err != nil {
		return err
	}
	t.Cleanup(func() {
		if err := p.exec(context.Background(), "drop database "+name+" with (force)"); err != nil {
			t.Error(err)
		}
	})
	return nil
}

// Database copies the template and returns the DSN of the copy.
func (p *Cluster) Database(t testing.TB) string {
	t.Helper()
	name := "t" + strings.ToLower(rand.Text())
	if err := p.Copy(t, name); err != nil {
		t.Fatal(err)
	}
	return p.DSN(name)
}

func (p *Cluster) exec(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, p.DSN("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}

// Bench is the path of pgbench.
func (p *Cluster) Bench() string { return filepath.Join(p.bin, "pgbench") }
