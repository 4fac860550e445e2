package fetch

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// CacheVerdict is what a cache between us and the origin did for a request.
type CacheVerdict string

// The verdicts. Empty means that no cache said anything.
const (
	CacheHit         CacheVerdict = "hit"         // served from a copy
	CacheStale       CacheVerdict = "stale"       // served from a copy that was too old
	CacheRevalidated CacheVerdict = "revalidated" // the origin said that the copy is still good
	CacheExpired     CacheVerdict = "expired"     // the copy was too old: the origin made the page
	CacheMiss        CacheVerdict = "miss"        // there was no copy: the origin made the page
	CacheBypass      CacheVerdict = "bypass"      // passed on: this answer is not kept
	CacheDynamic     CacheVerdict = "dynamic"     // passed on: answers of this kind are never kept
)

// CacheAnswer is what the header of an answer says about caches.
type CacheAnswer struct {
	Verdict CacheVerdict
	By      string        // the header that says so, as far as it matters
	Age     time.Duration // how long the copy had been kept; 0 if unknown
	// Barred is the header that keeps a shared cache from serving the answer
	// again without asking the origin; empty if none does.
	Barred string
}

// Cold tells whether the origin worked on the request, as far as the caches
// say: nothing but a copy spares it.
func (a CacheAnswer) Cold() bool { return a.Verdict != CacheHit && a.Verdict != CacheStale }

// cacheHeader is a header in which a cache speaks.
type cacheHeader struct {
	name string
	read func(value string) CacheVerdict
	// inner is a cache inside the origin, such as that of a content management
	// system. It is asked only where none in front of it keeps the answer.
	inner bool
	// own is a cache with a lifetime of its own: what Cache-Control says of
	// lifetimes is meant for browsers, and the one for the cache is removed.
	own bool
}

// cacheHeaders are the headers of well-known caches.
var cacheHeaders = []cacheHeader{
	{name: "Cf-Cache-Status", read: readCacheWords},             // Cloudflare
	{name: "X-Vercel-Cache", read: readCacheWords, own: true},   // Vercel
	{name: "Cdn-Cache-Status", read: readCacheWords},            // Google Cloud CDN, as its documentation suggests
	{name: "Cdn-Cache", read: readCacheWords},                   // Bunny
	{name: "X-Cache", read: readCacheWords},                     // CloudFront, Fastly, Akamai, Azure, Varnish, Squid, KeyCDN
	{name: "X-Cache-Status", read: readCacheWords},              // nginx by custom
	{name: "X-Proxy-Cache", read: readCacheWords},               // nginx by custom
	{name: "X-Nginx-Cache", read: readCacheWords},               // nginx by custom
	{name: "X-Fastcgi-Cache", read: readCacheWords},             // nginx by custom
	{name: "X-Kinsta-Cache", read: readCacheWords},              // Kinsta
	{name: "X-Varnish-Cache", read: readCacheWords},             // Varnish by custom
	{name: "X-Varnish", read: readVarnish},                      // Varnish
	{name: "X-Litespeed-Cache", read: readCacheWords},           // LiteSpeed
	{name: "X-Drupal-Cache", read: readCacheWords, inner: true}, // Drupal
	{name: "X-Magento-Cache-Debug", read: readCacheWords, inner: true},
	{name: "X-Wp-Super-Cache", read: readCacheWords, inner: true},
}

// cacheWords are the words in which caches speak.
var cacheWords = map[string]CacheVerdict{
	"HIT": CacheHit, "PRERENDER": CacheHit, "HIT-CLUSTER": CacheHit, "HIT-WAIT": CacheHit,
	"TCP_HIT": CacheHit, "TCP_MEM_HIT": CacheHit, "TCP_DISK_HIT": CacheHit, "TCP_IMS_HIT": CacheHit, "TCP_REMOTE_HIT": CacheHit, "TCP_NEGATIVE_HIT": CacheHit,

	"STALE": CacheStale, "UPDATING": CacheStale, "HIT-STALE": CacheStale, "TCP_EXPIRED_HIT": CacheStale, "TCP_REFRESH_FAIL_HIT": CacheStale,

	"REVALIDATED": CacheRevalidated, "REFRESHHIT": CacheRevalidated, "TCP_REFRESH_HIT": CacheRevalidated,

	"EXPIRED": CacheExpired, "TCP_EXPIRED_MISS": CacheExpired, "TCP_REFRESH_MISS": CacheExpired,

	"MISS": CacheMiss, "MISS-CLUSTER": CacheMiss, "TCP_MISS": CacheMiss, "TCP_REMOTE_MISS": CacheMiss, "TCP_CLIENT_REFRESH_MISS": CacheMiss,

	"BYPASS": CacheBypass, "PASS": CacheBypass, "PRIVATE_NOSTORE": CacheBypass, "TCP_COOKIE_DENY": CacheBypass,

	"DYNAMIC": CacheDynamic, "UNCACHEABLE": CacheDynamic, "CONFIG_NOCACHE": CacheDynamic, "DISABLED": CacheDynamic,
}

