package apptest_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/app"
	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/feed/feedtest"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/feed/v1/feedv1connect"
)

// feedHistory has the states of the naive feed. One writer changes it.
type feedHistory struct {
	t      *testing.T
	h      *apptest.Server
	feed   feedv1connect.FeedServiceClient
	admin  feedv1connect.FeedAdminServiceClient
	people []*apptest.Person
	random *rand.Rand // the writer's
	posts  []uint64

	mu     sync.Mutex        // guards all below
	states []*feedtest.Naive // before the first change, and after each
	begun  int               // changes
	over   bool
}

// openFeed starts a server with people and no posts. Who follows readerPullAbove of them pulls; 0 is the default.
func openFeed(t *testing.T, people, readerPullAbove int) *feedHistory {
	var data, postgres string
	h := apptest.Open(t, func(c *config.Config) {
		c.Feed.PullAbove, c.Feed.PushBelow, c.Feed.PostsPerDay = 3, 2, 10_000
		c.Feed.ReaderPullAbove = readerPullAbove
		data, postgres = c.Data, c.Postgres
	})
	at := []string{"--data", data}
	if postgres != "" {
		at = []string{"--postgres", postgres}
	}
	var key, errs strings.Builder
	if code := app.AdminMain(t.Context(), append([]string{"key", "create", "--name", "moderation"}, at...), &key, &errs); code != 0 {
		t.Fatalf("exit code %d, want 0: %s", code, errs.String())
	}
	f := &feedHistory{t: t, h: h, random: rand.New(rand.NewPCG(1, 2)), states: []*feedtest.Naive{feedtest.New()}}
	f.feed, f.admin = h.Feed(), h.FeedAdmin(strings.TrimSpace(key.String()))
	for i := range people {
		f.people = append(f.people, h.Register(t, fmt.Sprint("person", i)))
	}
	return f
}

// change makes a change, and stores the state after it.
func (f *feedHistory) change(do func(n *feedtest.Naive)) {
	f.mu.Lock()
	next := f.states[len(f.states)-1].Clone()
	f.begun++
	f.mu.Unlock()
	do(next)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.states = append(f.states, next)
}

func (f *feedHistory) interval() (ended, begun int, over bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.states) - 1, f.begun, f.over
}

func (f *feedHistory) pair() (a, b *apptest.Person, at feedtest.Pair) {
	i := f.random.IntN(len(f.people))
	j := (i + 1 + f.random.IntN(len(f.people)-1)) % len(f.people)
	return f.people[i], f.people[j], feedtest.Pair{id.User(f.people[i].User), id.User(f.people[j].User)}
}

// publish publishes a post for everyone, friends, or all but one.
func (f *feedHistory) publish(n *feedtest.Naive) {
	a, b, _ := f.pair()
	c := &feedv1.PostContent{Text: fmt.Sprint("text ", len(f.posts)), Audience: feedv1.Audience_AUDIENCE_EVERYONE}
	switch f.random.IntN(5) {
	case 0:
		c.Audience = feedv1.Audience_AUDIENCE_FRIENDS
	case 1:
		c.Audience, c.Users = feedv1.Audience_AUDIENCE_EXCEPT, []uint64{b.User}
	}
	r, err := f.feed.Publish(f.t.Context(), apptest.As(a, &feedv1.PublishRequest{ClientPostId: c.Text, Content: c}))
	must(f.t, err)
	f.posts = append(f.posts, r.Msg.Id)
	n.Posts[r.Msg.Id] = feedtest.Post{ID: r.Msg.Id, Author: id.User(a.User), Text: c.Text, Version: 1, Audience: c.Audience, Users: c.Users}
}

