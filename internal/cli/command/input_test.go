package command

import (
	"errors"
	"strings"
	"testing"
)

// TestSeedURL: what a person types.
func TestSeedURL(t *testing.T) {
	for in, want := range map[string]string{
		"example.com":           "https://example.com/",
		"example.com/a?b":       "https://example.com/a?b",
		"example.com:8443/a":    "https://example.com:8443/a",
		"HTTP://Example.com":    "http://example.com/",
		"/a":                    "",
		"mailto:me@example.com": "",
		"localhost":             "",
		"ftp://example.com/":    "",
	} {
		u, err := SeedURL(in)
		if u.String() != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v, want %q", in, u, err, want)
		}
	}
}

// TestSeedWithCredentials refuses what it would have to drop.
func TestSeedWithCredentials(t *testing.T) {
	_, err := SeedURL("https://me:secret@example.com/")
	failure, ok := errors.AsType[*Failure](err)
	if !ok || failure.Code != ExitUsage || strings.Contains(failure.Err.Error(), "secret") || !strings.Contains(failure.Hint, "--basic-auth") {
		t.Errorf("%+v", err)
	}
	if u, err := SeedURL("https://example.com/@me"); err != nil || u.String() != "https://example.com/@me" {
		t.Errorf("%v, %v", u, err)
	}
}
