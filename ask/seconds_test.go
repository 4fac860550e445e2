package ask

import (
	"encoding/json"
	"testing"
	"time"
)

// TestSeconds writes durations as seconds, to the microsecond, and reads them back.
func TestSeconds(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", time.Minute: "60", 1500 * time.Millisecond: "1.5", 250 * time.Microsecond: "0.00025", 1499: "0.000001", -time.Second: "-1", 365 * 24 * time.Hour: "31536000",
	} {
		text, err := json.Marshal(Seconds(d))
		if err != nil || string(text) != want {
			t.Errorf("%v: %s, want %s, %v", d, text, want, err)
		}
		var back Seconds
		if err := json.Unmarshal(text, &back); err != nil || back.Duration() != d.Round(time.Microsecond) {
			t.Errorf("%s: %v, %v", text, back.Duration(), err)
		}
	}
	for _, bad := range []string{`"1s"`, "1e300", "-1e12", "{}"} {
		if err := json.Unmarshal([]byte(bad), new(Seconds)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}
