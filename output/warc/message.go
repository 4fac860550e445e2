package warc

import (
	"bytes"
	"strconv"
	"strings"
)

// message returns the header of a response as it is archived: unchanged, except that framing
// fields are removed. A framed body gets a Content-Length, unless it is incomplete.
func message(head []byte, size int, whole bool) []byte {
	framed := false
	eachField(head, func(name string, _ []byte) { framed = framed || strings.EqualFold(name, "Transfer-Encoding") })
	out := make([]byte, 0, len(head)+32)
	dropping := false
	for line := range bytes.Lines(head) {
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if dropping && (line[0] == ' ' || line[0] == '\t') {
			continue
		}
		name, _, _ := bytes.Cut(line, []byte(":"))
		name = bytes.TrimSpace(name)
		// With chunked framing, a Content-Length is wrong or an attack.
		dropping = framed && (bytes.EqualFold(name, []byte("Transfer-Encoding")) || bytes.EqualFold(name, []byte("Content-Length")))
		if !dropping {
			out = append(append(out, line...), "\r\n"...)
		}
	}
	if framed && whole {
		out = append(append(append(out, "Content-Length: "...), strconv.Itoa(size)...), "\r\n"...)
	}
	return append(out, "\r\n"...)
}

// eachField calls f with the fields of a header, without continuation lines.
func eachField(head []byte, f func(name string, value []byte)) {
	first := true
	for line := range bytes.Lines(head) {
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			return
		}
		if name, value, ok := bytes.Cut(line, []byte(":")); ok && !first && line[0] != ' ' && line[0] != '\t' {
			f(string(bytes.TrimSpace(name)), bytes.TrimSpace(value))
		}
		first = false
	}
}

// statusOf reads the status of a response header; 0 if there is none.
func statusOf(head []byte) int {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	parts := bytes.Fields(line)
	if len(parts) < 2 {
		return 0
	}
	status, err := strconv.Atoi(string(parts[1]))
	if err != nil || status < 100 || status > 999 {
		return 0
	}
	return status
}

// mediaOf reads the media type of a response header, without parameters.
func mediaOf(head []byte) string {
	media := ""
	eachField(head, func(name string, value []byte) {
		if media == "" && strings.EqualFold(name, "Content-Type") {
			kind, _, _ := bytes.Cut(value, []byte(";"))
			media = strings.ToLower(oneLine(string(kind)))
		}
	})
	return media
}

// isCompressed reports whether the body of a response is already compressed, according to its
// header.
func isCompressed(head []byte) bool {
	media := mediaOf(head)
	for _, kind := range []string{"image/", "video/", "audio/", "font/woff", "application/zip", "application/gzip"} {
		if strings.HasPrefix(media, kind) && media != "image/svg+xml" {
			return true
		}
	}
	folded := false
	eachField(head, func(name string, value []byte) {
		folded = folded || strings.EqualFold(name, "Content-Encoding") && len(value) > 0 && !strings.EqualFold(string(value), "identity")
	})
	return folded
}
