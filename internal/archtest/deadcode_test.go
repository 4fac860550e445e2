package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestDeadcodeScript runs scripts/deadcode with a fake tool: the real one takes a
// minute and is part of make lint.
func TestDeadcodeScript(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a script for bash")
	}
	const program = "m/lab.Serve\nm/lab.Host.Close\nm.Run\n"
	for name, tc := range map[string]struct {
		program, tests string // uncalled functions: by the program, by anything
		list           string
		want           string // in stderr; empty if it passes
	}{
		"nothing dead":              {"", "", "# nothing", ""},
		"a package and a function":  {program, "", "m/lab  for tests\nm.Run  for libraries", ""},
		"a method by its name":      {"m/lab.Host.Close\n", "", "m/lab.Host.Close  for libraries", ""},
		"an example":                {"", "m_test.ExampleRun\n", "", ""},
		"a new one":                 {program + "m/lab/temper.New\n", "", "m/lab  for tests\nm.Run  for libraries", "only tests call m/lab/temper.New: "},
		"one that no test calls":    {"m.Run\n", "m.Run\n", "", "nothing calls m.Run\n"},
		"no test calls, and listed": {"m.Run\n", "m.Run\n", "m.Run  for libraries", "nothing calls m.Run\n"},
		"a helper of tests":         {"", "m_test.help\n", "", "nothing calls m_test.help\n"},
		"a line too many":           {program, "", "m/lab  for tests\nm.Run  for libraries\nm/gone  for tests", "names m/gone, which is called or gone\n"},
		"no reason":                 {"m.Run\n", "", "m.Run", "gives no reason for m.Run\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range map[string]string{
				"tests": tc.tests, "program": tc.program, "list": tc.list,
				"tool": "#!/bin/sh\ncase \"$*\" in *-test*) cat " + dir + "/tests;; *) cat " + dir + "/program;; esac\n",
			} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), "bash", moduleRoot+"/scripts/deadcode", filepath.Join(dir, "list"))
			cmd.Env = append(os.Environ(), "DEADCODE="+filepath.Join(dir, "tool"))
			var stderr strings.Builder
			cmd.Stderr = &stderr
			err := cmd.Run()
			if (err == nil) != (tc.want == "") || !strings.Contains(stderr.String(), tc.want) || tc.want == "" && stderr.Len() > 0 || strings.Count(stderr.String(), "\n") > 1 {
				t.Errorf("%v, it says\n%swant %q", err, stderr.String(), tc.want)
			}
		})
	}
}
