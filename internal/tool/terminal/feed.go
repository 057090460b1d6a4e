package terminal

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// feed shows the newest posts of the home timeline, or those after the ones that it showed last.
func (s *screen) feed(ctx context.Context, rest string) error {
	s.mu.Lock()
	s.toldOfPosts = false
	s.mu.Unlock()
	return s.listPosts(ctx, "feed", rest, phrase("No posts. /follow @handle, or write one: /post TEXT"), func(page string, _ int) (listedPosts, error) {
		before, err := pageNumber(page)
		if err != nil {
			return listedPosts{}, err
		}
		r, err := call(ctx, s.client.Feed().HomeTimeline, &feedv1.HomeTimelineRequest{Before: before, Limit: postsPerPage})
		return listedPosts{posts: r.GetPosts(), next: pageOf(r.GetNext())}, err
	})
}

// feedProfile shows the counts of a user and the newest posts, or those after the ones that it showed last.
func (s *screen) feedProfile(ctx context.Context, rest string) error {
	user := s.client.User()
	if rest != "" && rest != "more" {
		var err error
		if user, rest, err = s.userOf(ctx, rest); err != nil {
			return err
		}
	}
	if rest == "" {
		p, err := call(ctx, s.client.Feed().GetFeedProfile, &feedv1.GetFeedProfileRequest{User: user})
		if err != nil {
			return err
		}
		s.say("  %s: %s, %s, follows %d", s.name(ctx, user), counted(p.Posts, "post"), counted(p.Followers, "follower"), p.Following)
	}
	return s.listPosts(ctx, fmt.Sprint("profile ", user), rest, "", func(page string, _ int) (listedPosts, error) {
		before, err := pageNumber(page)
		if err != nil {
			return listedPosts{}, err
		}
		r, err := call(ctx, s.client.Feed().ListPosts, &feedv1.ListPostsRequest{User: user, Before: before, Limit: postsPerPage})
		return listedPosts{posts: r.GetPosts(), next: pageOf(r.GetNext())}, err
	})
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

// engagementLine shows the number of a post, by which commands name it, and its counts.
func engagementLine(number int, p *feedv1.Post) string {
	return fmt.Sprintf("      [%d] %s, %s, %s, %s, %s", number, countedWithOwn(p.Likes, p.Liked, "like"), countedWithOwn(p.Favourites, p.Favourited, "favourite"),
		counted(p.Comments, "comment"), counted(p.Reposts, "repost"), counted(p.Views, "view"))
}

// countedWithOwn is a number of things, with whether the user's own is among them.
func countedWithOwn(n uint32, isOwn bool, what string) string {
	if isOwn {
		return phrasef("%s (yours too)", counted(n, what))
	}
	return counted(n, what)
}

// postAt returns the id of a post by the number with which it was shown.
func (s *screen) postAt(number string) (uint64, error) {
	return s.inLastList(strings.TrimSpace(number), &s.postIDs, errNoPostNumber)
}

// authorAt returns the author of a post by the number with which it was shown.
func (s *screen) authorAt(number string) (uint64, error) {
	return s.inLastList(strings.TrimSpace(number), &s.postAuthors, errNoPostNumber)
}

// inLastList returns the id that has a number in a list that was shown; none is the error if there is no such number.
func (s *screen) inLastList(number string, list *[]uint64, none error) (uint64, error) {
	n, err := strconv.Atoi(number)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || n < 1 || n > len(*list) {
		return 0, none
	}
	return (*list)[n-1], nil
}

// audienceNotes say to the author who sees a post, unless everyone does.
var audienceNotes = map[feedv1.Audience]string{
	feedv1.Audience_AUDIENCE_FRIENDS: ", for friends", feedv1.Audience_AUDIENCE_CHOSEN: ", for selected people", feedv1.Audience_AUDIENCE_EXCEPT: ", for everyone except some",
}

// postLines shows a post: who wrote it and when, and what it says. Every line is indented, so that a text cannot look like another post.
func (s *screen) postLines(ctx context.Context, p *feedv1.Post, indent string) []string {
	notes := ""
	if p.EditedMs > 0 {
		notes = phrase(", edited")
	}
	if p.Author == s.client.User() {
		notes += phrase(audienceNotes[p.GetContent().GetAudience()])
	}
	lines := []string{fmt.Sprintf("%s%s, %s%s", indent, s.name(ctx, p.Author), dated(time.UnixMilli(p.CreatedMs), "2 January 15:04"), notes)}
	indent += "    "
	lines = append(lines, contentLines(p.GetContent(), indent)...)
	switch {
	case p.Reposted != nil:
		lines = append(lines, s.postLines(ctx, p.Reposted, indent)...)
	case p.GetContent().GetRepostOf() != 0:
		lines = append(lines, indent+phrase("[the post that was shared here is not available]"))
	}
	return lines
}

// contentLines shows what a post says, without what it reposts.
func contentLines(c *feedv1.PostContent, indent string) (lines []string) {
	if c.GetTitle() != "" {
		lines = append(lines, indent+oneLine(plain(c.Title)))
	}
	if c.GetText() != "" {
		lines = append(lines, indent+strings.ReplaceAll(plain(c.Text), "\n", "\n"+indent))
	}
	if c.GetCover() != nil {
		lines = append(lines, indent+phrase("[cover]"))
	}
	if c.GetVideo() != 0 {
		lines = append(lines, indent+phrase("[video]"))
	}
	if n := len(c.GetImages()); n > 0 {
		lines = append(lines, phrasef("%s[images: %d]", indent, n))
	}
	if c.GetLink() != "" {
		lines = append(lines, indent+oneLine(plain(c.Link)))
	}
	if p := c.GetLinkPreview(); p.GetTitle() != "" {
		lines = append(lines, indent+"["+oneLine(plain(p.Title))+"]")
	}
	for _, g := range c.GetGoods() {
		lines = append(lines, indent+oneLine(plain(fmt.Sprintf("%s, %s, %s", g.Name, price(g), g.Link))))
	}
	return lines
}

// price shows the price of goods. Currencies whose smallest unit is not a hundredth are shown as they are stored.
func price(g *feedv1.Goods) string {
	switch decimals(g.Currency) {
	case 2:
		return fmt.Sprintf("%d.%02d %s", g.PriceMinor/100, g.PriceMinor%100, g.Currency)
	case 0:
		return fmt.Sprintf("%d %s", g.PriceMinor, g.Currency)
	}
	return phrasef("%d of the smallest unit of %s", g.PriceMinor, g.Currency)
}
