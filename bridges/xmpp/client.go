package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/rialto-im/rialto/bridges/bridge"
)

// errNoAnswer says that a room, or its server, does not answer.
var errNoAnswer = errors.New("XMPP does not answer")

const (
	// answerTimeout is how long the server, or a room, may take to answer.
	answerTimeout = 30 * time.Second
	// pingInterval is between questions whether the bridge is still in each of its rooms.
	pingInterval = 2 * time.Minute
)

// client is a component of a server, connected again after each end of the connection. Its methods are safe for concurrent use.
type client struct {
	config   config
	logger   *slog.Logger
	host     bridge.Host   // set by Run, before there is a connection
	entering chan struct{} // held by who enters a room

	checkpoints *checkpoints

	mu       sync.Mutex // guards the fields below
	stream   *stream    // nil: there is none
	ended    chan struct{}
	requests map[string]request     // by id of the iq
	sent     map[string]chan answer // messages whose echo has not come, by room and id
	rooms    map[string]*room       // by address
	nicks    map[string]bool        // of the bridge's occupants, now or before, as room/nick
}

// request is a question that waits for its answer.
type request struct {
	to     string
	answer chan element
	page   *[]element // results of an archive, which come before the answer
}

// answer is what became of a stanza: the id that the room gives it, or why it was refused.
type answer struct {
	id      string
	refusal *bridge.Refusal
}

func newClient(c config, k *checkpoints, logger *slog.Logger) *client {
	return &client{config: c, logger: logger, checkpoints: k, entering: make(chan struct{}, 1), ended: make(chan struct{}), requests: map[string]request{}, sent: map[string]chan answer{}, rooms: map[string]*room{}, nicks: map[string]bool{}}
}

// Run keeps the connection, and asks whether the bridge is still in its rooms, until ctx ends.
func (x *client) Run(ctx context.Context, host bridge.Host) {
	x.host = host
	var work sync.WaitGroup
	work.Go(func() { x.ping(ctx) })
	bridge.KeepConnected(ctx, func() { x.connect(ctx) })
	work.Wait()
}

// Normalize returns the address of a room as servers write it.
func (*client) Normalize(address string) string { return strings.ToLower(strings.TrimSpace(address)) }

// connect makes a connection, and returns when it has ended.
func (x *client) connect(ctx context.Context) {
	s, err := openStream(ctx, x.config)
	if err == nil {
		x.connected(s)
		err = x.serve(ctx, s)
		x.disconnected()
	}
	if ctx.Err() == nil {
		x.logger.Warn("XMPP is connected again", "server", x.config.server, "error", err)
	}
}

// serve reads a stream to its end.
func (x *client) serve(ctx context.Context, s *stream) error {
	stop := context.AfterFunc(ctx, func() { _ = s.close() })
	defer func() {
		if stop() {
			_ = s.close()
		}
	}()
	for {
		e, err := s.read()
		if err != nil {
			return err
		}
		switch e.XMLName.Local {
		case "iq":
			x.handleIQ(e)
		case "presence":
			x.handlePresence(e)
		case "message":
			x.handleMessage(e)
		}
	}
}

func (x *client) connected(s *stream) {
	x.mu.Lock()
	x.stream = s
	x.mu.Unlock()
	x.logger.Info("connected to XMPP", "server", x.config.server, "domain", x.config.domain)
	x.host.Changed()
}

// disconnected forgets what was true of the connection: the rooms have to be entered again.
func (x *client) disconnected() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stream = nil
	close(x.ended)
	x.ended = make(chan struct{})
	clear(x.requests)
	clear(x.sent)
	clear(x.rooms)
}

// send sends a stanza, without waiting for what becomes of it.
func (x *client) send(e element) error { return x.write(e.String()) }

func (x *client) write(stanza string) error {
	x.mu.Lock()
	s := x.stream
	x.mu.Unlock()
	if s == nil {
		return bridge.ErrDisconnected
	}
	if err := s.write(stanza); err != nil {
		return errors.Join(bridge.ErrDisconnected, err)
	}
	return nil
}

