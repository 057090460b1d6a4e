package feed_test

import (
	"context"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/interest"
	"github.com/rialto-im/rialto/internal/service/feed"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// screen is a connection that watches posts.
type screen struct {
	f      *fixture
	reader id.User
	told   []uint64
}

func (s *screen) push(posts []uint64) { s.told = append(s.told, posts...) }

// watch watches posts in their first versions, and returns those that the answer names.
func (s *screen) watch(turn uint32, posts ...uint64) []uint64 {
	s.f.t.Helper()
	var list []*gatewayv1.WatchedPost
	for _, n := range posts {
		list = append(list, &gatewayv1.WatchedPost{Post: n, Version: 1})
	}
	changed, err := s.f.WatchPosts(context.Background(), s.reader, s, turn, list, s.push)
	must(s.f.t, err)
	return changed
}

// since returns what the connection was told since the last call.
func (s *screen) since() []uint64 {
	s.f.t.Helper()
	must(s.f.t, s.f.CheckWatched(context.Background()))
	told := s.told
	s.told = nil
	return told
}

func (s *screen) check(what string, got []uint64, want ...uint64) {
	s.f.t.Helper()
	if !slices.Equal(got, want) {
		s.f.t.Errorf("%s: the screen is told of %v, want %v", what, got, want)
	}
}

// A connection is told of each change of a post that it watches, and of no other.
func TestScreensAreToldOfChangedPosts(t *testing.T) {
	f := open(t, feed.Config{})
	author := f.user()
	one, two, other := f.publish(author, "one").Id, f.publish(author, "two").Id, f.publish(author, "other").Id
	s, nothing := &screen{f: f, reader: f.user()}, &screen{f: f, reader: f.user()}
	nothing.watch(1)
	s.check("at first", s.watch(1, one, two))
	hide := func(n uint64, show bool) {
		must(t, f.HidePost(context.Background(), &feedv1.HidePostRequest{Post: n, Show: show}))
	}
	hide(one, false)
	s.check("hidden", s.since(), one)
	hide(one, false)
	s.check("hidden again", s.since())
	hide(one, true)
	s.check("shown again", s.since(), one)
	_, err := f.EditPost(context.Background(), author, &feedv1.EditPostRequest{Post: two, Content: &feedv1.PostContent{Text: "edited"}})
	must(t, err)
	s.check("edited", s.since(), two)
	must(t, f.DeletePost(context.Background(), author, two))
	must(t, f.DeletePost(context.Background(), author, other))
	s.check("deleted", s.since(), two)
	f.PostsMissed()
	s.check("after a gap", s.since(), one) // it knows that the other is gone

	s.check("other posts", s.watch(2, one))
	must(t, f.DeletePost(context.Background(), author, two))
	s.check("a post that is not watched any more", s.since())
	s.watch(1, two) // an earlier request that is handled later
	hide(one, false)
	s.check("after a late request", s.since(), one)
	f.UnwatchPosts(s)
	hide(one, true)
	f.PostsMissed()
	s.check("after the end", s.since())
	nothing.check("without posts", nothing.told)
}

// A user who may not see a post any more is told that it is gone, and of no change after that, until the user may see it again.
func TestExcludedWatchersAreToldOnce(t *testing.T) {
	f := open(t, feed.Config{})
	f.UseSmallSizes()
	author, reader, other := f.user(), f.user(), f.user()
	n := f.publish(author, "for everyone").Id
	var screens []*screen
	for _, u := range []id.User{author, reader, reader, other} { // more than are checked by one statement
		s := &screen{f: f, reader: u}
		s.check("at first", s.watch(1, n))
		screens = append(screens, s)
	}
	check := func(what string, want ...int) {
		t.Helper()
		for i, s := range screens {
			if told := s.since(); len(told) != want[i] {
				t.Errorf("%s: screen %d is told of %v, want %d posts", what, i, told, want[i])
			}
		}
	}
	edit := func(audience feedv1.Audience, users ...id.User) {
		t.Helper()
		content := &feedv1.PostContent{Text: "edited", Audience: audience}
		for _, u := range users {
			content.Users = append(content.Users, uint64(u))
		}
		_, err := f.EditPost(context.Background(), author, &feedv1.EditPostRequest{Post: n, Content: content})
		must(t, err)
	}
	edit(feedv1.Audience_AUDIENCE_EXCEPT, reader)
	check("reader is excluded", 1, 1, 1, 1)
	edit(feedv1.Audience_AUDIENCE_EXCEPT, reader)
	check("an edit that reader does not see", 1, 0, 0, 1)
	late := &screen{f: f, reader: reader}
	late.check("an excluded user who watches", late.watch(1, n), n)
	screens = append(screens, late)
	edit(feedv1.Audience_AUDIENCE_CHOSEN, other)
	f.PostsMissed()
	check("another edit, and a gap", 1, 0, 0, 1, 0)
	must(t, f.DeletePost(context.Background(), author, n))
	check("deleted", 1, 0, 0, 1, 0)
	shown := f.publish(author, "shown again").Id
	for i, s := range screens {
		s.check("another post", s.watch(2, shown))
		screens[i] = s
	}
	n = shown
	edit(feedv1.Audience_AUDIENCE_EXCEPT, reader)
	edit(feedv1.Audience_AUDIENCE_EVERYONE)
	check("excluded and shown before it was checked", 1, 1, 1, 1, 1)
	edit(feedv1.Audience_AUDIENCE_FRIENDS)
	check("for friends", 1, 1, 1, 1, 1)
	edit(feedv1.Audience_AUDIENCE_EVERYONE)
	check("shown again", 1, 1, 1, 1, 1)
}

// A change that could not be checked, because the database did not answer, is checked again.
func TestChangesThatCouldNotBeChecked(t *testing.T) {
	f := open(t, feed.Config{})
	n := f.publish(f.user(), "one").Id
	s := &screen{f: f, reader: f.user()}
	s.watch(1, n)
	must(t, f.HidePost(context.Background(), &feedv1.HidePostRequest{Post: n}))
	ended, end := context.WithCancel(context.Background())
	end()
	if err := f.CheckWatched(ended); err == nil {
		t.Error("changes are checked without a database")
	}
	s.check("after the next check", s.since(), n)
}

// The answer to a connection that watches names the posts that changed since it read them, and those that are not for its user.
func TestTheAnswerNamesWhatChangedBefore(t *testing.T) {
	f := open(t, feed.Config{})
	author, reader := f.user(), f.user()
	same, edited, hidden, deleted := f.publish(author, "same").Id, f.publish(author, "edited").Id, f.publish(author, "hidden").Id, f.publish(author, "deleted").Id
	private, err := f.Publish(context.Background(), author, &feedv1.PublishRequest{ClientPostId: "p", Content: &feedv1.PostContent{Text: "x", Audience: feedv1.Audience_AUDIENCE_FRIENDS}})
	must(t, err)
	_, err = f.EditPost(context.Background(), author, &feedv1.EditPostRequest{Post: edited, Content: &feedv1.PostContent{Text: "again"}})
	must(t, err)
	must(t, f.HidePost(context.Background(), &feedv1.HidePostRequest{Post: hidden}))
	must(t, f.DeletePost(context.Background(), author, deleted))
	s := &screen{f: f, reader: reader}
	s.check("the answer", s.watch(1, same, edited, hidden, deleted, private.Id, 77), 77, edited, hidden, deleted, private.Id)
	if _, err := f.WatchPosts(context.Background(), reader, s, 2, make([]*gatewayv1.WatchedPost, 101), s.push); reason(err) != "too_many_posts" {
		t.Errorf("101 posts are answered with %v", err)
	}
	// What changes while the versions are read is told.
	f.Interrupt(func(point string) error {
		if point == "posts-watched" {
			must(t, f.HidePost(context.Background(), &feedv1.HidePostRequest{Post: same}))
		}
		return nil
	})
	if named := s.watch(3, same); len(named)+len(s.told) == 0 {
		t.Error("a post that was hidden meanwhile is not named")
	}
	ended, end := context.WithCancel(context.Background())
	end()
	if _, err := f.WatchPosts(ended, reader, "gone", 1, nil, s.push); err == nil {
		t.Error("a connection that has ended watches")
	}
}

// interests counts the interests of a node.
type interests struct {
	of   map[interest.Key]int
	full bool
}

func (i *interests) AddAll(_ context.Context, posts []interest.Key) bool {
	for _, p := range posts {
		if !i.full {
			i.of[p]++
		}
	}
	return !i.full
}

func (i *interests) Remove(post interest.Key) {
	if i.of[post]--; i.of[post] == 0 {
		delete(i.of, post)
	}
}

func (*interests) Publish([]interest.Change) {}

// Each watched post is an interest of the node, until no connection watches it. Where there is no room, the connection keeps what it had.
func TestWatchedPostsAreInterests(t *testing.T) {
	f := open(t, feed.Config{})
	known := &interests{of: map[interest.Key]int{}}
	f.interest = known
	f.restart()
	a, b := &screen{f: f, reader: f.user()}, &screen{f: f, reader: f.user()}
	check := func(what string, want map[interest.Key]int) {
		t.Helper()
		if len(known.of) != len(want) {
			t.Errorf("%s: the interests are %v, want %v", what, known.of, want)
		}
		for p, n := range want {
			if known.of[p] != n {
				t.Errorf("%s: the interests are %v, want %v", what, known.of, want)
			}
		}
	}
	a.watch(1, 1, 2)
	b.watch(1, 2, 2, 3)
	check("two screens", map[interest.Key]int{1: 1, 2: 2, 3: 1})
	a.watch(3, 4)
	a.watch(2, 5) // late
	check("one has others", map[interest.Key]int{2: 1, 3: 1, 4: 1})
	known.full = true
	if _, err := f.WatchPosts(context.Background(), b.reader, b, 2, []*gatewayv1.WatchedPost{{Post: 9}}, b.push); reason(err) != "busy" {
		t.Errorf("without room the answer is %v", err)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	known.full = false
	if _, err := f.WatchPosts(ended, b.reader, b, 3, []*gatewayv1.WatchedPost{{Post: 9}}, b.push); err == nil {
		t.Error("a connection that has ended watches")
	}
	check("after refusals", map[interest.Key]int{2: 1, 3: 1, 4: 1})
	f.UnwatchPosts(a)
	f.UnwatchPosts(a)
	f.UnwatchPosts(b)
	check("at the end", nil)
}
