package app

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
	"google.golang.org/protobuf/proto"
)

// BenchmarkReaders reads the first pages of 200 of who has read a message in a group of 10,000, and of who has not, by calls on a socket. Every member has
// a cursor. In "half", every second member has read the message, and in "one" only the last: its page of readers examines 1,024 members.
func BenchmarkReaders(b *testing.B) {
	const members, invited = 10_000, 500
	n := benchNode(b)
	owner := benchUsers(b, n, 1)[0]
	users := make([]id.User, members-1)
	ids := make([]uint64, len(users))
	for i := range users {
		name := fmt.Sprint("member", i)
		u, err := n.accounts.PutUser(b.Context(), &accountv1.PutUserRequest{ExternalId: name, Handle: name, DisplayName: name})
		must(b, err)
		users[i], ids[i] = id.User(u.Id), u.Id
	}
	group, err := n.chat.CreateGroup(b.Context(), id.User(owner.User), &chatv1.CreateGroupRequest{Title: "readers"})
	must(b, err)
	for some := range slices.Chunk(ids, invited) {
		_, err := n.chat.Invite(b.Context(), group, id.User(owner.User), some)
		must(b, err)
	}
	slices.Sort(users)
	send := func(number uint64) uint64 {
		d := &message.Draft{Conversation: group, Sender: id.User(owner.User), Device: id.Device(owner.Device), ClientSeq: number, Content: message.AppendText(nil, "who reads this?")}
		must(b, n.chat.Send(b.Context(), d))
		return d.Seq
	}
	before, half, one := send(1), send(2), send(3)
	for i, u := range users {
		switch {
		case i == len(users)-1:
			n.inbox.Mark(u, group, one, one)
		case i%2 == 0:
			n.inbox.Mark(u, group, one, half)
		default:
			n.inbox.Mark(u, group, one, before)
		}
	}
	socket := dialBench(b, n, owner.AccessToken)
	read := func(seq uint64, unread bool, page string) *chatv1.ListReadersResponse {
		f, err := socket.call(chatv1connect.ChatServiceListReadersProcedure, encoded(b, &chatv1.ListReadersRequest{Conversation: uint64(group), Seq: seq, Unread: unread, Limit: 200, Page: page}))
		must(b, err)
		r := &chatv1.ListReadersResponse{}
		must(b, proto.Unmarshal(f.GetResult().GetPayload(), r))
		return r
	}
	eventually.True(b, "all cursors are stored", func() bool {
		listed := 0
		for page, more := "", true; more; more = page != "" {
			r := read(half, false, page)
			listed, page = listed+len(r.Users), r.Next
		}
		return listed == members/2
	})
	for _, of := range []struct {
		name   string
		seq    uint64
		unread bool
		users  int
	}{{"half/read", half, false, 200}, {"half/unread", half, true, 200}, {"one/read", one, false, 0}, {"one/unread", one, true, 200}} {
		b.Run(of.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				r := read(of.seq, of.unread, "")
				took = append(took, time.Since(began))
				if len(r.Users) != of.users || r.Next == "" {
					b.Fatalf("the page has %d users and continues at %q, want %d", len(r.Users), r.Next, of.users)
				}
			}
			slices.Sort(took)
			for name, share := range map[string]float64{"p50-ms": 0.5, "p99-ms": 0.99} {
				b.ReportMetric(float64(took[int(share*float64(len(took)-1))].Microseconds())/1000, name)
			}
		})
	}
}
