package fetch

import "net/http"

// Decoder removes the content codings of bodies that were kept as sent, such as those of an
// archive, within the limits of a client. It is used by one goroutine.
type Decoder struct {
	cfg     Config
	decoder decoder
	buffers buffers
	last    *buffer
}

// NewDecoder returns a decoder with the limits of a client with this config.
func NewDecoder(cfg Config) *Decoder { return &Decoder{cfg: cfg.withDefaults()} }

// Decode returns the body of a response without its content codings, valid until the next
// call. The error is an [*Error], as a client returns it.
func (d *Decoder) Decode(header http.Header, body []byte) ([]byte, error) {
	if d.last != nil {
		d.buffers.put(d.last)
		d.last = nil
	}
	codings, err := readCodings(header.Values("Content-Encoding"))
	if err != nil {
		return nil, &Error{Reason: BadEncoding, Phase: PhaseDecode, Err: err}
	}
	if len(body) == 0 {
		return body, nil
	}
	job := decodeJob{buffers: &d.buffers, limit: d.cfg.MaxBody}
	if ratio := max(d.cfg.RatioAfter, d.cfg.MaxRatio*int64(len(body))); ratio < job.limit {
		job.limit, job.ratio = ratio, true
	}
	for i := len(codings) - 1; i >= 0; i-- {
		out, err := d.decoder.decompress(codings[i], body, &job)
		if d.last != nil {
			d.buffers.put(d.last)
		}
		d.last = out
		if err != nil {
			return nil, err
		}
		body = out.data
	}
	return body, nil
}
