package importer

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/egress"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/operation/v1/operationv1connect"
	"google.golang.org/protobuf/proto"
)

const (
	callTimeout = 60 * time.Second
	fileTimeout = 15 * time.Minute
	// patience is for how long calls are repeated while the server is busy, or does not answer.
	patience    = 10 * time.Minute
	retryFirst  = 200 * time.Millisecond
	retryLonger = 10 * time.Second
	// maxAnswer bounds an answer, in bytes.
	maxAnswer = 64 << 20
)

// Server is a running deployment, with a key of the role operator. It is for one goroutine.
type Server struct {
	URL   string
	key   string
	files *http.Client
	waits time.Duration // patience
	// reached: the server has answered a call.
	reached bool
}

// Connect returns a client. It calls nothing. Calls fail if egress.CheckURL refuses the address: the key is sent encrypted, or within this machine.
func Connect(address, key string) *Server {
	address = strings.TrimRight(address, "/")
	return &Server{URL: address, key: key, files: &http.Client{Timeout: fileTimeout, CheckRedirect: checkRedirect}, waits: patience}
}

// maxRedirects of a request, as of a client of package http.
const maxRedirects = 10

// checkRedirect refuses to send the key where it would not be sent at first.
func checkRedirect(r *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return fmt.Errorf("the server redirects more than %d times", maxRedirects)
	}
	if r.Header.Get("Authorization") == "" {
		return nil
	}
	return egress.CheckURL(r.URL.String())
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
func (s *Server) call(ctx context.Context, procedure string, q, a proto.Message) error {
	_, err := s.callNoting(ctx, procedure, q, a)
	return err
}

// callNoting is call that reports whether the call was repeated: an earlier attempt may have had its effect.
func (s *Server) callNoting(ctx context.Context, procedure string, q, a proto.Message) (repeated bool, err error) {
	delays, end := backoff.New(retryFirst, retryLonger), time.Now().Add(s.waits)
	for ; ; repeated = true {
		err := s.attempt(ctx, procedure, q, a)
		var failed *failure
		switch {
		case err == nil:
			return repeated, nil
		case ctx.Err() != nil:
			return repeated, ctx.Err()
		case errors.As(err, &failed) && failed.Code == "unauthenticated", errors.As(err, &failed) && failed.Code == "permission_denied":
			return repeated, fmt.Errorf("the server does not accept this key: it needs one with the role operator, of rialto admin key create --role operator --name NAME: %w", err)
		case errors.As(err, &failed) && failed.reason() != "" && !failed.passes():
			return repeated, &refused{failed.reason(), failed.Message}
		case time.Now().After(end), !s.reached, errors.As(err, &failed) && !failed.passes(): // a wrong address shows at once
			return repeated, err
		}
		if err := delays.Wait(ctx); err != nil {
			return repeated, err
		}
	}
}

// failure is an error of the Connect protocol.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Details []struct {
		Type  string `json:"type"`
		Value string `json:"value"`
	} `json:"details"`
}

// Error has the code and the message.
func (f *failure) Error() string { return f.Code + ": " + f.Message }

// passes reports whether a call that failed may succeed later.
func (f *failure) passes() bool {
	return f.Code == "unavailable" || f.Code == "internal" || f.Code == "deadline_exceeded" || f.reason() == "too_many_requests"
}

// reason of the server, "" if it gave none.
func (f *failure) reason() string {
	for _, d := range f.Details {
		var said gatewayv1.Error
		if b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(d.Value, "=")); err == nil && d.Type == string(said.ProtoReflect().Descriptor().FullName()) && proto.Unmarshal(b, &said) == nil {
			return said.Reason
		}
	}
	return ""
}

