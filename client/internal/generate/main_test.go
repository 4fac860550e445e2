package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestUpToDate compares the client with the document.
func TestUpToDate(t *testing.T) {
	folder := t.TempDir()
	if err := run("../../../docs/reference/openapi.json", folder); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"schemas.go", "operations.go"} {
		made, err := os.ReadFile(folder + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if is, err := os.ReadFile("../../" + name); err != nil || !bytes.Equal(made, is) {
			t.Errorf("%s is out of date, run go generate ./...: %v", name, err)
		}
	}
}

// TestRefuses: a schema that it cannot express in Go is an error, not left out.
func TestRefuses(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`{"components": {"schemas": {"A": {"properties": {"b": {"type": "integer", "format": "int32"}}}}}}`, "A.b: no Go type"},
		{`{"components": {"schemas": {"A": {"type": ["string", "integer"]}}}}`, "a schema of the types"},
		{`{"paths": {"/a": {"get": {"operationId": "get-a", "responses": {"200": {"content": {"image/png": {}}}}}}}}`, "get-a: an answer of the type image/png"},
		{`{"paths": {"/a": {"get": {"operationId": "get-a", "parameters": [{"name": "n", "in": "query", "schema": {"type": "number", "format": "double"}}]}}}}`, "get-a: a parameter of the type number"},
	} {
		d, err := readDocument([]byte(test.text))
		if err == nil {
			_, err = schemas(d)
		}
		if err == nil {
			_, err = operations(d)
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.text, err, test.want)
		}
	}
}
