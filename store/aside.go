package store

import (
	"encoding/json"
	"fmt"

	"headway/visit"
	"headway/weburl"
)

// MaxAside is for how many out-of-scope URLs a job keeps the full URL, so that a wider
// scope can include them; for others only the host is kept. An engine may keep more.
const MaxAside = 100_000

// Aside is an out-of-scope URL; see [Found].
type Aside struct {
	Slot Slot                  // in a fleet, that of its finder
	Mark weburl.Fingerprint128 // of the URL
	Item visit.Item            // as it was found; with the zero URL if only the host was kept
}

// AsidePage is one page of the out-of-scope URLs, in an order that does not change
// while URLs are added.
type AsidePage struct {
	URLs []Aside
	Next Cursor // empty after the last page
}

// asideItem is what is stored about an out-of-scope item in addition to its URL.
type asideItem struct {
	Via      weburl.URL    `json:"via,omitzero"`
	Found    visit.FoundBy `json:"found"`
	Depth    int           `json:"depth,omitempty"`
	Hops     int           `json:"hops,omitempty"`
	Chain    []uint64      `json:"chain,omitempty"`
	Priority int           `json:"priority,omitempty"`
}

// EncodeAside encodes what is stored about an out-of-scope item in addition to its URL.
func EncodeAside(it *visit.Item) (string, error) {
	text, err := json.Marshal(asideItem{it.Via, it.Found, it.Depth, it.Hops, it.Chain, it.Priority})
	if err != nil {
		return "", fmt.Errorf("encode %s out of scope: %w", it.URL, err)
	}
	return string(text), nil
}

// DecodeAside decodes an out-of-scope item. Without a text, as older versions stored it,
// the URL is assumed to be one link away from a seed; for an address that is only a host
// the item has no URL.
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
