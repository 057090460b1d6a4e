package s3blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/rialto-im/rialto/internal/engine/blob"
)

const (
	// onePart is the maximum size of a file that is uploaded in one request, and the part size of larger files. S3 requires at least 5 MiB.
	onePart = 8 << 20
	// maxParts is the maximum number of parts of a file; S3 allows 10,000.
	maxParts = 9000
	// abortTimeout bounds aborting a failed upload. Remaining parts are left to the bucket's lifecycle rule.
	abortTimeout = 10 * time.Second
)

// partSize returns the part size of a file. All parts but the last are equal, as some servers require.
func partSize(size int64) int64 { return max(onePart, (size+maxParts-1)/maxParts) }

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
	return s.putObject(ctx, key, buffer)
}

// digest is a signed checksum by which the server checks the received bytes.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func (s *Store) putParts(ctx context.Context, name string, r io.Reader, size int64, buffer []byte) (err error) {
	upload, err := s.beginParts(ctx, name)
	if err != nil {
		return classify(err)
	}
	defer func() {
		if err == nil {
			return
		}
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
		defer cancel()
		err = errors.Join(err, classify(s.abortParts(late, name, upload)))
	}()
	var parts []minio.CompletePart
	for left := size; left > 0; left -= int64(len(buffer)) {
		buffer = buffer[:min(left, int64(len(buffer)))]
		if err := fill(ctx, r, buffer); err != nil {
			return err
		}
		part, err := s.putPart(ctx, name, upload, len(parts)+1, buffer)
		if err != nil {
			return classify(err)
		}
		parts = append(parts, minio.CompletePart{PartNumber: part.PartNumber, ETag: part.ETag})
	}
	if err := end(ctx, r); err != nil {
		return err
	}
	return classify(s.completeParts(ctx, name, upload, parts))
}

// fill reads until b is full. If the reader ends earlier, the error is ErrSize; if it fails, the reader's error.
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

// end returns ErrSize if r has more bytes.
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
