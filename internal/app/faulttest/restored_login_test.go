package faulttest

import (
	"errors"
	"net/http"
	"testing"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Sessions whose tokens were renewed after the backup, and those that began after it, end with a restore. Their devices sign in again. They are the same devices
// as before, and what waits on them arrives once.
func TestDevicesThatMustLogInAfterARestore(t *testing.T) {
	r := newRestoredOn(t, nil)
	stores := map[string]rialto.Store{"renewed": rialto.NewMemoryStore(), "late": rialto.NewMemoryStore()}
	chats := map[string]uint64{}
	for handle, first := range map[string]rialto.Store{"renewed": stores["renewed"], "late": rialto.NewMemoryStore()} { // the late session is on another device
		d := deviceOn(t, r.b, first)
		if err := d.Register(t.Context(), handle, "a good password", handle); err != nil {
			t.Fatal(err)
		}
		direct, err := d.Chat().OpenDirect(t.Context(), connect.NewRequest(&chatv1.OpenDirectRequest{User: r.alice.User()}))
		if err != nil {
			t.Fatal(err)
		}
		chats[handle] = direct.Msg.Id
		d.say(t, direct.Msg.Id, "kept")
	}
	id := r.b.mustBackup()
	renewToken(t, r.b, stores["renewed"])
	if err := deviceOn(t, r.b, stores["late"]).Login(t.Context(), "late", "a good password"); err != nil {
		t.Fatal(err)
	}
	devices := map[string]uint64{}
	for handle, store := range stores {
		d := deviceOn(t, r.b, store)
		d.say(t, chats[handle], "lost")
		devices[handle] = stateIn(t, store).Device
	}
	r.b.kill()
	for handle, store := range stores {
		deviceOn(t, r.b, store).Queue(chats[handle], textOf("unsent"))
		s := stateIn(t, store)
		s.AccessEndsMs = 0 // the access token ends meanwhile
		if err := store.Save(s); err != nil {
			t.Fatal(err)
		}
	}
	r.restore(id)
	for handle, store := range stores {
		d := deviceOn(t, r.b, store)
		if err := d.Run(t.Context()); !errors.Is(err, rialto.ErrSignedOut) {
			t.Fatalf("%s: Run ends with %v", handle, err)
		}
		if err := d.Login(t.Context(), handle, "a good password"); err != nil {
			t.Fatal(err)
		}
		if got := stateIn(t, store).Device; got != devices[handle] {
			t.Errorf("%s is device %d after it signed in, and was %d", handle, got, devices[handle])
		}
		d.say(t, chats[handle], "next")
		if got := texts(t, d.Client, chats[handle]); len(got) != 3 || got[0] != "kept" || got[1] != "unsent" || got[2] != "next" {
			t.Errorf("%s: the server has %q, want what was sent before the backup, what waited, and what was sent then", handle, got)
		}
	}
	r.b.stop()
	r.b.verify()
}

// say sends what waits and a message, while the device runs.
func (d *device) say(t *testing.T, conversation uint64, text string) {
	t.Helper()
	d.start(t)
	defer d.stop()
	if _, err := d.Send(t.Context(), conversation, textOf(text)); err != nil {
		t.Fatal(err)
	}
}

func textOf(text string) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}}
}

func stateIn(t *testing.T, store rialto.Store) rialto.State {
	t.Helper()
	s, err := store.Load()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// renewToken does what a client does when its access token ends.
func renewToken(t *testing.T, b *backedUp, store rialto.Store) {
	t.Helper()
	d, accounts := deviceOn(t, b, store), accountv1connect.NewAccountServiceClient(http.DefaultClient, b.url())
	s, err := accounts.Refresh(t.Context(), connect.NewRequest(&accountv1.RefreshRequest{RefreshToken: stateIn(t, store).Refresh}))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Adopt(s.Msg); err != nil {
		t.Fatal(err)
	}
}
