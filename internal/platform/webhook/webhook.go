// Package webhook calls the operator's own servers, for instance to ask whether two users may write to each other, or to send a login code.
// Every request is signed, bounded in time and size, and sent only to the configured address. An invalid answer is an error. While most calls fail, further
// calls are refused (package outgoing).
//
// The body is JSON. The header Rialto-Timestamp has the seconds since 1970. Rialto-Signature is "v1=" followed by the hexadecimal
// HMAC-SHA256 of the timestamp, a dot and the body, under the configured secret. The receiver computes the same, compares in
// constant time, and refuses timestamps that are more than 5 minutes off.
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/base/tracing"
)

// Config of an endpoint; the zero value is none.
type Config struct {
	// URL that is posted to; https, or http on this machine.
	URL string `yaml:"url"`
	// Secret that signs what is posted; at least 16 characters.
	Secret string `yaml:"secret"`
	// Timeout of one request; 0 is 5 seconds, 300 ms for chat.before_send, and 1 second for moderation.before_publish.
	Timeout time.Duration `yaml:"timeout"`
	// AllowPrivate lets the name in url resolve to an address of a private network. An IP address in url needs no permission.
	AllowPrivate bool `yaml:"allow_private"`
}

// Set reports whether there is an endpoint.
func (c Config) Set() bool { return c.URL != "" }

// Check reports invalid settings.
func (c Config) Check() error {
	if !c.Set() {
		return nil
	}
	if err := egress.CheckURL(c.URL); err != nil {
		return fmt.Errorf("url: %w", err)
	}
	switch {
	case len(c.Secret) < 16:
		return errors.New("secret has at least 16 characters; make one with: openssl rand -hex 32")
	case c.Timeout < 0 || c.Timeout > time.Minute:
		return errors.New("timeout is at most 1m")
	}
	return nil
}

// Hook is an endpoint. It is safe for concurrent use.
type Hook struct {
	config Config
	clock  clock.Clock
	client *egress.Client
}

// Kind of a hook's calls.
type Kind struct {
	outgoing.Kind
	// Calls of this process, which have the circuit breakers. Hooks of the same address and kind share one.
	Calls *outgoing.Calls
}

// New returns a hook of a configuration that Check accepts.
func New(config Config, kind Kind, c clock.Clock) (*Hook, error) {
	client, err := egress.New(egress.Config{URL: config.URL, AllowPrivate: config.AllowPrivate, Timeout: config.Timeout, Kind: kind.Kind, Calls: kind.Calls})
	if err != nil {
		return nil, err
	}
	return &Hook{config: config, clock: c, client: client}, nil
}

// StatusError is the error of a call that was answered with another status than 2xx.
type StatusError struct {
	Status int
	// RetryAfter is how long the server asks to wait; 0: it does not say.
	RetryAfter time.Duration
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("webhook: it answered with status %d", e.Status)
}

// Call posts in and reads the answer, a JSON object, into out (nil: whatever it says). Any status but 2xx is an error. The error of a call that was not made is
// an *outgoing.Refused.
func (h *Hook) Call(ctx context.Context, in, out any) error { return h.call(ctx, in, out, nil) }

// call is Call. check decides whether the answer is valid; it may be nil.
func (h *Hook) call(ctx context.Context, in, out any, check func() error) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.config.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	at := strconv.FormatInt(h.clock.Now().Unix(), 10)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Rialto-Timestamp", at)
	if parent := tracing.Parent(ctx); parent != "" {
		r.Header.Set("Traceparent", parent)
	}
	r.Header.Set("Rialto-Signature", "v1="+Sign(h.config.Secret, at, body))
	answer, err := h.client.Do(r, func(a *egress.Answer) error {
		if out == nil || a.Status < 200 || a.Status > 299 {
			return nil
		}
		if err := json.Unmarshal(a.Body, out); err != nil {
			return fmt.Errorf("the answer is not the expected JSON: %w", err)
		}
		if check == nil {
			return nil
		}
		return check()
	})
	switch {
	case err != nil:
		return fmt.Errorf("webhook: %w", err)
	case answer.Status < 200 || answer.Status > 299:
		return &StatusError{Status: answer.Status, RetryAfter: answer.RetryAfter(h.clock.Now())}
	}
	return nil
}

// Sign returns the signature of a body at a time, in hexadecimal.
func Sign(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// Close closes idle connections.
func (h *Hook) Close() { h.client.Close() }
