package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
	"github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
)

const dockerfile = tree + "/deploy/docker/Dockerfile"

// known answers for images, so that nobody is asked.
type known struct{}

// ResolveImageConfig implements [llb.ImageMetaResolver].
func (known) ResolveImageConfig(_ context.Context, ref string, _ sourceresolver.Opt) (string, digest.Digest, []byte, error) {
	config, err := json.Marshal(ocispecs.Image{Platform: ocispecs.Platform{OS: "linux", Architecture: "amd64"}})
	return ref, digest.FromBytes(config), config, err
}

// TestDockerfile reads the Dockerfile as BuildKit does, with all its warnings, and
// looks at the image that would come out.
func TestDockerfile(t *testing.T) {
	text, err := os.ReadFile(dockerfile)
	if err != nil {
		t.Fatal(err)
	}
	result, err := dockerfile2llb.Dockerfile2LLB(t.Context(), text, dockerfile2llb.ConvertOpt{
		MetaResolver:   known{},
		TargetPlatform: &ocispecs.Platform{OS: "linux", Architecture: "amd64"},
		MainContext:    new(llb.Local("context")),
		Warn: func(rule, description, _, message string, at []parser.Range) {
			t.Errorf("%s at %v: %s: %s", rule, at, description, message)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if result.BaseImage != nil {
		t.Error("the image is not from scratch")
	}
	c := result.Image.Config
	if want := fmt.Sprintf("%d:%[1]d", nobody); c.User != want {
		t.Errorf("it runs as %q, want %s", c.User, want)
	}
	if !slices.Equal(c.Entrypoint, []string{installed}) || c.StopSignal != "SIGTERM" || c.WorkingDir != "/etc/headway" || !slices.Contains(c.Env, "XDG_CONFIG_HOME=/etc") {
		t.Errorf("the image is %+v", c)
	}
	for _, port := range []string{"8788/tcp", "9464/tcp"} {
		if _, ok := c.ExposedPorts[port]; !ok {
			t.Errorf("port %s is not exposed", port)
		}
	}
	if code, out := headway(t, c.Env, c.Cmd...); code != exitOK {
		t.Errorf("%v ends with %d: %s", c.Cmd, code, out)
	}
}

// TestPinned wants the builder to be one version of Go, new enough for go.mod.
func TestPinned(t *testing.T) {
	stages, err := stages()
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`^golang:(\d+\.\d+)\.\d+-[a-z]+$`).FindStringSubmatch(stages[0].BaseName)
	if m == nil {
		t.Fatalf("%s is not one version of Go", stages[0].BaseName)
	}
	text, err := os.ReadFile(tree + "/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^go ` + regexp.QuoteMeta(m[1]) + `(\.|$)`).Match(text) {
		t.Errorf("%s is not the Go of go.mod", stages[0].BaseName)
	}
}

// stages are those of the Dockerfile.
func stages() ([]instructions.Stage, error) {
	text, err := os.ReadFile(dockerfile)
	if err != nil {
		return nil, err
	}
	parsed, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	list, _, err := instructions.Parse(parsed.AST, nil)
	return list, err
}

// buildLine is the command of the Dockerfile that builds the program.
func buildLine() (string, error) {
	stages, err := stages()
	if err != nil {
		return "", err
	}
	for _, c := range stages[0].Commands {
		if r, ok := c.(*instructions.RunCommand); ok && strings.Contains(strings.Join(r.CmdLine, " "), "go build") {
			return strings.Join(r.CmdLine, " "), nil
		}
	}
	return "", errors.New("the Dockerfile builds nothing")
}

// buildContext copies what BuildKit would be sent of the tree.
func buildContext(to string) error {
	file, err := os.Open(dockerfile + ".dockerignore")
	if err != nil {
		return err
	}
	defer file.Close()
	patterns, err := ignorefile.ReadAll(file)
	if err != nil {
		return err
	}
	ignored, err := patternmatcher.New(patterns)
	if err != nil {
		return err
	}
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = tree
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("list the tree: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		skip, err := ignored.MatchesOrParentMatches(filepath.FromSlash(name))
		if err != nil {
			return err
		}
		if skip {
			continue
		}
		if err := copyFile(to, name); err != nil {
			return err
		}
	}
	return nil
}
