package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"headway/internal/config"
)

// TestRecords writes to the log and to people, in both formats.
func TestRecords(t *testing.T) {
	speak := func(format string) string {
		var out bytes.Buffer
		log, people := newRecords(format, &out)
		fmt.Fprintln(people, "headway: warning: may go to private addresses: 10.0.0.0/8")
		log.Info("slots acquired", "slots", 7)
		fmt.Fprintln(people, "headway: finishing what is in flight; once more ends at once")
		return out.String()
	}
	var got []string
	for _, line := range bytes.Split(bytes.TrimSpace([]byte(speak(config.LogJSON))), []byte("\n")) {
		var r struct {
			Level, Msg string
			Slots      int
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		got = append(got, fmt.Sprint(r.Level, " ", r.Msg, " ", r.Slots))
	}
	want := []string{"WARN may go to private addresses: 10.0.0.0/8 0", "INFO slots acquired 7", "INFO finishing what is in flight; once more ends at once 0"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	text := speak(config.LogText)
	if lines := bytes.Split([]byte(text), []byte("\n")); len(lines) != 4 || !bytes.HasPrefix(lines[0], []byte("headway: warning: ")) || !bytes.Contains(lines[1], []byte(`msg="slots acquired" slots=7`)) {
		t.Errorf("as text:\n%s", text)
	}
}
