package feed_test

import (
	"fmt"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/feed"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// Those are told of a new post in whose home timelines it is, and its author.
func TestWhoIsToldOfANewPost(t *testing.T) {
	f := open(t, feed.Config{})
	f.UseSmallSizes()
	author, friend, follower, muting, blocking := f.user(), f.user(), f.user(), f.user(), f.user()
	all := []id.User{author, friend, follower, muting, blocking, f.user()}
	for _, u := range all[1:5] {
		f.follow(u, author)
	}
	for _, err := range []error{
		func() error { _, err := f.accounts.RequestFriend(t.Context(), friend, author, ""); return err }(),
		func() error { _, err := f.accounts.AnswerFriend(t.Context(), author, friend, true); return err }(),
		func() error { _, err := f.accounts.SetMute(t.Context(), muting, author, true); return err }(),
		func() error { _, err := f.accounts.SetBlock(t.Context(), blocking, author, true); return err }(),
	} {
		must(t, err)
	}
	for i, c := range []struct {
		audience feedv1.Audience
		users    []id.User
		want     []id.User
	}{
		{feedv1.Audience_AUDIENCE_EVERYONE, nil, []id.User{author, friend, follower}},
		{feedv1.Audience_AUDIENCE_FRIENDS, nil, []id.User{author, friend}},
		{feedv1.Audience_AUDIENCE_CHOSEN, []id.User{follower, all[5]}, []id.User{author, follower}},
		{feedv1.Audience_AUDIENCE_EXCEPT, []id.User{follower}, []id.User{author, friend}},
	} {
		r := &feedv1.PublishRequest{ClientPostId: fmt.Sprint(i), Content: &feedv1.PostContent{Text: "x", Audience: c.audience}}
		for _, u := range c.users {
			r.Content.Users = append(r.Content.Users, uint64(u))
		}
		p, err := f.Publish(t.Context(), author, r)
		must(t, err)
		f.told = nil
		f.push()
		for _, u := range all {
			want := 0
			for _, w := range c.want {
				if w == u {
					want = 1
				}
			}
			if got := f.told[u]; len(got) != want || want == 1 && got[0] != p.Id {
				t.Errorf("%v: user %d of %v is told of %v", c.audience, u, all, got)
			}
		}
		for _, u := range all[:5] { // the same as what they read
			list := f.home(u, 50)
			told := len(f.told[u]) > 0
			if reads := len(list) > 0 && must1(f.GetPost(t.Context(), u, p.Id)); told && !reads {
				t.Errorf("%v: user %d is told of a post that the user cannot read", c.audience, u)
			}
		}
	}
	// A post that was hidden before its fan-out is told to nobody.
	p := f.publish(author, "hidden")
	must(t, f.HidePost(t.Context(), &feedv1.HidePostRequest{Post: p.Id}))
	f.told = nil
	if f.push(); len(f.told) > 0 {
		t.Errorf("a hidden post is told to %v", f.told)
	}
}

func must1(_ *feedv1.Post, err error) bool { return err == nil }
