package feed_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
	"github.com/rialto-im/rialto/internal/service/feed"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// A timeline is complete and in order far below the floor of its window, and its window stays bounded.
func TestATimelineGoesOnBelowItsWindow(t *testing.T) {
	const posts = 1500
	f := open(t, feed.Config{PostsPerDay: posts})
	reader := f.user()
	authors := []id.User{f.user(), f.user(), f.user()}
	for _, a := range authors {
		f.follow(reader, a)
	}
	f.home(reader, 1)
	f.ids.set(1<<34, 0) // 4 seconds, so that the posts are in several ranges of ids
	var want []string
	for i := range posts {
		want = append(want, fmt.Sprint("post ", i))
		f.publish(authors[i*i%3], want[i])
		if i%250 == 0 {
			f.push()
			f.home(reader, 50)
		}
	}
	f.push()
	slices.Reverse(want)
	for range 2 { // the first reading may build the window
		if got := f.home(reader, 50); !slices.Equal(got, want) {
			t.Fatalf("%d posts, want %d, beginning with %q", len(got), len(want), got[:5])
		}
	}
	floor, complete, err := f.WindowFloor(t.Context(), reader)
	if err != nil || !complete || floor == 0 {
		t.Errorf("the window is complete: %v, down to %d, %v", complete, floor, err)
	}
}

// The window of a reader who comes nearly each day has twice as many posts. It grows when the reader has become frequent, and shrinks when that is over.
func TestWindowsOfFrequentReadersAreLarger(t *testing.T) {
	f := open(t, feed.Config{PostsPerDay: 100})
	f.UseSmallSizes() // 4 posts
	author, reader, other := f.user(), f.user(), f.user()
	f.frequent = map[id.User]bool{reader: true}
	for _, u := range []id.User{reader, other} {
		f.follow(u, author)
	}
	n := 0
	publish := func(posts int) {
		t.Helper()
		for range posts {
			n++
			f.publish(author, fmt.Sprint("post ", n))
			f.push()
		}
	}
	check := func(what string, of id.User, want int) {
		t.Helper()
		for range 2 { // the first reading may build the window, or write it again
			if got := f.home(of, 3); len(got) != n || got[0] != fmt.Sprint("post ", n) {
				t.Fatalf("%s: the timeline has %d posts of %d", what, len(got), n)
			}
		}
		if list, err := f.WindowPosts(t.Context(), of); err != nil || len(list) != want {
			t.Errorf("%s: the window has %d posts, %v, want %d", what, len(list), err, want)
		}
	}
	publish(12)
	check("built for a frequent reader", reader, 8)
	check("built for another", other, 4)
	f.frequent[other] = true
	publish(3) // after which the base is replaced
	check("of a reader who has become frequent", other, 7)
	f.frequent[other] = false
	publish(3)
	check("of a reader who is not frequent any more", other, 4)
}

// A call reads a bounded number of posts. A reader for whom few are gets short pages, and all posts in the end.
func TestPagesOfFewVisiblePostsTakeBoundedWork(t *testing.T) {
	f := open(t, feed.Config{PostsPerDay: 2000})
	reader, author, other := f.user(), f.user(), f.user()
	f.follow(reader, author)
	f.publish(author, "first")
	for i := range 1200 {
		_, err := f.Publish(t.Context(), author, &feedv1.PublishRequest{ClientPostId: fmt.Sprint(i), Content: &feedv1.PostContent{Text: "for another", Audience: feedv1.Audience_AUDIENCE_CHOSEN, Users: []uint64{uint64(other)}}})
		must(t, err)
	}
	f.publish(author, "last")
	for _, pushed := range []bool{false, true} {
		if pushed {
			f.push()
		}
		var texts []string
		calls := 0
		for before := uint64(0); ; {
			r, err := f.HomeTimeline(t.Context(), reader, &feedv1.HomeTimelineRequest{Before: before, Limit: 50})
			must(t, err)
			for _, p := range r.Posts {
				texts = append(texts, p.Content.Text)
			}
			calls++
			if before = r.Next; before == 0 {
				break
			}
		}
		if !slices.Equal(texts, []string{"last", "first"}) || calls != 3 {
			t.Errorf("%q in %d calls, want last and first in 3", texts, calls)
		}
	}
}

// The window of a reader who is away is closed when it is full, gets nothing more, and is built again on return. Who never reads has none.
func TestWindowsOfAbsentReadersAreClosed(t *testing.T) {
	f := open(t, feed.Config{})
	f.UseSmallSizes()
	reader, never, author := f.user(), f.user(), f.user()
	f.follow(reader, author)
	f.follow(never, author)
	f.home(reader, 1)
	tail := func(u id.User) timeline.Tail {
		t.Helper()
		at, err := f.log.Tail(t.Context(), feed.WindowKey(u))
		must(t, err)
		return at
	}
	var want []string
	var full timeline.Tail
	for i := range 30 {
		want = append(want, fmt.Sprint("post ", i))
		f.publish(author, want[i])
		f.push()
		if i == 15 {
			full = tail(reader)
		}
	}
	slices.Reverse(want)
	if at := tail(reader); at != full || at.FirstSeq != at.Seq+1 {
		t.Errorf("the window of an absent reader is at %+v, and was at %+v after 15 posts", at, full)
	}
	if at := tail(never); at.Seq != 0 {
		t.Errorf("the window of one who never reads is at %+v", at)
	}
	for _, u := range []id.User{reader, reader, never, never} {
		if got := f.home(u, 7); !slices.Equal(got, want) {
			t.Errorf("on return: %q", got)
		}
	}
	if at := tail(reader); at.FirstSeq > at.Seq {
		t.Errorf("the window is closed after the return: %+v", at)
	}
}

