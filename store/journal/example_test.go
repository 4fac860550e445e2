package journal_test

import (
	"fmt"
	"os"
	"path/filepath"

	"headway/store/journal"
	"headway/weburl"
)

// A process dies with two requests in flight; the next one treats them as suspects.
func Example() {
	dir, err := os.MkdirTemp("", "journal")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "inflight")

	j, _, err := journal.Open(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, raw := range []string{"https://example.com/a", "https://example.com/b"} {
		u, err := weburl.Parse(raw)
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := j.Start(1, u); err != nil {
			fmt.Println(err)
			return
		}
	}
	// No Done, no Close: the process died.

	_, suspects, err := journal.Open(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range suspects {
		fmt.Println(s.URL, "quarantined:", s.Quarantined())
	}
	// Output:
	// https://example.com/a quarantined: false
	// https://example.com/b quarantined: false
}
