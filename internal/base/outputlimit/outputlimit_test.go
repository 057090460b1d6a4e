package outputlimit_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/budget"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

func TestAnswersAreCounted(t *testing.T) {
	l := outputlimit.New(outputlimit.Config{AnswersUser: 10, AnswersTotal: 25}, 1<<30)
	for n, step := range []struct {
		user uint64
		n    int // below 0: released
		fits bool
	}{{1, 10, true}, {1, 1, false}, {2, 10, true}, {3, 6, false}, {3, 5, true}, {2, -1, true}, {3, 1, true}, {2, 1, false}, {1, -10, true}, {2, 1, true}, {2, 1, false}} {
		var err error
		if step.n < 0 {
			l.Release(user(step.user), -step.n)
		} else {
			err = l.Hold(user(step.user), step.n)
		}
		if (err == nil) != step.fits || err != nil && errs.Of(err).Reason != "unread_answers" {
			t.Errorf("step %d: %v", n, err)
		}
	}
	if l.Held() != 16 || l.Refused() != 4 || !l.UnderPressure() {
		t.Errorf("got %d held, %d refused, under pressure %v; want 16, 4, true", l.Held(), l.Refused(), l.UnderPressure())
	}
	if l.Release(user(2), 10); l.UnderPressure() {
		t.Error("the limit counts as under pressure with less than half of it in use")
	}
	l.Release(user(3), 6)
	if l.Held() != 0 {
		t.Errorf("%d bytes are held after all were released", l.Held())
	}
}

func user(u uint64) budget.Owner { return budget.Owner{User: u} }

// A few users, or a few addresses with many users, that read nothing cannot use up the answers of others, with the defaults of a small and of a
// large machine.
func TestFewOwnersLeaveCapacityForOthers(t *testing.T) {
	address := func(n int) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(n)}), 32)
	}
	for name, owner := range map[string]func(n int) budget.Owner{
		"eight users":                   func(n int) budget.Owner { return user(uint64(n%8 + 1)) },
		"many users of three addresses": func(n int) budget.Owner { return budget.Owner{User: uint64(n + 1), Network: address(n % 3)} },
	} {
		for _, memory := range []int64{256 << 20, 1 << 30, 64 << 30} {
			for _, size := range []int{16 << 10, outputlimit.MaxPage} {
				l := outputlimit.New(outputlimit.Config{}, memory)
				var held []budget.Owner
				for n := 0; l.Refused() < 1000; n++ {
					if l.Hold(owner(n), size) == nil {
						held = append(held, owner(n))
					}
				}
				for n := range 3 {
					other := budget.Owner{User: uint64(9001 + n), Network: address(101 + n)}
					done, err := l.AcquirePage(t.Context(), other)
					if err != nil {
						t.Fatalf("%s that hold %d answers of %d bytes, %d MiB: another user gets no page: %v", name, len(held), size, memory>>20, err)
					}
					done()
					for _, n := range []int{100, 16 << 10, 256 << 10} {
						if err := l.Hold(other, n); err != nil {
							t.Errorf("%s that hold %d answers of %d bytes, %d MiB: an answer of %d bytes to another user is refused: %v", name, len(held), size, memory>>20, n, err)
							continue
						}
						l.Release(other, n)
					}
				}
				for _, o := range held {
					l.Release(o, size)
				}
				if l.Held() != 0 {
					t.Errorf("%d bytes are held after all were released", l.Held())
				}
			}
		}
	}
}

