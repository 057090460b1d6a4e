package feed_test

import (
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/feed"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// A hidden post leaves the windows of active readers after ten minutes, and those that are built later. When it is shown again it is in all timelines at once, and
// in windows after its fan-out, of which nobody is told.
func TestHiddenPostsLeaveWindows(t *testing.T) {
	f := open(t, feed.Config{})
	f.UseSmallSizes() // a job is for one follower
	author, active, idle := f.user(), f.user(), f.user()
	f.follow(active, author)
	f.follow(idle, author)
	one, two := f.publish(author, "one").Id, f.publish(author, "two").Id
	f.home(active, 10)
	f.push()
	hide := func(show bool) {
		t.Helper()
		must(t, f.HidePost(t.Context(), &feedv1.HidePostRequest{Post: one, Show: show}))
	}
	clean := func() {
		t.Helper()
		for i := 0; i < len(f.jobs.args); i++ { // jobs insert others
			if feed.IsClean(f.jobs.args[i]) {
				must(t, f.RunJob(t.Context(), f.jobs.args[i]))
			}
		}
		f.jobs.args = slices.DeleteFunc(f.jobs.args, feed.IsClean)
	}
	check := func(when string, u id.User, want ...uint64) {
		t.Helper()
		if got, err := f.WindowPosts(t.Context(), u); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: the window of %d has %d, want %d (%v)", when, u, got, want, err)
		}
	}
	hide(false)
	if last := f.jobs.priorities[len(f.jobs.priorities)-1]; last != job.Low {
		t.Errorf("cleaning has priority %v", last)
	}
	early := slices.Clone(f.jobs.args)
	clean()
	check("at once", active, two, one)
	f.jobs.args = early
	f.clock.Advance(10 * time.Minute)
	clean()
	check("ten minutes later", active, two)
	f.home(idle, 10)
	check("who returns", idle, two)
	f.told = nil
	before := len(f.jobs.args)
	hide(true)
	for _, u := range []id.User{active, idle} {
		if got := f.home(u, 10); !slices.Equal(got, []string{"two", "one"}) {
			t.Errorf("before the fan-out, user %d reads %q", u, got)
		}
	}
	for i := before; i < len(f.jobs.args); i++ {
		must(t, f.RunJob(t.Context(), f.jobs.args[i]))
	}
	if pending, err := f.PendingPosts(t.Context()); err != nil || len(pending) > 0 || len(f.told) > 0 {
		t.Errorf("after the fan-out %d are pending, and %v were told (%v)", pending, f.told, err)
	}
	check("shown again", active, two, one)
	check("shown again", idle, two, one)
}

// A post that is shown again, and is back in a window, stays there, though a job that cleans windows has begun before.
func TestCleaningStopsForAPostThatIsShownAgain(t *testing.T) {
	f := open(t, feed.Config{})
	author, first, second := f.user(), f.user(), f.user()
	for _, reader := range []id.User{first, second} {
		f.follow(reader, author)
	}
	post := f.publish(author, "one").Id
	for _, reader := range []id.User{first, second} {
		f.home(reader, 10)
	}
	f.push()
	must(t, f.HidePost(t.Context(), &feedv1.HidePostRequest{Post: post}))
	f.clock.Advance(10 * time.Minute)
	reached := 0
	f.Interrupt(func(point string) error {
		if point != "window-to-clean" {
			return nil
		}
		if reached++; reached > 1 {
			return nil
		}
		if err := f.HidePost(t.Context(), &feedv1.HidePostRequest{Post: post, Show: true}); err != nil {
			return err
		}
		return f.PushStep(t.Context(), post, false)
	})
	must(t, f.RunJob(t.Context(), f.jobs.args[slices.IndexFunc(f.jobs.args, feed.IsClean)]))
	if reached != 2 {
		t.Fatalf("%d windows were to be cleaned, want 2", reached)
	}
	for _, reader := range []id.User{first, second} {
		if got, err := f.WindowPosts(t.Context(), reader); err != nil || !slices.Contains(got, post) {
			t.Errorf("the window of %d has %d, which lacks %d (%v)", reader, got, post, err)
		}
	}
}
