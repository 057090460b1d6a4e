package feed_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/clusterevent"
	"github.com/rialto-im/rialto/internal/service/feed"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// Those are told of a new post in whose home timelines it is, and its author: by fan-out, and where the author is pulled by the nodes that they are connected to.
func TestWhoIsToldOfANewPost(t *testing.T) {
	t.Run("pushed", func(t *testing.T) { checkWhoIsTold(t, feed.Config{}) })
	t.Run("pulled", func(t *testing.T) { checkWhoIsTold(t, feed.Config{PullAbove: 1}) })
}

func checkWhoIsTold(t *testing.T, c feed.Config) {
	f := open(t, c)
	f.UseSmallSizes()
	author, friend, follower, muting, blocking, blocked := f.user(), f.user(), f.user(), f.user(), f.user(), f.user()
	all := []id.User{author, friend, follower, muting, blocking, blocked, f.user()}
	f.connected = all
	for _, u := range all[1:6] {
		f.follow(u, author)
	}
	for _, err := range []error{
		func() error { _, err := f.accounts.RequestFriend(t.Context(), friend, author, ""); return err }(),
		func() error { _, err := f.accounts.AnswerFriend(t.Context(), author, friend, true); return err }(),
		func() error { _, err := f.accounts.SetMute(t.Context(), muting, author, true); return err }(),
		func() error { _, err := f.accounts.SetBlock(t.Context(), blocking, author, true); return err }(),
		func() error { _, err := f.accounts.SetBlock(t.Context(), author, blocked, true); return err }(),
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
		{feedv1.Audience_AUDIENCE_CHOSEN, []id.User{follower, all[6]}, []id.User{author, follower}},
		{feedv1.Audience_AUDIENCE_EXCEPT, []id.User{follower}, []id.User{author, friend}},
	} {
		r := &feedv1.PublishRequest{ClientPostId: fmt.Sprint(i), Content: &feedv1.PostContent{Text: "x", Audience: c.audience}}
		for _, u := range c.users {
			r.Content.Users = append(r.Content.Users, uint64(u))
		}
		p, err := f.Publish(t.Context(), author, r)
		must(t, err)
		f.told = nil
		f.spread()
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
		for _, u := range all[:6] { // the same as what they read
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
	if f.spread(); len(f.told) > 0 {
		t.Errorf("a hidden post is told to %v", f.told)
	}
}

func must1(_ *feedv1.Post, err error) bool { return err == nil }

// spread runs all steps of fan-out, and announces posts.
func (f *fixture) spread() {
	f.t.Helper()
	f.push()
	must(f.t, f.Announce(f.t.Context()))
}

// recordedEvents are events that the other nodes get.
type recordedEvents struct {
	events   []clusterevent.Event
	notified int
}

func (r *recordedEvents) Add(_ context.Context, _ *sql.Tx, events ...clusterevent.Event) error {
	r.events = append(r.events, events...)
	return nil
}

func (r *recordedEvents) Notify() { r.notified++ }

// Each node tells the followers of a pulled author who are connected to it of a new post, once; nothing is written for followers.
func TestAllNodesAnnouncePostsOfPulledAuthors(t *testing.T) {
	f := open(t, feed.Config{PullAbove: 3})
	author, here, there, away := f.user(), f.user(), f.user(), f.user()
	events := &recordedEvents{}
	f.events, f.connected = events, []id.User{here}
	f.restart()
	f.follow(here, author)
	f.follow(there, author)
	p := f.publish(author, "pushed")
	if f.spread(); len(events.events) > 0 || len(f.told[here]) != 1 || f.told[here][0] != p.Id {
		t.Errorf("a post of an ordinary author has the events %v, and %v are told", events.events, f.told)
	}
	f.follow(away, author)
	f.home(there, 10)
	before, err := f.log.Tails(t.Context(), []timeline.Key{feed.WindowKey(there), feed.WindowKey(here)})
	must(t, err)
	p = f.publish(author, "pulled")
	f.told = nil
	if f.spread(); len(f.told) != 1 || len(f.told[here]) != 1 || f.told[here][0] != p.Id {
		t.Errorf("of a post of a pulled author, %v are told on its node, want user %d", f.told, here)
	}
	f.publish(author, "pulled") // a retry
	if f.spread(); len(f.told[here]) != 1 || len(events.events) != 1 || events.notified != 1 {
		t.Errorf("after a retry, %v are told, with %d events and %d wake-ups", f.told, len(events.events), events.notified)
	}
	other := f.other("other")
	f.connected, f.told = []id.User{there}, nil
	other.HandleEvent(events.events[0])
	f.HandleEvent(events.events[0]) // its own
	must(t, other.Announce(t.Context()))
	if f.spread(); len(f.told) != 1 || len(f.told[there]) != 1 || f.told[there][0] != p.Id {
		t.Errorf("on another node, %v are told, want user %d", f.told, there)
	}
	after, err := f.log.Tails(t.Context(), []timeline.Key{feed.WindowKey(there), feed.WindowKey(here)})
	must(t, err)
	if !slices.Equal(before, after) {
		t.Errorf("the windows of followers end at %v, and did at %v", after, before)
	}
	// A post that was deleted or hidden meanwhile is announced to nobody.
	p = f.publish(author, "deleted")
	must(t, f.DeletePost(t.Context(), author, p.Id))
	f.told = nil
	if f.spread(); len(f.told) > 0 {
		t.Errorf("of a deleted post, %v are told", f.told)
	}
}
