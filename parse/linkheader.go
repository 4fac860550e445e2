package parse

import "strings"

// headerLink is one link of a Link header field (RFC 8288).
type headerLink struct {
	target   string
	rel      string // the first rel parameter
	hreflang string // the first hreflang parameter
	mime     string // the first type parameter
	anchored bool   // an anchor parameter: the link belongs to another URL
}

// linkHeader calls found with each link of a Link header, until found returns false.
// Invalid input ends at the next comma that could start another link.
func linkHeader(field string, found func(headerLink) bool) {
	for {
		field = strings.TrimLeft(field, " \t,")
		if field == "" {
			return
		}
		if field[0] != '<' {
			comma := strings.IndexByte(field, ',')
			if comma < 0 {
				return
			}
			field = field[comma:]
			continue
		}
		end := strings.IndexByte(field, '>')
		if end < 0 {
			return
		}
		link := headerLink{target: field[1:end]}
		field = link.parameters(field[end+1:])
		if !found(link) {
			return
		}
	}
}

// parameters reads all ";name=value" at the start of s and returns the rest.
func (l *headerLink) parameters(s string) string {
	for {
		s = strings.TrimLeft(s, " \t")
		if s == "" || s[0] == ',' {
			return s
		}
		if s[0] != ';' { // invalid; continue at the next ";" or ","
			i := strings.IndexAny(s, ";,")
			if i < 0 {
				return ""
			}
			s = s[i:]
			continue
		}
		s = strings.TrimLeft(s[1:], " \t")
		end := strings.IndexAny(s, "=;, \t")
		if end < 0 {
			end = len(s)
		}
		name := s[:end]
		s = strings.TrimLeft(s[end:], " \t")
		value := ""
		if s != "" && s[0] == '=' {
			value, s = parameterValue(strings.TrimLeft(s[1:], " \t"))
		}
		l.set(name, value)
	}
}

// parameterValue reads a token or a quoted string at the start of s.
func parameterValue(s string) (value, rest string) {
	if s == "" || s[0] != '"' {
		end := strings.IndexAny(s, ";, \t")
		if end < 0 {
			end = len(s)
		}
		return s[:end], s[end:]
	}
	var unescaped []byte // used after the first backslash
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			if unescaped != nil {
				return string(unescaped), s[i+1:]
			}
			return s[1:i], s[i+1:]
		case '\\':
			if unescaped == nil {
				unescaped = append([]byte{}, s[1:i]...)
			}
			if i++; i < len(s) {
				unescaped = append(unescaped, s[i])
			}
		default:
			if unescaped != nil {
				unescaped = append(unescaped, s[i])
			}
		}
	}
	return "", "" // unterminated quote
}

// set stores a parameter. The first of each name counts.
func (l *headerLink) set(name, value string) {
	var field *string
	switch strings.ToLower(name) {
	case "rel":
		field = &l.rel
	case "hreflang":
		field = &l.hreflang
	case "type":
		field = &l.mime
	case "anchor":
		l.anchored = true
		return
	default:
		return
	}
	if *field == "" {
		*field = value
	}
}
