package comment_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline/memlog"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/account"
	"github.com/rialto-im/rialto/internal/service/comment"
	"github.com/rialto-im/rialto/internal/service/feed"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

const onPost = commentv1.SubjectKind_SUBJECT_KIND_POST

// fixture has comments on real posts of real accounts, on some nodes.
type fixture struct {
	t                testing.TB
	dbs              []*sqldb.DB
	nodes            []*comment.Service
	accounts         *account.Service
	feed             *feed.Service
	clock            *clocktest.Manual
	ids              *risingIDs
	pictures         map[id.Upload]id.User    // owners
	videos           map[uint64]comment.Video // of posts
	users            int
	*comment.Service // of the first node
}

// risingIDs rise, unless the next ones are given.
type risingIDs struct {
	mu   sync.Mutex // guards the fields below
	last uint64
	next []uint64
}

func (i *risingIDs) Next(context.Context) (uint64, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.next) > 0 {
		n := i.next[0]
		i.next = i.next[1:]
		return n, nil
	}
	i.last++
	return i.last, nil
}

// noJobs drops jobs: comments do not need fan-out.
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

// open returns nodes on one database. SQLite has one handle, which they share.
func open(t testing.TB, nodes int) *fixture { return openAt(t, sqltest.Place(t), nodes, 1<<40) }

func openAt(t testing.TB, place string, nodes int, firstID uint64) *fixture {
	t.Helper()
	f := &fixture{t: t, clock: clocktest.NewManual(), ids: &risingIDs{last: firstID}, pictures: map[id.Upload]id.User{}, videos: map[uint64]comment.Video{}}
	for len(f.dbs) == 0 || len(f.dbs) < nodes && sqltest.OnPostgres() {
		db, err := sqldb.Open(context.Background(), place)
		must(t, err)
		f.dbs = append(f.dbs, db)
		t.Cleanup(func() { _ = db.Close() }) // some tests close it
	}
	logger := slog.New(slog.DiscardHandler)
	outbox, err := job.NewOutbox(context.Background(), f.dbs[0], logger)
	must(t, err)
	f.accounts, err = account.New(context.Background(), account.Deps{DB: f.dbs[0], Outbox: outbox, IDs: f.ids, Clock: f.clock, Logger: logger, SingleNode: true}, account.Config{PasswordCost: auth.Cost{Memory: 64, Time: 1, Threads: 1}})
	must(t, err)
	f.feed, err = feed.New(context.Background(), feed.Deps{DB: f.dbs[0], Log: memlog.New(nil), Graph: f.accounts, Jobs: noJobs{}, IDs: f.ids, Clock: f.clock, Logger: logger}, feed.Config{PostsPerDay: 1 << 20})
	must(t, err)
	var names []string
	for n := range nodes {
		names = append(names, fmt.Sprint("node-", n))
	}
	for n, name := range names {
		s, err := comment.New(context.Background(), comment.Deps{DB: f.dbs[n%len(f.dbs)], Graph: f.accounts, Subjects: map[commentv1.SubjectKind]comment.Subjects{onPost: f.feed}, Videos: postVideos{f}, IDs: f.ids,
			KeepPicture: f.keepPicture, Clock: f.clock, Node: name, Nodes: func() []string { return names }})
		must(t, err)
		f.nodes = append(f.nodes, s)
	}
	f.Service = f.nodes[0]
	return f
}

// postVideos are the videos of a fixture's posts.
type postVideos struct{ f *fixture }

func (p postVideos) VisibleVideos(ctx context.Context, tx *sql.Tx, reader id.User, posts []uint64) (map[uint64]comment.Video, error) {
	authors, err := p.f.feed.VisibleAuthors(ctx, tx, reader, posts)
	found := map[uint64]comment.Video{}
	for n, author := range authors {
		if v := p.f.videos[n]; v.ID != 0 {
			v.Author = author
			found[n] = v
		}
	}
	return found, err
}