// cacheRank orders verdicts by how much a cache did. Where there are several
// caches the one that did most counts: what it served the origin did not.
var cacheRank = map[CacheVerdict]int{
	CacheHit: 7, CacheStale: 6, CacheRevalidated: 5, CacheExpired: 4, CacheMiss: 3, CacheBypass: 2, CacheDynamic: 1,
}

func fuller(a, b CacheVerdict) CacheVerdict {
	if cacheRank[b] > cacheRank[a] {
		return b
	}
	return a
}

// readCacheWords reads a list of words, one for each layer of a cache. Of each
// the first counts: the rest names the machine.
func readCacheWords(value string) (v CacheVerdict) {
	for part := range strings.SplitSeq(value, ",") {
		word, _, _ := strings.Cut(strings.TrimSpace(part), " ")
		word, _, _ = strings.Cut(word, ";")
		v = fuller(v, cacheWords[strings.ToUpper(word)])
	}
	return v
}

// readVarnish reads the numbers of the request and, on a hit, of the one that
// had filled the cache.
func readVarnish(value string) CacheVerdict {
	ids := strings.Fields(value)
	for _, id := range ids {
		if _, err := strconv.ParseUint(id, 10, 64); err != nil {
			return ""
		}
	}
	switch len(ids) {
	case 1:
		return CacheMiss
	case 2:
		return CacheHit
	default:
		return ""
	}
}

// cacheStatus is the header of RFC 9211: a list of caches, the one next to the
// origin first, each with what it did.
const cacheStatus = "Cache-Status"

// netlifyCaches begin the names of caches in Cache-Status that have lifetimes of
// their own.
const netlifyCaches = "netlify"

// readCacheStatus reads Cache-Status.
func readCacheStatus(value string) (v CacheVerdict, own bool) {
	for _, member := range splitQuoted(value, ',') {
		fields := splitQuoted(member, ';')
		var one CacheVerdict
		for _, f := range fields[1:] {
			one = fuller(one, cacheParameter(f))
		}
		v = fuller(v, one)
		name := strings.Trim(strings.ToLower(strings.TrimSpace(fields[0])), `"`)
		own = own || strings.HasPrefix(name, netlifyCaches)
	}
	return v, own
}

// cacheParameter reads one parameter of a member of Cache-Status.
func cacheParameter(p string) CacheVerdict {
	key, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(p)), "=")
	switch {
	case key == "hit" && (value == "" || value == "?1"):
		return CacheHit
	case key != "fwd":
		return ""
	}
	switch value {
	case "stale":
		return CacheExpired
	case "miss", "uri-miss", "vary-miss", "partial", "request":
		return CacheMiss
	case "bypass", "method":
		return CacheBypass
	default:
		return ""
	}
}

// splitQuoted cuts a header at a separator outside of quoted strings.
func splitQuoted(s string, sep byte) []string {
	var parts []string
	start, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == sep && !quoted:
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	return append(parts, s[start:])
}

// ReadCache reads what caches say in the header of an answer to a plain GET, and
// whether a shared cache may keep it (RFC 9111, and what well-known caches do
// beyond it). The word of a cache weighs more than what its origin allows: what
// was served from a copy can be cached.
func ReadCache(h http.Header) CacheAnswer {
	var a CacheAnswer
	a.Age = readAge(h)
	own := a.spoken(h)
	switch a.Verdict {
	case CacheHit, CacheStale, CacheRevalidated:
	case CacheBypass, CacheDynamic:
		if a.Barred = barred(h, own); a.Barred == "" {
			a.Barred = a.By
		}
	default:
		a.Barred = barred(h, own)
	}
	return a
}

// spoken finds the cache that did most, and tells whether it has lifetimes of
// its own.
func (a *CacheAnswer) spoken(h http.Header) (own bool) {
	take := func(name, value string, v CacheVerdict) bool {
		if cacheRank[v] <= cacheRank[a.Verdict] {
			return false
		}
		a.Verdict, a.By = v, headerLine(name, value)
		return true
	}
	if value := joined(h, cacheStatus); value != "" {
		v, its := readCacheStatus(value)
		own = take(cacheStatus, value, v) && its
	}
	for i := range cacheHeaders {
		c := &cacheHeaders[i]
		value := joined(h, c.name)
		if value == "" || c.inner && cacheRank[a.Verdict] > cacheRank[CacheBypass] {
			continue
		}
		if take(c.name, value, c.read(value)) {
			own = c.own
		}
	}
	if a.Verdict == "" && a.Age > 0 {
		a.Verdict, a.By = CacheHit, headerLine("Age", joined(h, "Age"))
	}
	return own
}

