package rialto

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// UploadOptions of UploadFile; the zero value is the default.
type UploadOptions struct {
	// Upload continues an earlier upload of the same bytes, which was interrupted: the id that Begun was given. Default 0: a new one.
	Upload uint64
	// Begun is called with the id of the upload before the first part is sent. Keep it, to continue after the process has ended.
	Begun func(upload uint64)
	// Parallel is how many parts are sent at once, each from a buffer of its size. Default 3.
	Parallel int
	// Progress is called after each part, one call at a time.
	Progress func(UploadProgress)
}

// UploadProgress is how far an upload has come.
type UploadProgress struct {
	// Sent of Total bytes, those of earlier calls included.
	Sent, Total int64
	// BytesPerSecond since the call began, and Remaining at this speed; 0 until it is known.
	BytesPerSecond float64
	Remaining      time.Duration
}

// UploadFile uploads a file of size bytes in parts, several at once, and returns the server's description of it. If it fails, a call with the
// same bytes and UploadOptions.Upload sends only what is missing, for a day. An upload that the server no longer has, or that has other bytes,
// is refused with the reasons no_upload and part_differs. Parts go through the best edge of Config.Region, as OpenFile reads.
func (c *Client) UploadFile(ctx context.Context, name, mimeType string, size int64, file io.ReaderAt, o UploadOptions) (*chatv1.Upload, error) {
	state, err := c.beginParts(ctx, name, mimeType, size, o)
	if err != nil {
		return nil, err
	}
	if state.Size != uint64(max(size, 0)) && len(state.Missing) > 0 {
		return nil, &SendError{"already_exists", "part_differs", "the upload to continue has another size"}
	}
	if o.Parallel <= 0 {
		o.Parallel = 3
	}
	u := &partsUpload{client: c, file: file, state: state, size: size, began: time.Now(), progress: o.Progress}
	u.sent = size
	for _, number := range state.Missing {
		u.sent -= u.length(number)
	}
	u.before = u.sent
	if err := u.run(ctx, o.Parallel); err != nil {
		return nil, err
	}
	done, err := c.media.CompleteUpload(ctx, connect.NewRequest(&chatv1.CompleteUploadRequest{Upload: state.Upload}))
	if err != nil {
		return nil, err
	}
	return done.Msg, nil
}

func (c *Client) beginParts(ctx context.Context, name, mimeType string, size int64, o UploadOptions) (*chatv1.MultipartUpload, error) {
	if o.Upload != 0 {
		state, err := c.media.GetMultipartUpload(ctx, connect.NewRequest(&chatv1.GetMultipartUploadRequest{Upload: o.Upload}))
		if err != nil {
			return nil, err
		}
		return state.Msg, nil
	}
	state, err := c.media.CreateMultipartUpload(ctx, connect.NewRequest(&chatv1.CreateMultipartUploadRequest{Name: name, MimeType: mimeType, Size: uint64(max(size, 0))}))
	if err != nil {
		return nil, err
	}
	if o.Begun != nil {
		o.Begun(state.Msg.Upload)
	}
	return state.Msg, nil
}

// partsUpload is one call of UploadFile.
type partsUpload struct {
	client   *Client
	file     io.ReaderAt
	state    *chatv1.MultipartUpload
	size     int64
	began    time.Time
	before   int64 // bytes that were stored when the call began
	progress func(UploadProgress)

	mu   sync.Mutex // guards sent, and calls of progress
	sent int64
}

func (u *partsUpload) offset(number uint32) int64 { return int64(number-1) * int64(u.state.PartSize) }

func (u *partsUpload) length(number uint32) int64 {
	return min(int64(u.state.PartSize), u.size-u.offset(number))
}

// run sends the missing parts. The first failure ends it.
func (u *partsUpload) run(ctx context.Context, parallel int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	parts := make(chan uint32)
	var workers sync.WaitGroup
	for range min(parallel, len(u.state.Missing)) {
		workers.Go(func() {
			buffer := make([]byte, u.state.PartSize)
			for number := range parts {
				if err := u.send(ctx, number, buffer[:u.length(number)]); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	for _, number := range u.state.Missing {
		select {
		case parts <- number:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(parts)
	workers.Wait()
	return context.Cause(ctx)
}

// send reads and sends a part.
func (u *partsUpload) send(ctx context.Context, number uint32, buffer []byte) error {
	if _, err := u.file.ReadAt(buffer, u.offset(number)); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("rialto: the file cannot be read: %w", err)
	}
	signed, err := u.client.media.SignParts(ctx, connect.NewRequest(&chatv1.SignPartsRequest{Upload: u.state.Upload, Parts: []uint32{number}}))
	if err != nil {
		return err
	}
	if len(signed.Msg.Urls) != 1 {
		return errors.New("rialto: the server signed no part")
	}
	if err := u.client.putPart(ctx, signed.Msg.Urls[0], buffer); err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sent += int64(len(buffer))
	if u.progress == nil {
		return nil
	}
	p := UploadProgress{Sent: u.sent, Total: u.size}
	if spent := time.Since(u.began); spent > 0 {
		p.BytesPerSecond = float64(u.sent-u.before) / spent.Seconds()
		p.Remaining = time.Duration(float64(u.size-u.sent) / p.BytesPerSecond * float64(time.Second))
	}
	u.progress(p)
	return nil
}

func (c *Client) putPart(ctx context.Context, url string, part []byte) error {
	sum := sha256.Sum256(part)
	digest := "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
	res, err := c.edges.put(ctx, c.files(), c.absolute(url), part, http.Header{"Content-Digest": {digest}})
	if err != nil {
		return err
	}
	return finish(res)
}
