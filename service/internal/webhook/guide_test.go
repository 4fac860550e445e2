package webhook

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// guide explains to receivers how to verify deliveries.
const guide = "../../../docs/guide/webhooks.md"

// TestGuide runs the code printed in docs/guide/webhooks.md on a delivery.
func TestGuide(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 to run the code of the guide with")
	}
	page, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("(?s)```python\n(.*?)```").FindStringSubmatch(string(page))
	if code == nil {
		t.Fatal("the guide prints no code")
	}
	secret, now, body := NewSecret(), time.Now(), []byte(`{"type":"job.complete","data":{"name":"Zürich"}}`)
	for _, c := range []struct {
		name    string
		secrets [][]byte
		at      time.Time
		body    string
		want    string
	}{
		{"ours", [][]byte{secret}, now, string(body), "True"},
		{"ours while it is rotated", [][]byte{NewSecret(), secret}, now, string(body), "True"},
		{"by another", [][]byte{NewSecret()}, now, string(body), "False"},
		{"changed", [][]byte{secret}, now, string(body) + " ", "False"},
		{"old", [][]byte{secret}, now.Add(-6 * time.Minute), string(body), "False"},
	} {
		t.Run(c.name, func(t *testing.T) {
			headers, err := json.Marshal(map[string]string{
				"webhook-id": "msg_1", "webhook-timestamp": strconv.FormatInt(c.at.Unix(), 10), "webhook-signature": sign(c.secrets, "msg_1", c.at, body),
			})
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(python, "-c", code[1]+"\nimport json, sys\nprint(verify(sys.argv[1], json.loads(sys.argv[2]), sys.argv[3].encode()))", FormatSecret(secret), string(headers), c.body)
			cmd.Env = append(os.Environ(), "PYTHONUTF8=1")
			out, err := cmd.CombinedOutput()
			if err != nil || strings.TrimSpace(string(out)) != c.want {
				t.Errorf("the guide says %q, %v; want %s", out, err, c.want)
			}
		})
	}
}
