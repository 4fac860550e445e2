// Package archive keeps what servers sent to a fleet: WARC segments in a folder or in S3.
//
// A worker writes one segment for each commit and job, before the commit, which references it.
// So a reference is never to something missing; a worker that dies between the two leaves a
// segment that nothing references, and [Archive.Sweep] deletes it a day later. The same deletes
// the segments of jobs that were dropped.
//
// Each fleet has its own folder in the place, named after its store: a fleet never deletes what
// another wrote to the same place. Nothing else may be written to that folder.
package archive

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/textproto"
	"strings"
	"time"

	"headway/fetch"
	"headway/fetch/guard"
	"headway/output"
	"headway/output/s3"
	"headway/output/warc"
	"headway/visit"
	"headway/weburl"
)

// Config is where an archive is, and what its files say about the crawl.
type Config struct {
	To    string         // a folder, or s3://BUCKET/PREFIX
	Fleet weburl.Key     // of the store of the fleet
	Guard guard.Config   // guards the network access to S3
	Roots *x509.CertPool // trusted roots for S3; nil for those of the system
	Log   *slog.Logger   // nil for none
	About warc.Config    // what the files say; see [warc.NewPacker]
	Write bool           // check at once whether it can be written
}

// Bounds of reading.
const (
	maxReads = 8        // bodies read at once
	maxBody  = 32 << 20 // size of a decoded body; a larger one is returned as it was sent
)

// Archive is the archive of a fleet. It is safe for concurrent use.
type Archive struct {
	place  place
	fleet  string // the folder of the fleet, with a slash at its end
	packer *warc.Packer
	reads  chan struct{} // one for each body that is read
}

// place stores segments. It is safe for concurrent use.
type place interface {
	// Put stores an object: complete and durable, or not at all.
	Put(ctx context.Context, name string, data []byte) error
	// Read reads a part of an object, or returns [fs.ErrNotExist].
	Read(ctx context.Context, name string, offset, length int64) ([]byte, error)
	// List calls yield with all objects whose name begins with a prefix.
	List(ctx context.Context, prefix string, yield func(name string, at time.Time) error) error
	// Delete deletes an object, if it exists.
	Delete(ctx context.Context, name string) error
	// Close closes connections.
	Close()
}

// Open opens an archive.
func Open(ctx context.Context, cfg Config) (*Archive, error) {
	sum := sha256.Sum256(append([]byte("headway archive "), cfg.Fleet[:]...))
	a := &Archive{fleet: "fleet-" + hex.EncodeToString(sum[:8]) + "/", packer: warc.NewPacker(cfg.About), reads: make(chan struct{}, maxReads)}
	if !s3.IsPlace(cfg.To) {
		d, err := openFolder(cfg.To)
		if err != nil {
			return nil, fmt.Errorf("open archive: %w", err)
		}
		a.place = d
		return a, nil
	}
	at, err := s3.ParsePlace(cfg.To)
	if err != nil {
		return nil, err
	}
	objects, err := s3.OpenObjects(ctx, s3.Config{
		Place: at, Guard: cfg.Guard, PrivateFlag: "--archive-private", Roots: cfg.Roots, Log: cfg.Log, MediaType: func(string) string { return "application/warc" },
	}, cfg.Write)
	if err != nil {
		return nil, fmt.Errorf("open archive: %w", err)
	}
	a.place = objects
	return a, nil
}

// Close closes the archive.
func (a *Archive) Close() { a.place.Close() }

// Records implements [output.Archive].
func (a *Archive) Records(ctx context.Context, x *output.Exchange) (records []byte, response int64, err error) {
	return a.packer.Records(ctx, x)
}

// Begin implements [output.Archive].
func (a *Archive) Begin(key string, now time.Time) ([]byte, error) { return a.packer.Info(key, now) }

// Put implements [output.Archive].
func (a *Archive) Put(ctx context.Context, key string, segment []byte) error {
	return a.place.Put(ctx, a.fleet+key, segment)
}

// Exchange reads a response from the archive: with its content codings, as it was sent. The
// error is [fs.ErrNotExist] if it is missing: the archive is another one, or someone deleted it.
func (a *Archive) Exchange(ctx context.Context, at visit.Archived) (*output.Exchange, error) {
	member, err := a.place.Read(ctx, a.fleet+at.Segment, at.Offset, at.Length)
	if err != nil {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	x, err := warc.ReadResponse(member)
	if err != nil {
		return nil, fmt.Errorf("segment %s at %d: %w", at.Segment, at.Offset, err)
	}
	return x, nil
}

// Body reads the body of a response, without its content codings. Of one that is incomplete, or
// has codings that cannot be decoded, it returns the bytes as they were sent.
func (a *Archive) Body(ctx context.Context, at visit.Archived) ([]byte, error) {
	select {
	case a.reads <- struct{}{}:
		defer func() { <-a.reads }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	x, err := a.Exchange(ctx, at)
	if err != nil {
		return nil, err
	}
	_, fields, _ := bytes.Cut(x.Response, []byte("\n"))
	header, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(fields))).ReadMIMEHeader()
	if x.Cut != "" || err != nil {
		return x.Body, nil // a header that cannot be read says nothing about codings
	}
	decoded, err := fetch.NewDecoder(fetch.Config{MaxBody: maxBody}).Decode(http.Header(header), x.Body)
	if err != nil {
		return x.Body, nil // the crawl could not decode it either, and its visit says so
	}
	return bytes.Clone(decoded), nil
}

// Sweep deletes the segments that were written before a time and that nothing references, and
// returns how many. known returns those of the keys that are referenced, in batches of this size.
func (a *Archive) Sweep(ctx context.Context, before time.Time, batch int, known func(ctx context.Context, keys []string) (map[string]bool, error)) (deleted int, err error) {
	var keys []string
	flush := func() error {
		if len(keys) == 0 {
			return nil
		}
		referenced, err := known(ctx, keys)
		if err != nil {
			return err
		}
		for _, k := range keys {
			if referenced[k] {
				continue
			}
			if err := a.place.Delete(ctx, a.fleet+k); err != nil {
				return err
			}
			deleted++
		}
		keys = keys[:0]
		return nil
	}
	err = a.place.List(ctx, a.fleet, func(name string, at time.Time) error {
		key, ours := strings.CutPrefix(name, a.fleet)
		if !ours || !at.Before(before) {
			return nil
		}
		if keys = append(keys, key); len(keys) < batch {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return deleted, fmt.Errorf("sweep archive: %w", err)
	}
	return deleted, nil
}