// A window with an entry that cannot be decoded is built again.
func TestACorruptWindowIsBuiltAgain(t *testing.T) {
	f := open(t, feed.Config{})
	reader, author := f.user(), f.user()
	f.follow(reader, author)
	f.publish(author, "one")
	f.push()
	f.home(reader, 1)
	for _, payload := range []string{"", "\x02", "\x03\xff", "\x02\x80"} {
		must(t, timelinetest.Append(f.log, &timeline.AppendRequest{Key: feed.WindowKey(reader), Payload: []byte(payload)}).Err)
		if _, complete, err := f.WindowFloor(t.Context(), reader); err != nil || complete {
			t.Errorf("a window with %q is complete: %v, %v", payload, complete, err)
		}
		if got := f.home(reader, 1); !slices.Equal(got, []string{"one"}) {
			t.Errorf("with %q in the window, the timeline is %q", payload, got)
		}
		if _, complete, err := f.WindowFloor(t.Context(), reader); err != nil || !complete {
			t.Errorf("after %q, the window is complete: %v, %v", payload, complete, err)
		}
	}
}

// An author with many followers is pulled, and with hysteresis pushed again. No timeline changes.
func TestAuthorsChangeTheirTier(t *testing.T) {
	f := open(t, feed.Config{PullAbove: 3, PushBelow: 2})
	author := f.user()
	var readers []id.User
	var want []string
	step := func(followers int, pulled bool) {
		t.Helper()
		for len(readers) < followers {
			readers = append(readers, f.user())
			f.follow(readers[len(readers)-1], author)
		}
		for len(readers) > followers {
			_, err := f.accounts.SetFollow(t.Context(), readers[len(readers)-1], author, false)
			must(t, err)
			readers = readers[:len(readers)-1]
		}
		want = append(want, fmt.Sprint("post ", len(want)))
		f.publish(author, want[len(want)-1])
		a, err := f.GetFeedAuthor(t.Context(), &feedv1.GetFeedAuthorRequest{User: uint64(author)})
		must(t, err)
		if a.Pulled != pulled || a.Followers != uint32(followers) || (a.PushedPending == 0) != pulled {
			t.Errorf("with %d followers, the author is %v", followers, a)
		}
		newest := slices.Clone(want)
		slices.Reverse(newest)
		for range 2 {
			for _, u := range readers {
				if got := f.home(u, 3); !slices.Equal(got, newest) {
					t.Errorf("with %d followers, a timeline is %q, want %q", followers, got, newest)
				}
			}
			f.push()
		}
	}
	for _, s := range []struct {
		followers int
		pulled    bool
	}{{1, false}, {2, false}, {3, true}, {2, true}, {3, true}, {1, false}, {2, false}, {4, true}} {
		step(s.followers, s.pulled)
	}
}

// A page has the posts of all authors, however many statements read them.
func TestPageOfMoreAuthorsThanAQueryNames(t *testing.T) {
	f := open(t, feed.Config{})
	f.UseSmallSizes()
	reader := f.user()
	var want []string
	for i := range 7 {
		author := f.user()
		f.follow(reader, author)
		want = append(want, fmt.Sprint("of author ", i))
		f.publish(author, want[i])
	}
	slices.Reverse(want)
	for range 2 {
		if got := f.home(reader, 3); !slices.Equal(got, want) {
			t.Errorf("the timeline is %q, want %q", got, want)
		}
		f.push()
	}
}

// A page whose snapshot is older than the reader's window has the posts of its moment: those that were deleted since, and those of authors whom the
// reader no longer follows.
func TestAWindowMayBeNewerThanAPage(t *testing.T) {
	for _, since := range []string{"deleted", "unfollowed"} {
		f := open(t, feed.Config{})
		reader, author, other := f.user(), f.user(), f.user()
		f.follow(reader, author)
		f.follow(reader, other)
		p := f.publish(author, "one")
		f.publish(other, "two")
		f.push()
		f.Interrupt(func(point string) error {
			if point != "home-snapshot" {
				return nil
			}
			f.Interrupt(nil)
			if since == "deleted" {
				must(t, f.DeletePost(t.Context(), author, p.Id))
			} else {
				_, err := f.accounts.SetFollow(t.Context(), reader, author, false)
				must(t, err)
			}
			if got := f.home(reader, 50); !slices.Equal(got, []string{"two"}) { // it builds a window
				t.Errorf("%s: the newer page is %q", since, got)
			}
			return nil
		})
		if got := f.home(reader, 50); !slices.Equal(got, []string{"two", "one"}) {
			t.Errorf("%s: the older page is %q", since, got)
		}
	}
}

