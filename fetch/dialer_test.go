package fetch

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"headway/weburl"
)

// TestDefaultDialer: a client without a dialer of its own blocks private addresses.
func TestDefaultDialer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	c, err := New(Config{Identity: Identity{Contact: "you@example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	u, err := weburl.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(t.Context(), Request{URL: u})
	if failure, ok := errors.AsType[*Error](err); !ok || !failure.Reason.Skipped() || res.Status != 0 {
		t.Errorf("status %d, %v", res.Status, err)
	}
	res.Close()
}
