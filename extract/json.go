package extract

import (
	"bytes"
	"encoding/json"
	"strings"
)

// jsonString writes a string as JSON, with < and & as they are.
func jsonString(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string can be encoded
	return strings.TrimSuffix(b.String(), "\n")
}

// JSON writes the values of fields as a JSON object, a list as an array; "" if there are
// none. A field without a value is left out.
func JSON(fields []Field) string {
	return objectOf(fields, func(f *Field) string {
		if len(f.Values) == 0 {
			return ""
		}
		if !f.List {
			return f.Values[0].JSON
		}
		var list []string
		for _, v := range f.Values {
			list = append(list, v.JSON)
		}
		return "[" + strings.Join(list, ",") + "]"
	})
}

// Problems writes the problems of fields as a JSON object; "" if there are none.
func Problems(fields []Field) string {
	return objectOf(fields, func(f *Field) string {
		if f.Problem == "" {
			return ""
		}
		return jsonString(f.Problem)
	})
}

func objectOf(fields []Field, value func(*Field) string) string {
	var b strings.Builder
	for i := range fields {
		text := value(&fields[i])
		if text == "" {
			continue
		}
		separator := byte(',')
		if b.Len() == 0 {
			separator = '{'
		}
		b.WriteByte(separator)
		b.WriteString(jsonString(fields[i].Name) + ":" + text)
	}
	if b.Len() == 0 {
		return ""
	}
	b.WriteByte('}')
	return b.String()
}
