// Package vectors provides tests with the shared test vectors: which URL is canonical,
// what a robots.txt allows, what a Retry-After means, which address may be dialled.
//
// The files in testdata are fixed byte for byte; Rows checks their SHA-256 before every
// use, so an edited row fails its test. Other implementations can run the same files:
// each is a JSON array with one object per line.
package vectors

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

//go:embed testdata/*.json testdata/SHA256SUMS
var files embed.FS

// Rows reads the rows of one file, such as "urls.json". An unknown field or a changed
// file fails the test.
func Rows[T any](t testing.TB, name string) []T {
	t.Helper()
	data, err := read(name)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var rows []T
	if err := dec.Decode(&rows); err != nil {
		t.Fatalf("decode vectors %s: %v", name, err)
	}
	return rows
}

// Count reports how many rows of a file passed, in the form that `make vectors` collects,
// and fails the test unless all want rows did.
func Count(t testing.TB, name string, passed, want int) {
	t.Helper()
	line := fmt.Sprintf("vectors: %s %d of %d", name, passed, want)
	if passed != want {
		t.Error(line)
		return
	}
	t.Log(line)
}

// read returns a file after checking its checksum.
func read(name string) ([]byte, error) {
	data, err := files.ReadFile("testdata/" + name)
	if err != nil {
		return nil, err
	}
	sums, err := files.ReadFile("testdata/SHA256SUMS")
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	if !strings.Contains(string(sums), hex.EncodeToString(sum[:])+"  "+name+"\n") {
		return nil, fmt.Errorf("vectors %s: SHA-256 differs from testdata/SHA256SUMS; the file must stay unchanged", name)
	}
	return data, nil
}
