package account_test

import (
	"slices"
	"testing"

	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/account"
	"github.com/rialto-im/rialto/internal/id"
	"google.golang.org/protobuf/proto"
)

// TestAChangedProfileIsToldToDevicesAndFriends: to one's own devices and to friends, to nobody else, and only a change.
func TestAChangedProfileIsToldToDevicesAndFriends(t *testing.T) {
	r := open(t, account.Config{})
	p := r.people(4)
	a, friend, asked := p[0], p[1], p[2]
	if _, err := r.RequestFriend(t.Context(), friend, a, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := r.AnswerFriend(t.Context(), a, friend, true); err != nil {
		t.Fatal(err)
	}
	if _, err := r.RequestFriend(t.Context(), a, asked, ""); err != nil {
		t.Fatal(err)
	}
	r.events()
	tells := func(what string, err error, want ...id.User) {
		t.Helper()
		var got []id.User
		for _, e := range r.events() {
			var event chatv1.Event
			if err := proto.Unmarshal(e.Body, &event); err != nil || event.GetProfile().GetUser() != uint64(a) {
				t.Errorf("%s: %v, %v", what, &event, err)
			}
			got = append(got, e.User)
		}
		if slices.Sort(got); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s is told to %v, not %v; %v", what, got, want, err)
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
		t.Errorf("%v", u)
	}
}
