package gateway

import (
	"context"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// A user requests 32 pages at once on each of several connections, and reads none. Two pages are made at a time, and the others wait; other
// calls do not wait for pages. The waiting answers are bounded for each connection and for the user.
func TestConcurrentPagesOfOneUserAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const page, connections, answersUser = 1 << 20, 5, 4 << 20
		c, r := bench(t)
		c.server.deps.Answers = outputlimit.New(outputlimit.Config{AnswersUser: answersUser}, 1<<30)
		var making, most atomic.Int32
		answer := make([]byte, page-100) // with its frame a page
		r.invoke = func(context.Context) error {
			most.Store(max(most.Load(), making.Add(1)))
			time.Sleep(time.Second)
			making.Add(-1)
			return nil
		}
		r.out = answer
		all := []*conn{c}
		for range connections - 1 {
			o := &conn{server: c.server, transport: discarding{}, frameAt: -1, fd: -1, caller: c.caller}
			o.state = stateReady
			all = append(all, o)
		}
		for _, c := range all {
			for n := range maxCalls / 2 {
				if err := c.handle(&gatewayv1.ClientFrame{Request: uint64(n + 1), Call: &gatewayv1.Call{Method: "/rialto.chat.v1.ChatService/History"}}, 0); err != nil {
					t.Fatal(err)
				}
			}
		}
		synctest.Wait()
		if making.Load() != 2 {
			t.Errorf("%d pages of a user are built concurrently, want 2", making.Load())
		}
		if err := c.handle(&gatewayv1.ClientFrame{Request: 99, Call: &gatewayv1.Call{Method: "/other"}}, 0); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if making.Load() != 3 {
			t.Error("a call that reads no page waits for pages")
		}
		c.server.serving.Wait()
		if most.Load() > 3 {
			t.Errorf("%d calls at once, want at most 3", most.Load())
		}
		if held := c.server.deps.Answers.Held(); held > answersUser || held < answersUser-page {
			t.Errorf("%d bytes of answers are held for one user", held)
		}
		results, refused, waiting := 0, 0, 0
		for _, c := range all {
			waiting += c.pending()
			if c.pending() > 2*maxPending+(64<<10) {
				t.Errorf("%d bytes wait for a connection", c.pending())
			}
			for _, f := range sent(t, c) {
				switch {
				case f.Result != nil:
					results++
				case f.GetError().GetReason() == "unread_answers", f.GetError().GetReason() == "busy":
					refused++
				}
			}
			c.mu.Lock()
			c.resumeReading() // as after a write
			c.mu.Unlock()
		}
		if waiting > answersUser+(256<<10) || results < 3 || results+refused != connections*maxCalls/2+1 {
			t.Errorf("%d bytes waited for the user; of %d calls %d are answered, %d refused", waiting, connections*maxCalls/2+1, results, refused)
		}
		if held := c.server.deps.Answers.Held(); held != 0 {
			t.Errorf("%d bytes are held after all answers were read", held)
		}
		c.sendAnswer(1, opBinary, answer)
		if c.onClosed(); c.server.deps.Answers.Held() != 0 {
			t.Error("bytes are held for a closed connection")
		}
	})
}

// Connections that read nothing are closed sooner if answers take much of the memory.
func TestConnectionsThatReadNothingAreClosed(t *testing.T) {
	c, _ := bench(t)
	c.server.deps.Answers = outputlimit.New(outputlimit.Config{AnswersTotal: 1000}, 1<<30)
	answer := func(n int) {
		c.sendAnswer(1, opBinary, make([]byte, n))
		c.mu.Lock()
		c.takeOutput().free()
		c.unsent, c.stalledSince = make([]byte, n), c.server.now.Load() // as if the socket's buffer were full
		c.mu.Unlock()
	}
	answer(400)
	if c.server.closeUnread(c.server.now.Load() + 2*stallTimeUnderPressure); c.state >= stateAborted {
		t.Error("closed below the memory limit")
	}
	answer(200)
	if c.server.closeUnread(c.server.now.Load() + stallTimeUnderPressure - 1); c.state >= stateAborted {
		t.Error("closed before stallTimeUnderPressure")
	}
	if c.server.closeUnread(c.server.now.Load() + stallTimeUnderPressure); c.state < stateAborted || c.server.stats.Slow.Load() != 1 {
		t.Error("not closed after stallTimeUnderPressure")
	}
	c.onClosed()
	if c.server.closeUnread(c.server.now.Load()); len(c.server.unreadHolders.conns) != 0 {
		t.Error("a closed connection is still listed")
	}
}

// The sockets of one address hold a part of the memory for answers. Sockets of another address get theirs meanwhile.
func TestUnreadAnswersOfAnAddressAreBounded(t *testing.T) {
	c, _ := bench(t)
	c.server.deps.Answers = outputlimit.New(outputlimit.Config{AnswersTotal: 16 << 20}, 1<<30)
	connect := func(user, address byte) *conn {
		o := &conn{server: c.server, transport: discarding{}, frameAt: -1, fd: -1, caller: id.Caller{User: id.User(user)}, network: netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, address}), 32)}
		o.state = stateReady
		return o
	}
	answer, err := proto.Marshal(&gatewayv1.ServerFrame{Request: 1, Result: &gatewayv1.Result{Payload: make([]byte, 512<<10-100)}})
	if err != nil {
		t.Fatal(err)
	}
	results := func(c *conn) (n int) {
		c.sendAnswer(1, opBinary, answer)
		for _, f := range sent(t, c) { // which does not count as written
			if f.Result != nil {
				n++
			}
		}
		return n
	}
	got := 0
	for user := range byte(40) {
		got += results(connect(user+1, 1))
	}
	if got != 8 {
		t.Errorf("40 users at one address got %d answers of 512 KiB, want 8: a quarter of 16 MiB", got)
	}
	for address := range byte(3) {
		if n := results(connect(100+address, 2+address)); n != 1 {
			t.Errorf("a user at address %d gets %d answers", 2+address, n)
		}
	}
}

// A page of a sync has at most a megabyte of JSON.
func TestSyncPagesAreBoundedInBytes(t *testing.T) {
	c, r := bench(t)
	c.json = true
	page := &chatv1.SyncResponse{Next: &chatv1.Position{Epoch: 1, Seq: 3}}
	text := make([]byte, 100_000) // in JSON six times as long
	for n := range uint64(3) {
		page.Events = append(page.Events, &chatv1.Event{Epoch: 1, Seq: n + 1, Prev: n, Body: &chatv1.Event_Message{Message: &chatv1.Message{Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: string(text)}}}}})
	}
	r.page = page
	if err := c.sync(t.Context(), 5, &chatv1.SyncRequest{}); err != nil {
		t.Fatal(err)
	}
	if c.pending() > outputlimit.MaxPage {
		t.Errorf("%d bytes", c.pending())
	}
	list := sent(t, c)
	if len(list) != 1 || len(list[0].Sync.GetEvents()) != 1 || !list[0].Sync.More || list[0].Sync.Next.GetSeq() != 1 {
		t.Errorf("%d frames", len(list))
	}
}
