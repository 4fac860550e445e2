package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// Sizes of pages.
const (
	defaultPage = 100
	maxPage     = 1000
)

// Paging is how a list is read page by page.
type Paging struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Maximum number of results. A page can hold fewer, even none, and still have a next page."`
	Cursor string `query:"cursor" maxLength:"4096" doc:"The next_cursor of the previous page."`
}

// sealLength is how much of a seal is kept.
const sealLength = 12

// sealCursor makes an opaque cursor of a place in a list. It is valid only for this
// list of this tenant, and cannot be forged.
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
		return "", newProblem(InvalidCursor, "invalid cursor for this list")
	}
	return string(raw[sealLength:]), nil
}

func (a *API) seal(list, place string) []byte {
	key := a.store.Key()
	h := hmac.New(sha256.New, key[:])
	h.Write([]byte("cursor\x00" + list + "\x00" + place))
	return h.Sum(nil)[:sealLength]
}

// listName identifies a list by its parameters.
func listName(parts ...string) string { return strings.Join(parts, "\x00") }
