package fleet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"headway/internal/config"
)

// TestRecords writes to the log and to people, in both formats. Durations are
// readable as text and seconds in JSON, and the worker is named once it is known.
func TestRecords(t *testing.T) {
	speak := func(format string) string {
		var out bytes.Buffer
		log, people, joined := newRecords(format, &out)
		fmt.Fprintln(people, "headway: warning: may go to private addresses: 10.0.0.0/8")
		log.Info("slots acquired", "slots", 7)
		joined(3)
		log.With("part", "x").Warn("rejoining", "wait", 1500*time.Millisecond)
		fmt.Fprintln(people, "headway: finishing what is in flight; press Ctrl-C again to quit now")
		return out.String()
	}
	var got []string
	for _, line := range bytes.Split(bytes.TrimSpace([]byte(speak(config.LogJSON))), []byte("\n")) {
		var r struct {
			Level, Msg string
			Slots      int
			Worker     int
			Wait       float64 `json:"wait_seconds"`
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		got = append(got, fmt.Sprint(r.Level, " ", r.Msg, " ", r.Slots, " ", r.Wait, " ", r.Worker))
	}
	want := []string{"WARN may go to private addresses: 10.0.0.0/8 0 0 0", "INFO slots acquired 7 0 0", "WARN rejoining 0 1.5 3", "INFO finishing what is in flight; press Ctrl-C again to quit now 0 0 3"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	text := speak(config.LogText)
	if lines := bytes.Split([]byte(text), []byte("\n")); len(lines) != 5 || !bytes.HasPrefix(lines[0], []byte("headway: warning: ")) || !bytes.HasSuffix(lines[1], []byte(`msg="slots acquired" slots=7`)) || !bytes.HasSuffix(lines[2], []byte(`msg=rejoining part=x wait=1.5s worker=3`)) {
		t.Errorf("as text:\n%s", text)
	}
}
