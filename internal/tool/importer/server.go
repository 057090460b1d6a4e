package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/backoff"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/operation/v1/operationv1connect"
)

const (
	callTimeout = 60 * time.Second
	fileTimeout = 15 * time.Minute
	// patience is for how long calls are repeated while the server is busy, or does not answer.
	patience    = 10 * time.Minute
	retryFirst  = 200 * time.Millisecond
	retryLonger = 10 * time.Second
)

// Server is a running deployment, with a key of the role operator.
type Server struct {
	URL   string
	key   string
	calls operationv1connect.InterchangeServiceClient
	files *http.Client
	waits time.Duration // patience; tests wait for less
}

// Connect returns a client. It calls nothing.
func Connect(address, key string) *Server {
	address = strings.TrimRight(address, "/")
	return &Server{URL: address, key: key, calls: operationv1connect.NewInterchangeServiceClient(&http.Client{Timeout: callTimeout}, address), files: &http.Client{Timeout: fileTimeout}, waits: patience}
}

// refused is the refusal of one thing, which does not end a load.
type refused struct{ Reason, Message string }

// Error has the reason and the message.
func (r *refused) Error() string { return r.Reason + ": " + r.Message }

// refusal returns why one thing was refused; nil if err is none, or ends the load.
func refusal(err error) *refused {
	var r *refused
	if errors.As(err, &r) {
		return r
	}
	return nil
}

// call makes a call, and repeats it while the server is busy. All calls may be repeated.
func call[Q, A any](ctx context.Context, s *Server, do func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), q *Q) (*A, error) {
	a, _, err := callNoting(ctx, s, do, q)
	return a, err
}

// callNoting is call that reports whether the call was repeated: an earlier attempt may have had its effect.
func callNoting[Q, A any](ctx context.Context, s *Server, do func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), q *Q) (_ *A, repeated bool, _ error) {
	delays, end := backoff.New(retryFirst, retryLonger), time.Now().Add(s.waits)
	for ; ; repeated = true {
		r := connect.NewRequest(q)
		r.Header().Set("Authorization", "Bearer "+s.key)
		a, err := do(ctx, r)
		if err == nil {
			return a.Msg, repeated, nil
		}
		switch connect.CodeOf(err) {
		case connect.CodeUnavailable, connect.CodeResourceExhausted, connect.CodeDeadlineExceeded, connect.CodeInternal:
			if reason := reasonOf(err); ctx.Err() == nil && time.Now().Before(end) && (reason == "" || repeatable(connect.CodeOf(err), reason)) {
				if err := delays.Wait(ctx); err != nil {
					return nil, repeated, err
				}
				continue
			}
		case connect.CodeUnauthenticated, connect.CodePermissionDenied:
			return nil, repeated, fmt.Errorf("the server does not accept this key: it needs one with the role operator, of rialto admin key create --role operator --name NAME: %w", err)
		}
		if reason := reasonOf(err); reason != "" && connect.CodeOf(err) != connect.CodeUnavailable && connect.CodeOf(err) != connect.CodeInternal {
			var e *connect.Error
			errors.As(err, &e)
			return nil, repeated, &refused{reason, e.Message()}
		}
		return nil, repeated, err
	}
}

// repeatable reports whether a call that was refused may succeed later.
func repeatable(code connect.Code, reason string) bool {
	return code == connect.CodeUnavailable || reason == "too_many_requests"
}

// reasonOf returns the reason of the server's answer, "" if there was none.
func reasonOf(err error) string {
	var e *connect.Error
	if !errors.As(err, &e) {
		return ""
	}
	for _, d := range e.Details() {
		if v, err := d.Value(); err == nil {
			if said, ok := v.(*gatewayv1.Error); ok {
				return said.Reason
			}
		}
	}
	return ""
}

func (s *Server) importUsers(ctx context.Context, q *operationv1.ImportUsersRequest) (*operationv1.ImportUsersResponse, error) {
	return call(ctx, s, s.calls.ImportUsers, q)
}

func (s *Server) importConversation(ctx context.Context, q *operationv1.ImportConversationRequest) (*operationv1.ImportConversationResponse, error) {
	return call(ctx, s, s.calls.ImportConversation, q)
}

func (s *Server) importEntries(ctx context.Context, q *operationv1.ImportEntriesRequest) (_ *operationv1.ImportEntriesResponse, repeated bool, _ error) {
	return callNoting(ctx, s, s.calls.ImportEntries, q)
}

