package lab

import "strings"

// A page with a robots tag links to one page. If the tag is nofollow, that page is below
// /nf/, so that violations count as nofollow_hits; otherwise below /exhibit/reached/.
const reachedPrefix = "/exhibit/reached/"

// tagged is one form of a robots tag.
type tagged struct {
	name   string
	values []string // of X-Robots-Tag headers, or of meta content
	follow bool     // whether a crawler named headway may follow links
}

// tagExhibits show robots tags in headers and in pages.
var tagExhibits = concat(headerTags(), metaTags())

func headerTags() (list []Exhibit) {
	for _, v := range []tagged{
		{"none", []string{"none"}, false},
		{"nofollow", []string{"nofollow"}, false},
		{"noindex", []string{"noindex"}, true},
		{"upper", []string{"NOINDEX, NOFOLLOW"}, false},
		{"spaces", []string{"  noindex ,\tnofollow  "}, false},
		{"two-headers", []string{"noindex", "nofollow"}, false},
		{"ours", []string{"headway: nofollow"}, false},
		{"other-bot", []string{"otherbot: nofollow"}, true},
		{"other-then-all", []string{"otherbot: noindex", "nofollow"}, false},
		{"date", []string{"unavailable_after: 25 Jun 2010 15:00:00 PST"}, true},
		{"snippet", []string{"max-snippet: 0, max-image-preview: none"}, true},
		{"garbage", []string{":,;=nofollowers"}, true},
		{"all", []string{"all"}, true},
	} {
		list = append(list, Exhibit{
			Path: "/exhibit/x-robots/" + v.name, About: "X-Robots-Tag: " + clean(v.values) + v.verdict(),
			serve: func(x *exchange) {
				x.Header()["X-Robots-Tag"] = v.values
				x.page200(htmlType, "<!DOCTYPE html><title>x</title>"+v.link("x-robots"))
			},
		})
	}
	return list
}

func metaTags() (list []Exhibit) {
	for _, v := range []struct {
		tagged
		html string
	}{
		{tagged{"none", nil, false}, `<meta name="robots" content="none">`},
		{tagged{"nofollow", nil, false}, `<meta name="robots" content="nofollow">`},
		{tagged{"noindex", nil, true}, `<meta name="robots" content="noindex">`},
		{tagged{"upper", nil, false}, `<META NAME=ROBOTS CONTENT="NoIndex,NoFollow">`},
		{tagged{"reversed", nil, false}, `<meta content='nofollow' name='robots'/>`},
		{tagged{"twice", nil, false}, `<meta name="robots" content="all"><meta name="robots" content="nofollow">`},
		{tagged{"ours", nil, false}, `<meta name="headway" content="nofollow">`},
		{tagged{"other-bot", nil, true}, `<meta name="googlebot" content="nofollow">`},
		{tagged{"in-comment", nil, true}, `<!-- <meta name="robots" content="nofollow"> -->`},
		{tagged{"in-script", nil, true}, `<script>'<meta name="robots" content="nofollow">'</script>`},
		{tagged{"entity", nil, false}, `<meta name="robots" content="no&#102;ollow">`},
	} {
		list = append(list, Exhibit{
			Path: "/exhibit/meta/" + v.name, About: "`" + v.html + "`" + v.verdict(),
			serve: func(x *exchange) {
				x.page200(htmlType, "<!DOCTYPE html><head>"+v.html+"<title>x</title></head><body>"+v.link("meta"))
			},
		})
	}
	return list
}

// link is the anchor of a page under the tag.
func (v *tagged) link(kind string) string {
	prefix := "/nf/"
	if v.follow {
		prefix = reachedPrefix
	}
	return "<a href=\"" + prefix + kind + "/" + v.name + "\">on</a>"
}

func (v *tagged) verdict() string {
	if v.follow {
		return ": links may be followed"
	}
	return ": links may not be followed"
}

// clean formats header values as one line of text.
func clean(values []string) string {
	return "`" + strings.Join(strings.Fields(strings.Join(values, " | ")), " ") + "`"
}
