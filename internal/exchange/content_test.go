package exchange

import (
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
	html := []byte("<body><article><p>" + strings.Repeat("Some words of an article. ", 40) + "</p></article>")
	for name, tc := range map[string]struct {
		status int
		page   parse.Page
		err    error
		want   bool
	}{
		"a page":           {200, parse.Page{Type: parse.TypeHTML, Body: html}, nil, true},
		"an error page":    {404, parse.Page{Type: parse.TypeHTML, Body: html}, nil, false},
		"no HTML":          {200, parse.Page{}, nil, false},
		"a challenge page": {200, parse.Page{Type: parse.TypeHTML, Body: html, Challenge: parse.Challenge{Vendor: "v"}}, nil, false},
		"not parsed":       {200, parse.Page{Type: parse.TypeHTML, Body: html}, &parse.PanicError{}, false},
	} {
		r := &reading{res: &fetch.Result{Status: tc.status}, page: tc.page, parseErr: tc.err}
		is := contentOf(r, content.Options{Text: true}, nil)
		if got := is != nil && strings.Contains(is.Text, "Some words") && is.Words > 0 && is.Digest != ""; got != tc.want || r.page.Body != nil {
			t.Errorf("%s: %+v, body %d", name, is, len(r.page.Body))
		}
	}
}

// TestFieldsOf keeps fields of the pages that rules apply to, with and without texts.
func TestFieldsOf(t *testing.T) {
	rules, err := extract.Read("rules.yaml", []byte("name: {css: h1, when: /a/*}\nlink: {css: a, attribute: href, type: url, when: /a/*}\nday: {css: i, type: date, when: /a/*}\n"))
	if err != nil {
		t.Fatal(err)
	}
	html := []byte("<h1>Lamp</h1><a href=x>y</a><i>soon</i><article><p>" + strings.Repeat("Some words of an article. ", 40) + "</p></article>")
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
		base, err := u.Resolve("/base/")
		if err != nil {
			t.Fatal(err)
		}
		r := &reading{res: &fetch.Result{Status: 200, URL: u}, page: parse.Page{Type: parse.TypeHTML, Body: html, Base: base}}
		is := contentOf(r, test.texts, rules)
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
