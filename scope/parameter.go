package scope

import (
	"strings"
	"time"
)

// query is what the parameters of a URL mean to the traps.
type query struct {
	filters  []parameter // narrow, arrange or name what is at the path
	parts    []parameter // the filters with lists such as colour=red,blue taken apart
	neutral  []parameter // numbers of pages, and languages
	noise    bool        // a session id or tracking code was left out
	arranged bool        // a filter only puts things in order
}

// parameter is one key and value as written.
type parameter struct{ key, value string }

func (p *parameter) numeric() bool { return p.value != "" && allDigits(p.value) }

// hash is that of a parameter, for sums that do not depend on order.
func (p *parameter) hash() uint64 { return mixString(mixString(0, p.key), p.value) }

// verdict on a query.
type verdict bool

const tooMany verdict = true

// read takes a query apart. It keeps at most max parameters and reports more.
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
			q.arranged = q.arranged || isArrangement(p.key)
			q.filters = append(q.filters, p)
			q.split(p)
		}
	}
	return !tooMany
}

// maxParts bounds the parts of a query; what is left is one more part.
const maxParts = 64

// split adds a filter to the parts, the values of a list one by one: a filter
// that takes several values at once multiplies as several filters do.
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

// escapedComma finds a comma or bar that is escaped.
func escapedComma(s string) int {
	comma, bar := strings.Index(s, "%2C"), strings.Index(s, "%7C")
	if comma < 0 || bar >= 0 && bar < comma {
		return bar
	}
	return comma
}

// repeated finds a parameter that stands there again and again, as pages make
// that add to their own address.
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

// sum is a hash of all parameters but noise, in any order.
func (q *query) sum() uint64 {
	sum := q.filterSum()
	for i := range q.neutral {
		sum += q.neutral[i].hash()
	}
	return sum
}

// filterSum is a hash of the filters, in any order.
func (q *query) filterSum() uint64 {
	var sum uint64
	for i := range q.parts {
		sum += q.parts[i].hash()
	}
	return sum
}

// date finds a date among the filters: a whole one under any key, or a year
// and a month under keys that say so.
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

// sessionKeys name sessions whatever their value, maybeSession only with a
// value that looks drawn by lot: sid may also be a story.
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

// minSession is how long a value that was drawn by lot is.
const minSession = 16

// isNoise reports whether a parameter says nothing about the page.
func isNoise(p parameter) bool {
	return fold(p.key, sessionKeys...) || fold(p.key, trackingKeys...) ||
		len(p.key) > 4 && strings.EqualFold(p.key[:4], "utm_") ||
		fold(p.key, maybeSession...) && byLot(p.value)
}

// isNeutral reports whether a parameter is the number of a page, or a language.
func isNeutral(p parameter) bool {
	return p.numeric() && fold(p.key, neutralKeys...) ||
		len(p.value) <= len("zh-Hant-TW") && fold(p.key, languageKeys...)
}

// isArrangement reports whether a key only says in which order things stand.
func isArrangement(key string) bool {
	return len(key) >= 4 && strings.EqualFold(key[:4], "sort") || fold(key, "order", "orderby", "order_by", "dir", "direction")
}

// byLot reports whether a value has the length of a session id and nothing but
// letters and digits, some of each.
func byLot(value string) bool {
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

// fold reports whether a key is one of the names, in any case.
func fold(key string, names ...string) bool {
	for _, name := range names {
		if len(name) == len(key) && strings.EqualFold(name, key) {
			return true
		}
	}
	return false
}

func allDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// cleanPath leaves out what a path has of a session: ";jsessionid=…" behind a
// segment and "(S(…))" as one.
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
