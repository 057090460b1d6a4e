package faulttest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/eventually"
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// puller is a device that syncs by calls: it acknowledges what it has with the next call.
type puller struct {
	t      *testing.T
	client *rialto.Client
	at     *chatv1.Position
	seq    uint64 // of the last message: after a kill, messages may come again with other positions
}

// pull returns the texts that came since the last call, until there is one.
func (p *puller) pull(last string) (texts []string) {
	p.t.Helper()
	eventually.True(p.t, last, func() bool {
		r, err := p.client.Chat().Sync(p.t.Context(), connect.NewRequest(&chatv1.SyncRequest{After: p.at}))
		if err != nil {
			return false // the server starts
		}
		p.at = r.Msg.Next
		for _, e := range r.Msg.Events {
			if m := e.GetMessage(); m.GetContent().GetText() != "" && m.Seq > p.seq {
				texts, p.seq = append(texts, m.Content.GetText()), m.Seq
			}
		}
		return slices.Contains(texts, last)
	})
	return texts
}

// After kill -9, each device gets exactly what it lacks, and the sender sees which devices have it.
func TestEachDeviceGetsWhatItLacksAfterAKill(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "--set", "limits.call_user=1000000/s")
	if !p.start("") {
		t.Fatal("the server did not start")
	}
	bob := person(t, p, "bob")
	devices := map[string]*puller{}
	for _, typ := range []string{"phone", "laptop"} {
		c, err := rialto.New(rialto.Config{URL: p.url(), Type: typ, MaxWait: 20 * time.Millisecond, Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		if typ == "phone" {
			err = c.Register(t.Context(), "ann", "a good password", "ann")
		} else {
			err = c.Login(t.Context(), "ann", "a good password")
		}
		if err != nil {
			t.Fatal(err)
		}
		devices[typ] = &puller{t: t, client: c}
	}
	phone, laptop := devices["phone"], devices["laptop"]
	if _, err := phone.client.Account().UpdateSettings(t.Context(), connect.NewRequest(&accountv1.UpdateSettingsRequest{Settings: &accountv1.Settings{WhoMaySeePresence: accountv1.WhoMaySee_WHO_MAY_SEE_EVERYONE}})); err != nil {
		t.Fatal(err)
	}
	c, err := bob.Chat().OpenDirect(t.Context(), connect.NewRequest(&chatv1.OpenDirectRequest{User: phone.client.User()}))
	if err != nil {
		t.Fatal(err)
	}
	send := func(text string) uint64 {
		t.Helper()
		r, err := bob.Chat().Send(t.Context(), connect.NewRequest(&chatv1.SendRequest{Conversation: c.Msg.Id, ClientMsgId: text, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}}}))
		if err != nil {
			t.Fatal(err)
		}
		return r.Msg.Seq
	}
	deliveries := func(seq uint64) (list []string) {
		t.Helper()
		r, err := bob.Chat().ListDeliveries(t.Context(), connect.NewRequest(&chatv1.ListDeliveriesRequest{Conversation: c.Msg.Id, Seq: seq}))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range r.Msg.Devices {
			list = append(list, fmt.Sprint(d.Type, " ", d.Delivered))
		}
		return list
	}
	same := func(what string, got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}

	send("one")
	same("laptop", laptop.pull("one"), "one")
	second := send("two")
	same("phone", phone.pull("two"), "one", "two")
	if _, err := phone.client.Chat().Sync(t.Context(), connect.NewRequest(&chatv1.SyncRequest{After: phone.at})); err != nil {
		t.Fatal(err)
	}
	p.kill()
	if !p.start("") {
		t.Fatal("the server did not start again")
	}
	third := send("three")
	same("phone after the kill", phone.pull("three"), "three")
	same("laptop after the kill", laptop.pull("three"), "two", "three")
	if _, err := phone.client.Chat().Sync(t.Context(), connect.NewRequest(&chatv1.SyncRequest{After: phone.at})); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the phone's acknowledgement is stored", func() bool { return slices.Equal(deliveries(third), []string{"laptop false", "phone true"}) })
	same("the second message", deliveries(second), "laptop false", "phone true")
}
