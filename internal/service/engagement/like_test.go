package engagement_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/counter"
	"github.com/rialto-im/rialto/internal/service/engagement"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
)

// TestLikesCountOnce: a like counts once however often it is sent, and so does taking it back.
func TestLikesCountOnce(t *testing.T) {
	f := open(t)
	a, b := f.user(), f.user()
	p := f.post(a)
	c := f.comment(b, p)
	for range 2 {
		f.like(b, ofPost, p)
		f.like(a, ofPost, p)
		f.like(a, ofComment, c)
		must(t, f.Favourite(t.Context(), b, p))
	}
	if got := []uint64{f.countOf(counter.PostLikes, p), f.countOf(counter.CommentLikes, c), f.countOf(counter.PostFavourites, p)}; !slices.Equal(got, []uint64{2, 1, 1}) {
		t.Errorf("the counts are %v", got)
	}
	for range 2 {
		f.unlike(b, ofPost, p)
		f.unlike(a, ofComment, c)
		must(t, f.Unfavourite(t.Context(), b, p))
	}
	if got := []uint64{f.countOf(counter.PostLikes, p), f.countOf(counter.CommentLikes, c), f.countOf(counter.PostFavourites, p)}; !slices.Equal(got, []uint64{1, 0, 0}) {
		t.Errorf("the counts are %v", got)
	}
	// OnLike gets what is different, and nothing twice.
	want := []engagement.Like{{Kind: ofPost, Subject: p, Author: a, By: b, Present: true}, {Kind: ofPost, Subject: p, Author: a, By: a, Present: true}, {Kind: ofComment, Subject: c, Author: b, By: a, Present: true},
		{Kind: ofPost, Subject: p, Author: a, By: b}, {Kind: ofComment, Subject: c, Author: b, By: a}}
	if !slices.Equal(f.likes, want) {
		t.Errorf("OnLike got %v, want %v", f.likes, want)
	}
}

// TestImportedLikesNotifyNobody: imported likes count, and OnLike does not get them.
func TestImportedLikesNotifyNobody(t *testing.T) {
	f := open(t)
	a, b := f.user(), f.user()
	p := f.post(a)
	c := f.comment(a, p)
	must(t, f.ImportLikes(t.Context(), []counter.Change{{Kind: counter.PostLikes, Subject: p, User: b}, {Kind: counter.CommentLikes, Subject: c, User: b}}))
	if posts, comments := f.countOf(counter.PostLikes, p), f.countOf(counter.CommentLikes, c); posts != 1 || comments != 1 {
		t.Errorf("the post has %d likes and the comment %d, want 1 each", posts, comments)
	}
	if len(f.likes) != 0 {
		t.Errorf("OnLike got imported likes: %v", f.likes)
	}
}

// TestLikesAndOnLikeAreOneTransaction: a like is not stored if OnLike fails.
func TestLikesAndOnLikeAreOneTransaction(t *testing.T) {
	f := open(t)
	a := f.user()
	p := f.post(a)
	refused := errors.New("refused")
	f.onLike = func() error { return refused }
	if err := f.Like(t.Context(), a, &engagementv1.LikeRequest{Kind: ofPost, Subject: p}); !errors.Is(err, refused) {
		t.Errorf("the like is answered with %v", err)
	}
	if n := f.countOf(counter.PostLikes, p); n != 0 {
		t.Errorf("%d likes are counted", n)
	}
}

// TestWhatIsNotSeenIsNotLiked: who may not see a post or comment gets the answer for one that does not exist, and may take a like back.
func TestWhatIsNotSeenIsNotLiked(t *testing.T) {
	f := open(t)
	a, b, outsider, blocked := f.user(), f.user(), f.user(), f.user()
	f.block(a, blocked, true)
	forB, hidden, public := f.post(a, b), f.post(a), f.post(a)
	f.hide(hidden, true)
	c, deleted := f.comment(b, forB), f.comment(a, public)
	f.comment(b, public)
	_, err := f.comments.CreateComment(t.Context(), b, &commentv1.CreateCommentRequest{ClientCommentId: "reply", SubjectKind: onPost, Subject: public, ReplyTo: deleted, Content: &commentv1.CommentContent{Text: "reply"}})
	must(t, err)
	must(t, f.comments.DeleteComment(t.Context(), a, deleted)) // its place remains
	for _, row := range []struct {
		by   id.User
		kind engagementv1.LikeKind
		n    uint64
		want string
	}{
		{b, ofPost, forB, ""}, {outsider, ofPost, forB, "no_post"}, {a, ofPost, hidden, "no_post"}, {blocked, ofPost, public, "no_post"}, {b, ofPost, 0, "no_post"}, {b, ofPost, 1 << 63, "no_post"}, {b, ofPost, 5, "no_post"},
		{a, ofComment, c, ""}, {outsider, ofComment, c, "no_comment"}, {b, ofComment, deleted, "no_comment"}, {b, ofComment, 0, "no_comment"}, {b, ofComment, 1 << 63, "no_comment"}, {b, ofComment, forB, "no_comment"},
		{b, 0, forB, "bad_engagement"}, {b, 3, forB, "bad_engagement"},
	} {
		ctx := t.Context()
		if got := reason(f.Like(ctx, row.by, &engagementv1.LikeRequest{Kind: row.kind, Subject: row.n})); got != row.want {
			t.Errorf("a like by %d of %d %d is answered %q, want %q", row.by, row.kind, row.n, got, row.want)
		}
		if _, err := f.ListLikers(ctx, row.by, &engagementv1.ListLikersRequest{Kind: row.kind, Subject: row.n}); reason(err) != row.want {
			t.Errorf("the likers of %d %d are answered %q, want %q", row.kind, row.n, reason(err), row.want)
		}
		if row.kind == ofPost {
			if got := reason(f.Favourite(ctx, row.by, row.n)); got != row.want {
				t.Errorf("a favourite of %d is answered %q, want %q", row.n, got, row.want)
			}
		}
		wantOfUnlike := ""
		if row.want == "bad_engagement" {
			wantOfUnlike = row.want
		}
		if got := reason(f.Unlike(ctx, row.by, &engagementv1.UnlikeRequest{Kind: row.kind, Subject: row.n})); got != wantOfUnlike {
			t.Errorf("taking back a like of %d %d is answered %q", row.kind, row.n, got)
		}
	}
	f.like(b, ofPost, public)
	f.hide(public, true)
	f.unlike(b, ofPost, public)
	if n := f.countOf(counter.PostLikes, public); n != 0 {
		t.Errorf("a hidden post has %d likes", n)
	}
}

