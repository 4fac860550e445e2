package main

import "strings"

// initials are words that Go writes in capitals.
var initials = map[string]string{"dns": "DNS", "eta": "ETA", "html": "HTML", "http": "HTTP", "id": "ID", "ms": "MS", "sha256": "SHA256", "tls": "TLS", "url": "URL", "urls": "URLs"}

// goName is an exported name in Go for a name of the document, such as next_cursor,
// list-jobs or Idempotency-Key.
func goName(name string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '_' || r == '-' }) {
		lower := strings.ToLower(word)
		if all, ok := initials[lower]; ok {
			b.WriteString(all)
		} else {
			b.WriteString(strings.ToUpper(lower[:1]) + lower[1:])
		}
	}
	return b.String()
}

// commentWidth is how wide comments become.
const commentWidth = 80

// comment writes sentences as a comment, each text a paragraph of its own.
func comment(b *strings.Builder, indent string, texts ...string) {
	begun := false
	for _, text := range texts {
		if text == "" {
			continue
		}
		if begun {
			b.WriteString(indent + "//\n")
		}
		begun = true
		line := indent + "//"
		for _, word := range strings.Fields(text) {
			if len(line)+1+len(word) > commentWidth && line != indent+"//" {
				b.WriteString(line + "\n")
				line = indent + "//"
			}
			line += " " + word
		}
		b.WriteString(line + "\n")
	}
}

// enum lists the words of a closed set.
func enum(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return "One of " + strings.Join(words, ", ") + "."
}
