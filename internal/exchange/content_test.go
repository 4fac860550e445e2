package exchange

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"headway/content"
	"headway/extract"
	"headway/fetch"
	"headway/parse"
	"headway/visit"
	"headway/weburl"
)

// TestContentOf keeps the texts of fetched HTML pages only.
func TestContentOf(t *testing.T) {
	const html = "<body><article><p>Some words of an article.</p></article>"
	a := &Requester{Content: content.Options{Text: true}}
	for name, test := range map[string]struct {
		status int
		kind   string
		header http.Header
		want   bool
	}{
		"a page":           {200, "text/html", nil, true},
		"an error page":    {404, "text/html", nil, false},
		"no HTML":          {200, "text/css", nil, false},
		"a challenge page": {200, "text/html", http.Header{"X-Amzn-Waf-Action": {"challenge"}}, false},
	} {
		header := http.Header{"Content-Type": {test.kind}}
		maps.Copy(header, test.header)
		r := &reading{res: &fetch.Result{Status: test.status, Header: header, Body: []byte(html)}}
		a.read(r)
		is := r.content
		if got := is != nil && is.Text == "Some words of an article." && is.Words == 5 && is.Digest != ""; got != test.want || (is != nil) != test.want {
			t.Errorf("%s: %+v", name, is)
		}
	}
	broken := &reading{res: &fetch.Result{Status: 200}, page: parse.Page{Type: parse.TypeHTML}, parseErr: &parse.PanicError{}}
	if is := contentOf(broken, content.NewReader(), a.Content, nil); is != nil {
		t.Errorf("a page that could not be parsed: %+v", is)
	}
}

// TestFieldsOf keeps fields of the pages that rules apply to, with and without texts.
func TestFieldsOf(t *testing.T) {
	rules, err := extract.Read("rules.yaml", []byte("name: {css: h1, when: /a/*}\nlink: {css: a, attribute: href, type: url, when: /a/*}\nday: {css: i, type: date, when: /a/*}\n"))
	if err != nil {
		t.Fatal(err)
	}
	html := []byte("<base href=/base/><h1>Lamp</h1><a href=x>y</a><i>soon</i><article><p>" + strings.Repeat("Some words of an article. ", 40) + "</p></article>")
	const fields = `{"name":"Lamp","link":"http://h.example/base/x"}`
	for _, test := range []struct {
		url   string
		texts content.Options
		want  string
	}{
		{"http://h.example/a/1", content.Options{}, fields},
		{"http://h.example/a/1", content.Options{Text: true}, fields},
		{"http://h.example/b/1", content.Options{Text: true}, ""},
		{"http://h.example/b/1", content.Options{}, ""},
	} {
		u, err := weburl.Parse(test.url)
		if err != nil {
			t.Fatal(err)
		}
		r := &reading{res: &fetch.Result{Status: 200, URL: u, Header: http.Header{"Content-Type": {"text/html"}}, Body: html}}
		(&Requester{Content: test.texts, Extract: rules}).read(r)
		is := r.content
		if r.page.Body != nil {
			t.Errorf("%s: the body is kept", test.url)
		}
		if test.want == "" && !test.texts.Text {
			if is != nil {
				t.Errorf("%s: %+v", test.url, is)
			}
			continue
		}
		if is == nil || string(is.Fields) != test.want || (is.FieldProblems != "") != (test.want != "") || (is.Text != "") != test.texts.Text || (is.Digest != "") != test.texts.Text {
			t.Errorf("%s with %+v: %+v", test.url, test.texts, is)
		}
	}
}

// TestTooManyFields leaves out values that could not be stored.
func TestTooManyFields(t *testing.T) {
	long := extract.Value{JSON: `"` + strings.Repeat("x", visit.MaxText/2) + `"`}
	one := []extract.Field{{Name: "a", Values: []extract.Value{long}}, {Name: "b", Problem: "cut"}}
	if values, problems := objectsOf(one); len(values) < visit.MaxText/2 || problems != `{"b":"cut"}` {
		t.Errorf("%d bytes; %s", len(values), problems)
	}
	two := []extract.Field{{Name: "a", Values: []extract.Value{long}}, {Name: "b", Values: []extract.Value{long}}}
	const want = `{"a":"left out: the fields of the page have more than 1048576 bytes","b":"left out: the fields of the page have more than 1048576 bytes"}`
	if values, problems := objectsOf(two); values != "" || problems != want {
		t.Errorf("%d bytes; %s", len(values), problems)
	}
}

// TestCut cuts between two characters.
func TestCut(t *testing.T) {
	if text, is := cut(strings.Repeat("a", visit.MaxText)); is || len(text) != visit.MaxText {
		t.Errorf("%d bytes, cut %v", len(text), is)
	}
	if text, is := cut(strings.Repeat("€", visit.MaxText)); !is || len(text) > visit.MaxText || len(text) < visit.MaxText-3 || !utf8.ValidString(text) {
		t.Errorf("%d bytes, cut %v", len(text), is)
	}
}
