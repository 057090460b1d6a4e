package opensearch

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
)

// client sends requests to the servers of a cluster. All of them may be repeated.
type client struct {
	reads, writes *egress.Servers
	header        http.Header
	next          atomic.Uint32 // the server of the next request
}

func newClient(config *Config) (*client, error) {
	c := &client{header: http.Header{}}
	switch {
	case config.APIKey != "":
		c.header.Set("Authorization", "ApiKey "+config.APIKey)
	case config.User != "":
		c.header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(config.User+":"+config.Password)))
	}
	for _, of := range []struct {
		to      **egress.Servers
		timeout time.Duration
	}{{&c.reads, config.Timeout}, {&c.writes, max(writeTimeout, config.Timeout)}} {
		var err error
		if *of.to, err = egress.NewServers(config.URLs, egress.Config{AllowPrivate: true, Kind: outgoing.OpenSearch, Calls: config.Calls, Timeout: of.timeout, MaxAnswer: maxAnswer, CA: config.CA}); err != nil {
			return nil, fmt.Errorf("OpenSearch: %w", err)
		}
	}
	return c, nil
}

func (c *client) close() {
	c.reads.Close()
	c.writes.Close()
}

// failure is the error of an answer. It has no text of the answer, which may quote a document.
type failure struct {
	status int
	kind   string // the cluster's name for it
}

func (f *failure) Error() string {
	said := fmt.Sprintf("OpenSearch answered %d %s", f.status, f.kind)
	switch f.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return said + ": check the user and the password, or the key, and what the cluster permits them"
	case http.StatusTooManyRequests:
		return said + ": it has more to do than it can"
	case http.StatusRequestEntityTooLarge:
		return said + ": its http.max_content_length is too low"
	}
	return said
}

// isKind reports whether an error is an answer with a kind.
func isKind(err error, kind string) bool {
	var f *failure
	return errors.As(err, &f) && f.kind == kind
}

// unavailable makes the error that callers of a search get.
func unavailable(err error) error {
	return &errs.Error{Kind: errs.Unavailable, Reason: "search_unavailable", Message: "the search index cannot be reached; try again", Retry: 5e9, Cause: err}
}

// read and write make a request to a server, and decode the answer. A body is JSON, or lines of it.
func (c *client) read(ctx context.Context, method, path string, body []byte, out any) error {
	return c.request(ctx, c.reads, method, path, body, out)
}

func (c *client) write(ctx context.Context, method, path string, body []byte, out any) error {
	return c.request(ctx, c.writes, method, path, body, out)
}

// request asks the servers one after the other, until one works. Its error is the cause of ctx, if that has ended.
func (c *client) request(ctx context.Context, by *egress.Servers, method, path string, body []byte, out any) error {
	q := egress.Call{Method: method, Target: path, Header: c.header, Body: body}
	if len(body) > 0 {
		q.Header = c.header.Clone()
		q.Header.Set("Content-Type", "application/json")
	}
	answer, err := by.Do(ctx, c.next.Add(1), q, func(a *egress.Answer) error {
		if a.Status >= http.StatusMultipleChoices {
			return nil
		}
		if err := json.Unmarshal(a.Body, out); err != nil {
			return errors.New("the answer is not what OpenSearch answers") // its text may be in the error
		}
		return nil
	})
	var status *egress.StatusError
	switch {
	case err != nil && ctx.Err() != nil:
		return err
	case errors.As(err, &status):
		return unavailable(failureOf(status.Answer))
	case err != nil:
		return unavailable(err)
	case answer.Status >= http.StatusMultipleChoices:
		return missing(failureOf(answer)) // another server would answer the same
	}
	return nil
}

func failureOf(a *egress.Answer) *failure { return &failure{a.Status, kindOf(a.Body)} }

// missing makes searchindex.ErrMissing of an answer that says so.
func missing(f *failure) error {
	if f.kind == "index_not_found_exception" {
		return fmt.Errorf("%w: %w", searchindex.ErrMissing, f)
	}
	return f
}

// maxKind bounds the kind of an error, in bytes.
const maxKind = 100

// kindOf returns the kind in an answer that is an error, "" if it has none.
func kindOf(body []byte) string {
	var answer struct {
		Error json.RawMessage `json:"error"`
	}
	var of struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(body, &answer) != nil || json.Unmarshal(answer.Error, &of) != nil || len(of.Type) > maxKind {
		return ""
	}
	for _, c := range of.Type {
		if (c < 'a' || c > 'z') && c != '_' {
			return ""
		}
	}
	return of.Type
}
