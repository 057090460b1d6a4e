package apptest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/eventually"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
	"google.golang.org/protobuf/proto"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func befriend(t *testing.T, h *apptest.Server, a, b *apptest.Person) {
	t.Helper()
	_, err := h.Graph().RequestFriend(t.Context(), apptest.As(a, &accountv1.RequestFriendRequest{User: b.User}))
	must(t, err)
	_, err = h.Graph().AnswerFriend(t.Context(), apptest.As(b, &accountv1.AnswerFriendRequest{User: a.User, Accept: true}))
	must(t, err)
}

// streamOf returns a person's stream up to the event of a new draft, so that it includes what the person did before. What others did is there once it was
// fanned out: see caught.
func streamOf(t *testing.T, p *apptest.Person, conversation uint64, mark string) []*chatv1.Event {
	t.Helper()
	_, err := p.Server.Chat().Configure(t.Context(), apptest.As(p, &chatv1.ConfigureRequest{Conversation: conversation, Draft: proto.String(mark)}))
	must(t, err)
	for {
		r, err := p.Server.Chat().Sync(t.Context(), apptest.As(p, &chatv1.SyncRequest{Limit: 2000}))
		must(t, err)
		for _, e := range r.Msg.Events {
			if e.GetConversation().GetDraft() == mark {
				return r.Msg.Events
			}
		}
	}
}

// Watching ends with the friendship, also because of a block, and when a user hides presence; but not when the user disconnects.
func TestPresenceEndsWithTheFriendship(t *testing.T) {
	h := apptest.Open(t, func(c *config.Config) { c.Presence.PushInterval = 10 * time.Millisecond })
	ann, bob := h.Register(t, "anna"), h.Register(t, "bobo")
	befriend(t, h, ann, bob)
	a, _ := ann.Socket(t, "rialto.v1.proto")
	b, _ := bob.Socket(t, "rialto.v1.proto")
	a.Write(&gatewayv1.ClientFrame{Request: 1, Watch: &gatewayv1.Watch{Users: []uint64{bob.User}}})
	b.Write(&gatewayv1.ClientFrame{Request: 1, Watch: &gatewayv1.Watch{Users: []uint64{ann.User}}})
	shows := func(s *apptest.Socket, of *apptest.Person, status presencev1.Status) {
		t.Helper()
		s.Until(func(f *gatewayv1.ServerFrame) bool {
			return slices.ContainsFunc(f.Presences, func(p *presencev1.Presence) bool {
				return p.User == of.User && p.Status == status && (status != presencev1.Status_STATUS_OFFLINE || p.LastActiveMs == 0)
			})
		})
	}
	const offline, online = presencev1.Status_STATUS_OFFLINE, presencev1.Status_STATUS_ONLINE
	shows(a, bob, online)
	shows(b, ann, online)
	hide := func(yes bool) {
		t.Helper()
		who := accountv1.WhoMaySee_WHO_MAY_SEE_FRIENDS
		if yes {
			who = accountv1.WhoMaySee_WHO_MAY_SEE_NOBODY
		}
		_, err := h.Accounts().UpdateSettings(t.Context(), apptest.As(ann, &accountv1.UpdateSettingsRequest{Settings: &accountv1.Settings{WhoMaySeePresence: who}}))
		must(t, err)
	}
	hide(true)
	shows(b, ann, offline)
	hide(false)
	shows(b, ann, online)
	_, err := h.Graph().DeleteFriend(t.Context(), apptest.As(bob, &accountv1.DeleteFriendRequest{User: ann.User}))
	must(t, err)
	shows(a, bob, offline)
	shows(b, ann, offline)
	befriend(t, h, ann, bob)
	shows(a, bob, online)
	shows(b, ann, online)
	_, err = h.Graph().Block(t.Context(), apptest.As(ann, &accountv1.BlockRequest{User: bob.User}))
	must(t, err)
	shows(a, bob, offline)
	shows(b, ann, offline)
}

// A blocked user no longer learns what the other user has read.
func TestABlockEndsReadReceipts(t *testing.T) {
	h := apptest.Open(t, nil)
	ann, bob := h.Register(t, "anna"), h.Register(t, "bobo")
	c := h.Direct(t, ann, bob)
	for _, text := range []string{"one", "two", "three"} { // 2, 3 and 4
		h.Send(t, bob, c, text, text)
	}
	read := func(seq uint64) {
		t.Helper()
		_, err := h.Chat().Mark(t.Context(), apptest.As(ann, &chatv1.MarkRequest{Conversation: c, ReadSeq: seq}))
		must(t, err)
	}
	read(2)
	_, err := h.Graph().Block(t.Context(), apptest.As(ann, &accountv1.BlockRequest{User: bob.User}))
	must(t, err)
	read(3)
	_, err = h.Graph().Unblock(t.Context(), apptest.As(ann, &accountv1.UnblockRequest{User: bob.User}))
	must(t, err)
	read(4)
	var told []uint64
	eventually.True(t, "the blocked user is told of the last read cursor", func() bool {
		told = nil
		for _, e := range streamOf(t, bob, c, "end") {
			if m := e.GetMark(); m != nil {
				told = append(told, m.ReadSeq)
			}
		}
		return slices.Contains(told, 4)
	})
	if !slices.Equal(told, []uint64{2, 4}) {
		t.Errorf("read cursors sent to the blocked user: got %v, want 2 and 4", told)
	}
}
