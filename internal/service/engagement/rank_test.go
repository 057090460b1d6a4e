package engagement_test

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/service/comment"
	"github.com/rialto-im/rialto/internal/service/engagement"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

const (
	now   = engagementv1.HotWindow_HOT_WINDOW_NOW
	today = engagementv1.HotWindow_HOT_WINDOW_TODAY
	week  = engagementv1.HotWindow_HOT_WINDOW_WEEK
)

// popular has posts with likes that a test has counted.
type popular struct {
	*fixture
	users    []id.User
	posts    []uint64
	created  map[uint64]int64
	liked    map[uint64]map[id.User]int64 // since when
	comments map[uint64]map[id.User]bool
	reposts  map[uint64]map[id.User]bool
	unseen   map[uint64]bool
	still    bool // the clock stands
}

func newPopular(t *testing.T) *popular {
	p := &popular{fixture: open(t), created: map[uint64]int64{}, liked: map[uint64]map[id.User]int64{}, comments: map[uint64]map[id.User]bool{}, reposts: map[uint64]map[id.User]bool{}, unseen: map[uint64]bool{}}
	p.clock.Set(time.Date(2027, 1, 13, 23, 0, 0, 0, time.UTC)) // a Wednesday
	for range 8 {
		p.users = append(p.users, p.user())
	}
	for range 10 {
		p.clock.Advance(time.Minute)
		n := p.post(p.users[0])
		p.posts, p.created[n], p.liked[n] = append(p.posts, n), p.clock.Now().UnixMilli(), map[id.User]int64{}
		p.comments[n], p.reposts[n] = map[id.User]bool{}, map[id.User]bool{}
	}
	return p
}

// step likes or takes a like back, comments, or shares.
func (p *popular) step(r *rand.Rand) {
	n, u := p.posts[r.IntN(len(p.posts))], p.users[r.IntN(len(p.users))]
	if p.unseen[n] {
		return
	}
	if !p.still {
		p.clock.Advance(time.Duration(r.IntN(5)) * time.Minute)
	}
	switch k := r.IntN(10); {
	case k < 7:
		p.like(u, ofPost, n)
		if _, known := p.liked[n][u]; !known {
			p.liked[n][u] = p.clock.Now().UnixMilli()
		}
	case k == 7:
		p.unlike(u, ofPost, n)
		delete(p.liked[n], u)
	case k == 8:
		p.comment(u, n)
		p.comments[n][u] = true
	case k == 9:
		p.repost(u, n)
		p.reposts[n][u] = true
	}
}

// want is the naive list.
func (p *popular) want(window engagementv1.HotWindow) (posts []uint64, received []uint32) {
	since := p.clock.Now().UTC().Truncate(24 * time.Hour)
	for window == week && since.Weekday() != time.Monday {
		since = since.AddDate(0, 0, -1)
	}
	score, likes := map[uint64]int64{}, map[uint64]uint32{}
	for _, n := range p.posts {
		for _, at := range p.liked[n] {
			if window != now && at >= since.UnixMilli() {
				likes[n]++
			}
		}
		if score[n] = int64(likes[n]); window == now {
			score[n] = engagement.HotScore(p.created[n], uint64(len(p.liked[n])), 0, uint64(len(p.comments[n])), uint64(len(p.reposts[n])))
		}
		if weight := len(p.liked[n]) + len(p.comments[n]) + len(p.reposts[n]); !p.unseen[n] && (window == now && weight > 0 || likes[n] > 0) {
			posts = append(posts, n)
		}
	}
	slices.SortFunc(posts, func(a, b uint64) int { return cmp.Or(cmp.Compare(score[b], score[a]), cmp.Compare(b, a)) })
	for _, n := range posts {
		received = append(received, likes[n])
	}
	return posts, received
}

func (p *popular) check(when string) {
	p.t.Helper()
	must(p.t, p.Rank(context.Background()))
	for _, window := range []engagementv1.HotWindow{now, today, week} {
		posts, received := p.hot(p.users[1], window, 3, nil)
		if want, wantReceived := p.want(window); !slices.Equal(posts, want) || !slices.Equal(received, wantReceived) {
			p.t.Errorf("%s, %s is %d with %d likes, want %d with %d", when, window, posts, received, want, wantReceived)
		}
	}
}

