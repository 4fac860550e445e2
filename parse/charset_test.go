package parse

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"

	"headway/internal/race"
)

func TestCharset(t *testing.T) {
	sjis := func(s string) string { return encoded(t, "shift_jis", s) }
	tests := []struct {
		name        string
		contentType string
		body        string
		charset     string
		from        CharsetSource
		title       string
	}{
		{"header", "text/html; charset=utf-8", "<title>é</title>", "utf-8", FromHeader, "é"},
		{"header in quotes", `text/html; charset="UTF-8"`, "<title>é</title>", "utf-8", FromHeader, "é"},
		{"header after others", `text/html; boundary=x; charset=latin1`, "<title>\xe9</title>", "windows-1252", FromHeader, "é"},
		{"header over meta", "text/html; charset=utf-8", "<meta charset=latin1><title>é</title>", "utf-8", FromHeader, "é"},
		{"unknown in header", "text/html; charset=klingon", "<meta charset=latin1><title>\xe9</title>", "windows-1252", FromMeta, "é"},
		{"bom over header", "text/html; charset=latin1", "\xef\xbb\xbf<title>é</title>", "utf-8", FromBOM, "é"},
		{"utf-16 le", "text/html; charset=utf-8", utf16Text("<title>é</title>"), "utf-16le", FromBOM, "é"},
		{"utf-16 be", "text/html", "\xfe\xff\x00<\x00t\x00i\x00t\x00l\x00e\x00>\x00x", "utf-16be", FromBOM, "x"},
		{"meta charset", "text/html", "<meta charset=koi8-r><title>\xc4\xc1</title>", "koi8-r", FromMeta, "да"},
		{"meta http-equiv", "text/html", `<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset='windows-1251'"><title>` + "\xe4\xe0</title>", "windows-1251", FromMeta, "да"},
		{"meta content without http-equiv", "text/html", `<meta content="text/html; charset=windows-1251"><title>é</title>`, "utf-8", FromGuess, "é"},
		{"meta in comment", "text/html", `<!-- <meta charset=koi8-r> --><title>é</title>`, "utf-8", FromGuess, "é"},
		{"meta in script", "text/html", `<script>"<meta charset=koi8-r>"</script><title>é</title>`, "utf-8", FromGuess, "é"},
		{"meta too late", "text/html", strings.Repeat(" ", prescanLength) + `<meta charset=koi8-r><title>é</title>`, "utf-8", FromGuess, "é"},
		{"meta says utf-16", "text/html", `<meta charset=utf-16><title>é</title>`, "utf-8", FromMeta, "é"},
		{"shift_jis", "text/html", "<meta charset=shift_jis><title>" + sjis("日本") + "</title>", "shift_jis", FromMeta, "日本"},
		{"iso-2022-jp", "text/html; charset=iso-2022-jp", "<title>" + encoded(t, "iso-2022-jp", "日本") + "</title>", "iso-2022-jp", FromHeader, "日本"},
		{"xml declaration", "application/xhtml+xml", `<?xml version="1.0" encoding="iso-8859-1"?><title>` + "\xe9</title>", "windows-1252", FromMeta, "é"},
		{"guess utf-8", "text/html", "<title>é</title>", "utf-8", FromGuess, "é"},
		{"guess windows-1252", "text/html", "<title>\x80</title>", "windows-1252", FromGuess, "€"},
		{"ascii", "text/html; charset=gbk", "<title>x</title>", "gbk", FromHeader, "x"},
		{"not utf-8 as said", "text/html; charset=utf-8", "<title>a\xffb</title>", "utf-8", FromHeader, "a\ufffdb"},
		{"replacement", "text/html; charset=iso-2022-kr", "<title>x</title>", "replacement", FromHeader, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Read(Answer{URL: pageURL, Header: http.Header{"Content-Type": {tt.contentType}}, Body: []byte(tt.body)}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if want := (Charset{tt.charset, tt.from}); p.Charset != want || p.Title != tt.title {
				t.Errorf("%+v, title %q; want %+v, %q", p.Charset, p.Title, want, tt.title)
			}
		})
	}
}

