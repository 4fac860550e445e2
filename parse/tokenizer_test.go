package parse

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"headway/internal/htmltoken"
)

// The tokenizer is compared with the one of golang.org/x/net/html, event by
// event: the text between tags, byte for byte; the content of raw text
// elements; the start tags with the known attributes, decoded; the end tags.
//
// Two differences are intended:
//   - noscript: x/net reads its content as raw text, as a browser with scripts does; here
//     it is markup. The oracle is configured for each one.
//   - inside a script, after "<!--", a "<" that starts no tag ends the comment for x/net,
//     but not in the HTML Standard (13.2.5.23), which is followed here. Such inputs are
//     excluded.

var attrNames = map[string]htmltoken.Attr{
	"alt": htmltoken.AttrAlt, "charset": htmltoken.AttrCharset, "class": htmltoken.AttrClass,
	"content": htmltoken.AttrContent, "datetime": htmltoken.AttrDatetime, "hidden": htmltoken.AttrHidden,
	"href": htmltoken.AttrHref, "hreflang": htmltoken.AttrHreflang, "http-equiv": htmltoken.AttrHTTPEquiv,
	"id": htmltoken.AttrID, "itemprop": htmltoken.AttrItemprop, "lang": htmltoken.AttrLang,
	"name": htmltoken.AttrName, "open": htmltoken.AttrOpen, "property": htmltoken.AttrProperty, "rel": htmltoken.AttrRel,
	"role": htmltoken.AttrRole, "src": htmltoken.AttrSrc, "srcset": htmltoken.AttrSrcset,
	"start": htmltoken.AttrStart, "style": htmltoken.AttrStyle, "type": htmltoken.AttrType,
}

// events lists the events of our tokenizer for src.
func events(src []byte) []string {
	var z htmltoken.Tokenizer
	z.Reset(src, htmltoken.TagSet{^uint64(0), ^uint64(0)})
	d := document{hasNUL: bytes.IndexByte(src, 0) >= 0}
	var out []string
	for {
		token := z.Next()
		if text := z.Bytes(z.Text); token == htmltoken.Raw {
			out = append(out, fmt.Sprintf("raw %d %q", z.Tag, text))
			continue
		} else if len(text) > 0 {
			out = append(out, fmt.Sprintf("text %q", text))
		}
		switch token {
		case htmltoken.End:
			return out
		case htmltoken.Start:
			e := fmt.Sprintf("<%d", z.Tag)
			for key := range htmltoken.AttrCount {
				if z.Attrs.Has(key) {
					d.z = z
					e += fmt.Sprintf(" %d=%q", key, lineEnds.Replace(string(d.value(key))))
				}
			}
			out = append(out, e)
		case htmltoken.Close:
			out = append(out, fmt.Sprintf("</%d", z.Tag))
		}
	}
}

// lineEnds makes values comparable. x/net normalises the line ends of the source and keeps
// a carriage return from a character reference; ours leaves both to weburl, which drops
// them.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// oracleEvents lists the events of x/net for src.
func oracleEvents(src []byte) []string {
	z := html.NewTokenizer(bytes.NewReader(src))
	var out []string
	raw := htmltoken.TagOther
	var text []byte // x/net may split text at the end of the input
	for {
		kind := z.Next()
		if kind != html.TextToken && len(text) > 0 {
			out = append(out, fmt.Sprintf("text %q", text))
			text = nil
		}
		switch kind {
		case html.ErrorToken:
			return out
		case html.TextToken:
			if raw != htmltoken.TagOther {
				out = append(out, fmt.Sprintf("raw %d %q", raw, z.Raw()))
			} else {
				text = append(text, z.Raw()...)
			}
			raw = htmltoken.TagOther
		case html.StartTagToken, html.SelfClosingTagToken:
			token := z.Token()
			if token.Data == "noscript" {
				z.NextIsNotRawText()
			}
			var at [htmltoken.AttrCount]*string
			for _, a := range token.Attr {
				if key, ok := attrNames[a.Key]; ok && at[key] == nil {
					at[key] = &a.Val
				}
			}
			e := fmt.Sprintf("<%d", htmltoken.TagOf([]byte(token.Data)))
			for key, val := range at {
				if val != nil {
					e += fmt.Sprintf(" %d=%q", key, lineEnds.Replace(*val))
				}
			}
			out = append(out, e)
			if raw = htmltoken.TagOf([]byte(token.Data)); !htmltoken.RawTags.Has(raw) {
				raw = htmltoken.TagOther
			}
		case html.EndTagToken:
			out = append(out, fmt.Sprintf("</%d", htmltoken.TagOf([]byte(z.Token().Data))))
			raw = htmltoken.TagOther
		default:
			raw = htmltoken.TagOther
		}
	}
}

// hiddenScript finds scripts in which x/net and the standard differ.
var hiddenScript = regexp.MustCompile(`(?is)<script.*<!--.*<`)

// compareEvents fails unless both tokenizers agree on src.
func compareEvents(t *testing.T, src []byte) {
	t.Helper()
	if hiddenScript.Match(src) {
		return
	}
	ours, theirs := events(src), oracleEvents(src)
	for i := range max(len(ours), len(theirs)) {
		a, b := "(end)", "(end)"
		if i < len(ours) {
			a = ours[i]
		}
		if i < len(theirs) {
			b = theirs[i]
		}
		if a != b {
			t.Fatalf("event %d\nours  %s\nx/net %s\nin    %q", i, a, b, src)
		}
	}
}

// oddPieces are inputs at the boundaries of the tokenizer's rules.
var oddPieces = []string{
	"<", ">", "/", "!", "-", "=", "a", " ", "'", "\"", "<a href=", "<!--", "-->", "</script", "<script>", "<title>",
	"&amp;", "&copy", ";", "\x00", "<?", "<![CDATA[", "]]>", "</",
}

func TestTokenizerAgreesOnPieces(t *testing.T) {
	// Every sequence of up to three, and a sample of longer ones.
	var walk func(prefix string, depth int)
	walk = func(prefix string, depth int) {
		compareEvents(t, []byte(prefix))
		if depth == 0 {
			return
		}
		for _, p := range oddPieces {
			walk(prefix+p, depth-1)
		}
	}
	walk("", 3)
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var src []byte
		for range 4 + r.IntN(8) {
			src = append(src, oddPieces[r.IntN(len(oddPieces))]...)
		}
		compareEvents(t, src)
	}
}

func FuzzTokenizer(f *testing.F) {
	for _, row := range oddRows(f) {
		f.Add([]byte(row.HTML))
	}
	f.Fuzz(func(t *testing.T, src []byte) { compareEvents(t, src) })
}
