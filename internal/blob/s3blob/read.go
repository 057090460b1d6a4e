package s3blob

import (
	"context"
	"errors"
	"io"

	"github.com/minio/minio-go/v7"

	"github.com/rialto-im/rialto/internal/blob"
)

// file is one that is read. It belongs to one goroutine at a time, and ends with the context of its Open.
type file struct {
	ctx    context.Context
	store  *Store
	name   string
	etag   string // of the version that was opened; another one is never mixed in
	size   int64
	at     int64         // where the next Read begins
	body   io.ReadCloser // what the server sends, from bodyAt; nil: nothing
	bodyAt int64
	closed bool
}

// Open asks for the whole file. Who seeks elsewhere ends that answer, and the next Read asks for the rest from there.
func (s *Store) Open(ctx context.Context, key string) (io.ReadSeekCloser, int64, error) {
	if !blob.ValidKey(key) {
		return nil, 0, blob.ErrKey
	}
	f := &file{ctx: ctx, store: s, name: s.name(key)}
	var info minio.ObjectInfo
	var err error
	if f.body, info, _, err = s.client.GetObject(ctx, s.config.Bucket, f.name, minio.GetObjectOptions{}); err != nil {
		return nil, 0, classify(err)
	}
	f.etag, f.size = info.ETag, info.Size
	return f, f.size, nil
}

// Read goes on with a new request where an answer breaks off, as often in a row as a request is tried.
func (f *file) Read(p []byte) (int, error) {
	if f.closed {
		return 0, errors.New("the file is closed")
	}
	if f.at >= f.size {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	p = p[:min(int64(len(p)), f.size-f.at)]
	var err error
	for range tries {
		if err = f.reach(); err != nil {
			return 0, err
		}
		var n int
		n, err = f.body.Read(p)
		f.at += int64(n)
		f.bodyAt += int64(n)
		if n > 0 {
			return n, nil // an error comes again
		}
		if left := f.ctx.Err(); left != nil {
			return 0, left
		}
		if err != nil {
			_ = f.drop() // it is broken
		}
	}
	if err == io.EOF || err == nil {
		err = io.ErrUnexpectedEOF
	}
	return 0, classify(err)
}

// reach has body begin where the next Read does.
func (f *file) reach() error {
	if f.body != nil && f.bodyAt == f.at {
		return nil
	}
	_ = f.drop() // nothing of it is wanted
	var options minio.GetObjectOptions
	if err := errors.Join(options.SetRange(f.at, f.size-1), options.SetMatchETag(f.etag)); err != nil {
		return err
	}
	body, info, _, err := f.store.client.GetObject(f.ctx, f.store.config.Bucket, f.name, options)
	if err != nil {
		return classify(err)
	}
	f.body, f.bodyAt = body, f.at
	if info.Size != f.size-f.at { // a server, or a proxy, that knows no ranges
		return errors.Join(classify(errors.New("the server did not send the range that was asked for")), f.drop())
	}
	return nil
}

func (f *file) drop() error {
	if f.body == nil {
		return nil
	}
	body := f.body
	f.body = nil
	return body.Close()
}

// Seek asks nothing of the server.
func (f *file) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.at
	case io.SeekEnd:
		offset += f.size
	}
	if offset < 0 {
		return 0, errors.New("a place before the file's beginning")
	}
	f.at = offset
	return offset, nil
}

// Close ends it.
func (f *file) Close() error {
	f.closed = true
	return f.drop()
}
