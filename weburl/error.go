package weburl

import (
	"strconv"
	"strings"
)

// Code says why a text is not a crawlable URL. The codes are part of the
// vectors, the API and the store, and never change their spelling.
type Code string

// The reasons of an [Error].
const (
	NoBase    Code = "no_base"    // a relative reference without a base
	BadHost   Code = "bad_host"   // no host, or one that no name or address can have
	BadPort   Code = "bad_port"   // a port that is no number up to 65535
	BadScheme Code = "bad_scheme" // neither http nor https
	TooLong   Code = "too_long"   // above MaxLength as a canonical URL
)

// maxQuoted bounds how much of a refused text an error repeats.
const maxQuoted = 120

// Error reports a text that is not a crawlable URL.
type Error struct {
	Code   Code
	Detail string // what exactly is wrong, in plain words
	Raw    string // the refused text, without credentials and shortened to a bound
}

// Error says what is wrong and with which text.
func (e *Error) Error() string {
	return "url " + strconv.Quote(e.Raw) + ": " + e.Detail
}

// refuse makes an Error about raw.
func refuse(code Code, detail, raw string) *Error {
	return &Error{Code: code, Detail: detail, Raw: quotable(raw)}
}

// quotable returns a copy of raw that may be shown and kept: what could be
// credentials is replaced, and the length is bounded.
func quotable(raw string) string {
	// An "@" anywhere could end credentials, since backslashes, tabs or a
	// missing slash change where the authority ends. Everything between the
	// first slash or colon and the last "@" goes.
	if at := strings.LastIndexByte(raw, '@'); at >= 0 {
		start := strings.IndexAny(raw[:at], `:/\`)
		raw = raw[:start+1] + "…" + raw[at:]
	}
	if len(raw) <= maxQuoted {
		return strings.Clone(raw)
	}
	return strings.ToValidUTF8(raw[:maxQuoted], "") + "…"
}
