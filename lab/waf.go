package lab

import (
	"net/http"
	"strings"
)

// challenge is a page that a web application firewall serves instead of the requested
// one. The texts are ours; the identifying marks (status, headers, script paths, phrases)
// are those seen in public.
type challenge struct {
	Choice
	status int
	header map[string]string
	title  string
	body   string
}

var challenges = []challenge{
	{
		Choice{"cloudflare-403", "403, cf-mitigated: challenge, \"Just a moment...\""},
		http.StatusForbidden,
		map[string]string{"Server": "cloudflare", "Cf-Mitigated": "challenge", "Cf-Ray": "8f00000000000000-LAB"},
		"Just a moment...",
		`<div id="challenge-error-text">Enable JavaScript and cookies to continue</div><script src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1?ray=8f"></script>`,
	},
	{
		Choice{"cloudflare-503", "503 with the older browser check"},
		http.StatusServiceUnavailable,
		map[string]string{"Server": "cloudflare", "Cf-Ray": "8f00000000000001-LAB"},
		"Just a moment...",
		`<div id="cf-content">Checking your browser before accessing the site.</div><form id="challenge-form" action="/?__cf_chl_f_tk=lab"></form>`,
	},
	{
		Choice{"akamai", "403, \"Access Denied\" with a reference number"},
		http.StatusForbidden,
		map[string]string{"Server": "AkamaiGHost"},
		"Access Denied",
		`<h1>Access Denied</h1>You don't have permission to access this page on this server.<p>Reference&#32;&#35;18&#46;1ab&#46;1700000000&#46;2cd`,
	},
	{
		Choice{"imperva-200", "200 with an Incapsula frame instead of the page"},
		http.StatusOK,
		map[string]string{"X-Iinfo": "1-2-3 NNNN CT(0 0 0)", "X-Cdn": "Imperva"},
		"",
		`<iframe id="main-iframe" src="/_Incapsula_Resource?SWUDNSAI=31&amp;incident_id=1-2">Request unsuccessful. Incapsula incident ID: 1-2</iframe>`,
	},
	{
		Choice{"datadome", "403, a DataDome captcha script"},
		http.StatusForbidden,
		map[string]string{"X-Datadome": "protected", "X-Dd-B": "1"},
		"lab",
		`<p id="cmsg">Please enable JS and disable any ad blocker</p><script>var dd={'rt':'c','cid':'lab','host':'geo.captcha-delivery.com'}</script>`,
	},
	{
		Choice{"anubis-200", "200 with a proof of work, \"Making sure you're not a bot!\""},
		http.StatusOK,
		nil,
		"Making sure you&#39;re not a bot!",
		`<script id="anubis_challenge" type="application/json">{"rules":{"difficulty":4}}</script><p>Protected by Anubis</p>`,
	},
	{
		Choice{"aws-202", "202, x-amzn-waf-action: challenge, an empty page"},
		http.StatusAccepted,
		map[string]string{"X-Amzn-Waf-Action": "challenge"},
		"", `<script src="https://lab.token.awswaf.test/challenge.js"></script><div id="challenge-container"></div>`,
	},
	{
		Choice{"captcha-200", "200, a captcha form without any vendor's mark"},
		http.StatusOK,
		nil,
		"Are you a robot?",
		`<form action="/verify" method="post"><div class="g-recaptcha" data-sitekey="lab"></div><button>Verify you are human</button></form>`,
	},
}

// wafExhibits show each challenge.
var wafExhibits = func() (list []Exhibit) {
	for i := range challenges {
		c := &challenges[i]
		list = append(list, Exhibit{Path: "/exhibit/waf/" + c.Name, About: "challenge: " + c.About, serve: func(x *exchange) { x.challenged(c) }})
	}
	return list
}()

// Challenges lists the values of [Site.Challenge].
func Challenges() []Choice {
	list := make([]Choice, len(challenges))
	for i := range challenges {
		list[i] = challenges[i].Choice
	}
	return list
}

// findChallenge returns a challenge by name; "" is the first.
func findChallenge(name string) *challenge {
	for i := range challenges {
		if challenges[i].Name == name {
			return &challenges[i]
		}
	}
	return &challenges[0]
}

// challenged responds with a challenge instead of the content of the path.
func (x *exchange) challenged(c *challenge) {
	x.challenge = true
	head := x.Header()
	for key, value := range c.header {
		head.Set(key, value)
	}
	head.Set("Content-Type", htmlType)
	head.Set("Cache-Control", "private, max-age=0, no-store")
	var page strings.Builder
	page.WriteString("<!DOCTYPE html><html><head><title>" + c.title + "</title><meta name=\"robots\" content=\"noindex,nofollow\"></head><body>")
	page.WriteString(c.body + "</body></html>\n")
	x.WriteHeader(c.status)
	x.put([]byte(page.String()))
}
