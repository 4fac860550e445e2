package deploy

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// TestCompose reads the compose file as Docker Compose does and runs its commands.
func TestCompose(t *testing.T) {
	path, err := filepath.Abs(tree + "/deploy/docker/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	project, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir:  filepath.Dir(path),
		ConfigFiles: []types.ConfigFile{{Filename: path}},
		Environment: types.Mapping{"HEADWAY_CONTACT": "you@example.com"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := project.CheckContainerNameUnicity(); err != nil {
		t.Error(err)
	}
	for name, file := range project.Secrets {
		if file.File == "" {
			t.Errorf("secret %s is no file", name)
		}
	}
	for _, name := range []string{"serve", "worker"} {
		t.Run(name, func(t *testing.T) {
			s, err := project.GetService(name)
			if err != nil {
				t.Fatal(err)
			}
			checkService(t, s)
		})
	}
	if workers := project.Services["worker"]; workers.GetScale() < 2 {
		t.Errorf("%d workers", workers.GetScale())
	}
	if db := project.Services["db"]; db.HealthCheck == nil || len(db.Ports) > 0 || db.Environment["POSTGRES_PASSWORD"] != nil {
		t.Errorf("the database is %+v", db)
	}
}

// checkService holds a service that runs headway against the image and the program.
func checkService(t *testing.T, s types.ServiceConfig) {
	t.Helper()
	env := map[string]string{}
	for name, value := range s.Environment {
		if value == nil || strings.Contains(name, "PASS") || strings.Contains(*value, "password=") {
			t.Errorf("%s is no secret of a file", name)
			continue
		}
		env[name] = *value
	}
	u := use{s.Command, env}
	u.check(t)
	port := u.ports(t)[0]

	if s.HealthCheck == nil || len(s.HealthCheck.Test) < 3 || !slices.Equal(s.HealthCheck.Test[:2], []string{"CMD", installed}) {
		t.Fatalf("health is checked by %+v", s.HealthCheck)
	}
	asked := use{s.HealthCheck.Test[2:], env}
	if want := []string{"fetch", "http://127.0.0.1:" + port + "/readyz", "--allow-private", "127.0.0.0/8:" + port}; !slices.Equal(asked.args, want) {
		t.Errorf("health is checked by %v, want %v", asked.args, want)
	}
	asked.check(t)

	for _, p := range s.Ports {
		if p.HostIP != "127.0.0.1" || p.Published != port {
			t.Errorf("port %+v is published, and %s listened at", p, port)
		}
	}
	if !s.ReadOnly || !slices.Contains(s.CapDrop, "ALL") || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
		t.Error("it may write, or has privileges to gain")
	}
	if s.StopGracePeriod == nil || s.StopGracePeriod.String() != "45s" || s.Restart != "on-failure" {
		t.Errorf("it is stopped within %v and restarted %s", s.StopGracePeriod, s.Restart)
	}
	if from, err := filepath.Abs(dockerfile); err != nil || s.Build == nil || filepath.Join(s.Build.Context, s.Build.Dockerfile) != from {
		t.Errorf("it is built from %+v, not from %s: %v", s.Build, from, err)
	}
}
