package deploy

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// byHand are secrets that no manifest has: whoever deploys makes them.
var byHand = []string{"headway-store"}

// cluster is what the manifests ask for.
type cluster struct {
	deployments []apps.Deployment
	budgets     []policy.PodDisruptionBudget
	policies    []networking.NetworkPolicy
	services    []core.Service
	settings    map[string]core.ConfigMap
	namespaces  []core.Namespace
}

// TestManifests decodes the manifests strictly, holds what they say of each other
// together, and runs their commands.
func TestManifests(t *testing.T) {
	c := readManifests(t)
	if len(c.deployments) != 2 || len(c.namespaces) != 1 {
		t.Fatalf("%d deployments, %d namespaces", len(c.deployments), len(c.namespaces))
	}
	for _, d := range c.deployments {
		t.Run(d.Name, func(t *testing.T) { c.checkDeployment(t, &d) })
	}
	for _, s := range c.services {
		if n := c.selected(t, &meta.LabelSelector{MatchLabels: s.Spec.Selector}); n != 1 {
			t.Errorf("service %s selects %d deployments", s.Name, n)
		}
	}
	ports := map[int32]bool{}
	for _, p := range c.policies {
		if c.selected(t, &p.Spec.PodSelector) == 0 {
			t.Errorf("policy %s selects nothing", p.Name)
		}
		for _, in := range p.Spec.Ingress {
			for _, at := range in.Ports {
				ports[at.Port.IntVal] = true
			}
		}
	}
	if got := slices.Sorted(maps.Keys(ports)); !slices.Equal(got, []int32{8788, 9464, 9466}) {
		t.Errorf("ports %v can be reached", got)
	}
}

// readManifests decodes all documents; a field that its kind has not is an error.
func readManifests(t *testing.T) *cluster {
	t.Helper()
	files, err := filepath.Glob(tree + "/deploy/kubernetes/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d manifests: %v", len(files), err)
	}
	c := &cluster{settings: map[string]core.ConfigMap{}}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, doc := range bytes.Split(text, []byte("\n---\n")) {
			if err := c.decode(doc); err != nil {
				t.Errorf("%s, document %d: %v", filepath.Base(path), i+1, err)
			}
		}
	}
	return c
}

func (c *cluster) decode(doc []byte) error {
	var kind meta.TypeMeta
	if err := yaml.Unmarshal(doc, &kind); err != nil {
		return err
	}
	switch kind.APIVersion + " " + kind.Kind {
	case "apps/v1 Deployment":
		return add(doc, &c.deployments)
	case "policy/v1 PodDisruptionBudget":
		return add(doc, &c.budgets)
	case "networking.k8s.io/v1 NetworkPolicy":
		return add(doc, &c.policies)
	case "v1 Service":
		return add(doc, &c.services)
	case "v1 Namespace":
		return add(doc, &c.namespaces)
	case "v1 ConfigMap":
		var one core.ConfigMap
		err := yaml.UnmarshalStrict(doc, &one)
		c.settings[one.Name] = one
		return err
	default:
		return fmt.Errorf("nobody checks %+v", kind)
	}
}

// add decodes a document strictly onto a list.
func add[T any](doc []byte, list *[]T) error {
	var one T
	err := yaml.UnmarshalStrict(doc, &one)
	*list = append(*list, one)
	return err
}

// selected counts the deployments whose pods a selector selects.
func (c *cluster) selected(t *testing.T, s *meta.LabelSelector) (n int) {
	t.Helper()
	selector, err := meta.LabelSelectorAsSelector(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range c.deployments {
		if selector.Matches(labels.Set(d.Spec.Template.Labels)) {
			n++
		}
	}
	return n
}

// checkDeployment holds a deployment against the rest, the image and the program.
func (c *cluster) checkDeployment(t *testing.T, d *apps.Deployment) {
	t.Helper()
	pod := d.Spec.Template.Spec
	if d.Namespace != c.namespaces[0].Name || len(pod.Containers) != 1 || d.Spec.Replicas == nil || *d.Spec.Replicas < 2 {
		t.Fatalf("it is %+v", d)
	}
	if c.selected(t, d.Spec.Selector) != 1 {
		t.Error("it does not select its own pods alone")
	}
	if g := pod.TerminationGracePeriodSeconds; g == nil || *g < 45 {
		t.Error("it has no time to hand its hosts over")
	}
	guarded := slices.ContainsFunc(c.budgets, func(b policy.PodDisruptionBudget) bool {
		s, err := meta.LabelSelectorAsSelector(b.Spec.Selector)
		return err == nil && c.selected(t, b.Spec.Selector) == 1 && s.Matches(labels.Set(d.Spec.Template.Labels))
	})
	if !guarded {
		t.Error("no budget says how many may be gone at once")
	}
	one := pod.Containers[0]
	u := use{one.Args, c.environment(t, &one)}
	u.check(t)
	var ports []string
	for _, p := range one.Ports {
		ports = append(ports, strconv.Itoa(int(p.ContainerPort)))
	}
	if !slices.Equal(ports, u.ports(t)) {
		t.Fatalf("it has ports %v and listens at %v", ports, u.ports(t))
	}
	for path, probe := range map[string]*core.Probe{"/livez": one.LivenessProbe, "/readyz": one.ReadinessProbe} {
		if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != path || probe.HTTPGet.Port.StrVal != one.Ports[0].Name {
			t.Errorf("it is not asked for %s", path)
		}
	}
	checkPrivileges(t, &pod, &one)
}

// environment is what a container is started with. What a secret has is made up.
func (c *cluster) environment(t *testing.T, one *core.Container) map[string]string {
	t.Helper()
	env := map[string]string{"XDG_CONFIG_HOME": "/etc"}
	for _, from := range one.EnvFrom {
		settings, ok := c.settings[from.ConfigMapRef.Name]
		if !ok {
			t.Errorf("there are no settings %s", from.ConfigMapRef.Name)
		}
		maps.Copy(env, settings.Data)
	}
	for _, v := range one.Env {
		env[v.Name] = v.Value
		if v.ValueFrom != nil {
			if name := v.ValueFrom.SecretKeyRef.Name; !slices.Contains(byHand, name) {
				t.Errorf("nobody makes the secret %s", name)
			}
			env[v.Name] = "host=db1,db2 dbname=headway user=headway"
		}
	}
	return env
}

// checkPrivileges wants a container that may do nothing it need not.
func checkPrivileges(t *testing.T, pod *core.PodSpec, one *core.Container) {
	t.Helper()
	yes := func(b *bool) bool { return b != nil && *b }
	p, s := pod.SecurityContext, one.SecurityContext
	if p == nil || !yes(p.RunAsNonRoot) || p.RunAsUser == nil || *p.RunAsUser != nobody || p.SeccompProfile == nil || p.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
		t.Errorf("the pod runs with %+v", p)
	}
	if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || !yes(s.ReadOnlyRootFilesystem) || s.Capabilities == nil || !slices.Contains(s.Capabilities.Drop, "ALL") {
		t.Errorf("the container runs with %+v", s)
	}
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
		t.Error("it has a key to the cluster, which it does not need")
	}
	if one.Resources.Limits.Memory().IsZero() || one.Resources.Requests.Memory().IsZero() {
		t.Error("its memory has no bound")
	}
}
