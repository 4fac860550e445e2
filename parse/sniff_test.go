package parse

import "testing"

func TestSniff(t *testing.T) {
	const page = "<!DOCTYPE html><title>x</title>"
	tests := []struct {
		name        string
		contentType string
		body        string
		want        Type
	}{
		{"html", "text/html", page, TypeHTML},
		{"html with parameters", "Text/HTML ; charset=utf-8", page, TypeHTML},
		{"html that begins with text", "text/html", "hello <b>world</b>", TypeHTML},
		{"html with NUL bytes", "text/html", "a\x00b<p>", TypeHTML},
		{"html in utf-16", "text/html", utf16Text(page), TypeHTML},
		{"empty html", "text/html", "", TypeHTML},
		{"xhtml", "application/xhtml+xml", `<?xml version="1.0"?><html>`, TypeHTML},
		{"pdf as html", "text/html", "%PDF-1.7\n", TypeOther},
		{"png as html", "text/html", "\x89PNG\r\n\x1a\n", TypeOther},
		{"jpeg as html", "text/html", "\xff\xd8\xff\xe0", TypeOther},
		{"gif as html", "text/html", "GIF89a", TypeOther},
		{"zip as html", "text/html", "PK\x03\x04", TypeOther},
		{"gzip as html", "text/html", "\x1f\x8b\x08", TypeOther},
		{"video as html", "text/html", "\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom", TypeOther},
		{"pdf", "application/pdf", page, TypeOther},
		{"json", "application/json", `{"a":"<html>"}`, TypeOther},
		{"script", "text/javascript", "x", TypeOther},
		{"svg", "image/svg+xml", "<svg>", TypeOther},
		{"xml", "application/xml", "<urlset>", TypeXML},
		{"rss", "application/rss+xml; charset=utf-8", "<rss>", TypeXML},
		{"text", "text/plain", page, TypeText},
		{"no header, html", "", "\n\n<html>", TypeHTML},
		{"no header, link", "", `<a href="/x">x</a>`, TypeHTML},
		{"no header, sitemap", "", `<?xml version="1.0"?><urlset>`, TypeXML},
		{"no header, bare sitemap", "", "\xef\xbb\xbf <urlset>", TypeXML},
		{"no header, xhtml", "", `<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x"><html>`, TypeHTML},
		{"no header, text", "", "just words", TypeText},
		{"no header, bytes", "", "\x00\x01\x02\x03", TypeOther},
		{"octet-stream, html", "application/octet-stream", page, TypeHTML},
		{"octet-stream, pdf", "application/octet-stream", "%PDF-1.7\n", TypeOther},
		{"malformed header", ";;;", page, TypeHTML},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := sniff(tt.contentType, []byte(tt.body)); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestMediaType(t *testing.T) {
	tests := []struct{ field, mime, charset string }{
		{"text/html", "text/html", ""},
		{"text/html;charset=utf-8", "text/html", "utf-8"},
		{"text/html; CHARSET = utf-8 ; x=y", "text/html", "utf-8"},
		{`text/html; x="a;charset=no"; charset="utf-8"`, "text/html", "utf-8"},
		{"text/html; flag; charset=utf-8", "text/html", "utf-8"},
		{`text/html; charset="utf-8`, "text/html", ""},
		{"", "", ""},
		{"=", "=", ""},
		{";=;=", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.field, func(t *testing.T) {
			if mime, charset := mediaType(tt.field); mime != tt.mime || charset != tt.charset {
				t.Errorf("%q, %q; want %q, %q", mime, charset, tt.mime, tt.charset)
			}
		})
	}
}
