package s3

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// objectTime limits one request and response for a small object: 16 MiB at 280 KiB/s.
const objectTime = time.Minute

// Objects stores small objects, which are sent and read from memory. It is safe for concurrent
// use.
type Objects struct{ b *Bucket }

// OpenObjects resolves the server and credentials. With probe it checks write access, as [Open]
// does.
func OpenObjects(ctx context.Context, cfg Config, probe bool) (*Objects, error) {
	b, err := connected(ctx, cfg, objectTime)
	if err != nil {
		return nil, err
	}
	if probe {
		if err := b.probe(ctx); err != nil {
			b.Close()
			return nil, err
		}
	}
	return &Objects{b}, nil
}

// Close closes the connections.
func (o *Objects) Close() { o.b.Close() }

// Put stores an object, complete or not at all.
func (o *Objects) Put(ctx context.Context, name string, data []byte) error {
	b := o.b
	_, err := b.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &b.cfg.Place.Bucket, Key: aws.String(b.cfg.Place.key(name)), ContentType: aws.String(b.mediaType(name)),
		Body: bytes.NewReader(data), ContentLength: aws.Int64(int64(len(data))), ChecksumAlgorithm: b.checksum(),
	})
	if err != nil {
		return b.explain("write", name, err)
	}
	return nil
}

// Read reads a part of an object. The error is [fs.ErrNotExist] if there is none.
func (o *Objects) Read(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	b := o.b
	got, err := b.client.GetObject(ctx, &s3.GetObjectInput{
		Bucket: &b.cfg.Place.Bucket, Key: aws.String(b.cfg.Place.key(name)), Range: aws.String(fmt.Sprintf("bytes=%d-%d", offset, offset+length-1)),
	})
	if code := codeOf(err); code == "NotFound" || code == "NoSuchKey" {
		return nil, fmt.Errorf("read %s: %w", b.cfg.Place.at(name), fs.ErrNotExist)
	}
	if err != nil {
		return nil, b.explain("read", name, err)
	}
	defer got.Body.Close()
	data := make([]byte, length)
	if _, err := io.ReadFull(got.Body, data); err != nil {
		return nil, b.explain("read", name, err)
	}
	return data, nil
}

// List calls yield with each object whose name begins with a prefix, and when it was written. It
// ends with the first error.
func (o *Objects) List(ctx context.Context, prefix string, yield func(name string, at time.Time) error) error {
	b := o.b
	all := b.cfg.Place.key(prefix) // without a slash at its end
	if strings.HasSuffix(prefix, "/") {
		all += "/"
	}
	pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{Bucket: &b.cfg.Place.Bucket, Prefix: &all})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return b.explain("list", prefix, err)
		}
		for i := range page.Contents {
			x := &page.Contents[i]
			name := strings.TrimPrefix(strings.TrimPrefix(aws.ToString(x.Key), b.cfg.Place.Prefix), "/")
			if err := yield(name, aws.ToTime(x.LastModified)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Delete deletes an object; one that does not exist is no error.
func (o *Objects) Delete(ctx context.Context, name string) error {
	b := o.b
	if _, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.cfg.Place.Bucket, Key: aws.String(b.cfg.Place.key(name))}); err != nil {
		return b.explain("delete", name, err)
	}
	return nil
}