func (s *Server) endImport(ctx context.Context, q *operationv1.EndImportRequest) (*operationv1.EndImportResponse, error) {
	return call(ctx, s, s.calls.EndImport, q)
}

// upload uploads a file, and returns its id.
func (s *Server) upload(ctx context.Context, q *operationv1.ImportFileRequest, body io.ReadSeeker, avatar bool) (uint64, error) {
	created, err := call(ctx, s, s.calls.ImportFile, q)
	if err != nil {
		return 0, err
	}
	to, err := s.resolve(created.Url)
	if err != nil {
		return 0, err
	}
	delays, end := backoff.New(retryFirst, retryLonger), time.Now().Add(s.waits)
	for {
		err := s.put(ctx, to, body, int64(q.Size))
		if err == nil {
			break
		}
		if ctx.Err() != nil || refusal(err) != nil || time.Now().After(end) {
			return 0, err
		}
		if err := delays.Wait(ctx); err != nil {
			return 0, err
		}
	}
	_, err = call(ctx, s, s.calls.CompleteFile, &operationv1.CompleteFileRequest{Owner: q.Owner, Upload: created.Upload, Avatar: avatar})
	return created.Upload, err
}

func (s *Server) put(ctx context.Context, to string, body io.ReadSeeker, size int64) error {
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, to, io.NopCloser(body))
	if err != nil {
		return err
	}
	r.ContentLength = size
	a, err := s.files.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(io.LimitReader(a.Body, 1000))
	switch {
	case a.StatusCode < 300:
		return nil
	case a.StatusCode < 500 && a.StatusCode != http.StatusTooManyRequests:
		return &refused{"bad_file", string(text)}
	}
	return errors.Join(fmt.Errorf("the server answered the upload with %s", a.Status), err)
}

// resolve returns an address of a file, which may be relative to the server.
func (s *Server) resolve(address string) (string, error) {
	base, err := url.Parse(s.URL)
	if err != nil {
		return "", err
	}
	to, err := base.Parse(address)
	if err != nil {
		return "", err
	}
	return to.String(), nil
}

// IsRefused reports whether the server has refused one thing.
func IsRefused(err error) bool { return refusal(err) != nil }

// ExportUsers gets a page of users.
func (s *Server) ExportUsers(ctx context.Context, q *operationv1.ExportUsersRequest) (*operationv1.ExportUsersResponse, error) {
	return call(ctx, s, s.calls.ExportUsers, q)
}

// ExportConversations gets a page of conversations.
func (s *Server) ExportConversations(ctx context.Context, q *operationv1.ExportConversationsRequest) (*operationv1.ExportConversationsResponse, error) {
	return call(ctx, s, s.calls.ExportConversations, q)
}

// ExportEntries gets a page of entries.
func (s *Server) ExportEntries(ctx context.Context, q *operationv1.ExportEntriesRequest) (*operationv1.ExportEntriesResponse, error) {
	return call(ctx, s, s.calls.ExportEntries, q)
}

// ExportFile calls f with the bytes of a file, again if the connection breaks.
func (s *Server) ExportFile(ctx context.Context, upload uint64, f func(io.Reader) error) error {
	delays, end := backoff.New(retryFirst, retryLonger), time.Now().Add(s.waits)
	for {
		file, err := call(ctx, s, s.calls.ExportFile, &operationv1.ExportFileRequest{Upload: upload})
		if err != nil {
			return err
		}
		err = s.get(ctx, file, f)
		if err == nil || refusal(err) != nil || ctx.Err() != nil || time.Now().After(end) {
			return err
		}
		if err := delays.Wait(ctx); err != nil {
			return err
		}
	}
}

func (s *Server) get(ctx context.Context, file *operationv1.ExportFileResponse, f func(io.Reader) error) error {
	from, err := s.resolve(file.Url)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from, http.NoBody)
	if err != nil {
		return err
	}
	a, err := s.files.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	switch {
	case a.StatusCode == http.StatusNotFound, a.StatusCode == http.StatusGone:
		return &refused{"no_upload", "the file is gone"}
	case a.StatusCode != http.StatusOK:
		return fmt.Errorf("the server answered the download with %s", a.Status)
	}
	counted := &countingReader{r: a.Body}
	if err := f(counted); err != nil {
		return err
	}
	if a.ContentLength >= 0 && counted.n != a.ContentLength {
		return io.ErrUnexpectedEOF
	}
	return nil
}

type countingReader struct {
	r io.Reader
	n int64
}

// Read counts.
func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
