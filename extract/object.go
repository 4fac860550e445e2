package extract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// object is a JSON object in the order in which it is written.
type object []property

type property struct {
	name  string
	value any // an object, a []any, a string, a json.Number, a bool or nil
}

// get is the value of a property, nil if there is none; of several the last counts.
func (o object) get(name string) any {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].name == name {
			return o[i].value
		}
	}
	return nil
}

// hasType reports whether the object has a type, with or without the address of a
// vocabulary.
func (o object) hasType(kind string) bool {
	types, ok := o.get("@type").([]any)
	if !ok {
		types = []any{o.get("@type")}
	}
	for _, one := range types {
		text, _ := one.(string)
		if text == kind || strings.HasSuffix(text, "/"+kind) || strings.HasSuffix(text, ":"+kind) {
			return true
		}
	}
	return false
}

// readJSON reads one JSON value.
func readJSON(src []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	data, err := readValue(d, 0)
	if errors.Is(err, io.EOF) {
		return nil, errors.New("it ends too early")
	}
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is text after the end")
	}
	return data, nil
}

func readValue(d *json.Decoder, depth int) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return token, nil
	}
	if depth == maxNesting {
		return nil, fmt.Errorf("more than %d levels", maxNesting)
	}
	if delim == '[' {
		list := []any{}
		for d.More() {
			one, err := readValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, one)
		}
		_, err := d.Token()
		return list, err
	}
	var o object
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		value, err := readValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		text, _ := name.(string)
		o = append(o, property{text, value})
	}
	_, err = d.Token()
	return o, err
}
