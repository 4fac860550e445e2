package parse

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
)

// Challenge identifies a firewall's response that replaces the requested page: a test
// whether the visitor is human, or a refusal. Such a URL ends as "blocked", whatever its
// status, with the two fields as evidence. Headway accepts the refusal: nothing here
// helps to pass a challenge.
type Challenge struct {
	Vendor string // such as "cloudflare"; "captcha" if the vendor is unknown
	Marker string // what identified it, for people
}

// IsZero reports whether the response is not a challenge.
func (c Challenge) IsZero() bool { return c == Challenge{} }

const (
	// challengeWords and challengeLinks are the most visible words and links of a
	// challenge with a success status. They exclude articles about firewalls, and
	// ordinary pages, from the search.
	challengeWords = 250
	challengeLinks = 10
	// challengeBytes is how much of a body is searched.
	challengeBytes = 64 << 10
)

// challengeOf recognises a challenge. A header that only challenges have is enough.
// Otherwise the response must look like a challenge and contain the marks of one vendor.
func challengeOf(a Answer, p *Page) Challenge {
	for i := range headerFingerprints {
		if f := &headerFingerprints[i]; f.inHeader(a.Header) {
			return Challenge{Vendor: f.vendor, Marker: f.marker()}
		}
	}
	if !couldBeChallenge(a.Status, p) {
		return Challenge{}
	}
	body := a.Body[:min(len(a.Body), challengeBytes)]
	for i := range bodyFingerprints {
		if f := &bodyFingerprints[i]; f.matches(a, p, body) {
			return Challenge{Vendor: f.vendor, Marker: f.marker()}
		}
	}
	return genericCaptcha(p, body)
}

// couldBeChallenge reports whether a response with this status and text is worth
// searching. 404 and redirects are not.
func couldBeChallenge(status int, p *Page) bool {
	switch {
	case status < http.StatusMultipleChoices:
		return p.Type != TypeOther && p.Words <= challengeWords && len(p.Links) <= challengeLinks
	case status < http.StatusBadRequest, status == http.StatusNotFound, status == http.StatusGone:
		return false
	}
	return true
}

// inHeader reports whether the header has the field of f.
func (f *fingerprint) inHeader(h http.Header) bool {
	for _, value := range h[f.field] {
		if f.value == "" || containsFold(value, f.value) {
			return true
		}
	}
	return false
}

// matches reports whether a response has every mark of f.
func (f *fingerprint) matches(a Answer, p *Page, body []byte) bool {
	if f.field != "" && !f.inHeader(a.Header) {
		return false
	}
	if f.status != 0 && a.Status != f.status {
		return false
	}
	if f.title != "" && !containsFold(p.Title, f.title) {
		return false
	}
	for _, mark := range f.all {
		if !bytes.Contains(body, []byte(mark)) {
			return false
		}
	}
	if f.any == nil {
		return true
	}
	return slices.ContainsFunc(f.any, func(mark string) bool { return bytes.Contains(body, []byte(mark)) })
}

// marker describes f in a few words.
func (f *fingerprint) marker() string {
	var parts []string
	if f.field != "" {
		parts = append(parts, strings.TrimSuffix("header "+f.field+": "+f.value, ": "))
	}
	if f.title != "" {
		parts = append(parts, "title \""+f.title+"\"")
	}
	for _, mark := range f.all {
		parts = append(parts, "body \""+mark+"\"")
	}
	if f.all == nil && f.any != nil {
		parts = append(parts, "body \""+strings.Join(f.any, "\" or \"")+"\"")
	}
	return strings.Join(parts, ", ")
}

// captchaWidgets are marks of common captchas. Many contact forms have one, so they
// prove nothing alone.
var captchaWidgets = []string{"g-recaptcha", "grecaptcha", "h-captcha", "hcaptcha", "cf-turnstile", "friendlycaptcha", "geetest"}

// captchaTitles are in the titles of pages that are only a captcha.
var captchaTitles = []string{
	"are you a robot", "are you human", "not a robot", "robot check", "bot check", "bot verification", "captcha",
	"human verification", "security check", "security verification", "verify you are human", "verifying you are human",
	"access denied", "attention required", "one more step",
}

// genericCaptcha recognises a page with a captcha, a matching title and almost nothing
// else.
func genericCaptcha(p *Page, body []byte) Challenge {
	if p.Type != TypeHTML || p.Words > challengeWords || len(p.Links) > challengeLinks {
		return Challenge{}
	}
	title := slices.IndexFunc(captchaTitles, func(t string) bool { return containsFold(p.Title, t) })
	if title < 0 {
		return Challenge{}
	}
	for _, widget := range captchaWidgets {
		if bytes.Contains(body, []byte(widget)) {
			return Challenge{Vendor: "captcha", Marker: "title \"" + captchaTitles[title] + "\", body \"" + widget + "\""}
		}
	}
	return Challenge{}
}

// containsFold reports whether s contains substr, ignoring case.
func containsFold(s, substr string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(substr))
}
