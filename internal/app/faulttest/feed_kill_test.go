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
	author  *rialto.Client
	readers []*rialto.Client
	texts   []string // of posts that were answered, the newest last
}

func newPublisher(t *testing.T, url string) *publisher {
	t.Helper()
	u := &publisher{t: t}
	for i := range 4 {
		c, err := rialto.New(rialto.Config{URL: url, Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Register(t.Context(), fmt.Sprint("feed", i), "a good password", fmt.Sprint("Feed ", i)); err != nil {
			t.Fatal(err)
		}
		if u.readers = append(u.readers, c); i == 0 {
			u.author, u.readers = c, nil
		}
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
	return err == nil
}

// publish publishes the next post. It returns false if the server died; then the next call repeats it.
func (u *publisher) publish() bool {
	text := fmt.Sprint("post ", len(u.texts))
	_, err := u.author.Feed().Publish(u.t.Context(), connect.NewRequest(&feedv1.PublishRequest{ClientPostId: text, Content: &feedv1.PostContent{Text: text}}))
	if err == nil {
		u.texts = append(u.texts, text)
	}
	return err == nil
}

// read compares a timeline with the posts that were answered, each once, the newest first. It returns false if the server died.
func (u *publisher) read(reader *rialto.Client) bool {
	u.t.Helper()
	var texts []string
	for before := uint64(0); ; {
		r, err := reader.Feed().HomeTimeline(u.t.Context(), connect.NewRequest(&feedv1.HomeTimelineRequest{Before: before, Limit: 50}))
		if err != nil {
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

// step publishes, reads, and makes a reader follow again, so that a window is built. It returns false if the server died.
func (u *publisher) step() bool {
	reader := u.readers[len(u.texts)%len(u.readers)]
	return u.publish() && u.read(reader) && u.follow(reader, false) && u.follow(reader, true) && u.read(reader) && u.publish() && u.read(reader)
}

// TestFeedKilledAtEachFailpoint: after a kill between any two steps, all posts that were answered are in all timelines, each once, and fan-out goes on.
func TestFeedKilledAtEachFailpoint(t *testing.T) {
	p := newProcess(t, "--set", "feed.posts_per_day=100000")
	if !p.start("") {
		t.Fatal("the server did not start")
	}
	u := newPublisher(t, p.url())
	for i, name := range slices.Concat(feedFailpoints, feedFailpoints) {
		p.kill()
		if !p.start(fmt.Sprintf("%s:%d", name, 1+i%3)) {
			continue // it died while it did the jobs of the previous process
		}
		alive := true
		for n := 0; alive && n < 100; n++ {
			alive = u.step()
		}
		if alive {
			t.Errorf("the failpoint %s was never reached", name)
		}
		p.kill()
		if !p.start("") {
			t.Fatal("the server did not start again")
		}
		for _, reader := range u.readers {
			if !u.publish() || !u.follow(reader, true) || !u.read(reader) {
				t.Fatal("the server died by itself")
			}
		}
	}
	p.stop()
	p.verify()
	t.Logf("%d posts were answered", len(u.texts))
}
