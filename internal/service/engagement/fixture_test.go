package engagement_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"testing"

	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline/memlog"
	"github.com/rialto-im/rialto/internal/platform/counter"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/account"
	"github.com/rialto-im/rialto/internal/service/comment"
	"github.com/rialto-im/rialto/internal/service/engagement"
	"github.com/rialto-im/rialto/internal/service/feed"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

const (
	ofPost    = engagementv1.LikeKind_LIKE_KIND_POST
	ofComment = engagementv1.LikeKind_LIKE_KIND_COMMENT
	onPost    = commentv1.SubjectKind_SUBJECT_KIND_POST
)

// fixture has likes of real posts and comments of real accounts.
type fixture struct {
	t        testing.TB
	db       *sqldb.DB
	clock    *clocktest.Manual
	accounts *account.Service
	feed     *feed.Service
	comments *comment.Service
	counters *counter.Service
	lastID   uint64
	users    int
	likes    []engagement.Like // that OnLike got
	onLike   func() error      // its failure; may be nil
	*engagement.Service
}

// Next returns rising ids.
func (f *fixture) Next(context.Context) (uint64, error) {
	f.lastID++
	return f.lastID, nil
}

// noJobs drops jobs: likes do not need fan-out.
type noJobs struct{}

func (noJobs) InsertTx(context.Context, *sql.Tx, job.Args, job.Options) (job.Inserted, error) {
	return job.Inserted{}, nil
}
func (noJobs) Wake() {}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return errs.Of(err).Reason
}

func open(t testing.TB) *fixture {
	t.Helper()
	ctx := context.Background()
	f := &fixture{t: t, clock: clocktest.NewManual(), lastID: 1 << 40}
	logger := slog.New(slog.DiscardHandler)
	var err error
	f.db, err = sqldb.Open(ctx, sqltest.Place(t))
	must(t, err)
	t.Cleanup(func() { must(t, f.db.Close()) })
	outbox, err := job.NewOutbox(ctx, f.db, logger)
	must(t, err)
	f.accounts, err = account.New(ctx, account.Deps{DB: f.db, Outbox: outbox, IDs: f, Clock: f.clock, Logger: logger, SingleNode: true}, account.Config{PasswordCost: auth.Cost{Memory: 64, Time: 1, Threads: 1}})
	must(t, err)
	f.feed, err = feed.New(ctx, feed.Deps{DB: f.db, Log: memlog.New(nil), Graph: f.accounts, Jobs: noJobs{}, IDs: f, Clock: f.clock, Logger: logger,
		OnChange: func(ctx context.Context, tx *sql.Tx, c feed.Change) error {
			if c.Published && c.RepostOf == 0 {
				return nil
			}
			if c.RepostOf != 0 {
				return f.MarkPost(ctx, tx, c.RepostOf)
			}
			return f.MarkPost(ctx, tx, c.ID)
		}}, feed.Config{PostsPerDay: 1 << 20})
	must(t, err)
	f.comments, err = comment.New(ctx, comment.Deps{DB: f.db, Graph: f.accounts, Subjects: map[commentv1.SubjectKind]comment.Subjects{onPost: f.feed}, IDs: f, Clock: f.clock,
		OnChange: func(ctx context.Context, tx *sql.Tx, c comment.Change) error { return f.MarkPost(ctx, tx, c.Subject) }})
	must(t, err)
	f.counters, err = counter.New(ctx, counter.Deps{DB: f.db, Clock: f.clock, Logger: logger, OnChange: func(ctx context.Context, tx *sql.Tx, changes []counter.Change) error {
		return f.Changed(ctx, tx, changes)
	}})
	must(t, err)
	f.Service, err = engagement.New(ctx, engagement.Deps{DB: f.db, Counters: f.counters, Posts: f.feed, Comments: f.comments, Graph: f.accounts, Clock: f.clock, Logger: logger,
		OnLike: func(_ context.Context, _ *sql.Tx, likes []engagement.Like) error {
			if f.onLike != nil {
				return f.onLike()
			}
			f.likes = append(f.likes, likes...)
			return nil
		}})
	must(t, err)
	return f
}

// user makes a user.
func (f *fixture) user() id.User {
	f.t.Helper()
	f.users++
	u, err := f.accounts.PutUser(context.Background(), &accountv1.PutUserRequest{ExternalId: fmt.Sprint("user", f.users)})
	must(f.t, err)
	return id.User(u.Id)
}

// post publishes a post for everyone, or for chosen users.
func (f *fixture) post(by id.User, chosen ...id.User) uint64 {
	f.t.Helper()
	c := &feedv1.PostContent{Text: "a post"}
	for _, u := range chosen {
		c.Audience, c.Users = feedv1.Audience_AUDIENCE_CHOSEN, append(c.Users, uint64(u))
	}
	p, err := f.feed.Publish(context.Background(), by, &feedv1.PublishRequest{ClientPostId: fmt.Sprint(f.lastID), Content: c})
	must(f.t, err)
	return p.Id
}

