// Package apikey makes and parses API keys.
//
// A key is shown once, when it is made, and never stored: the store keeps its
// digest (package store, [headway/store.APIKey]). Its first part is public and
// names it in lists and logs; the rest is a secret of 256 bits, too long to be
// guessed, so that a plain digest protects it and checking one is cheap.
package apikey

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"strings"
)

// Prefix is the prefix of every key, so that people and scanners for
// leaked secrets recognise it.
const Prefix = "hw_"

// Sizes of the parts, in characters.
const (
	idLength     = 12
	secretLength = 43
)

// Length is how long a key is.
const Length = len(Prefix) + idLength + 1 + secretLength

var public = base32.NewEncoding("abcdefghijkmnpqrstuvwxyz23456789").WithPadding(base32.NoPadding)

// Key is a key as its holder has it.
type Key struct {
	ID   string // public
	Text string // secret
}

// New makes a key.
func New() Key {
	var name [8]byte
	var secret [32]byte
	// crypto/rand does not fail: it ends the process where it would have to.
	_, _ = rand.Read(name[:])
	_, _ = rand.Read(secret[:])
	id := public.EncodeToString(name[:])[:idLength]
	return Key{ID: id, Text: Prefix + id + "_" + base64.RawURLEncoding.EncodeToString(secret[:])}
}

// Sum is what is stored of the key.
func (k Key) Sum() [sha256.Size]byte { return sha256.Sum256([]byte(k.Text)) }

// Read parses a key, and reports whether it is well-formed.
func Read(text string) (Key, bool) {
	rest, ok := strings.CutPrefix(text, Prefix)
	if !ok || len(text) != Length || rest[idLength] != '_' || strings.ContainsAny(rest[:idLength], "_-") {
		return Key{}, false
	}
	if _, err := base64.RawURLEncoding.DecodeString(rest[idLength+1:]); err != nil {
		return Key{}, false
	}
	return Key{ID: rest[:idLength], Text: text}, true
}
