package feed_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/platform/runtimeswitch"
	"github.com/rialto-im/rialto/internal/service/feed"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// While fan-out is switched off, its jobs wait, timelines have all posts, and connected followers are told once. Afterwards windows get the posts.
func TestFanoutIsSwitchedOff(t *testing.T) {
	f := open(t, feed.Config{})
	switches, err := runtimeswitch.New(t.Context(), runtimeswitch.Deps{DB: f.db, Clock: f.clock, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	f.switches = switches
	f.restart()
	author, reader := f.user(), f.user()
	f.connected = []id.User{reader}
	f.follow(reader, author)
	f.home(reader, 10)
	set := func(on bool) {
		t.Helper()
		_, err := f.SetFeedPlan(t.Context(), &feedv1.SetFeedPlanRequest{Plan: &feedv1.FeedPlan{PullOnly: on}, By: "ops"})
		must(t, err)
	}
	set(true)
	one := f.publish(author, "one").Id
	run := func() error { return f.RunPush(context.Background(), f.jobs.args[len(f.jobs.args)-1]) }
	if err := run(); err == nil || err.Error() != job.Snooze(30*time.Second).Error() {
		t.Errorf("a job of fan-out ends with %v", err)
	}
	must(t, f.Announce(t.Context()))
	if got := f.home(reader, 10); !slices.Equal(got, []string{"one"}) || !slices.Equal(f.told[reader], []uint64{one}) {
		t.Errorf("the timeline is %q, and %d were told", got, f.told[reader])
	}
	if got, err := f.WindowPosts(t.Context(), reader); err != nil || len(got) > 0 {
		t.Errorf("the window has %d (%v)", got, err)
	}
	set(false)
	must(t, run())
	if got, err := f.WindowPosts(t.Context(), reader); err != nil || !slices.Equal(got, []uint64{one}) || len(f.told[reader]) != 1 {
		t.Errorf("afterwards, the window has %d (%v), and %d were told", got, err, f.told[reader])
	}
}
