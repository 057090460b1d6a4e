package account_test

import (
	"database/sql"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/account"
)

// Counts of follows equal the relations after any changes. The number of changes rises with each.
func TestFollowsAreCounted(t *testing.T) {
	r := open(t, account.Config{})
	_, ann := r.register("ann")
	_, ben := r.register("ben")
	_, cleo := r.register("cleo")
	var last uint64
	check := func(what string, followers, following uint64, shown, changes bool) {
		t.Helper()
		if err := r.db.ReadSnapshot(t.Context(), func(tx *sql.Tx) error {
			_, annFollows, err := r.FollowCounts(t.Context(), tx, ann.User)
			if err != nil {
				return err
			}
			benFollowers, _, err := r.FollowCounts(t.Context(), tx, ben.User)
			if err != nil {
				return err
			}
			followed, seen, n, err := r.Followed(t.Context(), tx, ann.User)
			if err != nil {
				return err
			}
			if benFollowers != followers || annFollows != following || len(followed) != int(following) || seen[ben.User] != shown || (n > last) != changes {
				t.Errorf("%s: %d followers, %d followed, %v, %d changes after %d", what, benFollowers, annFollows, seen, n, last)
			}
			last = n
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	do := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		do(r.SetFollow(t.Context(), ann.User, ben.User, true))
	}
	check("followed", 1, 1, true, true)
	do(r.SetFollow(t.Context(), cleo.User, ben.User, true))
	check("followed by another", 2, 1, true, false)
	do(r.SetMute(t.Context(), ann.User, ben.User, true))
	check("muted", 2, 1, false, false)
	do(r.SetMute(t.Context(), ann.User, ben.User, false))
	do(r.SetBlock(t.Context(), ann.User, ben.User, true))
	check("blocked by the follower", 2, 1, false, false)
	do(r.SetBlock(t.Context(), ann.User, ben.User, false))
	do(r.SetBlock(t.Context(), ben.User, ann.User, true))
	check("blocked by the followed", 1, 0, false, true)
	do(r.SetBlock(t.Context(), ben.User, ann.User, false))
	do(r.SetFollow(t.Context(), ann.User, ben.User, true))
	check("followed again", 2, 1, true, true)
	do(r.SetFollow(t.Context(), ann.User, ben.User, false))
	check("unfollowed", 1, 0, false, true)
	if list, err := r.ListRelations(t.Context(), ann.User, 0, ""); err != nil || len(list.Relations) != 0 {
		t.Errorf("the relations are %v, %v", list, err)
	}
	do(r.SetMute(t.Context(), ann.User, ben.User, true))
	if list, err := r.ListRelations(t.Context(), ann.User, 0, ""); err != nil || len(list.Relations) != 1 || !list.Relations[0].Muted {
		t.Errorf("the relations of who mutes are %v, %v", list, err)
	}
}

// A user follows a bounded number of others.
func TestFollowsAreBounded(t *testing.T) {
	r := open(t, account.Config{})
	_, ann := r.register("ann")
	_, ben := r.register("ben")
	if err := r.db.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `INSERT INTO follow_counts (owner, following) VALUES ($1, 5000)`, int64(ann.User))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.SetFollow(t.Context(), ann.User, ben.User, true); errs.Of(err).Reason != "too_many_followed" {
		t.Errorf("following one more is answered with %v", err)
	}
	if friends, blocked, err := relationsOf(r, ann.User, ben.User); err != nil || friends || blocked {
		t.Errorf("the relation is %v, %v, %v", friends, blocked, err)
	}
}

// followersOf returns a page of a user's followers, and those of them to whom the user's posts are shown.
func followersOf(r *fixture, u, after id.User, limit int) (list, shown []id.User) {
	r.t.Helper()
	err := r.db.ReadSnapshot(r.t.Context(), func(tx *sql.Tx) (err error) {
		list, shown, err = r.Followers(r.t.Context(), tx, u, after, limit)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return list, shown
}

// The posts of a user are shown to the followers who have neither muted nor blocked the user. A block by the user ends the follow.
func TestFollowersToWhomPostsAreShown(t *testing.T) {
	r := open(t, account.Config{})
	_, ann := r.register("ann")
	var users []id.User
	for _, handle := range []string{"ben", "cleo", "dan", "eve", "fay", "gus"} {
		_, u := r.register(handle)
		users = append(users, u.User)
	}
	for _, u := range users[:5] {
		if _, err := r.SetFollow(t.Context(), u, ann.User, true); err != nil {
			t.Fatal(err)
		}
	}
	for _, do := range []func() error{
		func() error { _, err := r.SetMute(t.Context(), users[0], ann.User, true); return err },
		func() error { _, err := r.SetBlock(t.Context(), users[1], ann.User, true); return err },
		func() error { _, err := r.SetBlock(t.Context(), ann.User, users[3], true); return err },
		func() error { _, err := r.SetMute(t.Context(), ann.User, users[4], true); return err }, // Ann does not see the posts of Fay
		func() error { _, err := r.SetMute(t.Context(), users[5], ann.User, true); return err }, // Gus does not follow Ann
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	all := []id.User{users[0], users[1], users[2], users[4]}
	for _, c := range []struct {
		after       id.User
		limit       int
		list, shown []id.User
	}{
		{0, 10, all, all[2:]},
		{0, 3, all[:3], all[2:3]},
		{all[2], 10, all[3:], all[3:]},
		{all[3], 10, nil, nil},
	} {
		if list, shown := followersOf(r, ann.User, c.after, c.limit); !slices.Equal(list, c.list) || !slices.Equal(shown, c.shown) {
			t.Errorf("followers after %d: %v, shown to %v; want %v, shown to %v", c.after, list, shown, c.list, c.shown)
		}
	}
}

// Followers are listed in pages, and friends and blocks in both directions.
func TestFollowersFriendsAndBlocks(t *testing.T) {
	r := open(t, account.Config{})
	_, ann := r.register("ann")
	var want []id.User
	for _, handle := range []string{"ben", "cleo", "dan"} {
		_, u := r.register(handle)
		if _, err := r.SetFollow(t.Context(), u.User, ann.User, true); err != nil {
			t.Fatal(err)
		}
		want = append(want, u.User)
	}
	var got []id.User
	for after := id.User(0); ; {
		page, _ := followersOf(r, ann.User, after, 2)
		got = append(got, page...)
		if len(page) < 2 {
			break
		}
		after = page[1]
	}
	if len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("the followers are %v, want %v", got, want)
	}
	for _, do := range []func() error{
		func() error { _, err := r.RequestFriend(t.Context(), ann.User, want[0], ""); return err },
		func() error { _, err := r.AnswerFriend(t.Context(), want[0], ann.User, true); return err },
		func() error { _, err := r.SetBlock(t.Context(), want[1], ann.User, true); return err },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range []struct{ friends, blocked bool }{{true, false}, {false, true}, {false, false}} {
		for _, pair := range [][2]id.User{{ann.User, want[i]}, {want[i], ann.User}} {
			if friends, blocked, err := relationsOf(r, pair[0], pair[1]); err != nil || friends != c.friends || blocked != c.blocked {
				t.Errorf("between %v: friends %v, blocked %v, %v", pair, friends, blocked, err)
			}
		}
	}
}

func relationsOf(r *fixture, a, b id.User) (friend, block bool, err error) {
	err = r.db.ReadSnapshot(r.t.Context(), func(tx *sql.Tx) error {
		friends, blocked, err := r.FriendsAndBlocks(r.t.Context(), tx, a, []id.User{b})
		friend, block = friends[b], blocked[b]
		return err
	})
	return friend, block, err
}
