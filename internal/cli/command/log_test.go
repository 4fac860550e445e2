package command

import (
	"errors"
	"strings"
	"testing"
)

// TestWarner prints warnings for people, without a name twice in a row.
func TestWarner(t *testing.T) {
	var b strings.Builder
	log := NewWarner(&b)
	log.Info("not for people")
	log.Warn("limit usage", "limit", "max_pages: 80 % used, 16 of 20 (job)")
	log.Warn("robots.txt redirects to a blocked address", "host", "http://a.example", "to", "http://b.example", "err", errors.New("private\naddress"))
	log.Warn("low disk space")
	want := `headway: warning: limit usage: max_pages: 80 % used, 16 of 20 (job)
headway: warning: robots.txt redirects to a blocked address: host http://a.example, to http://b.example, err private address
headway: warning: low disk space
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
