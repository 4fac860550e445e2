package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Object is an object that is read from the server, from any offset. Nothing is kept in
// memory. It is used by one goroutine.
type Object struct {
	Size       int64
	ModifiedAt time.Time
	ETag       string // quoted, as the server sent it

	bucket *Bucket
	from   func(offset int64) (io.ReadCloser, error) // starts to read
	body   io.ReadCloser                             // of a request from at; nil before it is sent
	at     int64
}

// OpenObject opens an object of the place, without a check of write access; the error is
// [fs.ErrNotExist] if there is none. What is read later is the same object, or an error.
// Reading is limited by ctx alone. Close it.
func OpenObject(ctx context.Context, cfg Config, name string) (*Object, error) {
	b, err := connected(ctx, cfg, 0)
	if err != nil {
		return nil, err
	}
	key := aws.String(cfg.Place.key(name))
	head, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &cfg.Place.Bucket, Key: key})
	if err != nil {
		b.Close()
		if code := codeOf(err); code == "NotFound" || code == "NoSuchKey" {
			return nil, fmt.Errorf("read %s: %w", cfg.Place.at(name), fs.ErrNotExist)
		}
		return nil, b.explain("read", name, err)
	}
	return &Object{
		Size: aws.ToInt64(head.ContentLength), ModifiedAt: aws.ToTime(head.LastModified), ETag: aws.ToString(head.ETag), bucket: b,
		from: func(offset int64) (io.ReadCloser, error) {
			got, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &cfg.Place.Bucket, Key: key, IfMatch: head.ETag, Range: aws.String(fmt.Sprintf("bytes=%d-", offset))})
			if err != nil {
				return nil, b.explain("read", name, err)
			}
			return got.Body, nil
		},
	}, nil
}

// Read implements [io.Reader].
func (o *Object) Read(p []byte) (int, error) {
	if o.at >= o.Size {
		return 0, io.EOF
	}
	if o.body == nil {
		var err error
		if o.body, err = o.from(o.at); err != nil {
			return 0, err
		}
	}
	n, err := o.body.Read(p)
	o.at += int64(n)
	if errors.Is(err, io.EOF) && o.at < o.Size {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Seek implements [io.Seeker].
func (o *Object) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += o.at
	case io.SeekEnd:
		offset += o.Size
	}
	if offset < 0 {
		return 0, fmt.Errorf("seek to %d", offset)
	}
	if offset == o.at {
		return offset, nil
	}
	o.at = offset
	return offset, o.closeBody()
}

// closeBody ends the current request.
func (o *Object) closeBody() error {
	if o.body == nil {
		return nil
	}
	body := o.body
	o.body = nil
	return body.Close()
}

// Close implements [io.Closer].
func (o *Object) Close() error {
	defer o.bucket.Close()
	return o.closeBody()
}