// The limits leave room for each page, so that a client is not refused forever.
func TestLimitsThatRefusePagesAreRefused(t *testing.T) {
	for _, c := range []outputlimit.Config{{AnswersTotal: 1 << 20}, {AnswersUser: 1 << 20}, {AnswersTotal: -1}, {AnswersUser: -1}} {
		if c.Check() == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
	for _, c := range []outputlimit.Config{{}, {AnswersTotal: 16 << 20, AnswersUser: 2 << 20}} {
		if err := c.Check(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		if l := outputlimit.New(c, 0); l.Hold(user(1), outputlimit.MaxPage+400_000) != nil {
			t.Errorf("%+v: the largest page is refused", c)
		}
	}
}

func TestPagesWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := outputlimit.New(outputlimit.Config{PagesAtOnce: 3}, 1<<30)
		turn := func(u uint64) func() {
			t.Helper()
			done, err := l.AcquirePage(t.Context(), user(u))
			if err != nil {
				t.Fatal(err)
			}
			return done
		}
		first, second := turn(1), turn(1)
		refused := func(u uint64) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := l.AcquirePage(ctx, user(u)); err == nil || errs.Of(err).Reason != "busy" {
				t.Errorf("one too many of user %d: %v", u, err)
			}
		}
		refused(1)
		third := turn(2)
		refused(3)
		go func() {
			time.Sleep(time.Minute)
			first()
		}()
		last := turn(1)
		if first = nil; l.Users() != 2 {
			t.Errorf("%d users", l.Users())
		}
		if err := l.Hold(user(1), 8<<20); err != nil {
			t.Fatal(err)
		}
		second()
		if _, err := l.AcquirePage(t.Context(), user(1)); err != outputlimit.ErrUnread {
			t.Errorf("a page for a user with too many unread answers: %v", err)
		}
		l.Release(user(1), 8<<20)
		turn(1)()
		third()
		last()
		if l.Users() != 0 {
			t.Errorf("%d users without answers are kept", l.Users())
		}
	})
}

// texts makes messages whose texts are six times as long in JSON.
func texts(n, length int) (list []*chatv1.Message) {
	for i := range n {
		list = append(list, &chatv1.Message{Conversation: 1 << 60, Seq: uint64(10 + i), Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: strings.Repeat("\x01", length)}}})
	}
	return list
}

func seqs(list []*chatv1.Message) (seqs []uint64) {
	for _, m := range list {
		seqs = append(seqs, m.Seq)
	}
	return seqs
}