func (f *fixture) keepPicture(_ context.Context, _ *sql.Tx, by id.User, upload id.Upload) error {
	if f.pictures[upload] != by {
		return errs.New(errs.NotFound, "no_upload", "")
	}
	return nil
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
func (f *fixture) post(by id.User, chosen ...uint64) uint64 {
	f.t.Helper()
	c := &feedv1.PostContent{Text: "a post", Users: chosen}
	if len(chosen) > 0 {
		c.Audience = feedv1.Audience_AUDIENCE_CHOSEN
	}
	n, _ := f.ids.Next(context.Background())
	p, err := f.feed.Publish(context.Background(), by, &feedv1.PublishRequest{ClientPostId: fmt.Sprint(n), Content: c})
	must(f.t, err)
	return p.Id
}

func request(token string, post, replyTo uint64, text string) *commentv1.CreateCommentRequest {
	return &commentv1.CreateCommentRequest{ClientCommentId: token, SubjectKind: onPost, Subject: post, ReplyTo: replyTo, Content: &commentv1.CommentContent{Text: text}}
}

// create comments on a post, or replies.
func (f *fixture) create(by id.User, post, replyTo uint64, text string) uint64 {
	f.t.Helper()
	c, err := f.CreateComment(context.Background(), by, request(text, post, replyTo, text))
	must(f.t, err)
	return c.Id
}

func (f *fixture) block(a, b id.User, blocked bool) {
	f.t.Helper()
	_, err := f.accounts.SetBlock(context.Background(), a, b, blocked)
	must(f.t, err)
}

func (f *fixture) count(reader id.User, post uint64) uint32 {
	f.t.Helper()
	r, err := f.CountComments(context.Background(), reader, &commentv1.CountCommentsRequest{SubjectKind: onPost, Subjects: []uint64{post}})
	must(f.t, err)
	if len(r.Counts) != 1 || r.Counts[0].Subject != post {
		f.t.Fatalf("the counts of %d are %v", post, r)
	}
	return r.Counts[0].Comments
}

// checkCounts compares all counts with the rows.
func (f *fixture) checkCounts() {
	f.t.Helper()
	wrong, err := comment.WrongCounts(context.Background(), f.dbs[0])
	must(f.t, err)
	for _, w := range wrong {
		f.t.Error(w)
	}
}

// texts returns the texts of the top comments of a post, or of the replies of a thread if top is not 0. A deleted one is "-".
func (f *fixture) texts(reader id.User, post, top uint64, order commentv1.CommentOrder, limit uint32) (texts []string) {
	f.t.Helper()
	for page := ""; ; {
		list, next, err := f.page(reader, post, top, order, page, limit)
		must(f.t, err)
		for _, c := range list {
			if c.Deleted {
				texts = append(texts, "-")
			} else {
				texts = append(texts, c.Content.Text)
			}
		}
		if page = next; page == "" {
			return texts
		}
	}
}

func (f *fixture) page(reader id.User, post, top uint64, order commentv1.CommentOrder, page string, limit uint32) ([]*commentv1.Comment, string, error) {
	if top != 0 {
		r, err := f.ListReplies(context.Background(), reader, &commentv1.ListRepliesRequest{Comment: top, Page: page, Limit: limit})
		return r.GetReplies(), r.GetNext(), err
	}
	r, err := f.ListComments(context.Background(), reader, &commentv1.ListCommentsRequest{SubjectKind: onPost, Subject: post, Order: order, Page: page, Limit: limit})
	return r.GetComments(), r.GetNext(), err
}

// repeat stores copies of a comment, with the next ids and without counting them.
func (f *fixture) repeat(n uint64, copies int) {
	f.t.Helper()
	must(f.t, f.dbs[0].Write(context.Background(), func(tx *sql.Tx) error {
		_, err := tx.Exec(`INSERT INTO comments (id, kind, subject, top, top_author, reply_to, reply_to_author, author, token, request, content, created_ms)
			WITH RECURSIVE numbers(n) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT n + 1 FROM numbers WHERE n < $1)
			SELECT id + n, kind, subject, top, top_author, reply_to, reply_to_author, author, 'copy ' || CAST(n AS TEXT), request, content, created_ms FROM comments, numbers WHERE id = $2`, copies, int64(n))
		return err
	}))
}