// maxAge bounds an Age: beyond it somebody cannot count.
const maxAge = 10 * 365 * 24 * time.Hour

func readAge(h http.Header) time.Duration {
	n, err := strconv.ParseUint(strings.TrimSpace(h.Get("Age")), 10, 31)
	if err != nil {
		return 0
	}
	return min(time.Duration(n)*time.Second, maxAge)
}

// cacheControls are the fields that tell shared caches what to do, the strongest
// first: one that is meant for them replaces the common one (RFC 9213).
var cacheControls = []string{"Cdn-Cache-Control", "Surrogate-Control", "Cache-Control"}

// barred names the header that keeps a shared cache from serving an answer
// again by itself. own leaves out what is said of lifetimes.
func barred(h http.Header, own bool) string {
	for _, name := range cacheControls {
		value := joined(h, name)
		if value == "" {
			continue
		}
		word, life := controlBars(value)
		if word != "" && !(life && own) {
			return headerLine(name, word)
		}
		if name != "Cache-Control" {
			return barredBeside(h) // what the origin says to others does not count
		}
	}
	if joined(h, "Cache-Control") == "" && !own {
		if strings.EqualFold(strings.TrimSpace(h.Get("Pragma")), "no-cache") {
			return "Pragma: no-cache"
		}
		if value := h.Get("Expires"); value != "" && expired(value, h.Get("Date")) {
			return headerLine("Expires", value)
		}
	}
	return barredBeside(h)
}

// barredBeside looks at what keeps common caches from keeping an answer beside
// what Cache-Control says.
func barredBeside(h http.Header) string {
	if len(h.Values("Set-Cookie")) > 0 {
		return "Set-Cookie" // whose value is somebody's secret
	}
	for part := range strings.SplitSeq(joined(h, "Vary"), ",") {
		if strings.TrimSpace(part) == "*" {
			return "Vary: *"
		}
	}
	return ""
}

// controlBars finds the directive that forbids a shared cache to serve an answer
// again, and tells whether it is only a lifetime that is over at once.
func controlBars(value string) (word string, life bool) {
	var soft string // a lifetime of nothing
	shared, stale := false, false
	for _, part := range splitQuoted(value, ',') {
		part = strings.TrimSpace(part)
		key, arg, has := strings.Cut(strings.ToLower(part), "=")
		none := isZero(strings.Trim(strings.TrimSpace(arg), `"`))
		switch strings.TrimSpace(key) {
		case "no-store":
			return part, false
		case "private":
			if !has { // with field names the rest may be kept
				return part, false
			}
		case "no-cache":
			if !has && soft == "" {
				soft = part
			}
		case "max-age":
			if none && !shared && soft == "" {
				soft = part
			}
		case "s-maxage":
			// It replaces max-age for shared caches, whichever stands first.
			if shared = true; strings.HasPrefix(strings.ToLower(soft), "max-age") {
				soft = ""
			}
			if none && soft == "" {
				soft = part
			}
		case "stale-while-revalidate":
			stale = stale || !none // an old copy is served while a new one is made
		}
	}
	if stale && !strings.EqualFold(soft, "no-cache") {
		return "", false
	}
	return soft, soft != ""
}

// isZero tells whether a number of seconds is none at all.
func isZero(arg string) bool { return arg != "" && strings.Trim(arg, "0") == "" }

// expired tells whether an answer is too old from the beginning. A value that is
// no date, such as 0, is in the past.
func expired(expires, date string) bool {
	until, err := http.ParseTime(expires)
	if err != nil {
		return true
	}
	from, err := http.ParseTime(date)
	return err == nil && !until.After(from)
}

// joined is a header in one line, however many it came in.
func joined(h http.Header, name string) string {
	switch values := h[name]; len(values) {
	case 0:
		return ""
	case 1:
		return values[0]
	default:
		return strings.Join(values, ", ")
	}
}

// maxHeaderLine bounds what is kept of a header.
const maxHeaderLine = 100

// headerLine is a header as people know it, cut to what can be shown.
func headerLine(name, value string) string {
	switch name {
	case "Cf-Cache-Status":
		name = "CF-Cache-Status" // as everybody writes it
	case "Cdn-Cache-Status", "Cdn-Cache", "Cdn-Cache-Control":
		name = "CDN" + name[len("Cdn"):]
	}
	line := name + ": " + strings.ToValidUTF8(strings.TrimSpace(value), "")
	if len(line) > maxHeaderLine {
		line = strings.ToValidUTF8(line[:maxHeaderLine], "") + "…"
	}
	return line
}
