// Command generate writes the types and operations of package client from the
// OpenAPI document of the service. It runs through go generate, after the document
// was written; make verify fails when its output is out of date.
package main

import (
	"fmt"
	"go/format"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: generate DOCUMENT FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(name, folder string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	d, err := readDocument(text)
	if err != nil {
		return err
	}
	for _, file := range []struct {
		name  string
		write func(*document) (string, error)
	}{
		{"schemas.go", schemas},
		{"operations.go", operations},
	} {
		text, err := source(d, file.write)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, file.name), text, 0o644)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file.name, err)
		}
	}
	return nil
}

// source returns a file of package client.
func source(d *document, write func(*document) (string, error)) ([]byte, error) {
	text, err := write(d)
	if err != nil {
		return nil, err
	}
	return format.Source([]byte("// Code generated from docs/reference/openapi.json by client/internal/generate. DO NOT EDIT.\n\npackage client\n\n" + text))
}
