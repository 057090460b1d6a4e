package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"google.golang.org/protobuf/proto"
)

// Call makes a call that may be made twice, and repeats it while the server is busy or does not answer, for Config.Patience. Errors are of type *Error if
// the server has refused the call.
func (c *Client) Call(ctx context.Context, procedure string, q, a proto.Message) error {
	_, err := c.CallRepeatedly(ctx, procedure, q, a)
	return err
}

// CallRepeatedly is Call that reports whether the call was repeated: an earlier attempt may have had its effect.
func (c *Client) CallRepeatedly(ctx context.Context, procedure string, q, a proto.Message) (repeated bool, err error) {
	attempts := 0
	err = c.Retry(ctx, func() error {
		attempts++
		return c.CallOnce(ctx, procedure, q, a)
	})
	return attempts > 1, err
}

// Retry calls f again while its error is one that passes, for Config.Patience: the server is busy, or the connection failed. Other errors, such as those of a file of
// this machine, end it at once.
func (c *Client) Retry(ctx context.Context, f func() error) error {
	delays, end := backoff.New(retryFirst, retryLonger), time.Now().Add(c.config.Patience)
	for {
		err := f()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !passes(err), !c.reached.Load(), time.Now().After(end):
			return err
		}
		if err := delays.Wait(ctx); err != nil {
			return err
		}
	}
}

// CallOnce makes a call that must not be made twice. The generated clients would do, and make the program larger.
func (c *Client) CallOnce(ctx context.Context, procedure string, q, a proto.Message) error {
	body, err := proto.Marshal(q)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.config.URL+procedure, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/proto")
	r.Header.Set("Connect-Protocol-Version", "1")
	r.Header.Set("Authorization", "Bearer "+c.config.Key)
	answer, err := c.http.Do(r)
	if err != nil {
		return c.unanswered(err)
	}
	defer answer.Body.Close()
	c.reached.Store(true)
	b, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return &interrupted{err}
	}
	if answer.StatusCode == http.StatusOK {
		return proto.Unmarshal(b, a)
	}
	return c.refusal(answer, b)
}

// unanswered is the error of a call without an answer. If nothing was connected to, the address may be wrong, or the server may not run.
func (c *Client) unanswered(err error) error {
	var dial *net.OpError
	if !errors.As(err, &dial) || dial.Op != "dial" {
		return &interrupted{err}
	}
	return &interrupted{fmt.Errorf("no server can be reached at %s: %w; start it, or give its address with --url", c.config.URL, dial)}
}

// refusal is the error of an answer.
func (c *Client) refusal(answer *http.Response, body []byte) error {
	var f failure
	switch {
	case json.Unmarshal(body, &f) == nil && f.Code == codeUnauthenticated:
		return &Error{Code: f.Code, Message: "the server does not accept this key; make one with: " + c.config.create()}
	case f.Code == codePermissionDenied:
		return &Error{Code: f.Code, Message: fmt.Sprintf("this key may not do that: %s; make another with: %s", withoutCommand(f.Message), c.config.create())}
	case f.Code != "":
		return &Error{Code: f.Code, Reason: f.reason(), Message: f.Message}
	case answer.StatusCode < 500 && answer.StatusCode != http.StatusTooManyRequests:
		return &Error{Code: "unimplemented", Message: "the server answered with " + answer.Status + ": these calls are not at this address; give the one at which clients reach the server (by default port 7070), since the admin listener (7071) has only some of them"}
	}
	return &Error{Code: codeUnavailable, Message: "the server answered with " + answer.Status}
}
