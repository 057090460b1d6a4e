package s3blob

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/minio/minio-go/v7"

	"github.com/rialto-im/rialto/internal/base/byterange"
	"github.com/rialto-im/rialto/internal/engine/blob"
)

// file is an open file. One goroutine at a time may use it. It ends with the context of its Open.
type file struct {
	ctx    context.Context
	store  *Store
	name   string
	etag   string // of the opened version; other versions are never mixed in
	size   int64
	at     int64         // offset of the next Read
	body   io.ReadCloser // the server's current answer, from bodyAt; nil if there is none
	bodyAt int64
	closed bool
}

// download is an answer of the server.
type download struct {
	body   io.ReadCloser
	info   minio.ObjectInfo
	header http.Header
}

// Open requests the whole file. Seeking ends that answer, and the next Read requests the rest from there.
func (s *Store) Open(ctx context.Context, key string) (io.ReadSeekCloser, int64, error) {
	if !blob.ValidKey(key) {
		return nil, 0, blob.ErrKey
	}
	return s.OpenObject(ctx, key)
}

// ReadRange sends one request, which is not repeated if the answer breaks off.
func (s *Store) ReadRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, int64, error) {
	if !blob.ValidKey(key) {
		return nil, 0, blob.ErrKey
	}
	var options minio.GetObjectOptions
	if err := options.SetRange(offset, offset+length-1); err != nil {
		return nil, 0, err
	}
	d, err := s.get(ctx, s.name(key), options)
	if err != nil {
		return nil, 0, classify(err)
	}
	c, err := byterange.ParseContent(d.header.Get("Content-Range"))
	if err != nil || c.From != offset || c.Length != min(length, c.Size-offset) {
		return nil, 0, errors.Join(classify(errNoRange), d.body.Close())
	}
	return d.body, c.Size, nil
}

// errNoRange is the error of a server, or a proxy, that knows no ranges.
var errNoRange = errors.New("the server did not send the requested range")

// Read continues with a new request if an answer breaks off, a few times in a row.
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
	for range resumes + 1 {
		if err = f.reach(); err != nil {
			return 0, err
		}
		var n int
		n, err = f.body.Read(p)
		f.at += int64(n)
		f.bodyAt += int64(n)
		if n > 0 {
			return n, nil // an error is repeated
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

// reach makes body begin at the offset of the next Read.
func (f *file) reach() error {
	if f.body != nil && f.bodyAt == f.at {
		return nil
	}
	_ = f.drop() // none of it is needed
	var options minio.GetObjectOptions
	if err := errors.Join(options.SetRange(f.at, f.size-1), options.SetMatchETag(f.etag)); err != nil {
		return err
	}
	d, err := f.store.get(f.ctx, f.name, options)
	if err != nil {
		return classify(err)
	}
	f.body, f.bodyAt = d.body, f.at
	if d.info.Size != f.size-f.at {
		return errors.Join(classify(errNoRange), f.drop())
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

// Seek sends no request.
func (f *file) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.at
	case io.SeekEnd:
		offset += f.size
	}
	if offset < 0 {
		return 0, errors.New("an offset before the start of the file")
	}
	f.at = offset
	return offset, nil
}

// Close closes the file.
func (f *file) Close() error {
	f.closed = true
	return f.drop()
}
