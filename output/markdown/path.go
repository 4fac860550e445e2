package markdown

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"headway/weburl"
)

// Limits of a path. With the folder of the crawl it stays below the 260 characters of
// Windows in most cases.
const (
	maxName = 64  // bytes of a name, without its hash and extension
	maxPath = 150 // bytes of a path below the folder of its host, without the extension
)

const (
	extension = ".md"
	index     = "index" // the file of a URL that ends with a slash
	hashBytes = 6       // of the hash in a name
)

// Path is the path of a page's file below the folder, with slashes.
//
// It is the host, the folders of the URL and its last part with ".md". A part that is not a
// plain lower-case name is made one and gets a hash of what it was, after a tilde, so that
// different URLs have different files also where upper and lower case, or two forms of a
// letter, are the same: in names with capitals, other letters, a query, a reserved name of
// Windows, or too many bytes. A path that is too long becomes one such name.
func Path(u weburl.URL) string {
	host := hostName(u)
	parts := strings.Split(u.Path()[1:], "/")
	last := len(parts) - 1
	names := make([]string, 0, last+2)
	for _, part := range parts[:last] {
		names = append(names, safeName(part, strings.HasSuffix(part, extension))) // a page may have that name
	}
	file := index
	if part := parts[last] + u.PathQuery()[len(u.Path()):]; part != "" {
		file = safeName(part, part == index)
	}
	below := path.Join(append(names, file)...)
	if len(below) > maxPath {
		below = hashedName(u.PathQuery())
	}
	return path.Join(host, below+extension)
}

// hostName is the name of a host's folder: example.com, or http_example.com_8080 if scheme
// or port are not the usual ones.
func hostName(u weburl.URL) string {
	name := strings.TrimPrefix(u.Host(), "https://")
	plain := strings.NewReplacer("://", "_", ":", "_").Replace(name)
	if strings.ContainsAny(u.Hostname(), "_:") || !isPlain(plain) { // with _ it could be another host's name
		return hashedName(name)
	}
	return plain
}

// safeName is a name for a part of a path. taken says that it must not be used as it is.
func safeName(part string, taken bool) string {
	if !taken && isPlain(part) {
		return part
	}
	return hashedName(part)
}

// isPlain reports whether a name is valid and unique on any file system.
func isPlain(name string) bool {
	if name == "" || len(name) > maxName || isReserved(name) {
		return false
	}
	for i := range len(name) {
		c := name[i]
		inside := i > 0 && i < len(name)-1
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || inside && (c == '-' || c == '.')) {
			return false
		}
	}
	return true
}

// reserved are the names of devices on Windows, with any extension.
var reserved = []string{"con", "prn", "aux", "nul"}

func isReserved(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	if len(base) == 4 && (strings.HasPrefix(base, "com") || strings.HasPrefix(base, "lpt")) && base[3] >= '0' && base[3] <= '9' {
		return true
	}
	return slices.Contains(reserved, base)
}

// hashedName is a readable form of a text, and its hash.
func hashedName(text string) string {
	sum := sha256.Sum256([]byte(text))
	return readable(text) + "~" + hex.EncodeToString(sum[:hashBytes])
}

// fullHash is a name from all bits of a hash, for the unlikely case that two are the same.
func fullHash(u weburl.URL) string {
	sum := sha256.Sum256([]byte(u.String()))
	return "~" + hex.EncodeToString(sum[:])
}

// readable keeps letters and digits of a text, and puts one hyphen in place of the rest.
func readable(text string) string {
	if decoded, err := url.PathUnescape(text); err == nil && utf8.ValidString(decoded) {
		text = decoded
	}
	var b strings.Builder
	gap := false
	for _, r := range norm.NFC.String(strings.ToLower(text)) {
		if !unicode.In(r, unicode.L, unicode.M, unicode.Nd) && r != '_' && r != '.' {
			gap = b.Len() > 0
			continue
		}
		size := utf8.RuneLen(r)
		if gap {
			size++
		}
		if b.Len()+size > maxName {
			break
		}
		if gap {
			b.WriteByte('-')
			gap = false
		}
		b.WriteRune(r)
	}
	name := strings.Trim(b.String(), ".-")
	if isReserved(name) {
		name = "_" + name
	}
	return name
}
