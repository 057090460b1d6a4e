package terminal

import (
	"context"
	"strconv"
	"strings"

	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// postsPerPage is the number of posts that a list shows at once.
const postsPerPage = 10

var (
	errNoMorePosts  = errorf("there are no more posts; the command without more shows the first ones")
	errNoPostNumber = errorf("give the number that a post has in the last list, such as that of /feed")
)

// listedPosts are a page of a list of posts.
type listedPosts struct {
	posts []*feedv1.Post
	notes []string // lines above the posts; nil: none
	next  string   // page after this one; empty: there is none
}

// postPlace is how far a list of posts was shown.
type postPlace struct {
	next  string
	shown int // posts
}

// pageOf and pageNumber convert pages that the server names by numbers.
func pageOf(next uint64) string {
	if next == 0 {
		return ""
	}
	return strconv.FormatUint(next, 10)
}

func pageNumber(page string) (uint64, error) {
	if page == "" {
		return 0, nil
	}
	return strconv.ParseUint(page, 10, 64)
}

// listPosts shows the first page of the list with a name, or with more the one after what it showed last. Empty is what it says if there is no post.
func (s *screen) listPosts(ctx context.Context, name, rest, empty string, read func(page string, shown int) (listedPosts, error)) error {
	var at postPlace
	switch strings.TrimSpace(rest) {
	case "":
	case "more":
		s.mu.Lock()
		at = s.postPlaces[name]
		s.mu.Unlock()
		if at.next == "" {
			return errNoMorePosts
		}
	default:
		return errorf("%q is too much: give the command alone, or with more", plain(rest))
	}
	l := listedPosts{next: at.next}
	for { // a page may be empty although there are more posts
		var err error
		if l, err = read(l.next, at.shown); err != nil {
			return err
		}
		if len(l.posts) > 0 || l.next == "" {
			break
		}
	}
	s.mu.Lock()
	if len(s.postPlaces) >= maxPostPlaces {
		clear(s.postPlaces)
	}
	s.postPlaces[name] = postPlace{l.next, at.shown + len(l.posts)}
	s.mu.Unlock()
	switch {
	case len(l.posts) > 0:
		return s.sayPosts(ctx, l)
	case at.shown > 0:
		return errNoMorePosts
	case empty != "":
		s.say("%s", empty)
	}
	return nil
}

// maxPostPlaces bounds the lists whose places are kept: there is one for each profile.
const maxPostPlaces = 1000

// sayPosts shows posts with their numbers, and tells the server that the user has viewed them.
func (s *screen) sayPosts(ctx context.Context, l listedPosts) error {
	var users, ids, authors []uint64
	for _, p := range l.posts {
		ids = append(ids, p.Id)
		authors = append(authors, p.Author)
		users = append(users, p.Author)
		if p.Reposted != nil {
			users = append(users, p.Reposted.Author)
		}
	}
	if err := s.readNames(ctx, users); err != nil {
		return err
	}
	s.mu.Lock()
	s.postIDs, s.postAuthors = ids, authors
	s.mu.Unlock()
	for i, p := range l.posts {
		lines := s.postLines(ctx, p, "  ")
		if i < len(l.notes) && l.notes[i] != "" {
			lines = append([]string{"  " + l.notes[i]}, lines...)
		}
		s.say("%s\n%s", strings.Join(lines, "\n"), engagementLine(i+1, p))
	}
	_, err := call(ctx, s.client.Engagement().RecordViews, &engagementv1.RecordViewsRequest{Posts: ids})
	return err
}

// hotWindows are the periods of /hot, with what is said of likes in them.
var hotWindows = map[string]struct {
	window engagementv1.HotWindow
	when   string
}{
	"": {window: engagementv1.HotWindow_HOT_WINDOW_NOW}, "today": {engagementv1.HotWindow_HOT_WINDOW_TODAY, "today"}, "week": {engagementv1.HotWindow_HOT_WINDOW_WEEK, "this week"},
}

// hot shows the popular posts, with their ranks.
func (s *screen) hot(ctx context.Context, rest string) error {
	period, after, _ := strings.Cut(rest, " ")
	if period == "more" {
		period, after = "", rest
	}
	of, ok := hotWindows[period]
	if !ok {
		return errorf("give /hot, /hot today or /hot week, and perhaps more")
	}
	return s.listPosts(ctx, "hot "+period, after, phrase("No posts are popular yet. /like N likes a post of /feed"), func(page string, shown int) (l listedPosts, err error) {
		r, err := call(ctx, s.client.Engagement().ListHotPosts, &engagementv1.ListHotPostsRequest{Window: of.window, Page: page, Limit: postsPerPage})
		for i, p := range r.GetPosts() {
			note := phrasef("No. %d", shown+i+1)
			if of.when != "" {
				note += ", " + counted(p.Likes, "like") + " " + phrase(of.when)
			}
			l.posts, l.notes = append(l.posts, p.Post), append(l.notes, note)
		}
		l.next = r.GetNext()
		return l, err
	})
}

// liked shows the posts that the user likes, the latest like first.
func (s *screen) liked(ctx context.Context, rest string) error {
	return s.listPosts(ctx, "liked", rest, phrase("You have liked no posts."), func(page string, _ int) (listedPosts, error) {
		r, err := call(ctx, s.client.Engagement().ListLikes, &engagementv1.ListLikesRequest{Page: page, Limit: postsPerPage})
		return postsOf(r), err
	})
}

// favourites shows the user's favourites, the latest first.
func (s *screen) favourites(ctx context.Context, rest string) error {
	return s.listPosts(ctx, "favourites", rest, phrase("You have no favourites. /favourite N adds a post"), func(page string, _ int) (listedPosts, error) {
		r, err := call(ctx, s.client.Engagement().ListFavourites, &engagementv1.ListFavouritesRequest{Page: page, Limit: postsPerPage})
		return postsOf(r), err
	})
}

// viewed shows the posts that the user has viewed, the latest first, or clears that list.
func (s *screen) viewed(ctx context.Context, rest string) error {
	if rest == "clear" {
		_, err := call(ctx, s.client.Engagement().ClearViews, &engagementv1.ClearViewsRequest{})
		return s.done(err)
	}
	return s.listPosts(ctx, "viewed", rest, phrase("You have viewed no posts."), func(page string, _ int) (listedPosts, error) {
		r, err := call(ctx, s.client.Engagement().ListViews, &engagementv1.ListViewsRequest{Page: page, Limit: postsPerPage})
		return postsOf(r), err
	})
}

func postsOf(r *engagementv1.PostList) (l listedPosts) {
	for _, p := range r.GetPosts() {
		l.posts = append(l.posts, p.Post)
	}
	l.next = r.GetNext()
	return l
}
