package terminal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
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
	s.say("  %s: %s, %s, follows %d", s.name(ctx, user), counted(p.Posts, "post"), counted(p.Followers, "follower"), p.Following)
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
	s.mu.Lock()
	s.postIDs = nil
	for _, p := range posts {
		s.postIDs = append(s.postIDs, p.Id)
	}
	s.mu.Unlock()
	for i, p := range posts {
		s.say("%s\n%s", strings.Join(s.postLines(ctx, p, "  "), "\n"), engagementLine(i+1, p))
	}
	return nil
}

// engagementLine shows the number of a post, by which commands name it, and its counts.
func engagementLine(number int, p *feedv1.Post) string {
	of := func(n uint32, mine bool, what string) string {
		if mine {
			return counted(n, what) + " (yours too)"
		}
		return counted(n, what)
	}
	return fmt.Sprintf("      [%d] %s, %s, %s, %s, %s", number, of(p.Likes, p.Liked, "like"), of(p.Favourites, p.Favourited, "favourite"),
		counted(p.Comments, "comment"), counted(p.Reposts, "repost"), counted(p.Views, "view"))
}

// counted is a number of things: 1 post, 2 posts.
func counted[N uint32 | uint64 | int | int64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// postAt returns the id of a post by the number with which it was shown.
func (s *screen) postAt(number string) (uint64, error) {
	n, err := strconv.Atoi(strings.TrimSpace(number))
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || n < 1 || n > len(s.postIDs) {
		return 0, errors.New("give the number that a post has in /feed, /hot or /profile")
	}
	return s.postIDs[n-1], nil
}

// engage is a command that does something with a post.
func engage(do func(ctx context.Context, s *screen, post uint64) error) func(*screen, context.Context, string) error {
	return func(s *screen, ctx context.Context, rest string) error {
		post, err := s.postAt(rest)
		if err != nil {
			return err
		}
		return s.done(do(ctx, s, post))
	}
}

func likePost(ctx context.Context, s *screen, post uint64) error {
	_, err := call(ctx, s.client.Engagement().Like, &engagementv1.LikeRequest{Kind: engagementv1.LikeKind_LIKE_KIND_POST, Subject: post})
	return err
}

func unlikePost(ctx context.Context, s *screen, post uint64) error {
	_, err := call(ctx, s.client.Engagement().Unlike, &engagementv1.UnlikeRequest{Kind: engagementv1.LikeKind_LIKE_KIND_POST, Subject: post})
	return err
}

func favouritePost(ctx context.Context, s *screen, post uint64) error {
	_, err := call(ctx, s.client.Engagement().Favourite, &engagementv1.FavouriteRequest{Post: post})
	return err
}

func unfavouritePost(ctx context.Context, s *screen, post uint64) error {
	_, err := call(ctx, s.client.Engagement().Unfavourite, &engagementv1.UnfavouriteRequest{Post: post})
	return err
}

// hot shows the popular posts.
func (s *screen) hot(ctx context.Context, rest string) error {
	window, ok := map[string]engagementv1.HotWindow{"": engagementv1.HotWindow_HOT_WINDOW_NOW, "today": engagementv1.HotWindow_HOT_WINDOW_TODAY, "week": engagementv1.HotWindow_HOT_WINDOW_WEEK}[strings.TrimSpace(rest)]
	if !ok {
		return errors.New("give /hot, /hot today or /hot week")
	}
	r, err := call(ctx, s.client.Engagement().ListHotPosts, &engagementv1.ListHotPostsRequest{Window: window, Limit: postsPerPage})
	if err != nil {
		return err
	}
	var posts []*feedv1.Post
	for _, p := range r.Posts {
		posts = append(posts, p.Post)
	}
	if len(posts) == 0 {
		s.say("No posts are popular yet. /like N likes a post of /feed")
	}
	return s.sayPosts(ctx, posts)
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
	if c.GetCover() != nil {
		lines = append(lines, indent+"[cover]")
	}
	if c.GetVideo() != 0 {
		lines = append(lines, indent+"[video]")
	}
	if n := len(c.GetImages()); n > 0 {
		lines = append(lines, fmt.Sprintf("%s[images: %d]", indent, n))
	}
	if c.GetLink() != "" {
		lines = append(lines, indent+oneLine(plain(c.Link)))
	}
	for _, g := range c.GetGoods() {
		lines = append(lines, indent+oneLine(plain(fmt.Sprintf("%s, %s, %s", g.Name, price(g), g.Link))))
	}
	switch {
	case p.Reposted != nil:
		lines = append(lines, s.postLines(ctx, p.Reposted, indent)...)
	case c.GetRepostOf() != 0:
		lines = append(lines, indent+"[the post that was shared here is not available]")
	}
	return lines
}

// price shows the price of goods. Currencies whose smallest unit is not a hundredth are shown as they are stored.
func price(g *feedv1.Goods) string {
	switch g.Currency {
	case "AUD", "BRL", "CAD", "CHF", "CNY", "EUR", "GBP", "HKD", "INR", "SGD", "TWD", "USD":
		return fmt.Sprintf("%d.%02d %s", g.PriceMinor/100, g.PriceMinor%100, g.Currency)
	case "JPY", "KRW":
		return fmt.Sprintf("%d %s", g.PriceMinor, g.Currency)
	}
	return fmt.Sprintf("%d of the smallest unit of %s", g.PriceMinor, g.Currency)
}
