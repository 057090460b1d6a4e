package apptest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/eventually"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
)

// A user who hides presence gets pushed messages like others, on each connection.
func TestUsersWhoHidePresenceGetPushes(t *testing.T) {
	t.Parallel()
	h := apptest.Open(t, func(c *config.Config) { c.Gateway.CheckEvery = time.Second }) // a message that is not pushed shows soon, by a hint
	alice, bob, carol := h.Register(t, "alice"), h.Register(t, "bob"), h.Register(t, "carol")
	toBob, toCarol := h.Direct(t, alice, bob), h.Direct(t, alice, carol)
	if _, err := h.Accounts().UpdateSettings(t.Context(), apptest.As(bob, &accountv1.UpdateSettingsRequest{Settings: &accountv1.Settings{WhoMaySeePresence: accountv1.WhoMaySee_WHO_MAY_SEE_NOBODY}})); err != nil {
		t.Fatal(err)
	}
	open := func(u *apptest.Person) *apptest.Socket {
		s, _ := u.Socket(t, "rialto.v1.proto")
		late := time.AfterFunc(eventually.Timeout, func() { _ = s.Conn.CloseNow() }) // then reading fails
		t.Cleanup(func() { late.Stop() })
		return s
	}
	visible := open(carol)
	var sockets []*apptest.Socket
	for n := range 2 {
		sockets = append(sockets, open(bob))
		for i, s := range sockets {
			isPushed(t, s, visible, func(text string) {
				h.Send(t, alice, toBob, text, text)
				h.Send(t, alice, toCarol, text, text)
			}, fmt.Sprintf("connection %d of %d", i+1, n+1))
		}
	}
}

// isPushed sends rounds of messages until one of them is pushed. A hint may come in place of any one, and on a slow machine in place of many.
// So the test fails only once three rounds were pushed to a user who hides nothing, and no message of theirs to the other.
func isPushed(t *testing.T, s, visible *apptest.Socket, send func(text string), name string) {
	t.Helper()
	const messages = 10
	for round, others := 0, 0; others < 3; round++ {
		prefix := fmt.Sprintf("%s, round %d, ", name, round)
		for n := range messages {
			send(fmt.Sprint(prefix, n))
		}
		if pushed(visible, prefix, messages) == messages {
			others++
		}
		if pushed(s, prefix, messages) > 0 {
			return
		}
	}
	t.Fatalf("%s: no message was pushed, but all of three rounds to another user", name)
}

// pushed reads a round of messages, and returns how many came before the first hint.
func pushed(s *apptest.Socket, prefix string, messages int) (n int) {
	before, last := s.Hints, fmt.Sprint(prefix, messages-1)
	s.Until(func(f *gatewayv1.ServerFrame) bool {
		return slices.ContainsFunc(f.Events, func(e *chatv1.Event) bool {
			text := e.GetMessage().GetContent().GetText()
			if s.Hints == before && strings.HasPrefix(text, prefix) {
				n++
			}
			return text == last
		})
	})
	return n
}

// What a device says of itself on its connection is shown to those who watch the user, and so is what the user chose.
func TestActivityIsShownToWatchers(t *testing.T) {
	h := apptest.Open(t, func(c *config.Config) { c.Presence.PushInterval = 10 * time.Millisecond })
	ann, bob := h.Register(t, "anna"), h.Register(t, "bobo")
	befriend(t, h, ann, bob)
	a, _ := ann.Socket(t, "rialto.v1.proto")
	b, _ := bob.Socket(t, "rialto.v1.proto")
	b.Write(&gatewayv1.ClientFrame{Request: 1, Watch: &gatewayv1.Watch{Users: []uint64{ann.User}}})
	shows := func(want presencev1.Status) {
		t.Helper()
		b.Until(func(f *gatewayv1.ServerFrame) bool {
			return slices.ContainsFunc(f.Presences, func(p *presencev1.Presence) bool { return p.User == ann.User && p.Status == want })
		})
	}
	shows(presencev1.Status_STATUS_ONLINE)
	a.Write(&gatewayv1.ClientFrame{Activity: presencev1.Activity_ACTIVITY_AWAY})
	shows(presencev1.Status_STATUS_AWAY)
	a.Write(&gatewayv1.ClientFrame{Activity: presencev1.Activity_ACTIVITY_ACTIVE})
	shows(presencev1.Status_STATUS_ONLINE)
	_, err := h.Accounts().UpdateSettings(t.Context(), apptest.As(ann, &accountv1.UpdateSettingsRequest{Settings: &accountv1.Settings{Availability: presencev1.Availability_AVAILABILITY_DO_NOT_DISTURB}}))
	must(t, err)
	shows(presencev1.Status_STATUS_DO_NOT_DISTURB)
}
