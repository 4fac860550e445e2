//go:build linux

package doctest

import (
	"context"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"headway/internal/ownnet"
	"headway/internal/race"
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(stageDocument) != "":
		stage(play)
	case os.Getenv(stageRecording) != "":
		stage(shoot)
	}
	flag.Parse()
	// Documents mostly wait: all may run at once on a few processors.
	if err := flag.Set("test.parallel", "32"); err != nil {
		panic(err) // the flag is there
	}
	os.Exit(m.Run())
}

// TestDocuments runs every command of the README and of the guides.
func TestDocuments(t *testing.T) {
	if race.Enabled {
		t.Skip("what runs is the command as it is built for users; the same documents run without the race detector")
	}
	if testing.Short() {
		t.Skip("documents run at the pace that they promise to hosts")
	}
	goEnv(t)
	own := ownnet.Allowed(t.Context())
	bin := build(t)
	for _, name := range documents(t) {
		if _, other := elsewhere[name]; other || slices.Contains(silent, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			switch {
			case own:
				t.Parallel()
			case needsShop(t, name):
				t.Skip("example.com is played in a network namespace, which this machine does not allow: run as root, or allow unprivileged user namespaces")
			}
			out, err := onStage(t, name, bin, own)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}

// onStage runs a document in its own process.
func onStage(t *testing.T, name, bin string, own bool) ([]byte, error) {
	dir, home := t.TempDir(), t.TempDir()
	if name == readme {
		if err := copyTree(dir); err != nil {
			return nil, err
		}
	}
	path, err := filepath.Abs(filepath.Join(root, name))
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	if own {
		ownnet.Command(cmd)
	}
	cmd.Env = append(os.Environ(), stageDocument+"="+path, stageDir+"="+dir, stageHome+"="+home, stagePath+"="+bin+":"+os.Getenv("PATH"), stageAlone+"="+strconv.FormatBool(own))
	return cmd.CombinedOutput()
}

// needsShop reports whether a document uses example.com.
func needsShop(t *testing.T, name string) bool {
	page, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(page), "https://"+shopName)
}

// goEnv keeps Go's build cache: with an empty HOME everything would be rebuilt.
func goEnv(t *testing.T) {
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOFLAGS"} {
		out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		if err != nil {
			t.Fatalf("go env %s: %v", name, err)
		}
		t.Setenv(name, strings.TrimSpace(string(out)))
	}
}

// build builds the command once and returns its folder.
func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(context.Background(), "go", "build", "-trimpath", "-o", filepath.Join(dir, "headway"), "./cmd/headway")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build headway: %v\n%s", err, out)
	}
	return dir
}

// copyTree copies the tree as a fresh clone would have it.
func copyTree(to string) error {
	from := os.DirFS(root)
	return fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") || name == "bin" || name == "dist" || d.Name() == "node_modules" || strings.HasPrefix(name, "headway-")):
			return fs.SkipDir
		case d.IsDir():
			return os.Mkdir(filepath.Join(to, name), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		data, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), data, 0o644)
	})
}
