package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"headway/store"
)

// message is the body of a delivery.
type message struct {
	Type      store.EventKind            `json:"type"`
	Timestamp time.Time                  `json:"timestamp"`
	Data      map[string]json.RawMessage `json:"data"`
}

// bodyOf is the body for an event: its data, its number and its job.
func bodyOf(e *store.Event) (json.RawMessage, error) {
	m := message{Type: e.Kind, Timestamp: e.At.UTC(), Data: map[string]json.RawMessage{}}
	if err := json.Unmarshal(e.Body, &m.Data); err != nil {
		return nil, fmt.Errorf("body of event %d: %w", e.Number, err)
	}
	m.Data["event"] = json.RawMessage(fmt.Sprint(e.Number))
	if e.Job != 0 {
		m.Data["job"] = json.RawMessage(fmt.Sprint(e.Job))
	}
	return json.Marshal(m)
}

// idOf is the id of the delivery of an event to an endpoint: unique, and the same for
// each attempt. It contains time and kind because event numbers can be reused after a
// failover that lost some.
func idOf(e *store.Event, endpoint string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%d\n%d\n%s", endpoint, e.Number, e.At.UnixMilli(), e.Job, e.Kind))
	return "msg_" + hex.EncodeToString(sum[:16])
}