// ask sends an iq as the bridge, and returns its answer with what an archive gave before it. The answer may be an error of the other side.
func (x *client) ask(ctx context.Context, kind, to string, query element) (element, []element, error) {
	id := rand.Text()
	var page []element
	q := request{to: to, answer: make(chan element, 1), page: &page}
	x.mu.Lock()
	ended := x.ended
	x.requests[id] = q
	x.mu.Unlock()
	defer func() {
		x.mu.Lock()
		delete(x.requests, id)
		x.mu.Unlock()
	}()
	if query.XMLName.Space == nsArchive {
		query.Attrs = append(query.Attrs, newElement("", "", "queryid", id).Attrs...)
	}
	if err := x.send(newElement(nsComponent, "iq", "type", kind, "id", id, "from", x.jid(0), "to", to).with(query)); err != nil {
		return element{}, nil, err
	}
	a, err := await(ctx, ended, q.answer)
	if err != nil {
		return a, nil, err // the reader may still add to the page
	}
	return a, page, nil
}

// await waits for an answer.
func await[T any](ctx context.Context, ended <-chan struct{}, answers <-chan T) (a T, err error) {
	timeout := time.NewTimer(answerTimeout)
	defer timeout.Stop()
	select {
	case a = <-answers:
		return a, nil
	case <-ended:
		return a, bridge.ErrDisconnected
	case <-timeout.C:
		return a, errNoAnswer
	case <-ctx.Done():
		return a, ctx.Err()
	}
}

func (x *client) handleIQ(e element) {
	id, from := e.attr("id"), e.attr("from")
	switch e.attr("type") {
	case "result", "error":
		x.mu.Lock()
		defer x.mu.Unlock()
		if q, ok := x.requests[id]; ok && strings.EqualFold(q.to, from) {
			delete(x.requests, id)
			q.answer <- e
		}
	case "get", "set":
		answer := newElement(nsComponent, "iq", "type", "result", "id", id, "from", e.attr("to"), "to", from)
		if _, asks := e.child(nsDiscovery, "query"); asks {
			answer = answer.with(newElement(nsDiscovery, "query").with(newElement(nsDiscovery, "identity", "category", "gateway", "type", "rialto", "name", "Rialto"),
				newElement(nsDiscovery, "feature", "var", nsDiscovery), newElement(nsDiscovery, "feature", "var", nsPing)))
		} else if _, pings := e.child(nsPing, "ping"); !pings {
			answer = errorTo(e, "service-unavailable")
		}
		_ = x.send(answer) // without a connection nobody waits for it
	}
}

// errorTo answers a stanza with an error.
func errorTo(e element, condition string) element {
	return newElement(nsComponent, e.XMLName.Local, "type", "error", "id", e.attr("id"), "from", e.attr("to"), "to", e.attr("from")).with(
		newElement(nsComponent, "error", "type", "cancel").with(newElement(nsErrors, condition)))
}

// errorOf returns the condition and the text of a stanza's error.
func errorOf(e element) (condition, text string) {
	detail, _ := e.child(nsComponent, "error")
	for _, c := range detail.Children {
		switch {
		case c.XMLName.Space != nsErrors:
		case c.XMLName.Local == "text":
			text = strings.TrimSpace(c.Text)
		default:
			condition = c.XMLName.Local
		}
	}
	return condition, text
}

// jid returns the address of a user of Rialto in XMPP; 0 is the bridge itself.
func (x *client) jid(user uint64) string {
	if user == 0 {
		return "bridge@" + x.config.domain + "/rialto"
	}
	return fmt.Sprintf("u%d@%s/rialto", user, x.config.domain)
}

// idOf returns the id that an entry of Rialto has in XMPP. It is the same whenever the entry is sent, and nobody else can make it.
func (x *client) idOf(conversation, seq uint64) string {
	name := fmt.Sprintf("%d-%d", conversation, seq)
	return name + "-" + x.tag(name)
}

// isOwn reports whether an id was made by idOf.
func (x *client) isOwn(id string) bool {
	at := strings.LastIndexByte(id, '-')
	return at > 0 && hmac.Equal([]byte(id[at+1:]), []byte(x.tag(id[:at])))
}

func (x *client) tag(name string) string {
	mac := hmac.New(sha256.New, []byte("id of a message\x00"+x.config.secret))
	mac.Write([]byte(name))
	return hex.EncodeToString(mac.Sum(nil)[:10])
}