// A page in JSON is cut to the limit, at the end from which the next page continues.
func TestPagesOfJSONAreCut(t *testing.T) {
	const length = 40_000 // four fit, of 240,000 bytes each
	for name, c := range map[string]struct {
		request    *chatv1.HistoryRequest
		messages   []*chatv1.Message
		want       []uint64
		unreadable []uint64
		more       bool
	}{
		"backward":  {&chatv1.HistoryRequest{}, texts(6, length), []uint64{12, 13, 14, 15}, []uint64{20}, true},
		"before":    {&chatv1.HistoryRequest{Before: 30}, texts(6, length), []uint64{12, 13, 14, 15}, []uint64{20}, true},
		"after":     {&chatv1.HistoryRequest{After: 9}, texts(6, length), []uint64{10, 11, 12, 13}, []uint64{5}, true},
		"from time": {&chatv1.HistoryRequest{TimeMs: 1}, texts(6, length), []uint64{10, 11, 12, 13}, []uint64{5}, true},
		"one large": {&chatv1.HistoryRequest{}, texts(1, 10*length), []uint64{10}, []uint64{5, 20}, false},
		"large":     {&chatv1.HistoryRequest{}, texts(2, 10*length), []uint64{11}, []uint64{20}, true},
		"all":       {&chatv1.HistoryRequest{}, texts(4, length), []uint64{10, 11, 12, 13}, []uint64{5, 20}, false},
		"many":      {&chatv1.HistoryRequest{}, texts(200, 100), seqs(texts(200, 0)), []uint64{5, 20}, false},
		"none":      {&chatv1.HistoryRequest{}, nil, nil, []uint64{5, 20}, false},
	} {
		a := &chatv1.HistoryResponse{Messages: c.messages, Unreadable: []uint64{5, 20}}
		outputlimit.TruncatePage(c.request, a)
		if got := seqs(a.Messages); !slices.Equal(got, c.want) || a.More != c.more || !slices.Equal(a.Unreadable, c.unreadable) {
			t.Errorf("%s: %v, more %v, unreadable %v", name, got, a.More, a.Unreadable)
		}
		if b, err := protojson.Marshal(a); err != nil || len(b) > outputlimit.MaxPage+1000 && len(a.Messages) > 1 {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
	page := func() *chatv1.SyncResponse {
		a := &chatv1.SyncResponse{Next: &chatv1.Position{Epoch: 7, Seq: 99}, Large: []*chatv1.LargeTail{{Conversation: 5}}}
		for n, m := range texts(6, length) {
			a.Events = append(a.Events, &chatv1.Event{Epoch: 3, Seq: uint64(n + 1), Prev: uint64(n), Body: &chatv1.Event_Message{Message: m}})
		}
		return a
	}
	a := page()
	if outputlimit.TruncatePage(&chatv1.SyncRequest{}, a); len(a.Events) != 4 || !a.More || a.Next.Epoch != 3 || a.Next.Seq != 4 || a.Large != nil {
		t.Errorf("%d events, more %v, next %v, large %v", len(a.Events), a.More, a.Next, a.Large)
	}
	a = page()
	a.Events = a.Events[:4]
	if outputlimit.TruncateSync(a); len(a.Events) != 4 || a.More || a.Next.Seq != 99 || len(a.Large) != 1 {
		t.Errorf("%d events, more %v, next %v, large %v", len(a.Events), a.More, a.Next, a.Large)
	}
}

func TestSizesAreOfTheEncoding(t *testing.T) {
	for _, m := range append(texts(1, 100), texts(1, 100_000)...) {
		b, err := protojson.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if got := outputlimit.Size(t.Context(), m); got != proto.Size(m) {
			t.Errorf("%d bytes of protobuf are %d", proto.Size(m), got)
		}
		if got := outputlimit.Size(outputlimit.WithJSON(t.Context()), m); got < len(b) || got > len(b)+2000 {
			t.Errorf("%d bytes of JSON are %d", len(b), got)
		}
	}
}

// pipes is a listener to one end of a pipe.
type pipes struct{ conns chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{} }

// A client that reads nothing of an answer for half a minute is disconnected. A slow client gets the whole answer within the total time.
func TestStalledReadersAreDisconnected(t *testing.T) {
	for name, c := range map[string]struct {
		read   int // bytes that the client reads each 20 s, 0 for none
		within time.Duration
		whole  bool
		file   bool
	}{"reads nothing": {0, 0, false, false}, "reads slowly": {pieces, 0, true, false}, "takes too long": {pieces, 2 * time.Minute, false, false},
		"reads nothing of a file": {0, 0, false, true}, "reads a file slowly": {pieces, 0, true, true}, "takes too long for a file": {pieces, 2 * time.Minute, false, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wrote, began := make(chan error, 1), time.Now()
				server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					all := make([]byte, 20*pieces)
					paced, err := outputlimit.WithWriteDeadlines(w, c.within), error(nil)
					if c.file {
						var n int64
						if n, err = io.CopyN(paced, struct{ io.Reader }{bytes.NewReader(all)}, int64(len(all))); err == nil && n != int64(len(all)) {
							err = io.ErrShortWrite
						}
					} else {
						_, err = paced.Write(all)
					}
					wrote <- err
				})}
				list := pipes{make(chan net.Conn, 1)}
				served := make(chan error, 1)
				go func() { served <- server.Serve(list) }()
				here, there := net.Pipe()
				list.conns <- there
				if _, err := here.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
					t.Fatal(err)
				}
				go func() {
					for b := make([]byte, c.read); c.read > 0; time.Sleep(20 * time.Second) {
						for n := 0; n < len(b); {
							k, err := here.Read(b[n:])
							if err != nil {
								return
							}
							n += k
						}
					}
				}()
				err := <-wrote
				if c.whole != (err == nil) || err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("%v after %v", err, time.Since(began))
				}
				close(list.conns)
				_ = here.Close()
				if err := server.Close(); err != nil {
					t.Error(err)
				}
				<-served
			})
		})
	}
}

const pieces = 64 << 10

func BenchmarkHold(b *testing.B) {
	l := outputlimit.New(outputlimit.Config{}, 1<<30)
	owner := budget.Owner{User: 7, Network: netip.MustParsePrefix("192.0.2.1/32")}
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Hold(owner, 500); err != nil {
			b.Fatal(err)
		}
		l.Release(owner, 500)
	}
}

// TestCostlyCallsArePages: they are made of thousands of rows, or of several reads, so a user runs few of them at once.
func TestCostlyCallsArePages(t *testing.T) {
	for _, call := range []string{"notification.v1.NotificationService/ListNotifications", "notification.v1.NotificationService/UnreadNotifications", "feed.v1.FeedService/GetPostPage"} {
		if !outputlimit.IsPage("/rialto." + call) {
			t.Errorf("%s is no page", call)
		}
	}
	if outputlimit.IsPage("/rialto.notification.v1.NotificationService/ReadNotifications") {
		t.Error("a call that reads one row is a page")
	}
}
