package fetch

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// CacheVerdict is what a cache in front of the origin did with a request.
type CacheVerdict string

// The verdicts. Empty means that no cache reported anything.
const (
	CacheHit         CacheVerdict = "hit"         // served from the cache
	CacheStale       CacheVerdict = "stale"       // served from an expired copy
	CacheRevalidated CacheVerdict = "revalidated" // the origin confirmed the copy
	CacheExpired     CacheVerdict = "expired"     // the copy had expired: served by the origin
	CacheMiss        CacheVerdict = "miss"        // no copy: served by the origin
	CacheBypass      CacheVerdict = "bypass"      // not cached this time
	CacheDynamic     CacheVerdict = "dynamic"     // responses of this kind are never cached
)

// CacheAnswer is what the response header says about caches.
type CacheAnswer struct {
	Verdict CacheVerdict
	By      string        // the header that says so, shortened
	Age     time.Duration // age of the copy; 0 if unknown
	// Barred is the header that prevents a shared cache from serving the response
	// without contacting the origin; empty if there is none.
	Barred string
}

// Cold reports whether the origin had to produce the response, according to the
// caches: only a cached copy saves that.
func (a CacheAnswer) Cold() bool { return a.Verdict != CacheHit && a.Verdict != CacheStale }

// cacheHeader is a response header in which a cache reports its verdict.
type cacheHeader struct {
	name string
	read func(value string) CacheVerdict
	// inner marks a cache inside the origin, such as that of a content management
	// system. It counts only if no cache in front of it stores the response.
	inner bool
	// own marks a cache with its own lifetimes: the lifetimes in Cache-Control are
	// meant for browsers, and the header for the cache itself is removed.
	own bool
}

// cacheHeaders are the headers of well-known caches.
var cacheHeaders = []cacheHeader{
	{name: "Cf-Cache-Status", read: readCacheWords},             // Cloudflare
	{name: "X-Vercel-Cache", read: readCacheWords, own: true},   // Vercel
	{name: "Cdn-Cache-Status", read: readCacheWords},            // Google Cloud CDN, as its documentation suggests
	{name: "Cdn-Cache", read: readCacheWords},                   // Bunny
	{name: "X-Cache", read: readCacheWords},                     // CloudFront, Fastly, Akamai, Azure, Varnish, Squid, KeyCDN
	{name: "X-Cache-Status", read: readCacheWords},              // nginx by convention
	{name: "X-Proxy-Cache", read: readCacheWords},               // nginx by convention
	{name: "X-Nginx-Cache", read: readCacheWords},               // nginx by convention
	{name: "X-Fastcgi-Cache", read: readCacheWords},             // nginx by convention
	{name: "X-Kinsta-Cache", read: readCacheWords},              // Kinsta
	{name: "X-Varnish-Cache", read: readCacheWords},             // Varnish by convention
	{name: "X-Varnish", read: readVarnish},                      // Varnish
	{name: "X-Litespeed-Cache", read: readCacheWords},           // LiteSpeed
	{name: "X-Drupal-Cache", read: readCacheWords, inner: true}, // Drupal
	{name: "X-Magento-Cache-Debug", read: readCacheWords, inner: true},
	{name: "X-Wp-Super-Cache", read: readCacheWords, inner: true},
}

// cacheWords maps the words used by caches to verdicts.
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

// cacheRank orders verdicts by how much work the cache saved. With several caches
// the highest rank counts.
var cacheRank = map[CacheVerdict]int{
	CacheHit: 7, CacheStale: 6, CacheRevalidated: 5, CacheExpired: 4, CacheMiss: 3, CacheBypass: 2, CacheDynamic: 1,
}

func fuller(a, b CacheVerdict) CacheVerdict {
	if cacheRank[b] > cacheRank[a] {
		return b
	}
	return a
}

// readCacheWords reads a list with one entry per cache layer. The first word of each
// entry counts; the rest names the machine.
func readCacheWords(value string) (v CacheVerdict) {
	for part := range strings.SplitSeq(value, ",") {
		word, _, _ := strings.Cut(strings.TrimSpace(part), " ")
		word, _, _ = strings.Cut(word, ";")
		v = fuller(v, cacheWords[strings.ToUpper(word)])
	}
	return v
}

// readVarnish reads X-Varnish: the ID of this request and, on a hit, the ID of the
// request that filled the cache.
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

// cacheStatus is the header of RFC 9211: a list of caches, starting next to the
// origin, each with what it did.
const cacheStatus = "Cache-Status"

// netlifyCaches is the prefix of the caches in Cache-Status that have their own
// lifetimes.
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

// splitQuoted splits a header at separators outside quoted strings.
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

