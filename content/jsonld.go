package content

import (
	"bytes"
	"encoding/json"
)

// linkedData reads the author and the date of publication from JSON-LD. It looks for the
// names anywhere in the data, without building it.
func (f *facts) linkedData(data []byte) {
	data = data[:min(len(data), maxLinkedData)]
	inAuthor := false
	for {
		key, rest, ok := nextString(data)
		if !ok {
			return
		}
		data = rest
		value := bytes.TrimLeft(rest, " \t\r\n")
		if len(value) == 0 || value[0] != ':' {
			continue
		}
		value = bytes.TrimLeft(value[1:], " \t\r\n")
		switch {
		case string(key) == "datePublished":
			if text, _, ok := nextString(value); ok && value[0] == '"' {
				f.published.set(rankData, unquote(text), maxDate)
			}
		case string(key) == "author":
			inAuthor = len(value) > 0 && value[0] != '"'
			if text, _, ok := nextString(value); ok && value[0] == '"' {
				f.author.set(rankData, unquote(text), maxFact)
			}
		case string(key) == "name" && inAuthor:
			inAuthor = false
			if text, _, ok := nextString(value); ok && value[0] == '"' {
				f.author.set(rankData, unquote(text), maxFact)
			}
		}
	}
}

// nextString returns the content of the next string in JSON, as written, and what
// follows it.
func nextString(data []byte) (text, rest []byte, ok bool) {
	i := bytes.IndexByte(data, '"')
	if i < 0 {
		return nil, nil, false
	}
	data = data[i+1:]
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return data[:i], data[i+1:], true
		}
	}
	return nil, nil, false
}

// unquote decodes the content of a JSON string.
func unquote(text []byte) []byte {
	if bytes.IndexByte(text, '\\') < 0 {
		return text
	}
	var s string
	if json.Unmarshal(append(append([]byte{'"'}, text...), '"'), &s) != nil {
		return nil
	}
	return []byte(s)
}
