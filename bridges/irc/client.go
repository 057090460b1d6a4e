package main

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"log/slog"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/ergochat/irc-go/ircevent"
	"github.com/ergochat/irc-go/ircmsg"
	"github.com/rialto-im/rialto/bridges/bridge"
)

const (
	// answerTimeout is how long the server may take to answer.
	answerTimeout = time.Minute
	// quitTimeout is how long the server may take to end a connection that the bridge has left.
	quitTimeout = 5 * time.Second
)

// session is one connection to the server.
type session struct {
	conn   *ircevent.Connection
	joined map[string]bool // by folded channel; guarded by the client's mu
	ended  chan struct{}
}

// client is the bridge in IRC, over a connection that is opened again after it has ended. Its methods are safe for concurrent use.
type client struct {
	config config
	host   bridge.Host // set by Run, before there is a connection
	logger *slog.Logger
	last   *lastDelivery
	names  *caseMapping
	asking chan struct{} // held while a message waits for its answer: refusals do not name the line that they refuse
	pace   pace          // guarded by asking

	mu       sync.Mutex // guards the fields below
	session  *session   // nil: there is none that is ready
	question *question  // nil: there is none
}

// question is what lines about a channel ask the server, until it answers the ping behind them.
type question struct {
	channel, token string          // token is that of the ping
	answered       chan struct{}   // closed by its pong
	refusal        *bridge.Refusal // the first one; guarded by the client's mu
}

func newClient(c config, logger *slog.Logger) (*client, error) {
	last, err := openLastDelivery(c.state)
	if err != nil {
		return nil, err
	}
	names, err := openCaseMapping(c.state)
	return &client{config: c, logger: logger, last: last, names: names, asking: make(chan struct{}, 1), pace: pace{interval: c.interval}}, err
}

// dial makes a connection. Each attempt has one of its own, so that nothing of an earlier one is left.
func (x *client) dial() *session {
	c := x.config
	conn := &ircevent.Connection{Server: c.server, Nick: c.nick, User: "rialto", RealName: "a bridge to Rialto", UseTLS: c.tls, SASLLogin: c.account, SASLPassword: c.password,
		RequestCaps: []string{"account-tag"}, KeepAlive: 2 * time.Minute, Timeout: answerTimeout, QuitMessage: "The bridge is stopped.",
		Log: log.New(io.Discard, "", 0)} // the library logs lines of users
	if c.tls {
		host, _, _ := net.SplitHostPort(c.server)
		conn.TLSConfig = &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12, RootCAs: c.roots}
	}
	s := &session{conn: conn, joined: map[string]bool{}, ended: make(chan struct{})}
	conn.AddConnectCallback(func(ircmsg.Message) { x.connected(s) })
	conn.AddDisconnectCallback(func(ircmsg.Message) { x.end(s) })
	conn.AddCallback("PRIVMSG", func(m ircmsg.Message) { x.privmsg(s, m) })
	conn.AddCallback("PONG", x.pong)
	conn.AddCallback("FAIL", x.failed)
	conn.AddCallback("JOIN", func(m ircmsg.Message) { x.joined(s, m) })
	conn.AddCallback("PART", func(m ircmsg.Message) { x.parted(s, m) })
	conn.AddCallback("KICK", func(m ircmsg.Message) { x.kicked(s, m) })
	for n := 400; n < 600; n++ {
		conn.AddCallback(strconv.Itoa(n), x.refused)
	}
	return s
}

// Run keeps the connection until ctx ends.
func (x *client) Run(ctx context.Context, host bridge.Host) {
	x.host = host
	bridge.KeepConnected(ctx, func() {
		s := x.dial()
		if err := s.conn.Connect(); err != nil {
			x.logger.Warn("IRC cannot be reached", "server", x.config.server, "tls", x.config.tls, "error", err)
			return
		}
		x.keep(ctx, s)
	})
}

// keep returns when a connection has ended. If ctx ends before, a message that is being sent is sent whole.
func (x *client) keep(ctx context.Context, s *session) {
	select {
	case <-ctx.Done():
		select {
		case x.asking <- struct{}{}:
			<-x.asking
		case <-s.ended:
		}
		s.conn.Quit()
		select {
		case <-s.ended:
		case <-time.After(quitTimeout):
		}
	case <-s.ended:
		x.logger.Warn("the connection to IRC has ended", "server", x.config.server)
		s.conn.Quit()
		s.conn.Loop() // it closes the socket, and returns because of Quit
	}
}

