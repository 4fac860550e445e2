package fetch

import (
	"errors"
	"strings"
	"testing"
)

// TestMaxSent: a body over the remaining budget is distinguished from one over the
// general limit.
func TestMaxSent(t *testing.T) {
	body := strings.Repeat("x", 3000)
	open := "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body
	for name, tt := range map[string]struct {
		say        string
		req        Request
		over, fail bool
	}{
		"fits":                            {response("", []byte(body)), Request{MaxSent: 3000}, false, false},
		"announced too long":              {response("", []byte(body)), Request{MaxSent: 2999}, true, true},
		"goes on too long":                {open, Request{MaxSent: 2999}, true, true},
		"too large for anybody":           {open, Request{MaxBody: 1000, MaxSent: 2000}, false, true},
		"the status of an error decides":  {"HTTP/1.1 404 No\r\nConnection: close\r\n\r\n" + body, Request{MaxSent: 2999}, false, false},
		"cut as asked, and by the budget": {open, Request{CutBody: true, MaxSent: 2999}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := newPiped(t, Config{}, once(tt.say))
			tt.req.URL = parseURL(t, "http://site.test/")
			res, err := c.Do(t.Context(), tt.req)
			defer res.Close() //nolint:staticcheck // a result is returned with an error too, and must be closed
			e, ok := errors.AsType[*Error](err)
			if errors.Is(err, ErrOverBudget) != tt.over || (err != nil) != tt.fail || ok && e.Reason != TooLarge {
				t.Errorf("%v", err)
			}
		})
	}
}
