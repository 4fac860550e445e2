package store

import (
	"encoding/json"
	"fmt"

	"headway/visit"
	"headway/weburl"
)

// MaxAside is of how many URLs out of scope a job keeps the address, so that a wider
// scope can take them in; of others only the host. An engine may keep more.
const MaxAside = 100_000

// Aside is a URL out of scope; see [Found].
type Aside struct {
	Slot Slot                  // it was found in
	Mark weburl.Fingerprint128 // of the URL
	Item visit.Item            // as it was found; with the zero URL where the address is not kept
}

// AsidePage is one page of the URLs out of scope, in an order that does not change
// while URLs are added.
type AsidePage struct {
	URLs []Aside
	Next Cursor // empty after the last page
}

// asideItem is what is stored of the item of a URL out of scope, beside its address.
type asideItem struct {
	Via      weburl.URL    `json:"via,omitzero"`
	Found    visit.FoundBy `json:"found"`
	Depth    int           `json:"depth,omitempty"`
	Hops     int           `json:"hops,omitempty"`
	Chain    []uint64      `json:"chain,omitempty"`
	Priority int           `json:"priority,omitempty"`
}

// EncodeAside writes what is stored of an item out of scope beside its address.
func EncodeAside(it *visit.Item) (string, error) {
	text, err := json.Marshal(asideItem{it.Via, it.Found, it.Depth, it.Hops, it.Chain, it.Priority})
	if err != nil {
		return "", fmt.Errorf("encode %s out of scope: %w", it.URL, err)
	}
	return string(text), nil
}

// DecodeAside reads an item out of scope. Without a text, as older programs left it,
// the URL is taken to be one link away from a seed; an address that is only a host is no
// URL.
func DecodeAside(address, text string) (visit.Item, error) {
	u, err := weburl.Parse(address)
	if err != nil || u.String() != address {
		return visit.Item{}, nil //nolint:nilerr // the address is not kept
	}
	a := asideItem{Found: visit.FoundLink, Depth: 1}
	if text != "" {
		a = asideItem{}
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			return visit.Item{}, fmt.Errorf("decode %s out of scope: %w: %w", address, err, ErrCorrupt)
		}
	}
	return visit.Item{URL: u, Via: a.Via, Found: a.Found, Depth: a.Depth, Hops: a.Hops, Chain: a.Chain, Priority: a.Priority}, nil
}