// encoded writes s in an encoding.
func encoded(t testing.TB, name, s string) string {
	t.Helper()
	enc, err := htmlindex.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	out, err := enc.NewEncoder().String(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestQueryEncoding(t *testing.T) {
	tests := []struct {
		name, charset, href, want string
	}{
		{"utf-8", "utf-8", "/é?é=é", "http://site.test/%C3%A9?%C3%A9=%C3%A9"},
		{"windows-1252", "windows-1252", "/é?é", "http://site.test/%C3%A9?%E9"},
		{"shift_jis with an ASCII byte", "shift_jis", "?q=ソ", `http://site.test/dir/page.html?q=%83\`},
		{"big5", "big5", "?q=中", "http://site.test/dir/page.html?q=%A4%A4"},
		{"not in the encoding", "windows-1251", "?q=日", "http://site.test/dir/page.html?q=%26%2326085%3B"},
		{"by a reference", "windows-1252", "?q=&eacute;", "http://site.test/dir/page.html?q=%E9"},
		{"in the fragment only", "windows-1252", "/x#?é", "http://site.test/x"},
		{"utf-16 writes utf-8", "utf-16le", "?é", "http://site.test/dir/page.html?%C3%A9"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			href, charset := tt.href, tt.charset
			body := `<a href="` + href + `">`
			switch {
			case charset == "utf-16le":
				body = utf16Text(body)
			case tt.name != "not in the encoding":
				body = encoded(t, charset, body)
			default:
				body = `<a href="?q=&#26085;">`
			}
			p, err := Read(Answer{URL: pageURL, Header: http.Header{"Content-Type": {"text/html; charset=" + charset}}, Body: []byte(body)}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Links[0].URL.String(); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func TestDecodedBodyIsBounded(t *testing.T) {
	if race.Short() {
		t.Skip("reads a body of the largest size")
	}
	// Every byte becomes three, so that the decoded form exceeds the limit.
	body := "<a href=/x>" + strings.Repeat("\x80", MaxBytes/3)
	p, err := Read(Answer{URL: pageURL, Header: http.Header{"Content-Type": {"text/html; charset=windows-1252"}}, Body: []byte(body)}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Cut != BoundBytes || len(p.Links) != 1 {
		t.Errorf("cut %q, %d links", p.Cut, len(p.Links))
	}
}

func FuzzCharset(f *testing.F) {
	for _, label := range []string{"utf-8", "utf-16le", "shift_jis", "gb18030", "iso-2022-jp", "euc-kr", "big5", "koi8-r", "replacement", "x-user-defined"} {
		f.Add([]byte("<a href='?\x83\x5c\x1b$B\xe9'>x"), "text/html; charset="+label)
	}
	f.Add([]byte("<?xml version='1.0' encoding='gbk'?><meta charset=\"big5\"><meta http-equiv=content-type content='charset=x'>"), "")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		d := decode(body, contentType)
		if d.charset.Name == "" || d.charset.From == "" || len(d.text) > MaxBytes {
			t.Fatalf("%+v, %d bytes", d.charset, len(d.text))
		}
		if d.charset.Name != utf8Name && !utf8.Valid(d.text) {
			t.Fatalf("decoded from %s, but not UTF-8", d.charset.Name)
		}
		if d.legacy == nil || len(d.text) > 1000 {
			return
		}
		query := string(encodeQuery(nil, append([]byte("/p?"), d.text...), d.legacy))
		if !strings.HasPrefix(query, "/p?") || strings.ContainsFunc(query, func(r rune) bool { return r >= utf8.RuneSelf }) {
			t.Fatalf("query %q", query)
		}
	})
}

// TestKeepBody: the page's body in UTF-8 is returned on request.
func TestKeepBody(t *testing.T) {
	a := Answer{URL: pageURL, Status: 200, Header: http.Header{"Content-Type": {"text/html; charset=windows-1252"}}, Body: []byte("<p>caf\xe9")}
	for _, keep := range []bool{false, true} {
		page, err := Read(a, Options{KeepBody: keep})
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if keep {
			want = "<p>café"
		}
		if got := string(page.Body); got != want {
			t.Errorf("KeepBody %v: %q, want %q", keep, got, want)
		}
	}
}