// ReadCache reads from the response header of a plain GET what caches did, and
// whether a shared cache may store the response (RFC 9111, and what well-known
// caches do beyond it). A cache's own report overrides what the origin allows: a
// response served from a copy is cacheable.
func ReadCache(h http.Header) CacheAnswer {
	var a CacheAnswer
	a.Age = readAge(h)
	own := a.readVerdict(h)
	switch a.Verdict {
	case CacheHit, CacheStale, CacheRevalidated:
	case CacheBypass, CacheDynamic:
		if a.Barred = blockingHeader(h, own); a.Barred == "" {
			a.Barred = a.By
		}
	default:
		a.Barred = blockingHeader(h, own)
	}
	return a
}

// readVerdict sets the verdict of the cache that saved the most work, and reports whether
// that cache has its own lifetimes.
func (a *CacheAnswer) readVerdict(h http.Header) (own bool) {
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

// maxAge bounds an Age; larger values are nonsense.
const maxAge = 10 * 365 * 24 * time.Hour

func readAge(h http.Header) time.Duration {
	n, err := strconv.ParseUint(strings.TrimSpace(h.Get("Age")), 10, 31)
	if err != nil {
		return 0
	}
	return min(time.Duration(n)*time.Second, maxAge)
}

// cacheControls are the fields with directives for shared caches. The first one
// present applies: a targeted field replaces Cache-Control (RFC 9213).
var cacheControls = []string{"Cdn-Cache-Control", "Surrogate-Control", "Cache-Control"}

// blockingHeader returns the header that prevents a shared cache from serving a response
// without the origin, or "". With own, lifetimes are ignored.
func blockingHeader(h http.Header, own bool) string {
	for _, name := range cacheControls {
		value := joined(h, name)
		if value == "" {
			continue
		}
		word, life := blockingDirective(value)
		if word != "" && !(life && own) {
			return headerLine(name, word)
		}
		if name != "Cache-Control" {
			return otherBlockingHeader(h) // a targeted field replaces Cache-Control
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
	return otherBlockingHeader(h)
}

// otherBlockingHeader checks the headers other than Cache-Control that make common caches
// not store a response.
func otherBlockingHeader(h http.Header) string {
	if len(h.Values("Set-Cookie")) > 0 {
		return "Set-Cookie" // the value may be a secret
	}
	for part := range strings.SplitSeq(joined(h, "Vary"), ",") {
		if strings.TrimSpace(part) == "*" {
			return "Vary: *"
		}
	}
	return ""
}

// blockingDirective returns the directive that forbids a shared cache to reuse a response,
// and whether it is only a lifetime of zero.
func blockingDirective(value string) (word string, life bool) {
	var soft string // a zero lifetime
	shared, stale := false, false
	for _, part := range splitQuoted(value, ',') {
		part = strings.TrimSpace(part)
		key, arg, has := strings.Cut(strings.ToLower(part), "=")
		none := isZero(strings.Trim(strings.TrimSpace(arg), `"`))
		switch strings.TrimSpace(key) {
		case "no-store":
			return part, false
		case "private":
			if !has { // with field names, the rest of the response may be stored
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
			// s-maxage replaces max-age for shared caches, in any order.
			if shared = true; strings.HasPrefix(strings.ToLower(soft), "max-age") {
				soft = ""
			}
			if none && soft == "" {
				soft = part
			}
		case "stale-while-revalidate":
			stale = stale || !none // a stale copy is served during revalidation
		}
	}
	if stale && !strings.EqualFold(soft, "no-cache") {
		return "", false
	}
	return soft, soft != ""
}

// isZero reports whether a number of seconds is zero.
func isZero(arg string) bool { return arg != "" && strings.Trim(arg, "0") == "" }

// expired reports whether a response had expired when it was sent. A value that is
// not a date, such as 0, is in the past.
func expired(expires, date string) bool {
	until, err := http.ParseTime(expires)
	if err != nil {
		return true
	}
	from, err := http.ParseTime(date)
	return err == nil && !until.After(from)
}

// joined returns all lines of a header as one.
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

// headerLine formats a header for display, shortened.
func headerLine(name, value string) string {
	switch name {
	case "Cf-Cache-Status":
		name = "CF-Cache-Status" // the common spelling
	case "Cdn-Cache-Status", "Cdn-Cache", "Cdn-Cache-Control":
		name = "CDN" + name[len("Cdn"):]
	}
	line := name + ": " + strings.ToValidUTF8(strings.TrimSpace(value), "")
	if len(line) > maxHeaderLine {
		line = strings.ToValidUTF8(line[:maxHeaderLine], "") + "…"
	}
	return line
}
