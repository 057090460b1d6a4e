package inputlimit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener for one connection.
type pipes struct{ conns chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{} }

// late is a body whose reads return a second after they have failed.
type late struct{ io.ReadCloser }

func (l late) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		time.Sleep(time.Second)
	}
	return n, err
}

// withBody runs a client of a server whose handler reads bodies that must arrive within an hour. Time passes when nobody has anything to do.
func withBody(t *testing.T, handler func(r *http.Request, b *Body) error, client func(t *testing.T, c net.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Body = late{r.Body}
			b := NewBody(w, r, time.Hour)
			defer b.Close() // it cannot fail
			if err := handler(r, b); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
			}
		})}
		near, far := net.Pipe()
		if err := near.SetDeadline(time.Now().Add(24 * time.Hour)); err != nil { // of the bubble's clock: a failure, not a hang
			t.Fatal(err)
		}
		l := pipes{make(chan net.Conn, 1)}
		l.conns <- far
		served := make(chan error, 1)
		go func() { served <- server.Serve(l) }()
		defer func() {
			close(l.conns)
			if err := errors.Join(near.Close(), server.Close()); err != nil {
				t.Error(err)
			}
			<-served
		}()
		client(t, near)
	})
}

func write(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, c net.Conn, status int) {
	t.Helper()
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != status {
		t.Errorf("the answer is %s: %s, %v; want %d", answer.Status, text, err, status)
	}
}

const request = "PUT / HTTP/1.1\r\nHost: x\r\n"

// readAll reads a body, and wants an error.
func readAll(want error) func(r *http.Request, b *Body) error {
	return func(_ *http.Request, b *Body) error {
		_, err := io.Copy(io.Discard, b)
		if !errors.Is(err, want) {
			return fmt.Errorf("reading ended with %w, want %w", err, want)
		}
		if cause := b.Cause(errors.New("of a store")); want != nil && !errors.Is(cause, want) {
			return fmt.Errorf("what follows has the cause %w", cause)
		}
		return b.Cause(nil)
	}
}

// TestBodiesStall: 16 KiB of a body, or its end, must come in half a minute, and all of it in its time. In all, its reader waits no longer than is allowed for the bytes that have come.
func TestBodiesStall(t *testing.T) {
	const chunk, half = 16 << 10, 8 << 10
	paced := func(n int64) time.Duration { return time.Minute + time.Duration(n/half)*time.Second }
	for name, c := range map[string]struct {
		pieces, size int // of which size bytes come after each pause
		pause        time.Duration
		missing      int // bytes that never come
		forBytes     func(n int64) time.Duration
		want         error
	}{
		"a client that pauses":                {5, chunk, 29 * time.Second, 0, nil, nil},
		"a client that sends less":            {4, half, 14 * time.Second, 0, nil, nil},
		"a client that ends with less":        {2, 5, 14 * time.Second, 0, nil, nil},
		"a client that sends no more":         {4, chunk, 29 * time.Second, 1, nil, ErrStalled},
		"a client that pauses too long":       {5, chunk, 31 * time.Second, 0, nil, ErrStalled},
		"a client that sends too little":      {5, half, 16 * time.Second, 0, nil, ErrStalled},
		"a client that sends single bytes":    {40, 1, time.Second, 0, nil, ErrStalled},
		"a client that takes too long":        {200, chunk, 20 * time.Second, 0, nil, ErrStalled},
		"a client that is slow for a minute":  {2, chunk, 29 * time.Second, 0, paced, nil},
		"a client that is slow for longer":    {3, chunk, 29 * time.Second, 0, paced, ErrStalled},
		"a client that is as fast as allowed": {200, chunk, 2 * time.Second, 0, paced, nil},
	} {
		t.Run(name, func(t *testing.T) {
			handler := func(r *http.Request, b *Body) error {
				b.pace.forBytes = c.forBytes
				return readAll(c.want)(r, b)
			}
			withBody(t, handler, func(t *testing.T, conn net.Conn) {
				var sending sync.WaitGroup
				sending.Go(func() { // until the server reads no more
					_, _ = fmt.Fprintf(conn, "%sContent-Length: %d\r\n\r\n", request, c.pieces*c.size+c.missing)
					for range c.pieces {
						time.Sleep(c.pause)
						if _, err := io.WriteString(conn, strings.Repeat("x", c.size)); err != nil {
							return
						}
					}
				})
				expect(t, conn, http.StatusOK)
				if err := conn.Close(); err != nil {
					t.Error(err)
				}
				sending.Wait()
			})
		})
	}
}

