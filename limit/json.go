package limit

import (
	"encoding/json"
	"time"
)

// text is how limits are written as JSON: by their names, durations in
// milliseconds, those that are not set left out.
type text struct {
	Pages             int64 `json:"max_pages,omitempty"`
	Requests          int64 `json:"max_requests,omitempty"`
	Time              int64 `json:"max_time_ms,omitempty"`
	Depth             int64 `json:"max_depth,omitempty"`
	Bytes             int64 `json:"max_bytes,omitempty"`
	PagesPerHost      int64 `json:"max_pages_per_host,omitempty"`
	Patience          int64 `json:"patience_ms,omitempty"`
	ConcurrentCrawls  int64 `json:"max_concurrent_crawls,omitempty"`
	Hosts             int64 `json:"max_hosts,omitempty"`
	RequestsPerSecond int64 `json:"max_requests_per_second,omitempty"`
	Retention         int64 `json:"retention_ms,omitempty"`
}

// MarshalJSON implements [json.Marshaler].
func (l Limits) MarshalJSON() ([]byte, error) {
	return json.Marshal(text{
		l.Pages, l.Requests, milliseconds(l.Time), l.Depth, l.Bytes, l.PagesPerHost, milliseconds(l.Patience),
		l.ConcurrentCrawls, l.Hosts, l.RequestsPerSecond, milliseconds(l.Retention),
	})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (l *Limits) UnmarshalJSON(data []byte) error {
	var t text
	if err := json.Unmarshal(data, &t); err != nil {
		return err
	}
	*l = Limits{
		t.Pages, t.Requests, ofMilliseconds(t.Time), t.Depth, t.Bytes, t.PagesPerHost, ofMilliseconds(t.Patience),
		t.ConcurrentCrawls, t.Hosts, t.RequestsPerSecond, ofMilliseconds(t.Retention),
	}
	return nil
}

// milliseconds rounds away from zero, which would be no limit.
func milliseconds(d time.Duration) int64 {
	switch {
	case d < 0:
		return -1
	case d%time.Millisecond != 0:
		return d.Milliseconds() + 1
	default:
		return d.Milliseconds()
	}
}

func ofMilliseconds(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