// TestLikersLeaveOutBlocks: the pages of likers have each once, the latest first, without those with whom the reader has a block.
func TestLikersLeaveOutBlocks(t *testing.T) {
	f := open(t)
	author, reader := f.user(), f.user()
	p := f.post(author)
	var want []uint64
	for i := range 40 {
		u := f.user()
		f.like(u, ofPost, p)
		if i%3 != 0 {
			f.clock.Advance(1e6) // some have the same time
		}
		if i%4 == 0 {
			f.block(u, reader, true)
			continue
		}
		want = append(want, uint64(u))
	}
	at := map[uint64]int64{}
	for _, limit := range []uint32{1, 3, 7, 50} {
		var got []uint64
		for page := ""; ; {
			r, err := f.ListLikers(t.Context(), reader, &engagementv1.ListLikersRequest{Kind: ofPost, Subject: p, Page: page, Limit: limit})
			must(t, err)
			if len(r.Likers) > int(limit) {
				t.Fatalf("a page of %d has %d", limit, len(r.Likers))
			}
			for _, l := range r.Likers {
				if len(got) > 0 && at[got[len(got)-1]] < l.LikedMs {
					t.Errorf("%d comes after an earlier like", l.User)
				}
				at[l.User] = l.LikedMs
				got = append(got, l.User)
			}
			if page = r.Next; page == "" {
				break
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("with pages of %d, the likers are %d, want %d", limit, got, want)
		}
	}
	for _, page := range []string{"x", "1", "1.2.3", "0.5", "-1.5", "1.18446744073709551615", "1.2 "} {
		if _, err := f.ListLikers(t.Context(), reader, &engagementv1.ListLikersRequest{Kind: ofPost, Subject: p, Page: page}); reason(err) != "bad_page" {
			t.Errorf("page %q is answered %v", page, err)
		}
	}
}

// TestManyLikeAtOnce: likes of many users at the same moment are all counted.
func TestManyLikeAtOnce(t *testing.T) {
	f := open(t)
	a := f.user()
	p := f.post(a)
	users := make([]id.User, 60)
	for i := range users {
		users[i] = f.user()
	}
	done := make(chan error, 3*len(users))
	for i := range 3 * len(users) {
		u := users[i%len(users)]
		go func() {
			done <- f.Like(context.Background(), u, &engagementv1.LikeRequest{Kind: ofPost, Subject: p})
		}()
	}
	for range 3 * len(users) {
		must(t, <-done)
	}
	if n := f.countOf(counter.PostLikes, p); n != uint64(len(users)) {
		t.Errorf("%d users like the post, and %d are counted", len(users), n)
	}
	seen := map[string]bool{}
	for _, l := range f.likes {
		if key := fmt.Sprint(l); seen[key] {
			t.Errorf("OnLike got %v twice", l)
		} else {
			seen[key] = true
		}
	}
	if len(seen) != len(users) {
		t.Errorf("OnLike got %d likes of %d users", len(seen), len(users))
	}
}

// TestChecksOfManyAreThoseOfEach: who may like what does not depend on whose checks share a snapshot.
func TestChecksOfManyAreThoseOfEach(t *testing.T) {
	f := open(t)
	author := f.user()
	var users []id.User
	for range 12 {
		users = append(users, f.user())
	}
	posts := []uint64{f.post(author), f.post(author, users[:4]...), f.post(author, users[4:]...), f.post(author), 1 << 50}
	f.hide(posts[3], true)
	f.block(author, users[5], true)
	want := func(u, p int) string {
		if blocked := u == 5; blocked || p == 3 || p == 4 || p == 1 && u >= 4 || p == 2 && u < 4 {
			return "no_post"
		}
		return ""
	}
	type result struct {
		u, p int
		err  error
	}
	results := make(chan result)
	asks := 0
	for range 5 {
		for u := range users {
			for p := range posts {
				asks++
				go func() {
					results <- result{u, p, f.Like(context.Background(), users[u], &engagementv1.LikeRequest{Kind: ofPost, Subject: posts[p]})}
				}()
			}
		}
	}
	for range asks {
		if r := <-results; reason(r.err) != want(r.u, r.p) {
			t.Errorf("user %d and post %d: %v, want %q", r.u, r.p, r.err, want(r.u, r.p))
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Like(ended, users[0], &engagementv1.LikeRequest{Kind: ofPost, Subject: posts[0]}); !errors.Is(err, context.Canceled) {
		t.Errorf("a call whose context has ended is answered with %v", err)
	}
	f.like(users[0], ofPost, posts[0]) // the next one is not held up by it
}