// TestSlowReadersDoNotStallBodies: the time in which nobody reads is not the client's.
func TestSlowReadersDoNotStallBodies(t *testing.T) {
	withBody(t, func(_ *http.Request, b *Body) error {
		b.pace.forBytes = func(int64) time.Duration { return time.Minute }
		for range 4 {
			if _, err := io.ReadFull(b, make([]byte, 2)); err != nil {
				return err
			}
			time.Sleep(5 * time.Minute)
		}
		return nil
	}, func(t *testing.T, c net.Conn) {
		write(t, c, request+"Content-Length: 8\r\n\r\n")
		for range 4 {
			time.Sleep(5 * time.Second)
			write(t, c, "xx")
		}
		expect(t, c, http.StatusOK)
	})
}

// TestRequestsOutliveTheirBodies: what is done with a body that has arrived may take longer than a body may stall. net/http does not take the client for gone, unless it is.
func TestRequestsOutliveTheirBodies(t *testing.T) {
	for name, body := range map[string]string{"with a length": "Content-Length: 5\r\n\r\nhello", "in chunks": "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"} {
		for _, leaves := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", and the client leaves: ", leaves), func(t *testing.T) {
				ended := make(chan bool, 1)
				withBody(t, func(r *http.Request, b *Body) error {
					_, err := io.ReadAll(b)
					if _, again := b.Read(make([]byte, 1)); !errors.Is(again, io.EOF) { // as a request does that sends the body on
						err = errors.Join(err, fmt.Errorf("reading after the end: %w", again))
					}
					select {
					case <-r.Context().Done():
						ended <- true
					case <-time.After(5 * time.Hour):
						ended <- false
					}
					return err
				}, func(t *testing.T, c net.Conn) {
					write(t, c, request+body)
					if leaves {
						if err := c.Close(); err != nil {
							t.Error(err)
						}
					} else {
						expect(t, c, http.StatusOK)
					}
					if got := <-ended; got != leaves {
						t.Errorf("the request has ended: %v", got)
					}
				})
			})
		}
	}
}

// TestInterruptedBodies: a read that waits fails with the reason, and so does all that follows.
func TestInterruptedBodies(t *testing.T) {
	reason := errors.New("another request has come")
	withBody(t, func(r *http.Request, b *Body) error {
		time.AfterFunc(time.Second, func() { b.Interrupt(reason) })
		err := readAll(reason)(r, b)
		if _, again := b.Read(make([]byte, 1)); !errors.Is(again, reason) {
			return fmt.Errorf("reading again: %w", again)
		}
		return err
	}, func(t *testing.T, c net.Conn) {
		write(t, c, request+"Content-Length: 5\r\n\r\nhell")
		expect(t, c, http.StatusOK)
	})
}

// deadlines is a writer that counts the deadlines of its connection.
type deadlines struct {
	*httptest.ResponseRecorder
	set int
}

func (d *deadlines) SetReadDeadline(time.Time) error {
	d.set++
	return nil
}

// TestTheCauseIsThatOfTheRead: net/http ends the request of a client that stalls before the read returns. Another goroutine that sees that end learns the cause nevertheless.
func TestTheCauseIsThatOfTheRead(t *testing.T) {
	withBody(t, func(r *http.Request, b *Body) error {
		var reading sync.WaitGroup
		defer reading.Wait()
		reading.Go(func() { _, _ = io.Copy(io.Discard, b) }) // it fails, as is seen below
		<-r.Context().Done()
		if err := b.Cause(r.Context().Err()); !errors.Is(err, ErrStalled) {
			return fmt.Errorf("the cause is %w", err)
		}
		return nil
	}, func(t *testing.T, c net.Conn) {
		write(t, c, request+"Content-Length: 5\r\n\r\nhell")
		expect(t, c, http.StatusOK)
	})
}

// TestClosedBodies: after its handler, a body is not read, and has no deadline, which the next request of the connection would have.
func TestClosedBodies(t *testing.T) {
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	r := httptest.NewRequest(http.MethodPut, "/", strings.NewReader("hello"))
	b := NewBody(w, r, time.Hour)
	if n, err := b.Read(make([]byte, 2)); n != 2 || err != nil || w.set != 1 {
		t.Errorf("%d bytes were read, %v, with %d deadlines", n, err, w.set)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	b.Interrupt(ErrStalled)
	if n, err := b.Read(make([]byte, 2)); n != 0 || !errors.Is(err, http.ErrBodyReadAfterClose) || w.set != 1 {
		t.Errorf("after the end, %d bytes were read, %v, with %d deadlines", n, err, w.set)
	}
	if err := b.Cause(io.ErrClosedPipe); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("an error after the end becomes %v, want it unchanged", err)
	}
}