// changePost edits, deletes or hides a post.
func (f *feedHistory) changePost(n *feedtest.Naive) {
	if len(f.posts) == 0 {
		return
	}
	p := n.Posts[f.posts[max(f.random.IntN(len(f.posts)), f.random.IntN(len(f.posts)))]]
	by := f.people[slices.IndexFunc(f.people, func(o *apptest.Person) bool { return o.User == uint64(p.Author) })]
	switch kind := f.random.IntN(3); {
	case p.Deleted:
		return
	case kind == 0 && !p.Hidden:
		p.Text, p.Version, p.Audience, p.Users = p.Text+".", p.Version+1, feedv1.Audience_AUDIENCE_EVERYONE, nil
		_, err := f.feed.EditPost(f.t.Context(), apptest.As(by, &feedv1.EditPostRequest{Post: p.ID, Content: &feedv1.PostContent{Text: p.Text}}))
		must(f.t, err)
	case kind == 1:
		p.Deleted = true
		_, err := f.feed.DeletePost(f.t.Context(), apptest.As(by, &feedv1.DeletePostRequest{Post: p.ID}))
		must(f.t, err)
	default:
		_, err := f.admin.HidePost(f.t.Context(), connect.NewRequest(&feedv1.HidePostRequest{Post: p.ID, Show: p.Hidden}))
		must(f.t, err)
		p.Hidden = !p.Hidden
	}
	n.Posts[p.ID] = p
}

// follow makes somebody follow or unfollow somebody.
func (f *feedHistory) follow(n *feedtest.Naive) {
	a, b, at := f.pair()
	switch {
	case n.Follows[at] && f.random.IntN(3) > 0, n.Blocks[feedtest.Pair{at[1], at[0]}]:
		return
	case n.Follows[at]:
		_, err := f.h.Graph().Unfollow(f.t.Context(), apptest.As(a, &accountv1.UnfollowRequest{User: b.User}))
		must(f.t, err)
	default:
		_, err := f.h.Graph().Follow(f.t.Context(), apptest.As(a, &accountv1.FollowRequest{User: b.User}))
		must(f.t, err)
	}
	n.Follows[at] = !n.Follows[at]
}

// relate makes somebody mute, unmute, block or unblock somebody.
func (f *feedHistory) relate(n *feedtest.Naive) {
	a, b, at := f.pair()
	var err error
	switch {
	case n.Blocks[at]:
		_, err = f.h.Graph().Unblock(f.t.Context(), apptest.As(a, &accountv1.UnblockRequest{User: b.User}))
		delete(n.Blocks, at)
	case n.Mutes[at]:
		_, err = f.h.Graph().Unmute(f.t.Context(), apptest.As(a, &accountv1.UnmuteRequest{User: b.User}))
		delete(n.Mutes, at)
	case f.random.IntN(2) == 0:
		_, err = f.h.Graph().Mute(f.t.Context(), apptest.As(a, &accountv1.MuteRequest{User: b.User}))
		n.Mutes[at] = true
	default:
		_, err = f.h.Graph().Block(f.t.Context(), apptest.As(a, &accountv1.BlockRequest{User: b.User}))
		n.Block(at[0], at[1])
	}
	must(f.t, err)
}

// write makes changes until there were enough.
func (f *feedHistory) write(changes int) {
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.over = true
	}()
	for range changes {
		switch n := f.random.IntN(20); {
		case n < 8:
			f.change(f.publish)
		case n < 11:
			f.change(f.changePost)
		case n < 18:
			f.change(f.follow)
		default:
			f.change(f.relate)
		}
	}
}

// read reads the pages of a person's home timeline until all changes were made. It returns how many pages it read, and a function that checks them.
func (f *feedHistory) read(p *apptest.Person, random *rand.Rand) (pages int, check func()) {
	var checks []func()
	for over := false; !over; pages++ {
		limit := uint32(1 + random.IntN(4))
		for before := uint64(0); ; {
			var first, last int
			first, _, over = f.interval()
			r, err := f.feed.HomeTimeline(f.t.Context(), apptest.As(p, &feedv1.HomeTimelineRequest{Before: before, Limit: limit}))
			if err != nil {
				f.t.Error(err)
				return pages, func() {}
			}
			_, last, _ = f.interval()
			from := before
			checks = append(checks, func() { f.check(p, r.Msg, from, int(limit), first, last) })
			if before = r.Msg.Next; before == 0 || random.IntN(3) == 0 {
				break
			}
		}
	}
	return pages, func() {
		for _, check := range checks {
			check()
		}
	}
}

