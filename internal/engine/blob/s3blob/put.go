package s3blob

import (
	"context"
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

// Put receives each part completely before it is sent, so that a request can be repeated, and lasts no longer than the server takes. The first
// request is made when the first part is complete.
func (s *Store) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	if !blob.ValidKey(key) {
		return blob.ErrKey
	}
	if size < 0 {
		return blob.ErrSize
	}
	if size > partSize(size) {
		return s.putParts(ctx, s.name(key), r, size)
	}
	p, err := s.receive(ctx, r, size, size)
	if err != nil {
		return err
	}
	defer p.Close()
	return s.putObject(ctx, key, p)
}

func (s *Store) putParts(ctx context.Context, name string, r io.Reader, size int64) (err error) {
	session := ""
	defer func() {
		if err == nil || session == "" {
			return
		}
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
		defer cancel()
		err = errors.Join(err, classify(s.abortParts(late, name, session)))
	}()
	var parts []minio.CompletePart
	for left := size; left > 0; left -= partSize(size) {
		p, err := s.receive(ctx, r, min(left, partSize(size)), left)
		if err != nil {
			return err
		}
		if session == "" {
			if session, err = s.beginParts(ctx, name); err != nil {
				return errors.Join(classify(err), p.Close())
			}
		}
		part, err := s.putPart(ctx, name, session, len(parts)+1, p)
		if err := errors.Join(classify(err), p.Close()); err != nil {
			return err
		}
		parts = append(parts, minio.CompletePart{PartNumber: part.PartNumber, ETag: part.ETag})
	}
	return classify(s.completeParts(ctx, name, session, parts))
}
