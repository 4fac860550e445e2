package event

import (
	"encoding/json"
	"testing"
	"time"

	"headway/store"
)

// TestRead shows stored events in the units of the API.
func TestRead(t *testing.T) {
	at := time.Date(2026, 11, 18, 10, 0, 0, 0, time.UTC)
	for body, want := range map[string]string{
		`{"state":"running","was":"queued"}`: `{"state":"running","was":"queued"}`,
		`{"limit":"max_time","layer":"safety","max":60000000000,"observed":48500000000,"percent":80}`: `{"limit":"max_time","layer":"safety","max":60,"observed":48.5,"unit":"seconds","percent":80}`,
		`{"limit":"max_pages","layer":"job","max":50,"observed":40,"percent":80}`:                     `{"limit":"max_pages","layer":"job","max":50,"observed":40,"percent":80}`,
		`{"limit":"max_bytes","layer":"plan","max":1000,"observed":1000,"percent":100}`:               `{"limit":"max_bytes","layer":"plan","max":1000,"observed":1000,"unit":"bytes","percent":100}`,
	} {
		e, err := Read(&store.Event{Number: 3, At: at, Kind: store.LimitNear, Job: 7, Body: []byte(body)})
		if err != nil {
			t.Fatal(err)
		}
		if e.ID != 3 || e.Job != 7 || !e.CreatedAt.Equal(at) {
			t.Errorf("%s: %+v", body, e)
		}
		if text, err := json.Marshal(e.Data); err != nil || string(text) != want {
			t.Errorf("%s: got %s, want %s, %v", body, text, want, err)
		}
	}
	if _, err := Read(&store.Event{Body: []byte(`{"max":"much"}`)}); err == nil {
		t.Error("an invalid body was read")
	}
}
