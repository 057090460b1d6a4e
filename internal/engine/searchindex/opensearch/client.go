package opensearch

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
)

// client sends requests to the servers of a cluster. All of them may be repeated.
type client struct {
	servers       []server
	authorization string
	next          atomic.Uint32 // the server of the next request
}

// server of a cluster.
type server struct {
	url           string
	reads, writes *egress.Client
}

func newClient(config *Config) (*client, error) {
	c := &client{}
	switch {
	case config.APIKey != "":
		c.authorization = "ApiKey " + config.APIKey
	case config.User != "":
		c.authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(config.User+":"+config.Password))
	}
	for _, url := range config.URLs {
		url = strings.TrimRight(url, "/")
		s := server{url: url}
		for _, of := range []struct {
			to      **egress.Client
			timeout time.Duration
		}{{&s.reads, config.Timeout}, {&s.writes, max(writeTimeout, config.Timeout)}} {
			var err error
			if *of.to, err = egress.New(egress.Config{URL: url, AllowPrivate: true, Kind: outgoing.OpenSearch, Calls: config.Calls, Timeout: of.timeout, MaxAnswer: maxAnswer, CA: config.CA}); err != nil {
				return nil, fmt.Errorf("OpenSearch: %w", err)
			}
		}
		c.servers = append(c.servers, s)
	}
	if len(c.servers) == 0 {
		return nil, errors.New("OpenSearch: name a server")
	}
	return c, nil
}

func (c *client) close() {
	for _, s := range c.servers {
		s.reads.Close()
		s.writes.Close()
	}
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
	return c.request(ctx, method, path, body, out, func(s *server) *egress.Client { return s.reads })
}

func (c *client) write(ctx context.Context, method, path string, body []byte, out any) error {
	return c.request(ctx, method, path, body, out, func(s *server) *egress.Client { return s.writes })
}

// request tries the servers one after the other, until one works. Its error is that of ctx, if that has ended.
func (c *client) request(ctx context.Context, method, path string, body []byte, out any, by func(*server) *egress.Client) error {
	var last error
	for n, first := 0, int(c.next.Add(1)); n < len(c.servers); n++ {
		s := &c.servers[(first+n)%len(c.servers)]
		err := c.ask(ctx, by(s), method, s.url+path, body, out)
		var answered *failure
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &answered) && answered.status < http.StatusInternalServerError && answered.status != http.StatusTooManyRequests:
			return missing(answered) // another server would answer the same
		}
		last = err
	}
	return unavailable(last)
}

// missing makes searchindex.ErrMissing of an answer that says so.
func missing(f *failure) error {
	if f.kind == "index_not_found_exception" {
		return fmt.Errorf("%w: %w", searchindex.ErrMissing, f)
	}
	return f
}

// ask makes a request to one server.
func (c *client) ask(ctx context.Context, by *egress.Client, method, url string, body []byte, out any) error {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if c.authorization != "" {
		r.Header.Set("Authorization", c.authorization)
	}
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := by.Do(r, func(a *egress.Answer) error {
		if a.Status >= http.StatusMultipleChoices {
			return nil
		}
		if err := json.Unmarshal(a.Body, out); err != nil {
			return errors.New("the answer is not what OpenSearch answers") // its text may be in the error
		}
		return nil
	})
	if err != nil {
		return err
	}
	if answer.Status < http.StatusMultipleChoices {
		return nil
	}
	return &failure{answer.Status, kindOf(answer.Body)}
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
