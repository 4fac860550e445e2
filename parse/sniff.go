package parse

import (
	"bytes"
	"net/http"
	"strings"

	"headway/internal/htmltoken"
)

// Type is the type of a body, by its header and its first bytes.
type Type string

// The types of bodies.
const (
	TypeHTML  Type = "html"  // read for links and facts
	TypeXML   Type = "xml"   // maybe a sitemap or a feed; see [NewSitemap]
	TypeText  Type = "text"  // plain text; maybe a list of sitemap URLs
	TypeOther Type = "other" // not a document: image, PDF, archive, script, …
)

// sniffLength is how much of a body is used to detect its type.
const sniffLength = 512

// sniff detects the type of a body. The header decides, with two exceptions: a body that
// starts like an image, a PDF or an archive is one whatever the header says, and if the
// header is missing or unspecific the body decides. Plain text is never read as HTML.
func sniff(contentType string, body []byte) Type {
	mime, _ := mediaType(contentType)
	declared := typeOf(mime)
	if declared == TypeOther {
		return TypeOther
	}
	head := body[:min(len(body), sniffLength)]
	text := htmltoken.TrimLeft(trimBOM(head))
	if len(text) > 0 && text[0] == '<' { // no binary format starts like this
		if declared != "" {
			return declared
		}
		if t := xmlType(text); t != "" {
			return t
		}
	}
	found, _, _ := strings.Cut(http.DetectContentType(head), ";")
	switch {
	case strings.HasPrefix(found, "text/") && declared != "":
		return declared
	case found == "application/octet-stream" && declared != "":
		return declared // binary bytes of no known format
	}
	if t := typeOf(found); t != "" {
		return t
	}
	return TypeOther
}

// typeOf returns the type of a media type, or "".
func typeOf(mime string) Type {
	switch mime {
	case "", "application/octet-stream", "unknown/unknown", "application/unknown", "*/*":
		return ""
	case "text/html", "application/xhtml+xml":
		return TypeHTML
	case "text/xml", "application/xml":
		return TypeXML
	case "text/plain":
		return TypeText
	}
	if strings.HasSuffix(mime, "+xml") && !strings.HasPrefix(mime, "image/") {
		return TypeXML // RSS, Atom and others
	}
	return TypeOther
}

// xmlType returns the type of XML without a header: XHTML is HTML. It returns "" if the
// start is not XML.
func xmlType(text []byte) Type {
	if bytes.HasPrefix(text, []byte("<?xml")) {
		if bytes.Contains(text, []byte("<html")) || bytes.Contains(text, []byte("<!DOCTYPE html")) {
			return TypeHTML
		}
		return TypeXML
	}
	for _, root := range []string{"<urlset", "<sitemapindex", "<rss", "<feed", "<rdf:RDF"} {
		if bytes.HasPrefix(text, []byte(root)) {
			return TypeXML
		}
	}
	return ""
}

// mediaType splits a Content-Type header into its lower-case media type and its charset
// parameter. Other parameters and invalid parts are ignored.
func mediaType(field string) (mime, charset string) {
	mime, params, _ := strings.Cut(field, ";")
	mime = strings.ToLower(strings.TrimSpace(mime))
	for params != "" {
		var name, value string
		name, params, _ = strings.Cut(params, "=")
		name = name[strings.LastIndexByte(name, ';')+1:] // after parameters without value
		value, params = parameterValue(strings.TrimLeft(params, " \t"))
		if strings.EqualFold(strings.TrimSpace(name), "charset") {
			return mime, value
		}
	}
	return mime, ""
}

// trimBOM removes a UTF-8 byte order mark.
func trimBOM(b []byte) []byte { return bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")) }
