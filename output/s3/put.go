package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// partSize is the minimum size of an upload's parts. It is a variable for tests.
var partSize int64 = 16 << 20

// maxParts is the protocol's limit of parts per object: beyond 160 GB parts are larger.
const maxParts = 10_000

// Put copies a file, or all files of a folder, and returns the number of objects. Files of a
// folder are copied in name order, so that an index that sorts last never appears before the
// files it names.
func (b *Bucket) Put(ctx context.Context, from, name string) (objects int, err error) {
	err = filepath.WalkDir(from, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		if err := b.put(ctx, file, path.Join(name, filepath.ToSlash(rel))); err != nil {
			return err
		}
		objects++
		return nil
	})
	return objects, err
}

// put copies one file.
func (b *Bucket) put(ctx context.Context, file, name string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() <= partSize {
		err = b.putAtOnce(ctx, f, info.Size(), name)
	} else {
		err = b.putInParts(ctx, f, info.Size(), name)
	}
	if err != nil {
		return b.explain("write", name, err)
	}
	return nil
}

func (b *Bucket) putAtOnce(ctx context.Context, f io.ReaderAt, size int64, name string) error {
	_, err := b.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &b.cfg.Place.Bucket, Key: aws.String(b.cfg.Place.key(name)), ContentType: aws.String(b.mediaType(name)),
		Body: io.NewSectionReader(f, 0, size), ContentLength: &size, ChecksumAlgorithm: b.checksum(),
	})
	if err == nil {
		b.cfg.Sent(size)
	}
	return err
}

// putInParts uploads a file in parts, which become an object in one step after the last. If
// any part fails, the upload is aborted.
func (b *Bucket) putInParts(ctx context.Context, f io.ReaderAt, size int64, name string) error {
	if err := b.abortLeftovers(ctx, name); err != nil {
		return err
	}
	id, err := b.begin(ctx, name, b.mediaType(name))
	if err != nil {
		return err
	}
	parts, err := b.sendParts(ctx, f, size, name, id)
	sent := err == nil
	if sent {
		_, err = b.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
			Bucket: &b.cfg.Place.Bucket, Key: aws.String(b.cfg.Place.key(name)), UploadId: id,
			MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
		})
	}
	if err == nil {
		return nil
	}
	gone, left := b.abortUpload(ctx, name, id)
	if gone && !sent && codeOf(err) == "" && ctx.Err() == nil {
		// Some servers report this and close the connection, and the message may be lost.
		err = &types.NoSuchUpload{}
	}
	return errors.Join(err, left)
}

func (b *Bucket) sendParts(ctx context.Context, f io.ReaderAt, size int64, name string, id *string) ([]types.CompletedPart, error) {
	each := max(partSize, (size+maxParts-1)/maxParts)
	var parts []types.CompletedPart
	for at := int64(0); at < size; at += each {
		n := min(each, size-at)
		number := aws.Int32(int32(len(parts) + 1))
		sent, err := b.client.UploadPart(ctx, &s3.UploadPartInput{
			Bucket: &b.cfg.Place.Bucket, Key: aws.String(b.cfg.Place.key(name)), UploadId: id, PartNumber: number,
			Body: io.NewSectionReader(f, at, n), ContentLength: &n, ChecksumAlgorithm: b.checksum(),
		})
		if err != nil {
			return nil, err
		}
		parts = append(parts, types.CompletedPart{
			PartNumber: number, ETag: sent.ETag, ChecksumCRC32: sent.ChecksumCRC32,
		})
		b.cfg.Sent(n)
	}
	return parts, nil
}

// checksum is the algorithm with which the server verifies uploads. For servers without one,
// set AWS_REQUEST_CHECKSUM_CALCULATION=when_required.
func (b *Bucket) checksum() types.ChecksumAlgorithm {
	if b.client.Options().RequestChecksumCalculation == aws.RequestChecksumCalculationWhenRequired {
		return ""
	}
	return types.ChecksumAlgorithmCrc32
}

// begin starts an upload and returns its ID.
func (b *Bucket) begin(ctx context.Context, name, contentType string) (*string, error) {
	begun, err := b.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket: &b.cfg.Place.Bucket, Key: aws.String(b.cfg.Place.key(name)), ContentType: &contentType,
		ChecksumAlgorithm: b.checksum(),
	})
	if err != nil {
		return nil, err
	}
	return begun.UploadId, nil
}

func (b *Bucket) abort(ctx context.Context, name string, id *string) error {
	_, err := b.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{
		Bucket: &b.cfg.Place.Bucket, Key: aws.String(b.cfg.Place.key(name)), UploadId: id,
	})
	return err
}

// abortUpload aborts an upload, also after an interrupt, and reports whether it was already gone.
func (b *Bucket) abortUpload(ctx context.Context, name string, id *string) (gone bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTime)
	defer cancel()
	err = b.abort(ctx, name, id)
	switch {
	case codeOf(err) == "NoSuchUpload":
		return true, nil
	case err != nil:
		return false, fmt.Errorf("abort upload: %w", err)
	}
	return false, nil
}

// maxLeftovers limits how many incomplete uploads of one file are aborted; each was left by a
// killed process.
const maxLeftovers = 1000

// abortLeftovers aborts incomplete uploads of the same object from killed processes. Without
// permission to list them, they are left to the lifecycle rules of the bucket.
func (b *Bucket) abortLeftovers(ctx context.Context, name string) error {
	key := b.cfg.Place.key(name)
	left, err := b.client.ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{
		Bucket: &b.cfg.Place.Bucket, Prefix: &key, MaxUploads: aws.Int32(maxLeftovers),
	})
	if code := codeOf(err); code == "AccessDenied" || code == "NotImplemented" {
		b.cfg.Log.Warn("cannot list incomplete uploads", "object", b.cfg.Place.at(name), "err", code)
		return nil
	}
	if err != nil {
		return fmt.Errorf("list incomplete uploads: %w", err)
	}
	for _, u := range left.Uploads {
		if aws.ToString(u.Key) != key {
			continue
		}
		if err := b.abort(ctx, name, u.UploadId); err != nil && codeOf(err) != "NoSuchUpload" {
			return fmt.Errorf("abort incomplete upload: %w", err)
		}
	}
	return nil
}

func (b *Bucket) mediaType(name string) string {
	is := ""
	if b.cfg.MediaType != nil {
		is = b.cfg.MediaType(name)
	}
	return cmp.Or(is, "application/octet-stream")
}