// TestHotPostsEqualNaiveOnes: the lists of popular posts are those that follow from all likes, also after midnight and on Monday.
func TestHotPostsEqualNaiveOnes(t *testing.T) {
	p := newPopular(t)
	r := rand.New(rand.NewPCG(5, 6))
	p.check("at first")
	for range 40 {
		p.step(r)
	}
	p.check("on Wednesday")
	p.clock.Set(time.Date(2027, 1, 14, 12, 0, 0, 0, time.UTC))
	p.check("on Thursday, without likes")
	for range 15 {
		p.step(r)
	}
	p.check("on Thursday")
	p.clock.Set(time.Date(2027, 1, 18, 12, 0, 0, 0, time.UTC))
	for range 15 {
		p.step(r)
	}
	p.check("on Monday")
	// Not even the list that is stored shows what its reader may not see.
	hidden, friends, deleted := p.posts[0], p.posts[1], p.posts[2]
	p.hide(hidden, true)
	_, err := p.feed.EditPost(t.Context(), p.users[0], &feedv1.EditPostRequest{Post: friends, Content: &feedv1.PostContent{Text: "x", Audience: feedv1.Audience_AUDIENCE_FRIENDS}})
	must(t, err)
	must(t, p.feed.DeletePost(t.Context(), p.users[0], deleted))
	for _, n := range []uint64{hidden, friends, deleted} {
		p.unseen[n] = true
	}
	if got, _ := p.hot(p.users[0], now, 2, nil); slices.ContainsFunc(got, func(n uint64) bool { return p.unseen[n] }) {
		t.Errorf("%d has posts that are not for everyone", got)
	}
	p.check("after posts are gone")
	p.block(p.users[0], p.users[2], true)
	if got, _ := p.hot(p.users[2], now, 2, nil); len(got) != 0 {
		t.Errorf("a blocked user sees %d", got)
	}
}

// TestPostsComeBackToTheirLists: a post that is shown again, or is for everyone again, is in the lists of popular posts without another like.
func TestPostsComeBackToTheirLists(t *testing.T) {
	p := newPopular(t)
	n, ctx := p.posts[0], t.Context()
	p.like(p.users[1], ofPost, n)
	hide := func(show bool) {
		must(t, p.feed.HidePost(ctx, &feedv1.HidePostRequest{Post: n, Show: show}))
	}
	edit := func(a feedv1.Audience) {
		_, err := p.feed.EditPost(ctx, p.users[0], &feedv1.EditPostRequest{Post: n, Content: &feedv1.PostContent{Text: "edited", Audience: a}})
		must(t, err)
	}
	check := func(when string, want ...uint64) {
		t.Helper()
		must(t, p.Rank(ctx))
		for _, window := range []engagementv1.HotWindow{now, today, week} {
			if got, _ := p.hot(p.users[1], window, 3, nil); !slices.Equal(got, want) {
				t.Errorf("%s, %s is %d, want %d", when, window, got, want)
			}
		}
	}
	check("liked", n)
	hide(false)
	check("hidden")
	hide(true)
	check("shown again", n)
	edit(feedv1.Audience_AUDIENCE_FRIENDS)
	check("for friends")
	edit(feedv1.Audience_AUDIENCE_EVERYONE)
	check("for everyone again", n)
}

// TestPagesOfHotPostsFitTogether: all pages are of the list that the first one began, whatever is liked meanwhile.
func TestPagesOfHotPostsFitTogether(t *testing.T) {
	p := newPopular(t)
	r := rand.New(rand.NewPCG(7, 8))
	for range 40 {
		p.step(r)
	}
	must(t, p.Rank(t.Context()))
	want, _ := p.want(now)
	p.still = true
	got, _ := p.hot(p.users[1], now, 2, func() {
		for range 5 {
			p.step(r)
		}
		must(t, p.Rank(context.Background()))
	})
	if !slices.Equal(got, want) {
		t.Errorf("the pages are %d, want %d", got, want)
	}
	if after, _ := p.want(now); slices.Equal(after, want) {
		t.Error("nothing has changed")
	}
	first, err := p.ListHotPosts(t.Context(), p.users[1], &engagementv1.ListHotPostsRequest{Limit: 1})
	must(t, err)
	for range 2 {
		p.clock.Advance(time.Hour)
		for range 20 { // so that it becomes the first one
			p.comment(p.user(), p.posts[0])
		}
		must(t, p.Rank(t.Context()))
		p.posts[0], p.posts[1] = p.posts[1], p.posts[0]
	}
	// The second round deletes the list, which has ended an hour before.
	for _, page := range []string{first.Next, "1", "0.1.x", "0.0.0", "0.1.-1", "7.1.1"} {
		if _, err := p.ListHotPosts(t.Context(), p.users[1], &engagementv1.ListHotPostsRequest{Page: page}); reason(err) != "bad_page" {
			t.Errorf("page %q is answered %v", page, err)
		}
	}
	if _, err := p.ListHotPosts(t.Context(), p.users[1], &engagementv1.ListHotPostsRequest{Window: 9}); reason(err) != "bad_engagement" {
		t.Errorf("an unknown window is answered %v", err)
	}
}

