package feed_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/feed"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// follower is a reader with a changing number of followed authors, each of whom has published.
type follower struct {
	*fixture
	reader  id.User
	authors []id.User
	posts   []string // of the author with the same number modulo the number of authors
	follows int
}

func openFollower(t *testing.T, config feed.Config) *follower {
	f := &follower{fixture: open(t, config)}
	f.reader = f.user()
	for range 4 {
		f.authors = append(f.authors, f.user())
	}
	return f
}

// followFirst makes the reader follow the first n authors.
func (f *follower) followFirst(n int) {
	f.t.Helper()
	for i, u := range f.authors {
		if (i < n) != (i < f.follows) {
			_, err := f.accounts.SetFollow(f.t.Context(), f.reader, u, i < n)
			must(f.t, err)
		}
	}
	f.follows = n
}

// publishAll publishes a post of each author, and brings all to the windows that are open.
func (f *follower) publishAll() {
	f.t.Helper()
	for _, u := range f.authors {
		f.posts = append(f.posts, fmt.Sprint("post ", len(f.posts)))
		f.publish(u, f.posts[len(f.posts)-1])
	}
	f.push()
}

// check reads the timeline, and compares it with the posts of those who are followed.
func (f *follower) check(when string) {
	f.t.Helper()
	var want []string
	for i, text := range slices.Backward(f.posts) {
		if i%len(f.authors) < f.follows {
			want = append(want, text)
		}
	}
	if got := f.home(f.reader, 3); !slices.Equal(got, want) {
		f.t.Errorf("%s: the timeline is %q, want %q", when, got, want)
	}
}

// isOpen reports whether fan-out writes to the window of the reader.
func (f *follower) isOpen() bool {
	f.t.Helper()
	tail, err := f.log.Tail(f.t.Context(), feed.WindowKey(f.reader))
	must(f.t, err)
	return tail.Seq > 0 && tail.FirstSeq <= tail.Seq
}

// pulls reports whether the reader pulls, as operators see it.
func (f *follower) pulls() bool {
	f.t.Helper()
	a, err := f.GetFeedAuthor(f.t.Context(), &feedv1.GetFeedAuthorRequest{User: uint64(f.reader)})
	must(f.t, err)
	if a.Following != uint32(f.follows) {
		f.t.Errorf("the reader follows %d, and the answer says %d", f.follows, a.Following)
	}
	return a.Pulls
}

// A reader who follows many pulls, and has no window; with hysteresis, posts are written for the reader again. No timeline changes.
func TestReadersChangeTheirTier(t *testing.T) {
	f := openFollower(t, feed.Config{ReaderPullAbove: 3, ReaderPushBelow: 2})
	for _, step := range []struct {
		follows int
		pulls   bool
	}{{1, false}, {2, false}, {3, true}, {2, true}, {4, true}, {1, false}, {2, false}, {3, true}} {
		f.followFirst(step.follows)
		when := fmt.Sprint("with ", step.follows, " authors")
		f.publishAll()
		for range 2 {
			f.check(when)
			f.publishAll()
			f.check(when + ", and new posts")
			if f.pulls() != step.pulls || f.isOpen() == step.pulls {
				t.Errorf("%s: the reader pulls: %v, the window is open: %v", when, f.pulls(), f.isOpen())
			}
		}
	}
}

// An author with few followers and many posts a day is pulled, and pushed again when a day had fewer. No timeline changes.
func TestAuthorsWithManyPostsArePulled(t *testing.T) {
	f := open(t, feed.Config{PullAbove: 1000, PullEntriesAbove: 6, PushBelow: 3})
	author, readers := f.user(), []id.User{f.user(), f.user()}
	for _, u := range readers {
		f.follow(u, author)
	}
	var want []string
	for i, step := range []struct {
		days    int
		entries uint64
		pulled  bool
	}{{0, 2, false}, {0, 4, false}, {0, 6, true}, {0, 8, true}, {1, 8, true}, {1, 2, false}, {0, 4, false}, {0, 6, true}, {2, 2, false}} {
		f.clock.Advance(time.Duration(step.days) * 24 * time.Hour)
		want = append([]string{fmt.Sprint("post ", i)}, want...)
		f.publish(author, want[0])
		a, err := f.GetFeedAuthor(t.Context(), &feedv1.GetFeedAuthorRequest{User: uint64(author)})
		must(t, err)
		if a.Pulled != step.pulled || a.DailyEntries != step.entries {
			t.Errorf("after post %d, the author is %v", i, a)
		}
		for range 2 {
			for _, u := range readers {
				if got := f.home(u, 3); !slices.Equal(got, want) {
					t.Errorf("after post %d, a timeline is %q, want %q", i, got, want)
				}
			}
			f.push()
		}
	}
	f.publish(author, "many")
	f.publish(author, "posts")
	f.follow(f.user(), author)
	f.clock.Advance(48 * time.Hour)
	f.publish(author, "a post")
	if a, err := f.GetFeedAuthor(t.Context(), &feedv1.GetFeedAuthorRequest{User: uint64(author)}); err != nil || !a.Pulled || a.DailyEntries != 3 {
		t.Errorf("with as many followers as push_below, the author is %v, %v", a, err)
	}
}

