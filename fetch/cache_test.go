package fetch

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// header parses lines as a server sends them.
func header(lines ...string) http.Header {
	h := http.Header{}
	for _, l := range lines {
		name, value, _ := strings.Cut(l, ":")
		h.Add(name, strings.TrimSpace(value))
	}
	return h
}

// TestReadCache has samples from well-known caches.
func TestReadCache(t *testing.T) {
	const day = 24 * time.Hour
	for name, tc := range map[string]struct {
		lines []string
		want  CacheAnswer
	}{
		"nothing said":       {nil, CacheAnswer{}},
		"cloudflare hit":     {[]string{"CF-Cache-Status: HIT", "Age: 1035", "Cache-Control: public, max-age=14400"}, CacheAnswer{Verdict: CacheHit, By: "CF-Cache-Status: HIT", Age: 1035 * time.Second}},
		"cloudflare miss":    {[]string{"CF-Cache-Status: MISS", "Cache-Control: public, max-age=14400"}, CacheAnswer{Verdict: CacheMiss, By: "CF-Cache-Status: MISS"}},
		"cloudflare expired": {[]string{"CF-Cache-Status: EXPIRED", "Cache-Control: max-age=60"}, CacheAnswer{Verdict: CacheExpired, By: "CF-Cache-Status: EXPIRED"}},
		"cloudflare dynamic": {[]string{"CF-Cache-Status: DYNAMIC", "Cache-Control: max-age=60"}, CacheAnswer{Verdict: CacheDynamic, By: "CF-Cache-Status: DYNAMIC", Barred: "CF-Cache-Status: DYNAMIC"}},
		"cloudflare bypass":  {[]string{"CF-Cache-Status: BYPASS", "Cache-Control: private, no-store"}, CacheAnswer{Verdict: CacheBypass, By: "CF-Cache-Status: BYPASS", Barred: "Cache-Control: private"}},
		"cloudflare updates": {[]string{"CF-Cache-Status: UPDATING", "Age: 90"}, CacheAnswer{Verdict: CacheStale, By: "CF-Cache-Status: UPDATING", Age: 90 * time.Second}},
		"cloudflare asks":    {[]string{"CF-Cache-Status: REVALIDATED"}, CacheAnswer{Verdict: CacheRevalidated, By: "CF-Cache-Status: REVALIDATED"}},
		"cloudflare unknown": {[]string{"CF-Cache-Status: NONE/UNKNOWN"}, CacheAnswer{}},

		"cloudfront hit":     {[]string{"X-Cache: Hit from cloudfront", "Via: 1.1 a.cloudfront.net (CloudFront)", "Age: 7"}, CacheAnswer{Verdict: CacheHit, By: "X-Cache: Hit from cloudfront", Age: 7 * time.Second}},
		"cloudfront miss":    {[]string{"X-Cache: Miss from cloudfront"}, CacheAnswer{Verdict: CacheMiss, By: "X-Cache: Miss from cloudfront"}},
		"cloudfront refresh": {[]string{"X-Cache: RefreshHit from cloudfront"}, CacheAnswer{Verdict: CacheRevalidated, By: "X-Cache: RefreshHit from cloudfront"}},
		"cloudfront error":   {[]string{"X-Cache: Error from cloudfront"}, CacheAnswer{}},

		"fastly edge hit":    {[]string{"X-Served-By: cache-fra-1, cache-lcy-2", "X-Cache: MISS, HIT", "X-Cache-Hits: 0, 3", "Age: 12"}, CacheAnswer{Verdict: CacheHit, By: "X-Cache: MISS, HIT", Age: 12 * time.Second}},
		"fastly shield hit":  {[]string{"X-Cache: HIT, MISS"}, CacheAnswer{Verdict: CacheHit, By: "X-Cache: HIT, MISS"}},
		"fastly miss":        {[]string{"X-Cache: MISS, MISS", "Cache-Control: no-cache", "Surrogate-Control: max-age=3600"}, CacheAnswer{Verdict: CacheMiss, By: "X-Cache: MISS, MISS"}},
		"fastly pass":        {[]string{"X-Cache: PASS, PASS", "Cache-Control: private"}, CacheAnswer{Verdict: CacheBypass, By: "X-Cache: PASS, PASS", Barred: "Cache-Control: private"}},
		"fastly two lines":   {[]string{"X-Cache: MISS", "X-Cache: HIT"}, CacheAnswer{Verdict: CacheHit, By: "X-Cache: MISS, HIT"}},
		"akamai memory":      {[]string{"X-Cache: TCP_MEM_HIT from a23-45-67-89.deploy.akamaitechnologies.com (AkamaiGHost/11.1)"}, CacheAnswer{Verdict: CacheHit, By: "X-Cache: TCP_MEM_HIT from a23-45-67-89.deploy.akamaitechnologies.com (AkamaiGHost/11.1)"}},
		"akamai refresh":     {[]string{"X-Cache: TCP_REFRESH_MISS from a1.deploy.akamai.net"}, CacheAnswer{Verdict: CacheExpired, By: "X-Cache: TCP_REFRESH_MISS from a1.deploy.akamai.net"}},
		"azure":              {[]string{"X-Cache: TCP_REMOTE_HIT"}, CacheAnswer{Verdict: CacheHit, By: "X-Cache: TCP_REMOTE_HIT"}},
		"azure without":      {[]string{"X-Cache: CONFIG_NOCACHE"}, CacheAnswer{Verdict: CacheDynamic, By: "X-Cache: CONFIG_NOCACHE", Barred: "X-Cache: CONFIG_NOCACHE"}},
		"google":             {[]string{"Cdn-Cache-Status: miss", "Cache-Control: public, max-age=3600"}, CacheAnswer{Verdict: CacheMiss, By: "CDN-Cache-Status: miss"}},
		"bunny":              {[]string{"CDN-Cache: HIT", "CDN-CachedAt: 11/15/2026 09:00:00"}, CacheAnswer{Verdict: CacheHit, By: "CDN-Cache: HIT"}},
		"nginx":              {[]string{"X-Cache-Status: BYPASS"}, CacheAnswer{Verdict: CacheBypass, By: "X-Cache-Status: BYPASS", Barred: "X-Cache-Status: BYPASS"}},
		"nginx updating":     {[]string{"X-Proxy-Cache: UPDATING"}, CacheAnswer{Verdict: CacheStale, By: "X-Proxy-Cache: UPDATING"}},
		"litespeed private":  {[]string{"X-LiteSpeed-Cache: hit,private"}, CacheAnswer{Verdict: CacheHit, By: "X-Litespeed-Cache: hit,private"}},
		"varnish hit":        {[]string{"X-Varnish: 163843 131076", "Age: 3", "Via: 1.1 varnish (Varnish/7.4)"}, CacheAnswer{Verdict: CacheHit, By: "X-Varnish: 163843 131076", Age: 3 * time.Second}},
		"varnish miss":       {[]string{"X-Varnish: 163843", "Age: 0"}, CacheAnswer{Verdict: CacheMiss, By: "X-Varnish: 163843"}},
		"varnish odd":        {[]string{"X-Varnish: hello"}, CacheAnswer{}},
		"only an age":        {[]string{"Age: 86400"}, CacheAnswer{Verdict: CacheHit, By: "Age: 86400", Age: day}},
		"an age of nonsense": {[]string{"Age: -5"}, CacheAnswer{}},

		"vercel hit":         {[]string{"X-Vercel-Cache: HIT", "Cache-Control: public, max-age=0, must-revalidate", "Age: 40"}, CacheAnswer{Verdict: CacheHit, By: "X-Vercel-Cache: HIT", Age: 40 * time.Second}},
		"vercel prerendered": {[]string{"X-Vercel-Cache: PRERENDER"}, CacheAnswer{Verdict: CacheHit, By: "X-Vercel-Cache: PRERENDER"}},
		"vercel miss":        {[]string{"X-Vercel-Cache: MISS", "Cache-Control: public, max-age=0, must-revalidate"}, CacheAnswer{Verdict: CacheMiss, By: "X-Vercel-Cache: MISS"}},
		"vercel function":    {[]string{"X-Vercel-Cache: MISS", "Cache-Control: private, no-cache, no-store"}, CacheAnswer{Verdict: CacheMiss, By: "X-Vercel-Cache: MISS", Barred: "Cache-Control: private"}},
		"vercel stale":       {[]string{"X-Vercel-Cache: STALE"}, CacheAnswer{Verdict: CacheStale, By: "X-Vercel-Cache: STALE"}},

		"rfc 9211 hit":      {[]string{"Cache-Status: ExampleCache; hit; ttl=376"}, CacheAnswer{Verdict: CacheHit, By: "Cache-Status: ExampleCache; hit; ttl=376"}},
		"rfc 9211 layers":   {[]string{`Cache-Status: OriginCache; hit; ttl=1100, "CDN Company, Here"; fwd=uri-miss; stored`}, CacheAnswer{Verdict: CacheHit, By: `Cache-Status: OriginCache; hit; ttl=1100, "CDN Company, Here"; fwd=uri-miss; stored`}},
		"rfc 9211 stale":    {[]string{"Cache-Status: ExampleCache; fwd=stale; fwd-status=304"}, CacheAnswer{Verdict: CacheExpired, By: "Cache-Status: ExampleCache; fwd=stale; fwd-status=304"}},
		"rfc 9211 bypass":   {[]string{"Cache-Status: ExampleCache; fwd=bypass"}, CacheAnswer{Verdict: CacheBypass, By: "Cache-Status: ExampleCache; fwd=bypass", Barred: "Cache-Status: ExampleCache; fwd=bypass"}},
		"rfc 9211 no hit":   {[]string{"Cache-Status: ExampleCache; hit=?0"}, CacheAnswer{}},
		"netlify miss":      {[]string{`Cache-Status: "Netlify Edge"; fwd=miss`, "Cache-Control: public,max-age=0,must-revalidate"}, CacheAnswer{Verdict: CacheMiss, By: `Cache-Status: "Netlify Edge"; fwd=miss`}},
		"a quote unclosed":  {[]string{`Cache-Status: "x; hit`}, CacheAnswer{}},
		"a quote too many":  {[]string{`Cache-Status: "x\`}, CacheAnswer{}},
		"varnish behind cf": {[]string{"CF-Cache-Status: DYNAMIC", "X-Varnish: 1 2"}, CacheAnswer{Verdict: CacheHit, By: "X-Varnish: 1 2"}},
		"drupal behind cf":  {[]string{"CF-Cache-Status: DYNAMIC", "X-Drupal-Cache: MISS", "Cache-Control: max-age=900, public"}, CacheAnswer{Verdict: CacheMiss, By: "X-Drupal-Cache: MISS"}},
		"drupal in a cdn":   {[]string{"X-Cache: Miss from cloudfront", "X-Drupal-Cache: HIT"}, CacheAnswer{Verdict: CacheMiss, By: "X-Cache: Miss from cloudfront"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ReadCache(header(tc.lines...)); got != tc.want {
				t.Errorf("got  %+v\nwant %+v", got, tc.want)
			}
		})
	}
}

// TestUncacheableResponses tests which responses from the origin shared caches may store.
func TestUncacheableResponses(t *testing.T) {
	const date = "Date: Sun, 15 Nov 2026 10:00:00 GMT"
	for name, tc := range map[string]struct {
		lines []string
		want  string
	}{
		"nothing forbids it":          {nil, ""},
		"a lifetime":                  {[]string{"Cache-Control: max-age=60"}, ""},
		"no-store":                    {[]string{"Cache-Control: max-age=60, No-Store"}, "Cache-Control: No-Store"},
		"private":                     {[]string{"Cache-Control: private, max-age=60"}, "Cache-Control: private"},
		"private of a field":          {[]string{`Cache-Control: private="set-cookie, x", max-age=60`}, ""},
		"no-cache":                    {[]string{"Cache-Control: no-cache"}, "Cache-Control: no-cache"},
		"no-cache of a field":         {[]string{`Cache-Control: no-cache="x", max-age=60`}, ""},
		"over at once":                {[]string{"Cache-Control: max-age=0, must-revalidate"}, "Cache-Control: max-age=0"},
		"shared lifetime last":        {[]string{"Cache-Control: max-age=0, s-maxage=600"}, ""},
		"shared lifetime first":       {[]string{"Cache-Control: s-maxage=600, max-age=0"}, ""},
		"shared lifetime of nothing":  {[]string{"Cache-Control: s-maxage=0, max-age=600"}, "Cache-Control: s-maxage=0"},
		"stale while it is made":      {[]string{"Cache-Control: s-maxage=0, stale-while-revalidate=60"}, ""},
		"a field for caches allows":   {[]string{"Cache-Control: private", "CDN-Cache-Control: max-age=600"}, ""},
		"a field for caches forbids":  {[]string{"Cache-Control: max-age=600", "CDN-Cache-Control: no-store"}, "CDN-Cache-Control: no-store"},
		"surrogate control":           {[]string{"Surrogate-Control: no-store"}, "Surrogate-Control: no-store"},
		"pragma":                      {[]string{"Pragma: no-cache"}, "Pragma: no-cache"},
		"pragma does not count":       {[]string{"Pragma: no-cache", "Cache-Control: max-age=9"}, ""},
		"expired before it came":      {[]string{"Expires: Thu, 19 Nov 1981 08:52:00 GMT", date}, "Expires: Thu, 19 Nov 1981 08:52:00 GMT"},
		"expires zero":                {[]string{"Expires: 0"}, "Expires: 0"},
		"expires later":               {[]string{"Expires: Sun, 15 Nov 2026 11:00:00 GMT", date}, ""},
		"a cookie":                    {[]string{"Cache-Control: max-age=60", "Set-Cookie: id=secret"}, "Set-Cookie"},
		"a cookie in spite of a word": {[]string{"CDN-Cache-Control: max-age=60", "Set-Cookie: id=secret"}, "Set-Cookie"},
		"varies by everything":        {[]string{"Vary: Accept, *"}, "Vary: *"},
		"varies by something":         {[]string{"Vary: Accept-Encoding"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ReadCache(header(tc.lines...)).Barred; got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	if got := ReadCache(header("Set-Cookie: id=1", "X-Cache: HIT")).Barred; got != "" {
		t.Errorf("barred by %q though a cache served it", got)
	}
}

// FuzzReadCache checks for any header that the verdict is in the closed set and names
// its header, and that the quoted text is short and readable.
func FuzzReadCache(f *testing.F) {
	f.Add("Cache-Status", `"a,b"; hit, c; fwd=stale`, "Cache-Control", "s-maxage=0, no-cache=\"x\"")
	f.Add("X-Cache", "TCP_HIT from x, MISS", "Expires", "0")
	f.Add("X-Varnish", "1 2", "Age", "99999999999")
	f.Fuzz(func(t *testing.T, name, value, other, more string) {
		h := http.Header{}
		h.Add(name, value)
		h.Add(other, more)
		a := ReadCache(h)
		if a.Verdict != "" && (cacheRank[a.Verdict] == 0 || a.By == "") || a.Verdict == "" && a.By != "" {
			t.Errorf("verdict %q by %q", a.Verdict, a.By)
		}
		if a.Age < 0 || a.Age > maxAge {
			t.Errorf("age %v", a.Age)
		}
		for _, line := range []string{a.By, a.Barred} {
			if len(line) > maxHeaderLine+len("…") || !utf8.ValidString(line) {
				t.Errorf("%q is kept", line)
			}
		}
	})
}
