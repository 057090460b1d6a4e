package apiclient

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Put uploads a file to an address that the server gave, which may be relative to its own. The key is not sent. Call it with Retry.
func (c *Client) Put(ctx context.Context, to string, body io.ReadSeeker, size int64) error {
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, fileTimeout)
	defer cancel()
	counted := &countingReader{r: body}
	a, err := c.transfer(ctx, http.MethodPut, to, io.NopCloser(counted), size)
	if err != nil {
		return cmp.Or(counted.failed, err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(io.LimitReader(a.Body, 1000))
	switch {
	case a.StatusCode < 300:
		return nil
	case a.StatusCode < 500 && a.StatusCode != http.StatusTooManyRequests:
		return &Error{Code: "invalid_argument", Reason: "bad_file", Message: string(text)}
	case err != nil:
		return &interrupted{err}
	}
	return &Error{Code: codeUnavailable, Message: fmt.Sprintf("the server answered the upload with %s", a.Status)}
}

// Get calls f with the bytes at an address that the server gave, which may be relative to its own. The key is not sent. A file that is gone is refused with
// no_upload. Call it with Retry.
func (c *Client) Get(ctx context.Context, from string, f func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, fileTimeout)
	defer cancel()
	a, err := c.transfer(ctx, http.MethodGet, from, http.NoBody, 0)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	switch {
	case a.StatusCode == http.StatusNotFound, a.StatusCode == http.StatusGone:
		return &Error{Code: "not_found", Reason: "no_upload", Message: "the file is gone"}
	case a.StatusCode != http.StatusOK:
		return &Error{Code: codeUnavailable, Message: fmt.Sprintf("the server answered the download with %s", a.Status)}
	}
	counted := &countingReader{r: a.Body}
	err = f(counted)
	switch {
	case counted.failed != nil:
		return &interrupted{counted.failed}
	case err != nil:
		return err
	case a.ContentLength >= 0 && counted.n != a.ContentLength:
		return &interrupted{io.ErrUnexpectedEOF}
	}
	return nil
}

func (c *Client) transfer(ctx context.Context, method, address string, body io.Reader, size int64) (*http.Response, error) {
	base, err := url.Parse(c.config.URL)
	if err != nil {
		return nil, err
	}
	at, err := base.Parse(address)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, method, at.String(), body)
	if err != nil {
		return nil, err
	}
	r.ContentLength = size
	a, err := c.http.Do(r)
	if err != nil {
		return nil, &interrupted{err}
	}
	return a, nil
}

// countingReader counts what was read, and keeps the error that ended it.
type countingReader struct {
	r      io.Reader
	n      int64
	failed error // not io.EOF
}

// Read counts.
func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if err != nil && err != io.EOF {
		c.failed = err
	}
	return n, err
}
