package s3blob

import (
	"context"
	"errors"
	"io"

	"github.com/minio/minio-go/v7"

	"github.com/rialto-im/rialto/internal/engine/blob"
)

// BeginParts begins a multipart upload.
func (s *Store) BeginParts(ctx context.Context, key string) (string, error) {
	if !blob.ValidKey(key) {
		return "", blob.ErrKey
	}
	session, err := s.beginParts(ctx, s.name(key))
	return session, classify(err)
}

func (s *Store) beginParts(ctx context.Context, name string) (session string, err error) {
	err = s.request(ctx, 0, func(ctx context.Context) (err error) {
		session, err = s.client.NewMultipartUpload(ctx, s.config.Bucket, name, minio.PutObjectOptions{ContentType: "application/octet-stream"})
		return err
	})
	return session, err
}

// putPart sends a part as soon as a slot is free.
func (s *Store) putPart(ctx context.Context, name, session string, number int, p payload) (stored minio.ObjectPart, err error) {
	release, err := s.acquire(ctx)
	if err != nil {
		return stored, err
	}
	defer release()
	err = s.request(ctx, p.size, func(ctx context.Context) (err error) {
		stored, err = s.client.PutObjectPart(ctx, s.config.Bucket, name, session, number, p.reader(), p.size, minio.PutObjectPartOptions{Sha256Hex: p.sha256})
		return err
	})
	return stored, err
}

func (s *Store) completeParts(ctx context.Context, name, session string, parts []minio.CompletePart) error {
	return s.request(ctx, 0, func(ctx context.Context) error {
		_, err := s.client.CompleteMultipartUpload(ctx, s.config.Bucket, name, session, parts, minio.PutObjectOptions{})
		return err
	})
}

func (s *Store) abortParts(ctx context.Context, name, session string) error {
	return s.request(ctx, 0, func(ctx context.Context) error {
		return s.client.AbortMultipartUpload(ctx, s.config.Bucket, name, session)
	})
}

// PutPart receives a part completely before it is sent, as Put does.
func (s *Store) PutPart(ctx context.Context, key, session string, p blob.Part, r io.Reader) (string, error) {
	if !blob.ValidKey(key) {
		return "", blob.ErrKey
	}
	if p.Number < 1 || p.Offset < 0 || p.Size < 0 {
		return "", blob.ErrParts
	}
	received, err := s.receive(ctx, r, p.Size, p.Size)
	if err != nil {
		return "", err
	}
	defer received.Close()
	stored, err := s.putPart(ctx, s.name(key), session, p.Number, received)
	return stored.ETag, classifyParts(err)
}

// JoinParts completes the multipart upload.
func (s *Store) JoinParts(ctx context.Context, key, session string, parts []blob.Part) error {
	if !blob.ValidKey(key) {
		return blob.ErrKey
	}
	size, ok := blob.Contiguous(parts)
	if !ok {
		return blob.ErrParts
	}
	list := make([]minio.CompletePart, len(parts))
	for i, p := range parts {
		list[i] = minio.CompletePart{PartNumber: p.Number, ETag: p.Tag}
	}
	err := classifyParts(s.completeParts(ctx, s.name(key), session, list))
	if !errors.Is(err, blob.ErrNotFound) {
		return err
	}
	var info minio.ObjectInfo
	if err := s.request(ctx, 0, func(ctx context.Context) (err error) { // an earlier call may have succeeded
		info, err = s.client.StatObject(ctx, s.config.Bucket, s.name(key), minio.StatObjectOptions{})
		return err
	}); err != nil {
		return classify(err)
	}
	if info.Size != size {
		return blob.ErrSize
	}
	return nil
}

// AbortParts aborts the multipart upload.
func (s *Store) AbortParts(ctx context.Context, key, session string) error {
	if !blob.ValidKey(key) {
		return blob.ErrKey
	}
	if session == "" {
		return nil
	}
	if err := classifyParts(s.abortParts(ctx, s.name(key), session)); !errors.Is(err, blob.ErrNotFound) {
		return err
	}
	return nil
}

// classifyParts is classify for calls that have a session.
func classifyParts(err error) error {
	switch minio.ToErrorResponse(err).Code {
	case "NoSuchUpload":
		return blob.ErrNotFound
	case "InvalidPart", "InvalidPartOrder":
		return blob.ErrParts
	case "EntityTooSmall":
		return blob.ErrSize
	}
	return classify(err)
}
