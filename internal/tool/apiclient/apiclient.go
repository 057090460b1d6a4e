// Package apiclient is the client with which operators' commands call a running server: rialto import, export, backup, rank, where and id. It has the
// flags that name a server and a key, and makes unary calls of the Connect protocol, with retries.
//
// A Client is safe for concurrent use.
package apiclient

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/egress"
)

const (
	callTimeout = 60 * time.Second
	fileTimeout = 15 * time.Minute
	retryFirst  = 200 * time.Millisecond
	retryLonger = 10 * time.Second
	// maxAnswer bounds an answer, in bytes.
	maxAnswer = 64 << 20
	// maxRedirects of a request, as of a client of package http.
	maxRedirects = 10
	// idleConnections that are kept, for callers that call concurrently.
	idleConnections = 256
)

// DefaultPatience is how long commands repeat a call that fails for a while.
const DefaultPatience = 30 * time.Second

// Config of a Client.
type Config struct {
	// URL of a listener of the server, such as https://chat.example.com.
	URL string
	// Key of the API, or @FILE to read it from a file.
	Key string
	// PlainHTTP allows http:// for other machines than this one: the key crosses the network as plain text.
	PlainHTTP bool
	// Access is what rialto admin key create is told to make a key that may call, such as --role operator. Errors name it.
	Access string
	// Patience is for how long Call repeats a call while the server is busy, or does not answer; 0: it does not repeat it.
	Patience time.Duration
}

// AddFlags adds the flags --url, --key and --plain-http, whose values are stored in c. The present URL is the default. Access is set before.
func (c *Config) AddFlags(fs *flag.FlagSet, about string) {
	fs.StringVar(&c.URL, "url", c.URL, "`URL` of "+about+", such as https://chat.example.com, or http://127.0.0.1:7070 on this machine")
	fs.StringVar(&c.Key, "key", "", "API `key`, or @FILE to read it from a file; "+c.create()+" creates one")
	fs.BoolVar(&c.PlainHTTP, "plain-http", false, "allow http:// for another machine: the key crosses the network as plain text, and whoever reads it there can use it")
}

// create is the command that creates a key.
func (c *Config) create() string {
	return strings.Join(strings.Fields(createKey+" "+c.Access+" --name NAME"), " ")
}

// Check returns an error for an address that a Client does not call.
func (c *Config) Check() error {
	if c.Key == "" {
		return errors.New("--key is missing")
	}
	return c.checkURL(c.URL)
}

func (c *Config) checkURL(address string) error {
	err := egress.CheckURL(address)
	rest, plain := strings.CutPrefix(address, "http://")
	if err == nil || !plain {
		return named(err)
	}
	encrypted := egress.CheckURL("https://" + rest)
	switch {
	case encrypted != nil:
		return named(encrypted)
	case c.PlainHTTP:
		return nil
	}
	return fmt.Errorf("--url: %w; --plain-http allows http:// for another machine, which sends the key as plain text", err)
}

// named is an error of the address.
func named(err error) error {
	if err != nil {
		err = fmt.Errorf("--url: %w", err)
	}
	return err
}

// Client calls a server.
type Client struct {
	config Config
	http   *http.Client
	// reached: the server has answered a call. Until then failures are not repeated, so that a wrong address shows at once.
	reached atomic.Bool
}

// New returns a Client. It reads the key, and calls nothing.
func New(c Config) (*Client, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	var err error
	if c.Key, err = readKey(c.Key); err != nil {
		return nil, err
	}
	c.URL = strings.TrimRight(c.URL, "/")
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = idleConnections
	client := &Client{config: c}
	client.http = &http.Client{Transport: transport, CheckRedirect: client.checkRedirect}
	return client, nil
}

// URL returns the address of the server.
func (c *Client) URL() string { return c.config.URL }

// checkRedirect refuses to send the key where it would not be sent at first.
func (c *Client) checkRedirect(r *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return fmt.Errorf("the server redirects more than %d times", maxRedirects)
	}
	if r.Header.Get("Authorization") == "" {
		return nil
	}
	return c.config.checkURL(r.URL.String())
}
