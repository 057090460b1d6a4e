package rialto_test

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// idlePath is a network in memory that silently drops connections which were idle for too long, as routers on the way do.
type idlePath struct {
	keeps  time.Duration // how long it keeps an idle connection; its clients cannot see it
	accept chan net.Conn
	closed chan struct{}
}

// pathConn is one end of a connection.
type pathConn struct {
	net.Conn
	keeps  time.Duration
	shared *pathState
}

// pathState is what both ends share.
type pathState struct {
	mu      sync.Mutex // guards all
	used    time.Time
	dropped bool
}

func (p *idlePath) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *idlePath) Close() error   { close(p.closed); return nil }
func (p *idlePath) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)} }

func (p *idlePath) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	a, b := net.Pipe()
	shared := &pathState{used: time.Now()}
	select {
	case p.accept <- &pathConn{b, p.keeps, shared}:
		return &pathConn{a, p.keeps, shared}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write loses what is written to a dropped connection.
func (c *pathConn) Write(b []byte) (int, error) {
	c.shared.mu.Lock()
	if time.Since(c.shared.used) > c.keeps {
		c.shared.dropped = true
	}
	c.shared.used = time.Now()
	dropped := c.shared.dropped
	c.shared.mu.Unlock()
	if dropped {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// TestBackgroundHeartbeats: in the background the client finds for how long its path keeps an idle connection, and pings a little more often than that.
// What the server pushed onto dropped connections comes with the next ones: nothing is lost.
func TestBackgroundHeartbeats(t *testing.T) {
	const keeps, every, longest = 100 * time.Second, 5 * time.Second, 5 * time.Minute
	synctest.Test(t, func(t *testing.T) {
		path := &idlePath{keeps: keeps, accept: make(chan net.Conn), closed: make(chan struct{})}
		var opened, lost int
		var pings []time.Time
		var last *gatewayv1.Ping
		var newest *conn
		s := &server{t: t, heartbeatMs: uint32(every.Milliseconds()), longestMs: uint32(longest.Milliseconds())}
		s.tail = &chatv1.Position{}
		s.sync = func(after *chatv1.Position) *chatv1.SyncResponse {
			r := &chatv1.SyncResponse{Next: s.tail}
			for seq := after.GetSeq() + 1; seq <= s.tail.Seq; seq++ {
				r.Events = append(r.Events, event(seq, seq-1))
			}
			return r
		}
		s.script = func(_ int, c *conn) {
			s.mu.Lock()
			opened++
			newest = c
			s.mu.Unlock()
			for f := c.next(); f != nil; f = c.next() {
				if f.Ping != nil {
					s.mu.Lock()
					pings, last = append(pings, time.Now()), f.Ping
					s.mu.Unlock()
				}
			}
		}
		web := s.serve(path)
		var got []uint64 // seqs; guarded by s.mu
		transport := &http.Transport{DialContext: path.dial, DisableKeepAlives: true}
		c, err := rialto.New(rialto.Config{URL: "http://path", HTTP: &http.Client{Transport: transport}, MaxWait: time.Millisecond, Handler: func(e rialto.Event) {
			if e.Message != nil {
				s.mu.Lock()
				defer s.mu.Unlock()
				got = append(got, e.Message.Seq)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Login(t.Context(), "alice", "a good password"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = c.Run(ctx) // it ends with ctx
		}()
		time.Sleep(time.Minute)
		c.SetBackground(true)
		for range 60 {
			time.Sleep(113 * time.Second) // an idle connection is dropped in between
			s.mu.Lock()
			before := s.tail.Seq
			s.tail = &chatv1.Position{Epoch: 1, Seq: before + 1}
			to := newest
			s.mu.Unlock()
			to.write(&gatewayv1.ServerFrame{Events: []*chatv1.Event{event(before+1, before)}})
			synctest.Wait()
			s.mu.Lock()
			if len(got) < int(before)+1 {
				lost++
			}
			s.mu.Unlock()
		}
		time.Sleep(time.Hour)
		s.mu.Lock()
		before := opened
		s.mu.Unlock()
		time.Sleep(time.Hour)
		synctest.Wait()
		s.mu.Lock()
		if interval := pings[len(pings)-1].Sub(pings[len(pings)-2]); interval > keeps || interval < keeps*3/4 {
			t.Errorf("the client pings each %v on a path that keeps idle connections for %v", interval, keeps)
		}
		if lost == 0 || len(got) != 60 {
			t.Errorf("of 60 messages %d were lost on the path, and %d arrived", lost, len(got))
		}
		for i, seq := range got {
			if seq != uint64(i)+1 {
				t.Fatalf("the messages arrived as %v", got)
			}
		}
		if opened != before || before > 20 {
			t.Errorf("%d connections were opened in the search, and %d after it", before, opened-before)
		}
		if next := time.Duration(last.NextMs) * time.Millisecond; next < keeps*3/4 || next > longest {
			t.Errorf("the server was told of %v to the next ping", next)
		}
		s.mu.Unlock()
		c.SetBackground(false)
		synctest.Wait()
		s.mu.Lock()
		if last.NextMs != 0 {
			t.Errorf("back in the foreground the server was told of %d ms", last.NextMs)
		}
		s.mu.Unlock()
		cancel()
		<-ended
		transport.CloseIdleConnections()
		if err := web.Close(); err != nil {
			t.Error(err)
		}
		s.scripts.Wait()
	})
}
