package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"
)

// DefaultFile is read from the working directory if no other file is named.
const DefaultFile = "headway.yaml"

// maxFile bounds the size of a settings file.
const maxFile = 1 << 20

// readFile reads a settings file; a missing default file is empty.
func readFile(name string) (map[string]given, error) {
	chosen := name != ""
	if !chosen {
		name = DefaultFile
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) && !chosen {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	if len(data) > maxFile {
		return nil, &Error{Source: filepath.Base(name), Err: fmt.Errorf("longer than %d bytes", maxFile)}
	}
	return parseFile(filepath.Base(name), data)
}

// parseFile reads YAML. Keys may be nested or written with dots.
func parseFile(name string, data []byte) (map[string]given, error) {
	p := fileParser{name: name, byKey: map[string]given{}}
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return p.byKey, nil
	case err != nil:
		return nil, &Error{Source: name, Err: err, hint: "a settings file has lines such as max_pages: 500"}
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, &Error{Source: name, Err: errors.New("more than one document"), hint: "remove the line ---"}
	}
	if top := doc.Content[0]; top.Kind != yaml.ScalarNode || top.Tag != "!!null" { // a file of comments alone
		if err := p.mapping("", top); err != nil {
			return nil, err
		}
	}
	return p.byKey, nil
}

// fileParser flattens a document.
type fileParser struct {
	name  string
	byKey map[string]given
}

func (p *fileParser) errorf(n *yaml.Node, key, hint, format string, args ...any) error {
	return &Error{Key: key, Source: fmt.Sprintf("%s:%d", p.name, n.Line), Err: fmt.Errorf(format, args...), hint: hint}
}

// mapping reads settings whose keys begin with prefix.
func (p *fileParser) mapping(prefix string, n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return p.errorf(n, "", "a settings file has lines such as max_pages: 500", "expected settings, each with a name")
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if err := p.setting(prefix+n.Content[i].Value, n.Content[i], n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (p *fileParser) setting(key string, at, n *yaml.Node) error {
	s := find(key)
	if s == nil {
		if n.Kind == yaml.MappingNode && isSection(key) {
			return p.mapping(key+".", n)
		}
		return p.errorf(at, "", didYouMean(key, keys()), "unknown setting %q", key)
	}
	if _, ok := p.byKey[key]; ok {
		return p.errorf(at, key, "keep one of the two", "is set twice")
	}
	texts, err := p.texts(key, at, n)
	if err != nil {
		return err
	}
	p.byKey[key] = given{texts: texts, source: fmt.Sprintf("%s:%d", p.name, at.Line)}
	return nil
}

// texts reads a scalar or a list of scalars.
func (p *fileParser) texts(key string, at, n *yaml.Node) ([]string, error) {
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return nil, p.errorf(at, key, "give it a value or remove the line", "has no value")
		}
		return []string{n.Value}, nil
	case yaml.SequenceNode:
		texts := []string{}
		for _, entry := range n.Content {
			if entry.Kind != yaml.ScalarNode || entry.Tag == "!!null" {
				return nil, p.errorf(entry, key, "", "has an entry that is not a plain value")
			}
			texts = append(texts, entry.Value)
		}
		return texts, nil
	default:
		return nil, p.errorf(at, key, "", "must be a plain value or a list")
	}
}

// isSection reports whether any setting begins with this word and a dot.
func isSection(word string) bool {
	for s := range all {
		if len(s.Key) > len(word) && s.Key[:len(word)] == word && s.Key[len(word)] == '.' {
			return true
		}
	}
	return false
}

// keys lists all keys.
func keys() []string {
	var list []string
	for s := range all {
		list = append(list, s.Key)
	}
	return list
}
