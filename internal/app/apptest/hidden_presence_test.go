package apptest_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/eventually"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
)

// A user who hides presence gets pushed messages like others, on each connection.
func TestUsersWhoHidePresenceGetPushes(t *testing.T) {
	t.Parallel()
	h := apptest.Open(t, nil)
	alice, bob := h.Register(t, "alice"), h.Register(t, "bob")
	c := h.Direct(t, alice, bob)
	if _, err := h.Accounts().UpdateSettings(t.Context(), apptest.As(bob, &accountv1.UpdateSettingsRequest{Settings: &accountv1.Settings{WhoMaySeePresence: accountv1.WhoMaySee_WHO_MAY_SEE_NOBODY}})); err != nil {
		t.Fatal(err)
	}
	var sockets []*apptest.Socket
	for n := range 2 {
		s, _ := bob.Socket(t, "rialto.v1.proto")
		late := time.AfterFunc(eventually.Timeout, func() { _ = s.Conn.CloseNow() }) // then reading fails
		defer late.Stop()
		sockets = append(sockets, s)
		for i, s := range sockets {
			isPushed(t, s, func(text string) { h.Send(t, alice, c, text, text) }, fmt.Sprintf("connection %d of %d", i+1, n+1))
		}
	}
}

// isPushed sends messages until one is pushed without a hint, which may come in place of any one of them, and on a slow machine in place
// of many. The caller bounds it.
func isPushed(t *testing.T, s *apptest.Socket, send func(text string), name string) {
	t.Helper()
	for try := 0; ; try++ {
		text, before := fmt.Sprintf("%s, try %d", name, try), s.Hints
		send(text)
		s.Until(func(f *gatewayv1.ServerFrame) bool {
			for _, e := range f.Events {
				if e.GetMessage().GetContent().GetText() == text {
					return true
				}
			}
			return false
		})
		if s.Hints == before {
			return
		}
	}
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
