package terminal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// postsPerPage is the number of posts that /feed and /profile show.
const postsPerPage = 10

var errNoMorePosts = errors.New("there are no older posts; /feed shows the newest")

// feed shows the newest posts of the home timeline, or those after the ones that it showed last.
func (s *screen) feed(ctx context.Context, rest string) error {
	before := uint64(0)
	switch strings.TrimSpace(rest) {
	case "":
	case "more":
		s.mu.Lock()
		before = s.olderPosts
		s.mu.Unlock()
		if before == 0 {
			return errNoMorePosts
		}
	default:
		return errors.New("give /feed, or /feed more")
	}
	posts, next, err := readPosts(before, func(before uint64) ([]*feedv1.Post, uint64, error) {
		r, err := call(ctx, s.client.Feed().HomeTimeline, &feedv1.HomeTimelineRequest{Before: before, Limit: postsPerPage})
		return r.GetPosts(), r.GetNext(), err
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.olderPosts = next
	s.mu.Unlock()
	if len(posts) == 0 {
		s.say("No posts. /follow @handle, or write one: /post TEXT")
	}
	return s.sayPosts(ctx, posts)
}

// readPosts reads a page that has posts: a page may be empty although there are older posts.
func readPosts(before uint64, read func(before uint64) ([]*feedv1.Post, uint64, error)) ([]*feedv1.Post, uint64, error) {
	for {
		posts, next, err := read(before)
		if err != nil || len(posts) > 0 || next == 0 {
			return posts, next, err
		}
		before = next
	}
}

// post publishes a text for everybody.
func (s *screen) post(ctx context.Context, text string) error {
	if text = strings.TrimSpace(text); text == "" {
		return errors.New("give a text: /post TEXT")
	}
	// A new id for each command: only the user repeats it.
	id := "post-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	_, err := call(ctx, s.client.Feed().Publish, &feedv1.PublishRequest{ClientPostId: id, Content: &feedv1.PostContent{Text: text}})
	return s.done(err)
}

// feedProfile shows the counts and the newest posts of a user.
func (s *screen) feedProfile(ctx context.Context, rest string) error {
	user := s.client.User()
	if strings.TrimSpace(rest) != "" {
		var err error
		if user, _, err = s.userOf(ctx, rest); err != nil {
			return err
		}
	}
	p, err := call(ctx, s.client.Feed().GetFeedProfile, &feedv1.GetFeedProfileRequest{User: user})
	if err != nil {
		return err
	}
	s.say("  %s: %d posts, %d followers, follows %d", s.name(ctx, user), p.Posts, p.Followers, p.Following)
	posts, _, err := readPosts(0, func(before uint64) ([]*feedv1.Post, uint64, error) {
		r, err := call(ctx, s.client.Feed().ListPosts, &feedv1.ListPostsRequest{User: user, Before: before, Limit: postsPerPage})
		return r.GetPosts(), r.GetNext(), err
	})
	if err != nil {
		return err
	}
	return s.sayPosts(ctx, posts)
}

func (s *screen) follow(ctx context.Context, rest string) error {
	u, _, err := s.userOf(ctx, rest)
	if err != nil {
		return err
	}
	return s.related(call(ctx, s.client.Graph().Follow, &accountv1.FollowRequest{User: u}))
}

func (s *screen) unfollow(ctx context.Context, rest string) error {
	u, _, err := s.userOf(ctx, rest)
	if err != nil {
		return err
	}
	return s.related(call(ctx, s.client.Graph().Unfollow, &accountv1.UnfollowRequest{User: u}))
}

func (s *screen) sayPosts(ctx context.Context, posts []*feedv1.Post) error {
	var users []uint64
	for _, p := range posts {
		users = append(users, p.Author)
		if p.Reposted != nil {
			users = append(users, p.Reposted.Author)
		}
	}
	if err := s.readNames(ctx, users); err != nil {
		return err
	}
	for _, p := range posts {
		s.say("%s", strings.Join(s.postLines(ctx, p, "  "), "\n"))
	}
	return nil
}

// postLines shows a post: who wrote it and when, and what it says. Every line is indented, so that a text cannot look like another post.
func (s *screen) postLines(ctx context.Context, p *feedv1.Post, indent string) []string {
	edited := ""
	if p.EditedMs > 0 {
		edited = ", edited"
	}
	lines := []string{fmt.Sprintf("%s%s, %s%s", indent, s.name(ctx, p.Author), time.UnixMilli(p.CreatedMs).Format("2 January 15:04"), edited)}
	indent += "    "
	c := p.GetContent()
	if c.GetTitle() != "" {
		lines = append(lines, indent+oneLine(plain(c.Title)))
	}
	if c.GetText() != "" {
		lines = append(lines, indent+strings.ReplaceAll(plain(c.Text), "\n", "\n"+indent))
	}
	if n := len(c.GetImages()); n > 0 {
		lines = append(lines, fmt.Sprintf("%s[images: %d]", indent, n))
	}
	if c.GetLink() != "" {
		lines = append(lines, indent+oneLine(plain(c.Link)))
	}
	switch {
	case p.Reposted != nil:
		lines = append(lines, s.postLines(ctx, p.Reposted, indent)...)
	case c.GetRepostOf() != 0:
		lines = append(lines, indent+"[the post that was shared here is not available]")
	}
	return lines
}
