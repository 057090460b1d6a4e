package s3blob

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/rialto-im/rialto/internal/engine/blob"
)

// Object is an object of the bucket, below the prefix.
type Object struct {
	Name     string
	Size     int64
	Modified time.Time // by the server's clock
}

// listPage is how many objects a request lists; S3 allows 1,000.
const listPage = 1000

// PutObject stores bytes by one request, and replaces what was there. Unlike a key, a name may have any characters that S3 allows.
func (s *Store) PutObject(ctx context.Context, name string, b []byte) error {
	return s.putObject(ctx, name, payloadOf(b))
}

// putObject sends an object as soon as a slot is free.
func (s *Store) putObject(ctx context.Context, name string, p payload) error {
	release, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	return classify(s.request(ctx, p.size, func(ctx context.Context) error {
		_, err := s.client.PutObject(ctx, s.config.Bucket, s.name(name), p.reader(), p.size, "", p.sha256, minio.PutObjectOptions{ContentType: "application/octet-stream"})
		return err
	}))
}

// OpenObject opens an object for reading, as Open does, and returns its size. The error is blob.ErrNotFound if there is none.
func (s *Store) OpenObject(ctx context.Context, name string) (io.ReadSeekCloser, int64, error) {
	f := &file{ctx: ctx, store: s, name: s.name(name)}
	d, err := s.get(ctx, f.name, minio.GetObjectOptions{})
	if err != nil {
		return nil, 0, classify(err)
	}
	f.body, f.etag, f.size = d.body, d.info.ETag, d.info.Size
	return f, f.size, nil
}

// DeleteObject removes an object. A missing one is not an error.
func (s *Store) DeleteObject(ctx context.Context, name string) error {
	err := classify(s.request(ctx, 0, func(ctx context.Context) error {
		return s.client.RemoveObject(ctx, s.config.Bucket, s.name(name), minio.RemoveObjectOptions{})
	}))
	if errors.Is(err, blob.ErrNotFound) || errors.Is(err, blob.ErrKey) {
		return nil
	}
	return err
}

// ListObjects calls each with all objects in a folder, and below it, in the order of their names; an empty folder is the whole prefix. An error of each ends it.
func (s *Store) ListObjects(ctx context.Context, folder string, each func(Object) error) error {
	root := s.name("")
	prefix := root
	if folder != "" {
		prefix = s.name(folder) + "/"
	}
	after := ""
	for {
		page, err := s.listPage(ctx, prefix, after, listPage)
		if err != nil {
			return classify(err)
		}
		for _, o := range page {
			if err := each(Object{strings.TrimPrefix(o.Key, root), o.Size, o.LastModified}); err != nil {
				return err
			}
			after = o.Key
		}
		if len(page) < listPage {
			return nil
		}
	}
}

// List returns a page of the files in a folder, by one request. A position is the last name, which may be that of an object of another program.
func (s *Store) List(ctx context.Context, folder, after string, limit int) (page blob.Page, err error) {
	if !blob.ValidKey(folder) {
		return page, blob.ErrKey
	}
	limit = min(max(limit, 1), listPage)
	if after != "" {
		after = s.name(after)
	}
	objects, err := s.listPage(ctx, s.name(folder)+"/", after, limit)
	if err != nil {
		return page, classify(err)
	}
	root := s.name("")
	for _, o := range objects {
		page.Next = strings.TrimPrefix(o.Key, root)
		if blob.ValidKey(page.Next) {
			page.Files = append(page.Files, blob.File{Key: page.Next, Size: o.Size, Modified: o.LastModified})
		}
	}
	if len(objects) < limit {
		page.Next = ""
	}
	return page, nil
}

// listPage lists the objects that follow a name, at most limit.
func (s *Store) listPage(ctx context.Context, prefix, after string, limit int) (page []minio.ObjectInfo, err error) {
	err = s.request(ctx, 0, func(ctx context.Context) error {
		page = page[:0]
		for o := range s.client.ListObjectsIter(ctx, s.config.Bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true, StartAfter: after, MaxKeys: limit}) {
			if o.Err != nil {
				return o.Err
			}
			if page = append(page, o); len(page) == limit {
				return nil
			}
		}
		return ctx.Err()
	})
	return page, err
}
