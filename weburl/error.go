package weburl

import (
	"strconv"
	"strings"
)

// Code says why a text is not a crawlable URL. The codes are part of the vectors, the
// API and the store, and never change.
type Code string

// The reasons of an [Error].
const (
	NoBase    Code = "no_base"    // a relative reference without a base
	BadHost   Code = "bad_host"   // no host, or an invalid one
	BadPort   Code = "bad_port"   // a port that is not a number up to 65535
	BadScheme Code = "bad_scheme" // neither http nor https
	TooLong   Code = "too_long"   // above MaxLength as a canonical URL
)

// maxQuoted limits how much of a refused text an error repeats.
const maxQuoted = 120

// Error reports a text that is not a crawlable URL.
type Error struct {
	Code   Code
	Detail string // what is wrong, in plain words
	Raw    string // the refused text, without credentials and shortened
}

// Error says what is wrong and with which text.
func (e *Error) Error() string {
	return "invalid URL " + strconv.Quote(e.Raw) + ": " + e.Detail
}

// refuse makes an Error about raw.
func refuse(code Code, detail, raw string) *Error {
	return &Error{Code: code, Detail: detail, Raw: quotable(raw)}
}

// quotable returns a copy of raw that is safe to show and store: without possible
// credentials, and of limited length.
func quotable(raw string) string {
	// Where an authority ends depends on slashes, backslashes and tabs, and
	// passwords are often not escaped. So everything between the first colon or
	// slash and the last "@" is removed. Of very long texts only the scheme is
	// kept.
	end, rest := len(raw), ""
	if len(raw) > maxInput {
		end, rest = maxQuoted, "…"
	} else if at := strings.LastIndexByte(raw, '@'); at >= 0 {
		end, rest = at, "…"+raw[at:]
	}
	if rest != "" {
		raw = raw[:strings.IndexAny(raw[:end], `:/\`)+1] + rest
	}
	if len(raw) <= maxQuoted {
		return strings.Clone(raw)
	}
	return strings.ToValidUTF8(raw[:maxQuoted], "") + "…"
}