// connected notes a connection that is ready.
func (x *client) connected(s *session) {
	if err := x.names.set(s.conn.ISupport()["CASEMAPPING"]); err != nil {
		x.logger.Warn("the network's case mapping could not be stored; the next process does not know it before it is connected", "error", err)
	}
	x.mu.Lock()
	x.session = s
	x.mu.Unlock()
	x.logger.Info("connected to IRC", "server", x.config.server, "nick", s.conn.CurrentNick())
	x.host.Changed()
}

// current returns the connection that is ready; nil: there is none.
func (x *client) current() *session {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.session
}

func (x *client) end(s *session) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.session == s {
		x.session = nil
	}
	close(s.ended)
}

func (x *client) pong(m ircmsg.Message) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if q := x.question; q != nil && len(m.Params) > 0 && m.Params[len(m.Params)-1] == q.token {
		close(q.answered)
		x.question = nil
	}
}

// reasons are those of a server that refuses a line to a channel, or to enter it.
var reasons = map[string]string{"401": "no_channel", "403": "no_channel", "404": "cannot_send", "405": "too_many_channels", "437": "unavailable", "442": notOnChannel, "471": "channel_full", "473": "invite_only",
	"474": "banned", "475": "needs_key", "476": "bad_channel", "477": "needs_account", "489": "needs_tls"}

const notOnChannel = "not_on_channel"

// refused notes a numeric by which the server refuses something.
func (x *client) refused(m ircmsg.Message) {
	if len(m.Params) > 1 {
		reason := reasons[m.Command]
		if reason == "" {
			reason = "refused_" + m.Command
		}
		x.note(m.Params[1], reason, m.Params[len(m.Params)-1])
	}
}

// failed notes a standard reply: FAIL COMMAND CODE CONTEXT… :TEXT.
func (x *client) failed(m ircmsg.Message) {
	for n := 2; n < len(m.Params)-1; n++ {
		x.note(m.Params[n], m.Params[1], m.Params[len(m.Params)-1])
	}
}

func (x *client) note(channel, reason, text string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if q := x.question; q != nil && q.refusal == nil && x.names.fold(channel) == q.channel {
		q.refusal = bridge.NewRefusal(reason, decode(text))
	}
}

// ask sends lines about a channel, and waits until the server has processed them: it answers in order, so the pong to a ping behind them comes after its refusals. It returns a *bridge.Refusal if there is one.
func (x *client) ask(ctx context.Context, channel string, commands ...[]string) error {
	select {
	case x.asking <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-x.asking }()
	s, q := x.beginQuestion(channel)
	defer x.endQuestion(q)
	if s == nil {
		return bridge.ErrDisconnected
	}
	for _, c := range append(commands, []string{"PING", q.token}) {
		if err := x.pace.wait(ctx, s.ended); err != nil {
			return err
		}
		if err := s.conn.Send(c[0], c[1:]...); err != nil {
			return errors.Join(bridge.ErrDisconnected, err)
		}
	}
	timeout := time.NewTimer(answerTimeout)
	defer timeout.Stop()
	select {
	case <-q.answered:
	case <-s.ended:
		return bridge.ErrDisconnected
	case <-timeout.C:
		s.conn.Reconnect() // ends it
		return bridge.ErrDisconnected
	case <-ctx.Done():
		return ctx.Err()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if q.refusal != nil {
		return q.refusal
	}
	return nil
}

// beginQuestion begins a question about a channel. It returns the connection, too, or nil. The caller holds asking.
func (x *client) beginQuestion(channel string) (*session, *question) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.question = &question{channel: x.names.fold(channel), token: strconv.FormatInt(rand.Int64(), 36), answered: make(chan struct{})}
	return x.session, x.question
}

// endQuestion ends a question, also if there was no answer: what comes later belongs to no question.
func (x *client) endQuestion(q *question) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.question == q {
		x.question = nil
	}
}

// burst is how many lines may be sent at once after a pause.
const burst = 4

// pace is how fast lines are sent: servers end the connections of who floods them.
type pace struct {
	interval time.Duration
	next     time.Time // when the next line may be sent, if there were no burst
}

// wait waits until a line may be sent.
func (p *pace) wait(ctx context.Context, ended <-chan struct{}) error {
	now := time.Now()
	if p.next.Before(now) {
		p.next = now
	}
	timer := time.NewTimer(p.next.Sub(now) - (burst-1)*p.interval)
	defer timer.Stop()
	select {
	case <-timer.C:
		p.next = p.next.Add(p.interval)
		return nil
	case <-ended:
		return bridge.ErrDisconnected
	case <-ctx.Done():
		return ctx.Err()
	}
}
