// Command peers measures the system that Rialto is compared with, in the same way: NATS core delivers the messages of one sender to many
// subscribers. It is a separate module, so that Rialto does not depend on it.
//
//	peers serve --listen 127.0.0.1:4222
//	peers fanout --to 127.0.0.1:4222 --members 1000 --window 8 --duration 5s
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

func main() {
	if len(os.Args) < 2 {
		fail(errors.New("usage: peers serve or peers fanout"))
	}
	switch os.Args[1] {
	case "serve":
		fail(serve(os.Args[2:]))
	case "fanout":
		fail(fanout(os.Args[2:]))
	default:
		fail(fmt.Errorf("unknown command %q; use serve or fanout", os.Args[1]))
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func serve(args []string) error {
	fs := flag.NewFlagSet("serve", flag.ExitOnError)
	listen := fs.String("listen", "127.0.0.1:4222", "`address`")
	if err := fs.Parse(args); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(*listen)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	s, err := server.NewServer(&server.Options{Host: host, Port: n, NoSigs: true, MaxPending: 256 << 20})
	if err != nil {
		return err
	}
	go s.Start()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	<-stop
	s.Shutdown()
	s.WaitForShutdown()
	return nil
}

// group of one sender and its members. As in rialto bench with --whole, a message is in flight until all members have received it, by
// count.
type group struct {
	members   uint64
	payload   []byte
	sender    net.Conn
	sending   sync.Mutex // guards writing on sender
	delivered atomic.Uint64
	stopped   atomic.Bool
}

func fanout(args []string) error {
	fs := flag.NewFlagSet("fanout", flag.ExitOnError)
	to := fs.String("to", "127.0.0.1:4222", "`address` of the server")
	members := fs.Int("members", 1000, "`number` of subscribed connections")
	window := fs.Int("window", 8, "`number` of messages in flight")
	size := fs.Int("size", 200, "`bytes` of a message")
	duration := fs.Duration("duration", 5*time.Second, "duration of the measurement")
	if err := fs.Parse(args); err != nil {
		return err
	}
	g := &group{members: uint64(*members), payload: bytes.Repeat([]byte("x"), *size)}
	var conns []net.Conn
	for range *members {
		c, r, err := open(*to, "SUB g 1\r\n")
		if err != nil {
			return err
		}
		conns = append(conns, c)
		go func() {
			if err := g.listen(r); err != nil && !g.stopped.Load() {
				fail(err)
			}
		}()
	}
	sender, r, err := open(*to, "")
	if err != nil {
		return err
	}
	go func() { // the sender receives only pings
		for {
			if line, err := r.ReadSlice('\n'); err != nil || bytes.HasPrefix(line, []byte("-ERR")) {
				return
			}
		}
	}()
	g.sender = sender
	start := time.Now()
	if err := g.send(*window); err != nil {
		return err
	}
	time.Sleep(*duration)
	n, took := g.delivered.Load(), time.Since(start)
	g.stopped.Store(true)
	for _, c := range append(conns, sender) {
		_ = c.Close()
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"delivered_per_s": float64(n) / took.Seconds(), "members": *members, "window": *window})
}

// open opens a connection and subscribes. The answer to a ping shows that the subscription is active.
func open(to, subscribe string) (net.Conn, *bufio.Reader, error) {
	c, err := net.Dial("tcp", to)
	if err != nil {
		return nil, nil, err
	}
	r := bufio.NewReaderSize(c, 32<<10)
	if _, err := r.ReadSlice('\n'); err != nil { // INFO
		return nil, nil, err
	}
	if _, err := c.Write([]byte("CONNECT {\"verbose\":false,\"pedantic\":false}\r\n" + subscribe + "PING\r\n")); err != nil {
		return nil, nil, err
	}
	line, err := r.ReadSlice('\n')
	if err == nil && !bytes.HasPrefix(line, []byte("PONG")) {
		err = fmt.Errorf("the server answered a ping with %q", line)
	}
	return c, r, err
}

func (g *group) send(count int) error {
	g.sending.Lock()
	defer g.sending.Unlock()
	var b []byte
	for range count {
		b = append(b, "PUB g "...)
		b = strconv.AppendInt(b, int64(len(g.payload)), 10)
		b = append(b, '\r', '\n')
		b = append(append(b, g.payload...), '\r', '\n')
	}
	_, err := g.sender.Write(b)
	return err
}

func (g *group) listen(r *bufio.Reader) error {
	fresh := uint64(0)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if bytes.HasPrefix(line, []byte("MSG ")) {
			if _, err := r.Discard(len(g.payload) + 2); err != nil {
				return err
			}
			fresh++
		}
		if r.Buffered() > 0 || fresh == 0 {
			continue
		}
		now := g.delivered.Add(fresh)
		done := now/g.members - (now-fresh)/g.members
		fresh = 0
		if done > 0 && !g.stopped.Load() {
			if err := g.send(int(done)); err != nil {
				return err
			}
		}
	}
}
