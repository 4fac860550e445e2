package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"headway/job"
	"headway/service/internal/event"
	"headway/store"
)

// message is the body of a delivery.
type message struct {
	Type      store.EventKind `json:"type"`
	Timestamp time.Time       `json:"timestamp"`
	Data      data            `json:"data"`
}

// data is the content of an event, with its id and its job.
type data struct {
	event.Data
	Event store.EventNumber `json:"event"`
	Job   job.ID            `json:"job,omitempty"`
}

// bodyOf is the body for an event: its data, its number and its job.
func bodyOf(e *store.Event) (json.RawMessage, error) {
	shown, err := event.Read(e)
	if err != nil {
		return nil, err
	}
	return json.Marshal(message{Type: shown.Kind, Timestamp: shown.CreatedAt.UTC(), Data: data{shown.Data, shown.ID, shown.Job}})
}

// idOf is the id of the delivery of an event to an endpoint: unique, and the same for
// each attempt. It contains time and kind because event numbers can be reused after a
// failover that lost some.
func idOf(e *store.Event, endpoint string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%d\n%d\n%s", endpoint, e.Number, e.At.UnixMilli(), e.Job, e.Kind))
	return "msg_" + hex.EncodeToString(sum[:16])
}
