package gateway

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// undecided is a chat that answers drafts when the test says so.
type undecided struct {
	Chat
	drafts []*message.Draft // in the order in which they were submitted
}

func (u *undecided) Submit(d *message.Draft) { u.drafts = append(u.drafts, d) }

// answer answers the only draft with a number.
func (u *undecided) answer(t *testing.T, seq uint64, err error) {
	t.Helper()
	for i, d := range u.drafts {
		if d.ClientSeq == seq {
			u.drafts = append(u.drafts[:i:i], u.drafts[i+1:]...)
			d.Err = err
			d.Done(d)
			return
		}
	}
	t.Fatalf("message %d is not submitted", seq)
}

// waits returns the numbers of the drafts without an answer.
func (u *undecided) waits() string {
	list := ""
	for _, d := range u.drafts {
		list += fmt.Sprint(" ", d.ClientSeq)
	}
	return list
}

func sendBytes(c *conn, seq uint64, size int) {
	c.submit(&message.Draft{Conversation: 5, ClientSeq: seq, Content: make([]byte, size)})
}

// A message for which there is no room holds back those behind it, in whichever order their refusals come; they even make room for it.
func TestMessagesWithoutRoomAreNotOvertaken(t *testing.T) {
	const large, small = 1 << 20, 10
	for name, c := range map[string]struct {
		sizes   []int
		refused []uint64 // in this order
		want    []string
		tried   string // what is submitted first, after an interval
		resent  []string
	}{
		"the second has no room":                    {[]int{large, large, small}, []uint64{1, 2, 3}, []string{"accepted 5/1", "busy 5/2", "busy 5/3"}, " 1", []string{"busy 5/2", "busy 5/3"}},
		"the first is refused last":                 {[]int{large, large, small}, []uint64{2, 3, 1}, []string{"accepted 5/2", "accepted 5/3", "busy 5/2", "busy 5/3", "accepted 5/1"}, " 1", []string{"busy 5/2", "busy 5/3"}},
		"the first is refused last, and all fit in": {[]int{small, small, small}, []uint64{2, 3, 1}, []string{"accepted 5/2", "accepted 5/3", "accepted 5/1"}, " 1", []string{"accepted 5/2", "accepted 5/3"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn, r := bench(t)
				u := &undecided{Chat: r}
				conn.server.deps.Chat = u
				for i, size := range c.sizes {
					sendBytes(conn, uint64(i)+1, size)
				}
				var said []string
				for _, seq := range c.refused {
					u.answer(t, seq, timeline.ErrBusy)
					said = append(said, later(t, conn, 0)...)
				}
				expect(t, "refused", said, c.want...)
				sendBytes(conn, 2, c.sizes[1])
				sendBytes(conn, 3, c.sizes[2])
				expect(t, "sent again", later(t, conn, 0), c.resent...)
				later(t, conn, time.Second)
				if got := u.waits(); got != c.tried {
					t.Errorf("submitted are%s, want%s", got, c.tried)
				}
				u.answer(t, 1, nil)
				conn.onClosed()
			})
		})
	}
}

// A client learns late that its messages were refused for lack of room. What it has sent meanwhile does not overtake any of them.
func TestNewMessagesDoNotOvertakeRefusedOnes(t *testing.T) {
	const large = 1 << 20
	for _, order := range [][]uint64{{1, 2, 3}, {2, 3, 1}} { // of the log's refusals
		synctest.Test(t, func(t *testing.T) {
			conn, r := bench(t)
			u := &undecided{Chat: r}
			conn.server.deps.Chat = u
			for _, size := range []int{large, large, 10} {
				sendBytes(conn, uint64(len(u.drafts))+1, size)
			}
			for _, seq := range order {
				u.answer(t, seq, timeline.ErrBusy)
			}
			later(t, conn, time.Second)
			u.answer(t, 1, nil)
			if said := later(t, conn, 0); !slices.Contains(said, "stored 5/1") {
				t.Fatalf("message 1 was answered %q, want that it is stored", said)
			}
			sendBytes(conn, 2, large) // sent before the client knew that 3 was refused
			sendBytes(conn, 4, 10)
			expect(t, "a new one", later(t, conn, 0), "busy 5/4")
			sendBytes(conn, 3, 10)
			sendBytes(conn, 4, 10)
			if got, want := u.waits(), " 2 3 4"; got != want {
				t.Errorf("refused in the order %v: submitted are%s, want%s", order, got, want)
			}
			for seq := uint64(2); seq <= 4; seq++ {
				u.answer(t, seq, nil)
			}
			conn.onClosed()
		})
	}
}

// A message that was held for as long as any may be is refused together with those behind it. When they come again, they are stored in their order.
func TestMessagesBehindAnOldOneAreRefusedWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, u := unreliably(t)
		u.set(5, timeline.ErrBusy)
		send(c, 5, 1)
		expect(t, "held", later(t, c, 0), "accepted 5/1")
		time.Sleep(longestOutage - 10*time.Second)
		c.server.outages.recordSuccess(5) // another user's message
		send(c, 5, 2)
		send(c, 5, 3)
		var said []string
		for i := 0; i < 20 && len(said) < 5; i++ {
			said = append(said, later(t, c, time.Second)...)
		}
		expect(t, "after half an hour", said, "accepted 5/2", "accepted 5/3", "busy 5/1", "busy 5/2", "busy 5/3")
		u.set(5, nil)
		send(c, 5, 3)
		expect(t, "too early", later(t, c, 0), "busy 5/3")
		for seq := uint64(1); seq <= 3; seq++ {
			send(c, 5, seq)
		}
		expect(t, "again", later(t, c, time.Second), "stored 5/1", "stored 5/2", "stored 5/3")
		if got := fmt.Sprint(u.storedIn(id.Conversation(5))); got != "[1:1 2:2 3:3]" {
			t.Errorf("stored are %s", got)
		}
		later(t, c, time.Minute)
		nothingHeld(t, c)
	})
}

// Messages without a number are held in the order in which they arrived, in whichever order their refusals come.
func TestMessagesWithoutNumbersAreHeldAsTheyArrived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r := bench(t)
		u := &undecided{Chat: r}
		c.server.deps.Chat = u
		for _, name := range []string{"a", "b", "c"} {
			c.submit(&message.Draft{Conversation: 5, ClientMsgID: name, Content: []byte(":")})
		}
		for range 3 { // the last one first
			d := u.drafts[len(u.drafts)-1]
			u.drafts = u.drafts[:len(u.drafts)-1]
			d.Err = timeline.ErrBusy
			d.Done(d)
		}
		expect(t, "refused", later(t, c, 0), "accepted 5/0c", "accepted 5/0b", "accepted 5/0a")
		time.Sleep(time.Second)
		synctest.Wait()
		if len(u.drafts) != 1 || u.drafts[0].ClientMsgID != "a" {
			t.Errorf("%d are submitted again, first %q", len(u.drafts), u.drafts[0].ClientMsgID)
		}
		c.onClosed()
	})
}
