package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
)

// Sizes of pages.
const (
	defaultPage = 100
	maxPage     = 1000
)

// Paging is how a list is read page by page.
type Paging struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"How many to return at most. A page may hold fewer, even none, and still have a next one."`
	Cursor string `query:"cursor" maxLength:"4096" doc:"The next_cursor of the page before."`
}

// sealLength is how much of a seal is kept.
const sealLength = 12

// sealCursor makes an opaque cursor of a place in a list. It is of use for this
// list of this tenant alone, and nobody can make one up.
func (a *API) sealCursor(list, place string) string {
	if place == "" {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(append(a.seal(list, place), place...))
}

// openCursor reads a cursor of the list.
func (a *API) openCursor(list, cursor string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(raw) <= sealLength || !hmac.Equal(raw[:sealLength], a.seal(list, string(raw[sealLength:]))) {
		return "", problem(http.StatusUnprocessableEntity, "the cursor is none of this list", "take next_cursor of the page before, with the same filters, or begin without a cursor")
	}
	return string(raw[sealLength:]), nil
}

func (a *API) seal(list, place string) []byte {
	key := a.store.Key()
	h := hmac.New(sha256.New, key[:])
	h.Write([]byte("cursor\x00" + list + "\x00" + place))
	return h.Sum(nil)[:sealLength]
}

// listName names a list by what it was asked with.
func listName(parts ...string) string { return strings.Join(parts, "\x00") }