// check requires that a page equals that of the naive feed in one of some states.
func (f *feedHistory) check(p *apptest.Person, page *feedv1.HomeTimelineResponse, before uint64, limit, first, last int) {
	f.t.Helper()
	var differences []string
	for _, state := range f.states[first : last+1] {
		lines, ids := state.Home(id.User(p.User))
		d := feedtest.Difference(page.Posts, before, page.Next, limit, lines, ids)
		if d == "" {
			return
		}
		differences = append(differences, d)
	}
	f.t.Errorf("a page of %d equals none of the states %d to %d: %s", p.User, first, last, strings.Join(differences, "\n"))
}

// followAll makes a person follow everybody, or nobody.
func (f *feedHistory) followAll(p *apptest.Person, follows bool) {
	f.t.Helper()
	for _, other := range f.people {
		at := feedtest.Pair{id.User(p.User), id.User(other.User)}
		if other == p {
			continue
		}
		f.change(func(n *feedtest.Naive) {
			if n.Blocks[feedtest.Pair{at[1], at[0]}] {
				return
			}
			var err error
			if n.Follows[at] = follows; follows {
				_, err = f.h.Graph().Follow(f.t.Context(), apptest.As(p, &accountv1.FollowRequest{User: other.User}))
			} else {
				_, err = f.h.Graph().Unfollow(f.t.Context(), apptest.As(p, &accountv1.UnfollowRequest{User: other.User}))
			}
			must(f.t, err)
		})
	}
}

// TestPagesEqualTheNaiveFeedAtSomeMoment: while posts and relations change, and jobs bring posts to windows, each page that somebody reads on any node
// is that of the naive feed at one moment between the call and its answer.
func TestPagesEqualTheNaiveFeedAtSomeMoment(t *testing.T) {
	f := openFeed(t, 5, 3)
	checks := make([]func(), len(f.people))
	var readers sync.WaitGroup
	for i, p := range f.people {
		readers.Go(func() {
			var pages int
			if pages, checks[i] = f.read(p, rand.New(rand.NewPCG(3, uint64(i)))); pages < 5 {
				t.Errorf("%d pages were read", pages)
			}
		})
	}
	f.write(300)
	readers.Wait()
	for _, check := range checks {
		check()
	}
	// In the end all posts are in the windows, and the timelines are the same.
	eventually.True(t, "fan-out is done", func() bool {
		for _, p := range f.people {
			r, err := f.admin.GetFeedAuthor(t.Context(), connect.NewRequest(&feedv1.GetFeedAuthorRequest{User: p.User}))
			must(t, err)
			if r.Msg.PushedPending > 0 {
				return false
			}
		}
		return true
	})
	// A reader who follows many pulls, and one who does not any more has a window again.
	moves := 0
	for _, follows := range []bool{true, false} {
		for _, p := range f.people {
			f.followAll(p, follows)
			last := len(f.states) - 1
			for range 2 {
				r, err := f.feed.HomeTimeline(t.Context(), apptest.As(p, &feedv1.HomeTimelineRequest{Limit: 50}))
				must(t, err)
				f.check(p, r.Msg, 0, 50, last, last)
			}
			a, err := f.admin.GetFeedAuthor(t.Context(), connect.NewRequest(&feedv1.GetFeedAuthorRequest{User: p.User}))
			must(t, err)
			if many, few := a.Msg.Following >= 3, a.Msg.Following < 2; many && !a.Msg.Pulls || few && a.Msg.Pulls {
				t.Errorf("%d follows %d, and pulls: %v", p.User, a.Msg.Following, a.Msg.Pulls)
			} else if a.Msg.Pulls == follows {
				moves++
			}
		}
	}
	if moves < len(f.people)+1 {
		t.Errorf("%d moves of readers", moves)
	}
	last := len(f.states) - 1
	for _, p := range f.people {
		r, err := f.feed.HomeTimeline(t.Context(), apptest.As(p, &feedv1.HomeTimelineRequest{Limit: 50}))
		must(t, err)
		f.check(p, r.Msg, 0, 50, last, last)
	}
}
