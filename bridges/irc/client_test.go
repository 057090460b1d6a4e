package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/bridges/bridge"
	"github.com/rialto-im/rialto/bridges/bridgetest"
)

// recorder is the bridge's side of a client.
type recorder struct {
	received chan bridge.Received
	changed  chan struct{}
}

func (r *recorder) Received(m bridge.Received) error { r.received <- m; return nil }
func (r *recorder) Expelled(string, *bridge.Refusal) {}
func (r *recorder) Changed() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// serve speaks as a server with SASL, account-tag and standard replies, which ngircd lacks, to one client.
func serve(t *testing.T, c net.Conn, password, features string) {
	defer c.Close()
	say := func(lines ...string) {
		for _, l := range lines {
			_, _ = fmt.Fprint(c, l, "\r\n") // the client may have gone
		}
	}
	in := bufio.NewScanner(c)
	for in.Scan() {
		command, rest, _ := strings.Cut(in.Text(), " ")
		switch {
		case command == "CAP" && strings.HasPrefix(rest, "LS"):
			say(":s CAP * LS :sasl account-tag")
		case command == "CAP" && strings.HasPrefix(rest, "REQ"):
			say(":s CAP * ACK" + strings.TrimPrefix(rest, "REQ"))
		case command == "AUTHENTICATE" && rest == "PLAIN":
			say("AUTHENTICATE +")
		case command == "AUTHENTICATE":
			if raw, err := base64.StdEncoding.DecodeString(rest); err != nil || string(raw) != "bridge\x00bridge\x00"+password {
				say(":s 904 rialto :SASL authentication failed")
				return
			}
			say(":s 903 rialto :SASL authentication successful")
		case command == "USER":
			say(":s 001 rialto :Welcome", ":s 005 rialto "+features+" :are supported by this server", ":s 376 rialto :End")
		case command == "JOIN":
			say(":rialto!~rialto@h JOIN "+rest, "@account=Eve :eve_!~e@h PRIVMSG "+rest+" :with an account", ":eve_!~e@h PRIVMSG "+rest+" :without")
		case command == "PRIVMSG" && strings.HasPrefix(rest, "#other "):
			_, text, _ := strings.Cut(rest, " ")
			say(":eve_!~e@h PRIVMSG #other :heard " + text[strings.LastIndex(text, " ")+1:])
		case command == "PRIVMSG":
			say("FAIL PRIVMSG RATE_LIMITED #lobby :Slow down", ":s NOTICE #lobby :no message")
		case command == "QUIT":
			return
		case command == "PING":
			say(":s PONG s " + rest)
		}
	}
}

func connectTo(t *testing.T, password string) (*client, *recorder) {
	t.Helper()
	return connectWith(t, password, "NICKLEN=30")
}

// connectWith connects to a server that says what it supports.
func connectWith(t *testing.T, password, features string) (*client, *recorder) {
	t.Helper()
	l := bridgetest.Must((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() { serve(t, c, "secret", features) })
		}
	})
	r := &recorder{received: make(chan bridge.Received, 10), changed: make(chan struct{}, 1)}
	x := bridgetest.Must(newClient(config{server: l.Addr().String(), nick: "rialto", account: "bridge", password: password, interval: time.Millisecond, state: t.TempDir()}, slog.New(slog.DiscardHandler)))(t)
	ctx, cancel := context.WithCancel(context.Background())
	work.Go(func() { x.Run(ctx, r) })
	t.Cleanup(func() { cancel(); _ = l.Close(); work.Wait() })
	return x, r
}

