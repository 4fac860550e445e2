package scope

import (
	"strings"
	"time"
)

// query is the classification of a URL's parameters for Traps.
type query struct {
	filters []parameter // narrow, sort or identify the content
	parts   []parameter // the filters with lists such as colour=red,blue split
	neutral []parameter // page numbers and languages
	noise   bool        // a session ID or tracking code was dropped
	sorted  bool        // a filter only sorts
}

// parameter is one key and value as written.
type parameter struct{ key, value string }

func (p *parameter) numeric() bool { return p.value != "" && allDigits(p.value) }

// hash hashes a parameter, for sums independent of order.
func (p *parameter) hash() uint64 { return mixString(mixString(0, p.key), p.value) }

// verdict on a query.
type verdict bool

const tooMany verdict = true

// read parses a query. It keeps at most max parameters and reports if there are more.
func (q *query) read(raw string, max int) verdict {
	*q = query{filters: q.filters[:0], parts: q.parts[:0], neutral: q.neutral[:0]}
	n := 0
	for one := range strings.SplitSeq(raw, "&") {
		if one == "" {
			continue
		}
		if n++; n > max {
			return tooMany
		}
		var p parameter
		p.key, p.value, _ = strings.Cut(one, "=")
		switch {
		case isNoise(p):
			q.noise = true
		case isNeutral(p):
			q.neutral = append(q.neutral, p)
		default:
			q.sorted = q.sorted || isSortKey(p.key)
			q.filters = append(q.filters, p)
			q.split(p)
		}
	}
	return !tooMany
}

// maxParts limits the parts of a query; the rest is one more part.
const maxParts = 64

// split adds a filter to the parts, the values of a list one by one: a filter with several
// values multiplies like several filters.
func (q *query) split(p parameter) {
	for {
		end := strings.IndexAny(p.value, ",|")
		behind := end + 1
		if i := escapedComma(p.value); i >= 0 && (end < 0 || i < end) {
			end, behind = i, i+len("%2C")
		}
		if end < 0 || len(q.parts) >= maxParts {
			q.parts = append(q.parts, p)
			return
		}
		q.parts = append(q.parts, parameter{p.key, p.value[:end]})
		p.value = p.value[behind:]
	}
}

// escapedComma finds an escaped comma or bar.
func escapedComma(s string) int {
	comma, bar := strings.Index(s, "%2C"), strings.Index(s, "%7C")
	if comma < 0 || bar >= 0 && bar < comma {
		return bar
	}
	return comma
}

// repeated finds a parameter that occurs several times, as on pages that append to their
// own URL.
func (q *query) repeated() string {
	for i, p := range q.filters {
		same := 1
		for _, other := range q.filters[i+1:] {
			if p == other {
				same++
			}
		}
		if same >= sameParam {
			return p.key + "=" + p.value
		}
	}
	return ""
}

// sum is a hash of all parameters except noise, independent of order.
func (q *query) sum() uint64 {
	sum := q.filterSum()
	for i := range q.neutral {
		sum += q.neutral[i].hash()
	}
	return sum
}

// filterSum is a hash of the filters, independent of order.
func (q *query) filterSum() uint64 {
	var sum uint64
	for i := range q.parts {
		sum += q.parts[i].hash()
	}
	return sum
}

// date finds a date among the filters: a complete one under any key, or a year and a month
// under matching keys.
func (q *query) date() time.Time {
	year, month := "", ""
	for i := range q.filters {
		p := &q.filters[i]
		if d := writtenDate(p.value); !d.IsZero() {
			return d
		}
		switch {
		case fold(p.key, "year", "yr", "y"):
			year = p.value
		case fold(p.key, "month", "mon", "m"):
			month = p.value
		}
	}
	return dateOf(year, month, "")
}

// sessionKeys are names of session IDs whatever their value, maybeSession only with a value
// that looks random: sid may also be a story ID.
var (
	sessionKeys  = []string{"jsessionid", "phpsessid", "aspsessionid", "asp.net_sessionid", "cfid", "cftoken", "oscsid", "zenid", "xtcsid", "sessionid", "session_id"}
	maybeSession = []string{"sid", "sess", "session", "s", "ssid", "psid", "token", "csrf", "nonce", "_"}
	trackingKeys = []string{"gclid", "fbclid", "msclkid", "dclid", "yclid", "mc_cid", "mc_eid", "igshid", "_ga", "_gl", "wbraid", "gbraid"}
	neutralKeys  = []string{
		"page", "p", "pg", "paged", "pageno", "pagenum", "page_no", "page_num", "pagenumber", "cpage", "start", "offset", "skip", "from", "limit",
		"limitstart", "per_page", "perpage", "page_size", "pagesize", "seite", "pagina", "strana", "sida",
	}
	languageKeys = []string{"lang", "language", "locale", "hl", "l", "lng", "setlang", "sprache"}
)

// minSession is the minimum length of a random value.
const minSession = 16

// isNoise reports whether a parameter does not affect the page.
func isNoise(p parameter) bool {
	return fold(p.key, sessionKeys...) || fold(p.key, trackingKeys...) ||
		len(p.key) > 4 && strings.EqualFold(p.key[:4], "utm_") ||
		fold(p.key, maybeSession...) && looksRandom(p.value)
}

// isNeutral reports whether a parameter is a page number or a language.
func isNeutral(p parameter) bool {
	return p.numeric() && fold(p.key, neutralKeys...) ||
		len(p.value) <= len("zh-Hant-TW") && fold(p.key, languageKeys...)
}

// isSortKey reports whether a key only sorts.
func isSortKey(key string) bool {
	return len(key) >= 4 && strings.EqualFold(key[:4], "sort") || fold(key, "order", "orderby", "order_by", "dir", "direction")
}

// looksRandom reports whether a value looks random: the length of a session ID, and only letters
// and digits, some of each.
func looksRandom(value string) bool {
	if len(value) < minSession {
		return false
	}
	digits := 0
	for i := range len(value) {
		switch c := value[i]; {
		case '0' <= c && c <= '9':
			digits++
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '-', c == '_', c == ',':
		default:
			return false
		}
	}
	return digits >= 2
}

// fold reports whether a key is one of the names, ignoring case.
func fold(key string, names ...string) bool {
	for _, name := range names {
		if len(name) == len(key) && strings.EqualFold(name, key) {
			return true
		}
	}
	return false
}

func allDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// cleanPath removes session IDs from a path: ";jsessionid=…" after a segment and "(S(…))"
// as one.
func cleanPath(path string) (clean string, noise bool) {
	if strings.IndexByte(path, ';') < 0 && !strings.Contains(path, "/(S(") {
		return path, false
	}
	var b strings.Builder
	for i, segment := range strings.Split(path, "/") {
		if strings.HasPrefix(segment, "(S(") {
			noise = true
			continue
		}
		if i > 0 {
			b.WriteByte('/')
		}
		name, params, _ := strings.Cut(segment, ";")
		key, _, _ := strings.Cut(params, "=")
		if fold(key, sessionKeys...) {
			noise = true
			segment = name
		}
		b.WriteString(segment)
	}
	return b.String(), noise
}
