package account_test

import (
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/account"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// TestProfileChangeNotifiesDevicesAndFriends: a change notifies the user's own devices and friends, and no other users.
func TestProfileChangeNotifiesDevicesAndFriends(t *testing.T) {
	r := open(t, account.Config{})
	p := r.newUsers(4)
	a, friend, requested := p[0], p[1], p[2]
	if _, err := r.RequestFriend(t.Context(), friend, a, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := r.AnswerFriend(t.Context(), a, friend, true); err != nil {
		t.Fatal(err)
	}
	if _, err := r.RequestFriend(t.Context(), a, requested, ""); err != nil {
		t.Fatal(err)
	}
	r.events()
	tells := func(what string, err error, want ...id.User) {
		t.Helper()
		var got []id.User
		for _, e := range r.events() {
			var event chatv1.Event
			if err := proto.Unmarshal(e.Body, &event); err != nil || event.GetProfile().GetUser() != uint64(a) {
				t.Errorf("%s: event %v, error %v; want the profile of %d", what, &event, err, a)
			}
			got = append(got, e.User)
		}
		if slices.Sort(got); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s notified %v, want %v; %v", what, got, want, err)
		}
	}
	_, err := r.UpdateProfile(t.Context(), id.Caller{User: a}, &accountv1.UpdateProfileRequest{DisplayName: proto.String("新名字")})
	tells("a new name", err, a, friend)
	_, err = r.UpdateProfile(t.Context(), id.Caller{User: a}, &accountv1.UpdateProfileRequest{DisplayName: proto.String("新名字"), Bio: proto.String("")})
	tells("the same name", err)
	_, err = r.PutUser(t.Context(), &accountv1.PutUserRequest{ExternalId: "p0", DisplayName: "Newer"})
	tells("a name by the app's server", err, a, friend)
	u, err := r.PutUser(t.Context(), &accountv1.PutUserRequest{ExternalId: "p0", Handle: "person0", DisplayName: "Newer"})
	tells("the same by the app's server", err)
	if u.GetHandle() != "person0" || u.GetDisplayName() != "Newer" {
		t.Errorf("the user is %v", u)
	}
}

// TestSettingsChangeNotifiesOwnDevices: a change notifies the user's own devices, and no other users.
func TestSettingsChangeNotifiesOwnDevices(t *testing.T) {
	r := open(t, account.Config{})
	p := r.newUsers(2)
	if _, err := r.RequestFriend(t.Context(), p[1], p[0], ""); err != nil {
		t.Fatal(err)
	}
	if _, err := r.AnswerFriend(t.Context(), p[0], p[1], true); err != nil {
		t.Fatal(err)
	}
	r.events()
	for i, want := range []int{1, 0} { // the second call changes nothing
		if _, err := r.UpdateSettings(t.Context(), id.Caller{User: p[0]}, &accountv1.Settings{Theme: "dark", Locale: "zh"}); err != nil {
			t.Fatal(err)
		}
		events := r.events()
		for _, e := range events {
			var event chatv1.Event
			if err := proto.Unmarshal(e.Body, &event); err != nil || e.User != p[0] || event.GetSettings() == nil {
				t.Errorf("user %d got event %v (%v)", e.User, &event, err)
			}
		}
		if len(events) != want {
			t.Errorf("change %d caused %d events, want %d", i, len(events), want)
		}
	}
}
