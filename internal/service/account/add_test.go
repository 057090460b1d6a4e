package account_test

import (
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/account"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// The user's setting decides who may add the user to groups, otherwise the deployment's.
func TestWhoMayAddWhom(t *testing.T) {
	for config, want := range map[string]struct{ refused, invited, nonFriends []string }{
		"":         {[]string{"nobody"}, []string{"friends", "unset"}, []string{"anyone"}},
		"everyone": {[]string{"nobody"}, []string{"friends"}, []string{"anyone", "unset"}},
		"friends":  {[]string{"nobody"}, []string{"friends", "unset"}, []string{"anyone"}},
		"nobody":   {[]string{"nobody", "unset", "unset_friend"}, []string{"friends"}, []string{"anyone"}},
	} {
		t.Run("by default "+config, func(t *testing.T) {
			t.Parallel()
			r := open(t, account.Config{WhoMayAdd: config})
			_, by := r.register("adder")
			names := map[id.User]string{}
			var users []id.User
			for name, who := range map[string]accountv1.WhoMayAdd{
				"nobody": accountv1.WhoMayAdd_WHO_MAY_ADD_NOBODY, "friends": accountv1.WhoMayAdd_WHO_MAY_ADD_FRIENDS, "anyone": accountv1.WhoMayAdd_WHO_MAY_ADD_EVERYONE, "unset": 0,
				"a_friend": accountv1.WhoMayAdd_WHO_MAY_ADD_FRIENDS, "unset_friend": 0,
			} {
				_, c := r.register(name)
				names[c.User] = name
				users = append(users, c.User)
				if _, err := r.UpdateSettings(t.Context(), c, &accountv1.Settings{WhoMayAdd: who}); err != nil {
					t.Fatal(err)
				}
				if name == "a_friend" || name == "unset_friend" {
					_, err := r.RequestFriend(t.Context(), c.User, by.User, "")
					if err == nil {
						_, err = r.AnswerFriend(t.Context(), by.User, c.User, true)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
			}
			refused, invited, nonFriends, err := r.MayAdd(t.Context(), by.User, users)
			if err != nil {
				t.Fatal(err)
			}
			for what, got := range map[string]struct {
				users []id.User
				want  []string
			}{"refused": {refused, want.refused}, "invited": {invited, want.invited}, "nonFriends": {nonFriends, want.nonFriends}} {
				var list []string
				for _, u := range got.users {
					list = append(list, names[u])
				}
				slices.Sort(list)
				slices.Sort(got.want)
				if !slices.Equal(list, got.want) {
					t.Errorf("%s: got %v, want %v", what, list, got.want)
				}
			}
		})
	}
	if err := (account.Config{WhoMayAdd: "me"}).Check(); err == nil {
		t.Error("an unknown setting is accepted")
	}
	r := open(t, account.Config{})
	_, c := r.register("somebody")
	_, err := r.UpdateSettings(t.Context(), c, &accountv1.Settings{WhoMayAdd: 9})
	wantError(t, "an unknown setting", err, errs.Invalid, "bad_settings")
}