// With an account the bridge logs in by SASL, before it is seen. People with an account keep their address under any nick. The server's words for a refusal reach the sender.
func TestServersWithAccounts(t *testing.T) {
	x, r := connectTo(t, "secret")
	<-r.changed
	if err := x.Enter(t.Context(), "#lobby", bridge.Link{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bridge.Received{{Room: "#lobby", Address: "account eve", Name: "eve_", Text: "with an account"}, {Room: "#lobby", Address: "eve_", Name: "eve_", Text: "without"}} {
		if got := <-r.received; got != want {
			t.Errorf("received %v, want %v", got, want)
		}
	}
	var refusal *bridge.Refusal
	if _, err := x.Deliver(t.Context(), "#lobby", bridge.Outgoing{Conversation: 1, Seq: 2, Name: "Alice", Text: "hello"}); !errors.As(err, &refusal) || refusal.Reason != "rate_limited" || refusal.Text != "Slow down" {
		t.Errorf("a refused message is %v", err)
	}
}

// A message is sent once, also by the next process, unless another one was sent since.
func TestDeliveredOnce(t *testing.T) {
	x, r := connectTo(t, "secret")
	<-r.changed
	if err := x.Enter(t.Context(), "#other", bridge.Link{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		m := bridge.Outgoing{Conversation: 1, Seq: 2, Name: "Alice", Text: "hello"}
		if id, err := x.Deliver(t.Context(), "#other", m); id != "1-2" || err != nil {
			t.Errorf("the message is %q (%v)", id, err)
		}
		x.last = bridgetest.Must(openLastDelivery(x.config.state))(t)
	}
	m := bridge.Outgoing{Conversation: 1, Seq: 3, Name: "Alice", Text: "hello"}
	if _, err := x.Deliver(t.Context(), "#other", m); err != nil {
		t.Error(err)
	}
	var texts []string
	for len(r.received) > 0 {
		texts = append(texts, (<-r.received).Text)
	}
	if want := []string{"with an account", "without", "heard hello", "heard hello"}; !slices.Equal(texts, want) {
		t.Errorf("the server was sent %q, want %q", texts, want)
	}
}

// A wrong password is no connection: the bridge does not go on without its account.
func TestAWrongPassword(t *testing.T) {
	x, _ := connectTo(t, "wrong")
	if err := x.dial().conn.Connect(); err == nil {
		t.Error("connected with a wrong password")
	}
	if _, err := x.Deliver(t.Context(), "#lobby", bridge.Outgoing{Conversation: 1, Seq: 2, Name: "Alice", Text: "hello"}); !errors.Is(err, bridge.ErrDisconnected) {
		t.Errorf("without a connection, a message is %v", err)
	}
}

// Lines are sent at the interval, after four at once.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, began := pace{interval: time.Second}, time.Now()
		var at []time.Duration
		send := func(n int) {
			for range n {
				if err := p.wait(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
				at = append(at, time.Since(began))
			}
		}
		send(6)
		time.Sleep(time.Hour)
		send(5)
		want := fmt.Sprint([]time.Duration{0, 0, 0, 0, 1e9, 2e9, 3602e9, 3602e9, 3602e9, 3602e9, 3603e9})
		if fmt.Sprint(at) != want {
			t.Errorf("lines are sent at %v, want %v", at, want)
		}
	})
}

func TestSettings(t *testing.T) {
	ok := config{server: "irc.example.net:6697", tls: true, interval: time.Second}
	for problem, change := range map[string]func(c *config){
		"--server and": func(c *config) { c.server = "" },
		"host and a":   func(c *config) { c.server = "irc.example.net" },
		"--interval":   func(c *config) { c.interval = 0 },
		"belong":       func(c *config) { c.account = "a" },
		"password of":  func(c *config) { c.account, c.password, c.tls = "a", "b", false },
		"":             func(*config) {},
		" ":            func(c *config) { c.account, c.password, c.tls, c.server = "a", "b", false, "127.0.0.1:6667" },
	} {
		c := ok
		change(&c)
		err := c.check("#a")
		if problem = strings.TrimSpace(problem); (err == nil) != (problem == "") || err != nil && !strings.Contains(err.Error(), problem) {
			t.Errorf("%+v is %v, want an error with %q", c, err, problem)
		}
	}
}
