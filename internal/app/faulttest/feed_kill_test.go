package faulttest

import (
	"fmt"
	"slices"
	"testing"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// feedFailpoints are the steps of fan-out, of jobs, of a page, and of a build of a window.
var feedFailpoints = []string{
	"job/after-claim", "feed/push-listed", "feed/push-tails", "feed/push-appended", "job/before-finish", "job/after-finish",
	"feed/home-snapshot", "feed/window-used", "feed/build-begun", "feed/build-read", "feed/base-appended", "timeline/before-commit", "timeline/after-commit-before-sync", "timeline/after-sync-before-done",
}

// publisher publishes posts and reads them from the timelines of followers.
type publisher struct {
	t       *testing.T
	p       *process
	author  *rialto.Client
	readers []*rialto.Client
	texts   []string // of posts that were answered, the newest last
}

func newPublisher(t *testing.T, p *process) *publisher {
	t.Helper()
	u := &publisher{t: t, p: p, author: p.register("author")}
	for i := range 3 {
		u.readers = append(u.readers, p.register(fmt.Sprint("reader", i)))
	}
	for _, c := range u.readers {
		if !u.follow(c, true) {
			t.Fatal("the server died by itself")
		}
	}
	return u
}

// follow makes a reader follow the author, or end that. It returns false if the server died.
func (u *publisher) follow(reader *rialto.Client, on bool) bool {
	var err error
	if on {
		_, err = reader.Graph().Follow(u.t.Context(), connect.NewRequest(&accountv1.FollowRequest{User: u.author.User()}))
	} else {
		_, err = reader.Graph().Unfollow(u.t.Context(), connect.NewRequest(&accountv1.UnfollowRequest{User: u.author.User()}))
	}
	return u.p.answered(err)
}

// publish publishes the next post. It returns false if the server died; then the next call repeats it.
func (u *publisher) publish() bool {
	text := fmt.Sprint("post ", len(u.texts))
	_, err := u.author.Feed().Publish(u.t.Context(), connect.NewRequest(&feedv1.PublishRequest{ClientPostId: text, Content: &feedv1.PostContent{Text: text}}))
	if !u.p.answered(err) {
		return false
	}
	u.texts = append(u.texts, text)
	return true
}

// read compares a timeline with the posts that were answered, each once, the newest first. It returns false if the server died.
func (u *publisher) read(reader *rialto.Client) bool {
	u.t.Helper()
	var texts []string
	for before := uint64(0); ; {
		r, err := reader.Feed().HomeTimeline(u.t.Context(), connect.NewRequest(&feedv1.HomeTimelineRequest{Before: before, Limit: 50}))
		if !u.p.answered(err) {
			return false
		}
		for _, p := range r.Msg.Posts {
			texts = append(texts, p.Content.Text)
		}
		if before = r.Msg.Next; before == 0 {
			break
		}
	}
	if slices.Reverse(texts); !slices.Equal(texts, u.texts) {
		u.t.Errorf("a timeline has %d posts, %q, want %d", len(texts), texts[max(0, len(texts)-5):], len(u.texts))
	}
	return true
}

// step publishes, reads, and makes a reader follow again, so that a window is built. It returns false if the server died; the reader may then follow no more.
func (u *publisher) step() bool {
	reader := u.readers[len(u.texts)%len(u.readers)]
	return u.publish() && u.follow(reader, true) && u.read(reader) && u.follow(reader, false) && u.follow(reader, true) && u.read(reader) && u.publish() && u.read(reader)
}

// TestFeedKilledAtEachFailpoint: after a kill between any two steps, all posts that were answered are in all timelines, each once, and fan-out goes on.
func TestFeedKilledAtEachFailpoint(t *testing.T) {
	p := newProcess(t, "--set", "feed.posts_per_day=100000")
	if !p.start("") {
		t.Fatal("the server did not start")
	}
	u := newPublisher(t, p)
	p.killedAt(slices.Concat(feedFailpoints, feedFailpoints), u.step, len(u.readers))
	p.stop()
	p.verify()
	t.Logf("%d posts were answered", len(u.texts))
}
