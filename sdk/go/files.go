package rialto

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Upload uploads a file of size bytes (1 byte to 100 MiB, unless the server has another limit), and returns the server's description of it,
// to which messages refer. mimeType may be empty. The duration depends on body and the network: bound it with ctx. A retry needs the body
// from its beginning. A refusal is a *SendError, or an error of Connect.
func (c *Client) Upload(ctx context.Context, name, mimeType string, size int64, body io.Reader) (*chatv1.Upload, error) {
	made, err := c.media.CreateUpload(ctx, connect.NewRequest(&chatv1.CreateUploadRequest{Name: name, MimeType: mimeType, Size: uint64(max(size, 0))}))
	if err != nil {
		return nil, err
	}
	put, err := http.NewRequestWithContext(ctx, http.MethodPut, c.absolute(made.Msg.Url), io.NopCloser(body))
	if err != nil {
		return nil, err
	}
	put.ContentLength = size
	res, err := c.files().Do(put)
	if err != nil {
		return nil, err
	}
	if err := finish(res); err != nil {
		return nil, err
	}
	done, err := c.media.CompleteUpload(ctx, connect.NewRequest(&chatv1.CompleteUploadRequest{Upload: made.Msg.Upload}))
	if err != nil {
		return nil, err
	}
	return done.Msg, nil
}

// Download returns the bytes of a file to which the message at a seq of a conversation refers, as OpenFile does. The caller must close them.
func (c *Client) Download(ctx context.Context, upload, conversation, seq uint64) (io.ReadCloser, error) {
	made, err := c.media.GetDownload(ctx, connect.NewRequest(&chatv1.GetDownloadRequest{Upload: upload, Conversation: conversation, Seq: seq}))
	if err != nil {
		return nil, err
	}
	return c.OpenFile(ctx, made.Msg.Url)
}

// OpenFile returns the bytes of a file at an address that the server gave, such as Video.Playback's. The caller must close them. It reads from the best edge of
// Config.Region; from the next one where that does not connect, sends nothing for 10 seconds, or fails with 5xx; and in the end from the address. An edge that falls
// silent later, or breaks off, is an error of Read, and is left for a minute: open the file again.
func (c *Client) OpenFile(ctx context.Context, address string) (io.ReadCloser, error) {
	res, err := c.edges.get(ctx, c.files(), c.absolute(address))
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, finish(res)
	}
	return res.Body, nil
}

func (c *Client) absolute(url string) string {
	if strings.HasPrefix(url, "/") {
		return c.config.URL + url
	}
	return url
}

// files is the client of calls without its timeout, which would cut long files.
func (c *Client) files() *http.Client {
	h := *c.config.HTTP
	h.Timeout = 0
	return &h
}

// finish reads and closes an answer that has no file. A refusal is a *SendError, as for messages.
func finish(res *http.Response) error {
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	if err != nil || res.StatusCode < 300 {
		return err
	}
	var refusal struct{ Code, Reason, Message string }
	if json.Unmarshal(text, &refusal) != nil || refusal.Code == "" {
		return fmt.Errorf("rialto: the file was answered with %s", res.Status)
	}
	return &SendError{refusal.Code, refusal.Reason, refusal.Message}
}