// attempt makes a unary call of the Connect protocol. The generated client would do, and make the program a quarter of a megabyte larger.
func (s *Server) attempt(ctx context.Context, procedure string, q, a proto.Message) error {
	if err := egress.CheckURL(s.URL); err != nil {
		return err
	}
	body, err := proto.Marshal(q)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+procedure, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/proto")
	r.Header.Set("Connect-Protocol-Version", "1")
	r.Header.Set("Authorization", "Bearer "+s.key)
	answer, err := s.files.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	s.reached = true
	b, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return err
	}
	if answer.StatusCode == http.StatusOK {
		return proto.Unmarshal(b, a)
	}
	f := &failure{}
	switch {
	case json.Unmarshal(b, f) == nil && f.Code != "":
		return f
	case answer.StatusCode < 500 && answer.StatusCode != http.StatusTooManyRequests:
		return &failure{Code: "unimplemented", Message: "the server answered with " + answer.Status + ": give the address at which clients reach it"}
	}
	return &failure{Code: "unavailable", Message: "the server answered with " + answer.Status}
}

func (s *Server) importUsers(ctx context.Context, q *operationv1.ImportUsersRequest) (*operationv1.ImportUsersResponse, error) {
	a := &operationv1.ImportUsersResponse{}
	return a, s.call(ctx, operationv1connect.InterchangeServiceImportUsersProcedure, q, a)
}

func (s *Server) importConversation(ctx context.Context, q *operationv1.ImportConversationRequest) (*operationv1.ImportConversationResponse, error) {
	a := &operationv1.ImportConversationResponse{}
	return a, s.call(ctx, operationv1connect.InterchangeServiceImportConversationProcedure, q, a)
}

func (s *Server) importEntries(ctx context.Context, q *operationv1.ImportEntriesRequest) (_ *operationv1.ImportEntriesResponse, repeated bool, _ error) {
	a := &operationv1.ImportEntriesResponse{}
	repeated, err := s.callNoting(ctx, operationv1connect.InterchangeServiceImportEntriesProcedure, q, a)
	return a, repeated, err
}

func (s *Server) endImport(ctx context.Context, q *operationv1.EndImportRequest) (*operationv1.EndImportResponse, error) {
	a := &operationv1.EndImportResponse{}
	return a, s.call(ctx, operationv1connect.InterchangeServiceEndImportProcedure, q, a)
}

// upload uploads a file, and returns its id.
func (s *Server) upload(ctx context.Context, q *operationv1.ImportFileRequest, body io.ReadSeeker, avatar bool) (uint64, error) {
	created := &operationv1.ImportFileResponse{}
	if err := s.call(ctx, operationv1connect.InterchangeServiceImportFileProcedure, q, created); err != nil {
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
	complete := &operationv1.CompleteFileRequest{Owner: q.Owner, Upload: created.Upload, Avatar: avatar}
	return created.Upload, s.call(ctx, operationv1connect.InterchangeServiceCompleteFileProcedure, complete, &operationv1.CompleteFileResponse{})
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
	a := &operationv1.ExportUsersResponse{}
	return a, s.call(ctx, operationv1connect.InterchangeServiceExportUsersProcedure, q, a)
}

// ExportConversations gets a page of conversations.
func (s *Server) ExportConversations(ctx context.Context, q *operationv1.ExportConversationsRequest) (*operationv1.ExportConversationsResponse, error) {
	a := &operationv1.ExportConversationsResponse{}
	return a, s.call(ctx, operationv1connect.InterchangeServiceExportConversationsProcedure, q, a)
}

// ExportEntries gets a page of entries.
func (s *Server) ExportEntries(ctx context.Context, q *operationv1.ExportEntriesRequest) (*operationv1.ExportEntriesResponse, error) {
	a := &operationv1.ExportEntriesResponse{}
	return a, s.call(ctx, operationv1connect.InterchangeServiceExportEntriesProcedure, q, a)
}

// ExportFile calls f with the bytes of a file, again if the connection breaks.
func (s *Server) ExportFile(ctx context.Context, upload uint64, f func(io.Reader) error) error {
	delays, end := backoff.New(retryFirst, retryLonger), time.Now().Add(s.waits)
	for {
		file := &operationv1.ExportFileResponse{}
		if err := s.call(ctx, operationv1connect.InterchangeServiceExportFileProcedure, &operationv1.ExportFileRequest{Upload: upload}, file); err != nil {
			return err
		}
		err := s.get(ctx, file, f)
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
