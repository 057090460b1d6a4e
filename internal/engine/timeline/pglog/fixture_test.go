package pglog_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/pglog"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, place string, options pglog.Options) *pglog.Log {
	t.Helper()
	l, err := pglog.Open(t.Context(), place, options)
	must(t, err)
	return l
}

// check is must for goroutines other than the test's.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// capturedLog collects a log's warnings for a test.
type capturedLog struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (l *capturedLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *capturedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *capturedLog) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// place creates an empty schema, and returns its URL and the application name of its connections.
func place(t testing.TB) (address, name string) {
	t.Helper()
	address = sqltest.Schema(t, sqltest.Postgres(t))
	u, err := url.Parse(address)
	must(t, err)
	q := u.Query()
	name = q.Get("search_path")
	q.Set("application_name", name)
	u.RawQuery = q.Encode()
	return u.String(), name
}

func writerSession(t testing.TB, address string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), address)
	must(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func conversation(id uint64) timeline.Key { return timeline.Key{Kind: timeline.Conversation, ID: id} }
func inbox(id uint64) timeline.Key        { return timeline.Key{Kind: timeline.Inbox, ID: id} }

func token(device, n uint64) timeline.Token {
	return timeline.Token{Sender: 7, Device: device, Counter: n}
}

// read returns all payloads of a key, and fails if its seqs have a gap.
func read(t testing.TB, l timeline.Log, k timeline.Key) []string {
	t.Helper()
	entries, err := l.Read(context.Background(), k, 0, 1<<20)
	for tries := 0; errs.Is(err, errs.Unavailable) && tries < 100; tries++ { // pooled connections to a database that ended meanwhile
		entries, err = l.Read(context.Background(), k, 0, 1<<20)
	}
	must(t, err)
	texts := make([]string, len(entries))
	for i, e := range entries {
		texts[i] = string(e.Payload)
		if e.Seq != uint64(i+1) {
			t.Fatalf("%v: entry %d has seq %d", k, i+1, e.Seq)
		}
	}
	return texts
}

// What a proxy does with the next batch.
type fate int

const (
	pass         fate = iota
	loseAnswer        // it is stored, and the answer is lost with the connection
	loseQuestion      // the connection is lost before the batch arrives
	comeLate          // the connection is lost, and the batch arrives later, at release
	silent            // the batch is not delivered, and there is no answer
	half              // its first part is delivered, the rest at release
	away              // as loseQuestion, for all batches
)

// proxy is between a log and PostgreSQL.
type proxy struct {
	t        testing.TB
	listener net.Listener
	server   string // its socket file
	wait     sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	next  fate
	met   int // batches that were not delivered
	late  net.Conn
	batch []byte
	rest  chan struct{} // closed at release, for the rest of a half
}

// between starts a proxy, and returns it with its address.
func between(t testing.TB, address string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(address)
	must(t, err)
	q := u.Query()
	p := &proxy{t: t, server: q.Get("host") + "/.s.PGSQL.5432", rest: make(chan struct{})}
	p.listener, err = net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	q.Del("host")
	q.Set("sslmode", "disable")
	u.Host, u.RawQuery = p.listener.Addr().String(), q.Encode()
	p.wait.Go(func() {
		for {
			client, err := p.listener.Accept()
			if err != nil {
				return
			}
			p.wait.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() { _ = p.listener.Close() })
	return p, u.String()
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", p.server)
	if err != nil {
		p.t.Error(err)
		return
	}
	var back sync.WaitGroup
	lost := make(chan struct{}) // drop the answer
	back.Go(func() {
		b := make([]byte, 1<<16)
		for {
			n, err := server.Read(b)
			select {
			case <-lost:
				if bytes.HasSuffix(b[:n], []byte("Z\x00\x00\x00\x05I")) { // ready for the next: it is committed
					_ = client.Close()
				}
			default:
				_, _ = client.Write(b[:n])
			}
			if err != nil {
				_ = client.Close()
				return
			}
		}
	})
	b := make([]byte, 1<<16)
	for {
		n, err := client.Read(b)
		f := p.fateOf(b[:n], server)
		switch f {
		case loseAnswer:
			close(lost)
		case loseQuestion:
			_ = server.Close()
		case silent:
			n = 0
		case comeLate:
			_ = client.Close()
			back.Wait() // ends with release
			return
		}
		if err == nil {
			_, err = server.Write(b[:n])
		}
		if err != nil {
			_ = server.Close()
			back.Wait()
			return
		}
		if f == half {
			<-p.rest
		}
	}
}

func (p *proxy) fateOf(b []byte, server net.Conn) fate {
	p.mu.Lock()
	defer p.mu.Unlock()
	meant := bytes.Contains(b, []byte("\x00store\x00"))
	if p.next == half {
		meant = len(b) > 4096 || bytes.Contains(b, []byte("AS r(ref")) // also a post, or a query for stored entries
	}
	if p.next == pass || !meant {
		return pass
	}
	f := p.next
	p.met++
	if f == away {
		return loseQuestion
	}
	p.next = pass
	if f == comeLate {
		p.late, p.batch = server, bytes.Clone(b)
	}
	return f
}

// release delivers the held batch, or the rest of one.
func (p *proxy) release() {
	p.mu.Lock()
	late, batch := p.late, p.batch
	p.mu.Unlock()
	if late == nil {
		close(p.rest)
		return
	}
	if _, err := late.Write(batch); err != nil {
		p.t.Error(err)
	}
	// Terminate follows: the server completes everything before it closes the connection.
	if _, err := late.Write([]byte("X\x00\x00\x00\x04")); err != nil {
		p.t.Error(err)
	}
}

// refused returns how many batches were not delivered.
func (p *proxy) refused() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.met
}

func (p *proxy) let(f fate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = f
}

// awaitLateBatch waits for the end of a connection whose batch was late.
func (p *proxy) awaitLateBatch() {
	if err := p.listener.Close(); err != nil {
		p.t.Error(err)
	}
	p.wait.Wait()
}
