package apptest_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/coder/websocket"
	"github.com/rialto-im/rialto/internal/app/apptest"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// listsReader reads a message's list of readers, as a client does that is told that there may be more: after a gap of the bus, or where a node
// was too slow to learn of the interest.
func listsReader(t *testing.T, h *apptest.Server, sender *apptest.Person, conversation, seq, reader uint64) bool {
	t.Helper()
	list, err := h.Chat().ListReaders(t.Context(), apptest.As(sender, &chatv1.ListReadersRequest{Conversation: conversation, Seq: seq}))
	must(t, err)
	return slices.Contains(list.Msg.Users, reader)
}

// A client with a list of readers open is told who reads the message, in both encodings, and with several nodes on whichever node they read it.
// Its other connections are not told.
func TestOpenListsOfReadersAreUpdated(t *testing.T) {
	h := apptest.Open(t, nil)
	alice := h.Register(t, "alice")
	readers := []*apptest.Person{h.Register(t, "bob"), h.Register(t, "carol"), h.Register(t, "dave")}
	var members []uint64
	for _, p := range readers {
		members = append(members, p.User)
	}
	made, err := h.Chat().CreateGroup(t.Context(), apptest.As(alice, &chatv1.CreateGroupRequest{Title: "g", Members: members}))
	must(t, err)
	group := made.Msg.Id
	seq := h.Send(t, alice, group, "1", "who reads this?").Seq

	var open []*apptest.Socket
	for _, protocol := range []string{"rialto.v1.json", "rialto.v1.proto"} {
		s, _ := alice.Socket(t, protocol)
		s.Write(&gatewayv1.ClientFrame{Request: 7, WatchReaders: &gatewayv1.WatchReaders{Messages: []*gatewayv1.WatchedMessage{{Conversation: group, Seq: seq}}}})
		s.Until(func(f *gatewayv1.ServerFrame) bool {
			if f.Error != nil {
				t.Fatal(f.Error)
			}
			return f.Request == 7 && len(f.Readers) == 1 && f.Readers[0].Seq == seq && len(f.Readers[0].Users) == 0
		})
		open = append(open, s)
	}
	refused, _ := readers[0].Socket(t, "rialto.v1.proto")
	refused.Write(&gatewayv1.ClientFrame{Request: 8, WatchReaders: &gatewayv1.WatchReaders{Messages: []*gatewayv1.WatchedMessage{{Conversation: group, Seq: seq}}}})
	refused.Until(func(f *gatewayv1.ServerFrame) bool {
		if f.Request == 8 && f.Error.GetReason() != "not_sender" {
			t.Errorf("a reader who watches gets %v", f)
		}
		return f.Request == 8
	})
	closed, _ := alice.Socket(t, "rialto.v1.proto")

	for i, p := range readers {
		if i == 0 {
			_, err := h.Chat().Mark(t.Context(), apptest.As(p, &chatv1.MarkRequest{Conversation: group, ReadSeq: seq}))
			must(t, err)
		} else {
			s, _, err := h.Dial(t.Context(), "rialto.v1.proto", http.Header{"Authorization": {"Bearer " + p.AccessToken}})
			must(t, err)
			defer s.Close(websocket.StatusNormalClosure, "")
			apptest.Wrap(t, s, false).Write(&gatewayv1.ClientFrame{Marks: []*gatewayv1.Mark{{Conversation: group, ReadSeq: seq}}})
		}
		for _, s := range open {
			s.Until(func(f *gatewayv1.ServerFrame) bool {
				for _, u := range f.Readers {
					if u.Conversation != group || u.Seq != seq {
						t.Errorf("pushed %v", u)
					}
					if slices.Contains(u.Users, p.User) || u.More && listsReader(t, h, alice, group, seq, p.User) {
						return true
					}
				}
				return false
			})
		}
	}
	closed.Write(&gatewayv1.ClientFrame{Request: 9, Ping: &gatewayv1.Ping{}})
	closed.Until(func(f *gatewayv1.ServerFrame) bool {
		if len(f.Readers) > 0 {
			t.Errorf("a connection that watches nothing is pushed %v", f.Readers)
		}
		return f.Request == 9
	})
}
