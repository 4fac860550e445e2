package parse

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
)

// Challenge names the firewall behind an answer that is not the page asked
// for: a test whether the visitor is human, or a refusal. A URL with such an
// answer ends "blocked", whatever its status says, and the two fields are its
// evidence. Headway takes no for an answer: nothing here helps to pass one.
type Challenge struct {
	Vendor string // such as "cloudflare"; "captcha" if no vendor shows
	Marker string // what gave it away, for people
}

// IsZero reports whether the answer is no challenge.
func (c Challenge) IsZero() bool { return c == Challenge{} }

const (
	// challengeWords and challengeLinks are the most visible words and links
	// that a challenge sent with a good status has. They keep articles about
	// firewalls, and all ordinary pages, from being searched at all.
	challengeWords = 250
	challengeLinks = 10
	// challengeBytes is how much of a body is searched.
	challengeBytes = 64 << 10
)

// challengeOf recognises a challenge. A header that only challenges have is
// enough. For the rest, the answer must be of the kind challenges are, and then
// carry the marks of one vendor.
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

// couldBeChallenge reports whether an answer with this status and text is
// worth a search. A missing page is missing, and a redirect has no page.
func couldBeChallenge(status int, p *Page) bool {
	switch {
	case status < http.StatusMultipleChoices:
		return p.Type != TypeOther && p.Words <= challengeWords && len(p.Links) <= challengeLinks
	case status < http.StatusBadRequest, status == http.StatusNotFound, status == http.StatusGone:
		return false
	}
	return true
}

// inHeader reports whether the header has the field f asks for.
func (f *fingerprint) inHeader(h http.Header) bool {
	for _, value := range h[f.field] {
		if f.value == "" || containsFold(value, f.value) {
			return true
		}
	}
	return false
}

// matches reports whether an answer carries every mark of f.
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

// captchaWidgets load or hold the captchas in common use. Many a contact form
// has one, so that they prove nothing alone.
var captchaWidgets = []string{"g-recaptcha", "grecaptcha", "h-captcha", "hcaptcha", "cf-turnstile", "friendlycaptcha", "geetest"}

// captchaTitles are in the titles of pages that are nothing but a captcha.
var captchaTitles = []string{
	"are you a robot", "are you human", "not a robot", "robot check", "bot check", "bot verification", "captcha",
	"human verification", "security check", "security verification", "verify you are human", "verifying you are human",
	"access denied", "attention required", "one more step",
}

// genericCaptcha recognises a page with a captcha, a title that says so and
// next to nothing else.
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

// containsFold reports whether s contains substr, in any case of letters.
func containsFold(s, substr string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(substr))
}