// TestOneUserDoesNotMakeAPostPopular: who comments and reposts again and again counts once, and no more once their comments are deleted.
func TestOneUserDoesNotMakeAPostPopular(t *testing.T) {
	p := newPopular(t)
	flooded, liked := p.posts[8], p.posts[9]
	for range 40 {
		p.comment(p.users[1], flooded)
		p.repost(p.users[1], flooded)
	}
	for _, u := range p.users[:6] {
		p.like(u, ofPost, liked)
	}
	p.comments[flooded][p.users[1]], p.reposts[flooded][p.users[1]] = true, true
	for _, u := range p.users[:6] {
		p.liked[liked][u] = p.clock.Now().UnixMilli()
	}
	p.check("after a flood of one user")
	if posts, _ := p.hot(p.users[2], now, 50, nil); !slices.Equal(posts, []uint64{liked, flooded}) {
		t.Errorf("the popular posts are %d, want %d before %d", posts, liked, flooded)
	}
	other, between := p.posts[0], p.posts[1] // the second one has more than a comment, and less than two
	for _, u := range p.users[:3] {
		p.like(u, ofPost, between)
		p.liked[between][u] = p.clock.Now().UnixMilli()
	}
	only := p.comment(p.users[2], other)
	p.comment(p.users[3], other)
	must(t, p.fixture.comments.DeleteComment(t.Context(), p.users[2], only))
	p.comments[other][p.users[3]] = true
	p.check("after a comment was deleted")
	if posts, _ := p.hot(p.users[2], now, 50, nil); !slices.Equal(posts, []uint64{liked, flooded, between, other}) {
		t.Errorf("the popular posts are %d, want %d before %d", posts, between, other)
	}
}

var errDied = errors.New("the process died")

// TestRanksFollowAfterACrash: after a crash between any two steps, the next round brings the ranks to the likes.
func TestRanksFollowAfterACrash(t *testing.T) {
	for _, point := range []string{"rank-read", "rank-stored", "rank-committed", "board-stored"} {
		p := newPopular(t)
		r := rand.New(rand.NewPCG(9, 10))
		c := p.comment(p.users[1], p.posts[0])
		p.comments[p.posts[0]][p.users[1]] = true
		for range 10 {
			p.step(r)
		}
		p.like(p.users[1], ofComment, c)
		died := false
		p.Interrupt(func(at string) error {
			if died || at != point {
				return nil
			}
			died = true
			return errDied
		})
		if err := p.Rank(t.Context()); !errors.Is(err, errDied) {
			t.Errorf("%s: the round ended with %v", point, err)
		}
		p.check("after " + point)
		p.checkCommentRanks()
	}
}

// checkCommentRanks compares the order of comments with their likes.
func (f *fixture) checkCommentRanks() {
	f.t.Helper()
	rows, err := f.db.Read().QueryContext(context.Background(), `SELECT c.id, COALESCE(r.level, 0), (SELECT COALESCE(SUM(n), 0) FROM counter_counts k WHERE k.kind = 3 AND k.subject = c.id)
		FROM comments c LEFT JOIN comment_ranks r ON r.comment = c.id AND r.until = 9223372036854775807 WHERE c.top = 0`)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var n, likes uint64
		var level int64
		err := rows.Scan(&n, &level, &likes)
		if want := comment.RankLevel(likes); level != want {
			f.t.Errorf("comment %d with %d likes has level %d, want %d", n, likes, level, want)
		}
		return err
	})
	must(f.t, err)
}