// A process that dies while it moves a reader leaves a timeline that is right, and the next page brings the move to its end.
func TestAMoveOfAReaderGoesOnAfterACrash(t *testing.T) {
	f := openFollower(t, feed.Config{ReaderPullAbove: 3, ReaderPushBelow: 2})
	dieAt := func(point string) (died *bool) {
		died = new(bool)
		f.Interrupt(func(at string) error {
			if at != point || *died {
				return nil
			}
			*died = true
			return errDied
		})
		return died
	}
	f.followFirst(1)
	f.publishAll()
	f.check("before")

	f.followFirst(4)
	died := dieAt("reader-pulls")
	f.check("while the reader begins to pull")
	if !*died || !f.pulls() {
		t.Errorf("died: %v, the reader pulls: %v", *died, f.pulls())
	}
	f.publishAll()
	f.check("after the crash")
	if f.isOpen() {
		t.Error("the window of a reader who pulls is open after the next page")
	}

	for _, point := range []string{"reader-pushed", "build-begun", "build-read", "base-appended"} {
		f.followFirst(3)
		f.home(f.reader, 3)
		if !f.pulls() || f.isOpen() {
			t.Errorf("before %s: the reader pulls: %v, the window is open: %v", point, f.pulls(), f.isOpen())
		}
		f.followFirst(1)
		died = dieAt(point)
		f.check("while the window is filled")
		if !*died {
			t.Errorf("the page did not come to %s", point)
		}
		f.publishAll()
		f.check("after the crash at " + point)
		f.followFirst(2)
		f.check("with as many authors as neither tier needs")
		f.publishAll()
		f.check("and new posts")
		if f.pulls() || !f.isOpen() {
			t.Errorf("after the crash at %s: the reader pulls: %v, the window is open: %v", point, f.pulls(), f.isOpen())
		}
	}
}

// A step of fan-out that found the window open writes to it after the reader began to pull: the next page closes it.
func TestPullingReadersCloseTheirWindows(t *testing.T) {
	f := openFollower(t, feed.Config{ReaderPullAbove: 3, ReaderPushBelow: 2})
	f.followFirst(2)
	f.publishAll()
	f.check("before")
	p := f.publish(f.authors[0], "late")
	f.Interrupt(func(at string) error {
		if at == "push-tails" {
			f.Interrupt(nil)
			f.followFirst(3)
			f.home(f.reader, 50) // one page
			if !f.pulls() || f.isOpen() {
				t.Errorf("the reader pulls: %v, the window is open: %v", f.pulls(), f.isOpen())
			}
		}
		return nil
	})
	must(t, f.PushStep(t.Context(), p.Id, false))
	if !f.isOpen() {
		t.Fatal("the step has not written to the window")
	}
	f.home(f.reader, 3)
	if f.isOpen() {
		t.Error("the window is open after the next page")
	}
}

// The settings of the tiers of readers are checked.
func TestTiersOfReadersAreChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		config feed.Config
		valid  bool
	}{{feed.Config{}, true}, {feed.Config{ReaderPullAbove: 4, ReaderPushBelow: 4}, true}, {feed.Config{ReaderPullAbove: 4, ReaderPushBelow: 5}, false}, {feed.Config{ReaderPushBelow: 2001}, false}} {
		if err := c.config.Check(); (err == nil) != c.valid {
			t.Errorf("%+v: error %v, want success %v", c.config, err, c.valid)
		}
	}
}
