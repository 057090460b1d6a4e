package ranking_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline/memlog"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/counter"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/platform/runtimeswitch"
	"github.com/rialto-im/rialto/internal/service/account"
	"github.com/rialto-im/rialto/internal/service/comment"
	"github.com/rialto-im/rialto/internal/service/engagement"
	"github.com/rialto-im/rialto/internal/service/feed"
	"github.com/rialto-im/rialto/internal/service/ranking"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
)

const onPost = commentv1.SubjectKind_SUBJECT_KIND_POST

// fixture ranks real posts of real accounts.
type fixture struct {
	t        testing.TB
	db       *sqldb.DB
	clock    *clocktest.Manual
	audit    *auditlog.Log
	accounts *account.Service
	feed     *feed.Service
	comments *comment.Service
	engaged  *engagement.Service
	lastID   uint64
	users    int
	rounds   []int // of VisiblePosts: how many posts each asked for
	*ranking.Service
}

// countedPosts notes the rounds of pages.
type countedPosts struct {
	*feed.Service
	f *fixture
}

func (c countedPosts) VisiblePosts(ctx context.Context, tx *sql.Tx, reader id.User, list []uint64) (map[uint64]*feedv1.Post, error) {
	c.f.rounds = append(c.f.rounds, len(list))
	return c.Service.VisiblePosts(ctx, tx, reader, list)
}

// Next returns rising ids.
func (f *fixture) Next(context.Context) (uint64, error) {
	f.lastID++
	return f.lastID, nil
}

// noJobs drops jobs: posts stay pending, and timelines read them from their rows.
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
	f.clock.Set(time.Date(2027, 1, 13, 12, 0, 0, 0, time.UTC))
	logger := slog.New(slog.DiscardHandler)
	var err error
	f.db, err = sqldb.Open(ctx, sqltest.Place(t))
	must(t, err)
	t.Cleanup(func() { must(t, f.db.Close()) })
	outbox, err := job.NewOutbox(ctx, f.db, logger)
	must(t, err)
	f.accounts, err = account.New(ctx, account.Deps{DB: f.db, Outbox: outbox, IDs: f, Clock: f.clock, Logger: logger, SingleNode: true}, account.Config{PasswordCost: auth.Cost{Memory: 64, Time: 1, Threads: 1}})
	must(t, err)
	f.feed, err = feed.New(ctx, feed.Deps{DB: f.db, Log: memlog.New(nil), Graph: f.accounts, Jobs: noJobs{}, IDs: f, Clock: f.clock, Logger: logger, CheckVideo: anyVideo}, feed.Config{PostsPerDay: 1 << 20})
	must(t, err)
	f.comments, err = comment.New(ctx, comment.Deps{DB: f.db, Graph: f.accounts, Subjects: map[commentv1.SubjectKind]comment.Subjects{onPost: f.feed}, IDs: f, Clock: f.clock})
	must(t, err)
	counters, err := counter.New(ctx, counter.Deps{DB: f.db, Clock: f.clock, Logger: logger, OnChange: func(ctx context.Context, tx *sql.Tx, changes []counter.Change) error {
		return f.engaged.Changed(ctx, tx, changes)
	}})
	must(t, err)
	f.engaged, err = engagement.New(ctx, engagement.Deps{DB: f.db, Counters: counters, Posts: f.feed, Comments: f.comments, Graph: f.accounts, Clock: f.clock, Logger: logger})
	must(t, err)
	numbers, err := runtimeswitch.New(ctx, runtimeswitch.Deps{DB: f.db, Clock: f.clock, Logger: logger})
	must(t, err)
	f.audit, err = auditlog.New(ctx, f.db, f.clock)
	must(t, err)
	f.Service, err = ranking.New(ctx, ranking.Deps{DB: f.db, Audit: f.audit.Add, Counters: counters, Posts: countedPosts{f.feed, f}, Comments: f.comments, Engagement: f.engaged, Graph: f.accounts, Numbers: numbers, Secret: []byte("secret"), Clock: f.clock, Logger: logger})
	must(t, err)
	return f
}

func anyVideo(context.Context, *sql.Tx, id.User, uint64) error { return nil }

// user makes a user.
func (f *fixture) user() id.User {
	f.t.Helper()
	f.users++
	u, err := f.accounts.PutUser(context.Background(), &accountv1.PutUserRequest{ExternalId: fmt.Sprint("user", f.users)})
	must(f.t, err)
	return id.User(u.Id)
}

func (f *fixture) follow(a id.User, others ...id.User) {
	f.t.Helper()
	for _, b := range others {
		_, err := f.accounts.SetFollow(context.Background(), a, b, true)
		must(f.t, err)
	}
}

// post publishes a post with a text for everyone, a second after the last one.
func (f *fixture) post(by id.User) uint64 {
	f.t.Helper()
	return f.publish(by, &feedv1.PostContent{Text: "a post"})
}

func (f *fixture) publish(by id.User, c *feedv1.PostContent) uint64 {
	f.t.Helper()
	f.clock.Advance(time.Second)
	p, err := f.feed.Publish(context.Background(), by, &feedv1.PublishRequest{ClientPostId: fmt.Sprint(f.lastID), Content: c})
	must(f.t, err)
	return p.Id
}

func (f *fixture) like(n uint64, by ...id.User) {
	f.t.Helper()
	for _, u := range by {
		must(f.t, f.engaged.Like(context.Background(), u, &engagementv1.LikeRequest{Kind: engagementv1.LikeKind_LIKE_KIND_POST, Subject: n}))
	}
}

func (f *fixture) comment(by id.User, post uint64) {
	f.t.Helper()
	_, err := f.comments.CreateComment(context.Background(), by, &commentv1.CreateCommentRequest{ClientCommentId: fmt.Sprint(f.lastID), SubjectKind: onPost, Subject: post, Content: &commentv1.CommentContent{Text: "a comment"}})
	must(f.t, err)
}

// read returns a page.
func (f *fixture) read(reader id.User, page string, limit uint32) *rankingv1.ForYouResponse {
	f.t.Helper()
	r, err := f.ForYou(context.Background(), reader, &rankingv1.ForYouRequest{Page: page, Limit: limit})
	must(f.t, err)
	return r
}

// all returns the posts of the pages from one on.
func (f *fixture) all(reader id.User, page string, limit uint32) (posts []*rankingv1.RankedPost) {
	f.t.Helper()
	for {
		r := f.read(reader, page, limit)
		posts = append(posts, r.Posts...)
		if page = r.Next; page == "" {
			return posts
		}
	}
}

// fresh begins an order when all facts are read again.
func (f *fixture) fresh(reader id.User) []uint64 {
	f.t.Helper()
	f.Forget()
	return idsOf(f.all(reader, "", 50))
}

func idsOf(posts []*rankingv1.RankedPost) []uint64 {
	ids := make([]uint64, len(posts))
	for i, p := range posts {
		ids[i] = p.Post.Id
	}
	return ids
}