// TestAMarkThatChangesStays: a like during a round is ranked by the next one, and a round that is late does not undo a newer one.
func TestAMarkThatChangesStays(t *testing.T) {
	for name, others := range map[string]func(p *popular) error{
		"likes":               func(*popular) error { return nil },
		"another coordinator": func(p *popular) error { return p.Rank(context.Background()) },
	} {
		p := newPopular(t)
		c, other := p.comment(p.users[1], p.posts[0]), p.comment(p.users[1], p.posts[0])
		p.like(p.users[1], ofComment, c)
		p.Interrupt(func(at string) error {
			if at != "rank-read" {
				return nil
			}
			p.Interrupt(nil)
			p.like(p.users[2], ofComment, other)
			p.like(p.users[2], ofComment, c)
			p.like(p.users[3], ofComment, c)
			return others(p)
		})
		if err := p.Rank(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		must(t, p.Rank(t.Context()))
		p.checkCommentRanks()
	}
}

// TestHotSubjectsDoNotKeepOthersWaiting: those that are marked again and again do not take all the room of a round.
func TestHotSubjectsDoNotKeepOthersWaiting(t *testing.T) {
	p := newPopular(t)
	p.RankBatch(2)
	hot := []uint64{p.comment(p.users[1], p.posts[0]), p.comment(p.users[1], p.posts[0])}
	other := p.comment(p.users[1], p.posts[0])
	for _, c := range append(hot, other) {
		p.like(p.users[1], ofComment, c)
	}
	batches := 0
	p.Interrupt(func(at string) error {
		if at != "rank-read" {
			return nil
		}
		if batches++; batches > 20 {
			return errors.New("the round does not end")
		}
		for _, c := range hot {
			must(t, p.Unlike(t.Context(), p.users[1], &engagementv1.UnlikeRequest{Kind: ofComment, Subject: c}))
			p.like(p.users[1], ofComment, c)
		}
		return nil
	})
	must(t, p.Rank(t.Context()))
	p.Interrupt(nil)
	p.checkCommentRanks()
}

// TestCommentsByLikes: comments are sorted by likes, and all pages have the order of the first one, without repeats and gaps, whatever is liked, created and
// deleted meanwhile.
func TestCommentsByLikes(t *testing.T) {
	f := open(t)
	author := f.user()
	var users []id.User
	for range 12 {
		users = append(users, f.user())
	}
	post := f.post(author)
	var all []uint64
	liked := map[uint64]int{}
	for i := range 25 {
		n := f.comment(author, post)
		all = append(all, n)
		for _, u := range users[:i%7] {
			f.like(u, ofComment, n)
			liked[n]++
		}
	}
	order := func() []uint64 {
		return slices.SortedFunc(slices.Values(all), func(a, b uint64) int { return cmp.Or(cmp.Compare(liked[b], liked[a]), cmp.Compare(b, a)) })
	}
	must(t, f.Rank(t.Context()))
	want := order()
	if got := f.byLikes(author, post, 50, nil); !slices.Equal(got, want) {
		t.Fatalf("the comments are %d, want %d", got, want)
	}
	r := rand.New(rand.NewPCG(11, 12))
	for _, limit := range []uint32{1, 2, 3, 7} {
		want := order()
		created := map[uint64]bool{}
		got := f.byLikes(author, post, limit, func() {
			n, u := all[r.IntN(len(all))], users[r.IntN(len(users))]
			if r.IntN(3) == 0 {
				f.unlike(u, ofComment, n)
			} else {
				f.like(u, ofComment, n)
			}
			if r.IntN(10) == 0 {
				created[f.comment(author, post)] = true
			}
			must(t, f.Rank(context.Background()))
		})
		got = slices.DeleteFunc(got, func(n uint64) bool { return created[n] })
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d are %d, want %d", limit, got, want)
		}
		for n := range created {
			all = append(all, n)
		}
		for _, n := range all {
			list, err := f.ListLikers(t.Context(), author, &engagementv1.ListLikersRequest{Kind: ofComment, Subject: n, Limit: 50})
			must(t, err)
			liked[n] = len(list.Likers)
		}
	}
	f.checkCommentRanks()
}

// TestGoldenBoard decodes the example of docs/formats/engagement.md.
func TestGoldenBoard(t *testing.T) {
	stored := []byte{0, 0, 1, 0, 0, 0, 0, 9, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 1}
	posts, likes, err := engagement.DecodeEntries(stored)
	if must(t, err); !slices.Equal(posts, []uint64{1<<40 + 9, 8}) || !slices.Equal(likes, []uint32{258, 1}) {
		t.Errorf("posts %d with %d likes", posts, likes)
	}
	if _, _, err := engagement.DecodeEntries(stored[1:]); err == nil {
		t.Error("a part of an entry is decoded")
	}
	p := newPopular(t)
	p.like(p.users[1], ofPost, p.posts[3])
	must(t, p.Rank(t.Context()))
	var body []byte
	must(t, p.db.ReadSnapshot(t.Context(), func(tx *sql.Tx) error {
		return tx.QueryRow(`SELECT posts FROM engagement_boards WHERE board = 2`).Scan(&body)
	}))
	if posts, likes, err := engagement.DecodeEntries(body); err != nil || !slices.Equal(posts, []uint64{p.posts[3]}) || !slices.Equal(likes, []uint32{1}) || len(body) != 12 {
		t.Errorf("the list of today is %x: %d with %d likes, %v", body, posts, likes, err)
	}
}
