package record

import (
	"encoding/json"
	"fmt"
	"time"

	"headway/store"
	"headway/visit"
)

// found are the values of visit.FoundBy, by their stored number.
var found = [...]visit.FoundBy{"", visit.FoundSeed, visit.FoundLink, visit.FoundSitemap, visit.FoundRedirect}

// FoundNumber is the stored number of f; 0 if it has none.
func FoundNumber(f visit.FoundBy) int64 {
	for n, word := range found {
		if word == f {
			return int64(n)
		}
	}
	return 0
}

// FoundBy is the value with a stored number.
func FoundBy(n int64) visit.FoundBy {
	if n < 0 || n >= int64(len(found)) {
		return ""
	}
	return found[n]
}

// extra are the fields of an item that are usually empty.
type extra struct {
	Chain        []uint64 `json:"chain,omitempty"`
	ETag         string   `json:"etag,omitempty"`
	LastModified string   `json:"last_modified,omitempty"`
}

// Extra encodes the fields of an item that are usually empty; the result is empty for most.
func Extra(it *visit.Item) (string, error) {
	if len(it.Chain) == 0 && it.Validators == (visit.Validators{}) {
		return "", nil
	}
	data, err := json.Marshal(extra{it.Chain, it.Validators.ETag, it.Validators.LastModified})
	return string(data), err
}

// ReadExtra decodes what Extra wrote into an item.
func ReadExtra(text string, it *visit.Item) error {
	if text == "" {
		return nil
	}
	var x extra
	if err := json.Unmarshal([]byte(text), &x); err != nil {
		return fmt.Errorf("item %s: %w: %w", it.URL, store.ErrCorrupt, err)
	}
	it.Chain, it.Validators = x.Chain, visit.Validators{ETag: x.ETag, LastModified: x.LastModified}
	return nil
}

// Milli is a time as it is stored: Unix milliseconds, 0 for none.
func Milli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return store.Stored(t).UnixMilli()
}

// Instant is the time that Milli wrote.
func Instant(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
