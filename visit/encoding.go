package visit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Version is the version of the encoding that this code writes. A field may be
// added without raising it; a field that changes its meaning raises it.
const Version = 1

// envelope is a Visit on disk or on the wire, with its version in front.
type envelope struct {
	Version int `json:"v"`
	*Visit
}

// Encode returns v as one line of JSON without the line break. It refuses a
// visit that does not pass [Visit.Check]: nothing invented is recorded.
func Encode(v *Visit) ([]byte, error) {
	if err := v.Check(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // the reader is no browser, and URLs stay readable
	if err := enc.Encode(envelope{Version, v}); err != nil {
		return nil, fmt.Errorf("encode visit %s: %w", v.Item.URL, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Decode reads what [Encode] wrote, of this version or an older one. Unknown
// fields are ignored: a newer binary of the same version may have added them.
func Decode(data []byte) (*Visit, error) {
	e := envelope{Visit: new(Visit)}
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&e); err != nil {
		return nil, fmt.Errorf("decode visit: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("decode visit: more than one record")
	}
	if e.Version < 1 || e.Version > Version {
		return nil, fmt.Errorf("decode visit: version %d is not known here (up to %d)", e.Version, Version)
	}
	if err := e.Visit.Check(); err != nil {
		return nil, err
	}
	return e.Visit, nil
}
