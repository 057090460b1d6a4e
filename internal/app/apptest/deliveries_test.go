package apptest_test

import (
	"fmt"
	"slices"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/eventually"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
)

// syncAll reads a device's stream to the end, which acknowledges it, and returns the texts.
func syncAll(t *testing.T, p *apptest.Person, after *chatv1.Position) (list []string, next *chatv1.Position) {
	t.Helper()
	for next = after; ; {
		page, err := p.Server.Chat().Sync(t.Context(), apptest.As(p, &chatv1.SyncRequest{After: next}))
		must(t, err)
		for _, e := range page.Msg.Events {
			if text := e.GetMessage().GetContent().GetText(); text != "" {
				list = append(list, text)
			}
		}
		if next = page.Msg.Next; len(page.Msg.Events) == 0 {
			return list, next
		}
	}
}

// The sender of a message sees which types of devices of the other user have it, as far as that user shows it, and each user sees which of their
// own devices are behind.
func TestDeliveriesOfEachDevice(t *testing.T) {
	h := apptest.Open(t, func(c *config.Config) { c.Limits.CallUser = "1000000/s" })
	ann, bob := h.Register(t, "anna"), h.Register(t, "bobo")
	login := accountv1connect.NewAccountServiceClient(h.HTTP, h.URL)
	devices := map[string]*apptest.Person{}
	for _, typ := range []string{"phone", "desktop"} {
		r, err := login.Login(t.Context(), connect.NewRequest(&accountv1.LoginRequest{Handle: "anna", Password: "a good password", Client: &accountv1.Client{Type: typ}}))
		must(t, err)
		devices[typ] = &apptest.Person{Server: h, Session: r.Msg}
	}
	c := h.Direct(t, ann, bob)
	seq := h.Send(t, bob, c, "1", "hello").Seq
	deliveries := func() string {
		t.Helper()
		r, err := h.Chat().ListDeliveries(t.Context(), apptest.As(bob, &chatv1.ListDeliveriesRequest{Conversation: c, Seq: seq}))
		must(t, err)
		list := []string{}
		for _, d := range r.Msg.Devices {
			list = append(list, fmt.Sprintf("%s:%v", d.Type, d.Delivered))
		}
		return fmt.Sprintf("%v%d", list, len(r.Msg.Users))
	}
	becomes := func(want string) {
		t.Helper()
		eventually.True(t, want, func() bool { return deliveries() == want })
	}
	becomes("[]0") // ann's presence is for friends
	settings := func(s *accountv1.Settings) {
		t.Helper()
		s.WhoMaySeePresence = accountv1.WhoMaySee_WHO_MAY_SEE_EVERYONE
		_, err := h.Accounts().UpdateSettings(t.Context(), apptest.As(ann, &accountv1.UpdateSettingsRequest{Settings: s}))
		must(t, err)
	}
	settings(&accountv1.Settings{})
	becomes("[desktop:false phone:false test:false]0")

	var got []string
	for !slices.Contains(got, "hello") { // fan-out may be under way
		got, _ = syncAll(t, devices["phone"], nil)
	}
	becomes("[desktop:false phone:true test:false]1")
	r, err := h.Accounts().ListSessions(t.Context(), apptest.As(ann, &accountv1.ListSessionsRequest{}))
	must(t, err)
	for _, s := range r.Msg.Sessions {
		if s.UpToDate != (s.Type == "phone") {
			t.Errorf("the session %v is up to date: %v", s.Type, s.UpToDate)
		}
	}
	syncAll(t, devices["desktop"], nil)
	becomes("[desktop:true phone:true test:false]1")

	_, err = h.Accounts().RevokeSession(t.Context(), apptest.As(ann, &accountv1.RevokeSessionRequest{Session: devices["phone"].Session.Session}))
	must(t, err)
	becomes("[desktop:true test:false]1")
	settings(&accountv1.Settings{Availability: presencev1.Availability_AVAILABILITY_INVISIBLE})
	becomes("[]1")
	settings(&accountv1.Settings{HideRead: true})
	becomes("[]1")
	settings(&accountv1.Settings{})
	becomes("[desktop:true test:false]1")
	_, err = h.Graph().Block(t.Context(), apptest.As(ann, &accountv1.BlockRequest{User: bob.User}))
	must(t, err)
	becomes("[]0")
}