func (f *fixture) repost(by id.User, of uint64) uint64 {
	f.t.Helper()
	p, err := f.feed.Publish(context.Background(), by, &feedv1.PublishRequest{ClientPostId: fmt.Sprint(f.lastID), Content: &feedv1.PostContent{Text: "look", RepostOf: of}})
	must(f.t, err)
	return p.Id
}

func (f *fixture) comment(by id.User, post uint64) uint64 {
	f.t.Helper()
	c, err := f.comments.CreateComment(context.Background(), by, &commentv1.CreateCommentRequest{ClientCommentId: fmt.Sprint(f.lastID), SubjectKind: onPost, Subject: post, Content: &commentv1.CommentContent{Text: "a comment"}})
	must(f.t, err)
	return c.Id
}

func (f *fixture) hide(post uint64, hidden bool) {
	f.t.Helper()
	must(f.t, f.feed.HidePost(context.Background(), &feedv1.HidePostRequest{Post: post, Show: !hidden}))
}

func (f *fixture) block(a, b id.User, blocked bool) {
	f.t.Helper()
	_, err := f.accounts.SetBlock(context.Background(), a, b, blocked)
	must(f.t, err)
}

func (f *fixture) like(by id.User, kind engagementv1.LikeKind, n uint64) {
	f.t.Helper()
	must(f.t, f.Like(context.Background(), by, &engagementv1.LikeRequest{Kind: kind, Subject: n}))
}

func (f *fixture) unlike(by id.User, kind engagementv1.LikeKind, n uint64) {
	f.t.Helper()
	must(f.t, f.Unlike(context.Background(), by, &engagementv1.UnlikeRequest{Kind: kind, Subject: n}))
}

func (f *fixture) countOf(k counter.Kind, n uint64) uint64 {
	f.t.Helper()
	counts, err := f.counters.Counts(context.Background(), k, []uint64{n})
	must(f.t, err)
	return counts[0]
}

// list is one of the lists of posts.
type list string

const (
	likes, favourites, views list = "likes", "favourites", "views"
)

// page returns the ids of a page of a list, and the next one.
func (f *fixture) page(reader id.User, of list, page string, limit uint32) (posts []uint64, next string) {
	f.t.Helper()
	var r *engagementv1.PostList
	var err error
	switch of {
	case likes:
		r, err = f.ListLikes(context.Background(), reader, &engagementv1.ListLikesRequest{Page: page, Limit: limit})
	case favourites:
		r, err = f.ListFavourites(context.Background(), reader, &engagementv1.ListFavouritesRequest{Page: page, Limit: limit})
	case views:
		r, err = f.ListViews(context.Background(), reader, &engagementv1.ListViewsRequest{Page: page, Limit: limit})
	}
	must(f.t, err)
	for _, p := range r.Posts {
		posts = append(posts, p.Post.Id)
	}
	return posts, r.Next
}

// all returns all pages of a list. Between two of them, it calls between.
func (f *fixture) all(reader id.User, of list, limit uint32, between func()) (posts []uint64) {
	f.t.Helper()
	for page := ""; ; {
		some, next := f.page(reader, of, page, limit)
		if posts = append(posts, some...); next == "" {
			return posts
		}
		if page = next; between != nil {
			between()
		}
	}
}

// hot returns all pages of popular posts. Between two of them, it calls between.
func (f *fixture) hot(reader id.User, window engagementv1.HotWindow, limit uint32, between func()) (posts []uint64, received []uint32) {
	f.t.Helper()
	for page := ""; ; {
		r, err := f.ListHotPosts(context.Background(), reader, &engagementv1.ListHotPostsRequest{Window: window, Page: page, Limit: limit})
		must(f.t, err)
		for _, p := range r.Posts {
			posts, received = append(posts, p.Post.Id), append(received, p.Likes)
		}
		if page = r.Next; page == "" {
			return posts, received
		}
		if between != nil {
			between()
		}
	}
}

// byLikes returns all pages of the comments on a post, sorted by likes. Between two of them, it calls between.
func (f *fixture) byLikes(reader id.User, post uint64, limit uint32, between func()) (comments []uint64) {
	f.t.Helper()
	for page := ""; ; {
		r, err := f.comments.ListComments(context.Background(), reader, &commentv1.ListCommentsRequest{SubjectKind: onPost, Subject: post, Order: commentv1.CommentOrder_COMMENT_ORDER_LIKES, Page: page, Limit: limit})
		must(f.t, err)
		for _, c := range r.Comments {
			comments = append(comments, c.Id)
		}
		if page = r.Next; page == "" {
			return comments
		}
		if between != nil {
			between()
		}
	}
}
