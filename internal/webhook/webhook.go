// Package webhook asks the operator's own servers: whether two users may write to each other, to send a code, and such. It
// promises that every request is signed and bounded in time and size, goes where the configuration says and nowhere else, and
// that what the other side says wrong is an error here.
//
// The body is JSON. The header Rialto-Timestamp has the seconds since 1970, and Rialto-Signature "v1=" and, in hexadecimal, the
// HMAC-SHA256 of timestamp, a dot and the body, under the configured secret: the receiver computes the same, compares in
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
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/rialto-im/rialto/internal/clock"
)

// Config of an endpoint; the zero value is none.
type Config struct {
	// URL that is posted to; https, or http on this machine.
	URL string `yaml:"url"`
	// Secret that signs what is posted; at least 16 characters.
	Secret string `yaml:"secret"`
	// Timeout of one request; 0 is 5 seconds.
	Timeout time.Duration `yaml:"timeout"`
}

// Set tells whether there is an endpoint.
func (c Config) Set() bool { return c.URL != "" }

// Check finds what cannot be.
func (c Config) Check() error {
	if !c.Set() {
		return nil
	}
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Host == "" || u.User != nil:
		return errors.New("url is an address as https://example.com/path")
	case u.Scheme != "https" && (u.Scheme != "http" || !local(u.Hostname())):
		return errors.New("url begins with https://, or with http:// for this machine")
	case len(c.Secret) < 16:
		return errors.New("secret has at least 16 characters; make one with: openssl rand -hex 32")
	case c.Timeout < 0 || c.Timeout > time.Minute:
		return errors.New("timeout is at most 1m")
	}
	return nil
}

func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// mostAnswer bounds what an endpoint may say, in bytes.
const mostAnswer = 64 << 10

// Hook is an endpoint. Its methods may be called from many goroutines.
type Hook struct {
	config Config
	clock  clock.Clock
	client *http.Client
}

// New makes a hook of a configuration that was checked.
func New(config Config, c clock.Clock) *Hook {
	if config.Timeout == 0 {
		config.Timeout = 5 * time.Second
	}
	return &Hook{config: config, clock: c, client: &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: 16, MaxConnsPerHost: 64, IdleConnTimeout: time.Minute}, // no proxy from the environment
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Call posts in and reads the answer, a JSON object, into out (nil: whatever it says). Any status but 2xx is an error.
func (h *Hook) Call(ctx context.Context, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, h.config.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.config.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	at := strconv.FormatInt(h.clock.Now().Unix(), 10)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "rialto")
	r.Header.Set("Rialto-Timestamp", at)
	r.Header.Set("Rialto-Signature", "v1="+Sign(h.config.Secret, at, body))
	res, err := h.client.Do(r)
	if err != nil {
		return fmt.Errorf("webhook: %w", err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, mostAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("webhook: %w", err)
	case res.StatusCode < 200 || res.StatusCode > 299:
		return fmt.Errorf("webhook: it answered with status %d", res.StatusCode)
	case out == nil:
		return nil
	case len(answer) > mostAnswer:
		return errors.New("webhook: it answered with more than 64 KiB")
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("webhook: its answer is not the JSON that it should be: %w", err)
	}
	return nil
}

// Sign gives the signature of a body at a time, in hexadecimal.
func Sign(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// Close lets go of idle connections.
func (h *Hook) Close() { h.client.CloseIdleConnections() }
