package s3blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/rialto-im/rialto/internal/blob"
)

const (
	// onePart is the size up to which a file goes in one request, and of the parts of larger ones. S3 wants 5 MiB at least.
	onePart = 8 << 20
	// mostParts of one file; S3 takes 10,000.
	mostParts = 9000
	// abortIn is how long the end of an upload that failed may take. What stays is for the bucket's own rule to clean.
	abortIn = 10 * time.Second
)

// partSize of a file: all parts but the last are equal, as some servers insist.
func partSize(size int64) int64 { return max(onePart, (size+mostParts-1)/mostParts) }

// Put reads a part into memory before it is sent, so that a request can be repeated, and a wrong size is known before the end.
func (s *Store) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	if !blob.ValidKey(key) {
		return blob.ErrKey
	}
	if size < 0 {
		return blob.ErrSize
	}
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	case <-ctx.Done():
		return ctx.Err()
	}
	buffer := make([]byte, min(size, partSize(size)))
	if size > int64(len(buffer)) {
		return s.putParts(ctx, s.name(key), r, size, buffer)
	}
	if err := fill(ctx, r, buffer); err != nil {
		return err
	}
	if err := end(ctx, r); err != nil {
		return err
	}
	_, err := s.client.PutObject(ctx, s.config.Bucket, s.name(key), bytes.NewReader(buffer), size, "", digest(buffer), minio.PutObjectOptions{ContentType: "application/octet-stream"})
	return classify(err)
}

// digest has the server check what it got, and is signed.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func (s *Store) putParts(ctx context.Context, name string, r io.Reader, size int64, buffer []byte) (err error) {
	upload, err := s.client.NewMultipartUpload(ctx, s.config.Bucket, name, minio.PutObjectOptions{ContentType: "application/octet-stream"})
	if err != nil {
		return classify(err)
	}
	defer func() {
		if err == nil {
			return
		}
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortIn)
		defer cancel()
		err = errors.Join(err, classify(s.client.AbortMultipartUpload(late, s.config.Bucket, name, upload)))
	}()
	var parts []minio.CompletePart
	for left := size; left > 0; left -= int64(len(buffer)) {
		buffer = buffer[:min(left, int64(len(buffer)))]
		if err := fill(ctx, r, buffer); err != nil {
			return err
		}
		part, err := s.client.PutObjectPart(ctx, s.config.Bucket, name, upload, len(parts)+1, bytes.NewReader(buffer), int64(len(buffer)), minio.PutObjectPartOptions{Sha256Hex: digest(buffer)})
		if err != nil {
			return classify(err)
		}
		parts = append(parts, minio.CompletePart{PartNumber: part.PartNumber, ETag: part.ETag})
	}
	if err := end(ctx, r); err != nil {
		return err
	}
	_, err = s.client.CompleteMultipartUpload(ctx, s.config.Bucket, name, upload, parts, minio.PutObjectOptions{})
	return classify(err)
}

// fill reads until b is full. A reader that ends before is too short; one that fails gives its own error.
func fill(ctx context.Context, r io.Reader, b []byte) error {
	for len(b) > 0 {
		n, err := read(ctx, r, b)
		b = b[n:]
		if err == io.EOF && len(b) > 0 {
			return blob.ErrSize
		}
		if err != nil && err != io.EOF {
			return err
		}
	}
	return nil
}

// end is ErrSize where r has more.
func end(ctx context.Context, r io.Reader) error {
	for {
		n, err := read(ctx, r, make([]byte, 1))
		switch {
		case n > 0:
			return blob.ErrSize
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

func read(ctx context.Context, r io.Reader, b []byte) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return r.Read(b)
}
