package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// most is the exposure that systemd-analyze may find in a unit, in tenths; 15 is
// "OK", and services of the system have 50 to 96.
const most = "15"

// TestUnits holds the units against systemd and their command lines against headway.
func TestUnits(t *testing.T) {
	files, err := filepath.Glob(tree + "/deploy/systemd/*.service")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d units: %v", len(files), err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			unit := parseUnit(t, string(text))
			for key, want := range map[string]string{
				"Restart": "on-failure", "KillSignal": "SIGTERM", "TimeoutStopSec": "45", "DynamicUser": "yes", "ProtectSystem": "strict", "NoNewPrivileges": "yes",
				"EnvironmentFile": "/etc/headway/headway.env",
			} {
				if got := strings.Join(unit[key], " "); got != want {
					t.Errorf("%s=%s, want %s", key, got, want)
				}
			}
			words := strings.Fields(strings.ReplaceAll(strings.Join(unit["ExecStart"], " "), "%i", "9464"))
			if len(words) < 2 || words[0] != installed {
				t.Fatalf("ExecStart is %v", words)
			}
			env := environmentFile(t)
			for _, pair := range unit["Environment"] {
				name, value, _ := strings.Cut(pair, "=")
				env[name] = value
			}
			u := use{words[1:], env}
			u.check(t)
			u.ports(t)
			analyze(t, filepath.Base(path), string(text))
		})
	}
}

// analyze has a unit read by systemd. The binary is not where the unit says, so a
// copy names where it is.
func analyze(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), strings.Replace(name, "@.", "@9464.", 1))
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, installed, filepath.Join(image, installed))), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{
		{"verify", "--man=no", path},
		{"security", "--offline=true", "--no-pager", "--threshold=" + most, path},
	} {
		out, err := exec.CommandContext(t.Context(), "systemd-analyze", words...).CombinedOutput()
		switch {
		case err != nil:
			t.Errorf("systemd-analyze %s (Debian's package systemd): %v\n%s", words[0], err, out)
		case words[0] == "verify" && len(out) > 0: // what it does not know is only a warning to it
			t.Errorf("systemd-analyze verify:\n%s", out)
		}
	}
}

// parseUnit reads the values of a unit by their names, which are unique over its
// sections.
func parseUnit(t *testing.T, text string) map[string][]string {
	t.Helper()
	unit := map[string][]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '[' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasSuffix(line, `\`) {
			t.Fatalf("%q is no setting on a line of its own", line)
		}
		unit[key] = append(unit[key], value)
	}
	return unit
}

// environmentFile reads the example of the file that units have their secrets from.
func environmentFile(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(tree + "/deploy/systemd/headway.env")
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			t.Fatalf("%q sets nothing", line)
		}
		env[name] = strings.Trim(value, `"`)
	}
	return env
}
