package s3

import (
	"fmt"
	"path"
	"strings"
)

// scheme is the prefix of a place.
const scheme = "s3://"

// Place is where files go: a bucket, and a prefix for their names.
type Place struct {
	Bucket string
	Prefix string // without leading and trailing slashes; empty for none
}

// IsPlace distinguishes an S3 URL from a folder.
func IsPlace(text string) bool { return strings.HasPrefix(text, scheme) }

// ParsePlace reads s3://BUCKET or s3://BUCKET/PREFIX.
func ParsePlace(text string) (Place, error) {
	rest, ok := strings.CutPrefix(text, scheme)
	bucket, prefix, _ := strings.Cut(rest, "/")
	if !ok || bucket == "" || strings.ContainsAny(bucket, " ?#@:") {
		return Place{}, fmt.Errorf("invalid place %q; use the form s3://BUCKET/PREFIX", text)
	}
	prefix = strings.Trim(prefix, "/")
	if prefix != "" && path.Clean("/"+prefix) != "/"+prefix {
		return Place{}, fmt.Errorf("invalid place %q: the prefix has empty parts or dots", text)
	}
	return Place{Bucket: bucket, Prefix: prefix}, nil
}

// String returns the form that ParsePlace reads.
func (p Place) String() string { return scheme + path.Join(p.Bucket, p.Prefix) }

// key is the key of an object.
func (p Place) key(name string) string { return path.Join(p.Prefix, name) }

// at names an object for people.
func (p Place) at(name string) string { return scheme + path.Join(p.Bucket, p.key(name)) }
