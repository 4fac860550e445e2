package visit

import (
	"slices"
	"strings"

	"headway/weburl"
)

// secretKeys are words that, in the name of a query parameter, make its value a secret. A name matches if one
// of its parts is such a word: access_token, X-Amz-Signature and apiKey do, tokenizer does not.
var secretKeys = []string{
	"token", "secret", "password", "passwd", "pwd", "auth", "authorization", "apikey", "signature", "sig",
	"session", "sessionid", "sid", "jwt", "credential", "credentials", "otp", "code",
}

// redacted replaces a value that is not shown.
const redacted = "REDACTED"

// Redact returns u as it may be shown in logs, evidence and receipts: values of query parameters whose name
// indicates a secret are replaced. Credentials before the host are dropped earlier, by weburl.
func Redact(u weburl.URL) string {
	query := u.Query()
	if query == "" {
		return u.String()
	}
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(u.String(), query))
	for i, pair := range strings.Split(query, "&") {
		if i > 0 {
			b.WriteByte('&')
		}
		name, value, ok := strings.Cut(pair, "=")
		if ok && value != "" && secretName(name) {
			value = redacted
		}
		b.WriteString(name)
		if ok {
			b.WriteByte('=')
			b.WriteString(value)
		}
	}
	return b.String()
}

// secretName splits a parameter's name at punctuation and at changes to upper case and looks for a secret word,
// also one written in two parts (api_key).
func secretName(name string) bool {
	var parts []string
	start := 0
	cut := func(end int) {
		if end > start {
			parts = append(parts, strings.ToLower(name[start:end]))
		}
	}
	for i := range len(name) {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		switch {
		case !letter:
			cut(i)
			start = i + 1
		case c >= 'A' && c <= 'Z' && i > start && name[i-1] >= 'a' && name[i-1] <= 'z':
			cut(i)
			start = i
		}
	}
	cut(len(name))
	for i, p := range parts {
		if slices.Contains(secretKeys, p) || i > 0 && slices.Contains(secretKeys, parts[i-1]+p) {
			return true
		}
	}
	return false
}