// Each step of a fan-out brings a post to some followers. It is read from its row until the last step is done.
func TestFanOutHasManySteps(t *testing.T) {
	f := open(t, feed.Config{})
	f.UseSmallSizes()
	author := f.user()
	var readers []id.User
	for range 4 {
		readers = append(readers, f.user())
		f.follow(readers[len(readers)-1], author)
		f.home(readers[len(readers)-1], 1)
	}
	p := f.publish(author, "one")
	const steps = 3 // of two followers each, and one that finds none
	for step := range steps + 1 {
		for _, u := range readers {
			if got := f.home(u, 50); !slices.Equal(got, []string{"one"}) {
				t.Errorf("after %d steps, user %d of %v reads %q", step, u, readers, got)
			}
		}
		if step < steps {
			must(t, f.PushStep(t.Context(), p.Id, false))
		}
	}
	if pending, err := f.PendingPosts(t.Context()); err != nil || len(pending) > 0 {
		t.Errorf("%v are pending after all steps, %v", pending, err)
	}
}

// duringABuild builds a reader's window, and publishes and pushes a post after the build has read the rows.
func (f *fixture) duringABuild(reader, author id.User) {
	f.t.Helper()
	f.Interrupt(func(point string) error {
		if point == "build-read" {
			f.Interrupt(nil)
			f.publish(author, "during the build")
			f.push()
		}
		return nil
	})
	f.home(reader, 50)
}

// A post that fan-out brings to a window while that is built is in it.
func TestAPushDuringABuildCounts(t *testing.T) {
	f := open(t, feed.Config{})
	reader, author := f.user(), f.user()
	f.follow(reader, author)
	f.publish(author, "before")
	f.push()
	f.duringABuild(reader, author)
	if _, complete, err := f.WindowFloor(t.Context(), reader); err != nil || !complete {
		t.Fatalf("the window is complete: %v, %v", complete, err)
	}
	if got := f.home(reader, 50); !slices.Equal(got, []string{"during the build", "before"}) {
		t.Errorf("the timeline is %q", got)
	}
}

// A window is not used if entries after its base are missing, as when fan-out closed it during a build.
func TestAWindowThatLacksEntriesIsBuiltAgain(t *testing.T) {
	f := open(t, feed.Config{})
	reader, author := f.user(), f.user()
	f.follow(reader, author)
	f.publish(author, "before")
	f.push()
	f.duringABuild(reader, author)
	at, err := f.log.Tail(t.Context(), feed.WindowKey(reader))
	must(t, err)
	must(t, f.log.Expire(t.Context(), feed.WindowKey(reader), at.Seq, nil)) // the base remains
	if _, complete, err := f.WindowFloor(t.Context(), reader); err != nil || complete {
		t.Errorf("the window is complete: %v, %v", complete, err)
	}
	for range 2 {
		if got := f.home(reader, 50); !slices.Equal(got, []string{"during the build", "before"}) {
			t.Errorf("the timeline is %q", got)
		}
	}
}

// Posts for a ranking are those of others, however many the reader publishes, with a window and without one.
func TestHomePostsAreOfOthers(t *testing.T) {
	f := open(t, feed.Config{})
	reader, author := f.user(), f.user()
	posts := func() (list []uint64) {
		t.Helper()
		var done func(context.Context)
		must(t, f.db.ReadSnapshot(t.Context(), func(tx *sql.Tx) (err error) {
			list, done, err = f.HomePosts(t.Context(), tx, reader, 2)
			return err
		}))
		done(t.Context())
		return list
	}
	publish := func(by id.User, text string) uint64 {
		p, err := f.Publish(t.Context(), by, &feedv1.PublishRequest{ClientPostId: text, Content: &feedv1.PostContent{Text: text}})
		must(t, err)
		return p.Id
	}
	publish(reader, "alone")
	if got := posts(); len(got) > 0 {
		t.Errorf("who follows nobody has posts %d", got)
	}
	f.follow(reader, author)
	want := []uint64{publish(author, "2"), publish(author, "1")}
	slices.Reverse(want)
	for i := range 3 {
		publish(reader, fmt.Sprint("own ", i))
	}
	for range 2 { // the first reading builds the window
		if got := posts(); !slices.Equal(got, want) {
			t.Errorf("the posts are %d, want %d", got, want)
		}
	}
	want = []uint64{publish(author, "0"), want[0]}
	for i := range 3 {
		publish(reader, fmt.Sprint("late ", i))
	}
	for _, pushed := range []bool{false, true} {
		if pushed {
			f.push()
		}
		if got := posts(); !slices.Equal(got, want) {
			t.Errorf("pushed %v: the posts are %d, want %d", pushed, got, want)
		}
	}
	if got := f.home(reader, 50); len(got) != 10 {
		t.Errorf("the home timeline has %q", got)
	}
}
