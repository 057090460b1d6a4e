package notification_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strings"
	"sync"
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
	"github.com/rialto-im/rialto/internal/service/feed"
	"github.com/rialto-im/rialto/internal/service/notification"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	notificationv1 "github.com/rialto-im/rialto/sdk/go/gen/notification/v1"
	"google.golang.org/protobuf/proto"
)

const (
	onPost    = commentv1.SubjectKind_SUBJECT_KIND_POST
	ofPost    = notificationv1.NotificationSubject_NOTIFICATION_SUBJECT_POST
	ofComment = notificationv1.NotificationSubject_NOTIFICATION_SUBJECT_COMMENT
)

// node has the services of one node.
type node struct {
	*notification.Service
	db       *sqldb.DB
	accounts *account.Service
	feed     *feed.Service
	comments *comment.Service
	counters *counter.Service
}

// fixture has notifications of real posts, comments, likes and relations, on some nodes.
type fixture struct {
	t     testing.TB
	clock *clocktest.Manual
	ids   *risingIDs
	nodes []*node
	*node // the first
	users int
	jobs  jobs

	mu      sync.Mutex // guards the fields below
	authors map[uint64]id.User
	told    []hint
}

type hint struct {
	user id.User
	read uint64
}

type risingIDs struct {
	mu   sync.Mutex // guards last
	last uint64
}

func (i *risingIDs) Next(context.Context) (uint64, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.last++
	return i.last, nil
}

// jobs leaves the jobs of notifications to the test, and drops those of feeds.
type jobs struct {
	mu   sync.Mutex // guards args
	args []job.Args
}

func (j *jobs) InsertTx(_ context.Context, _ *sql.Tx, args job.Args, _ job.Options) (job.Inserted, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if strings.HasPrefix(args.Kind(), "notification") {
		j.args = append(j.args, args)
	}
	return job.Inserted{}, nil
}
func (*jobs) Wake() {}

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
func open(t testing.TB, nodes int) *fixture {
	t.Helper()
	f := &fixture{t: t, clock: clocktest.NewManual(), ids: &risingIDs{last: 1 << 40}, authors: map[uint64]id.User{}}
	place := sqltest.Place(t)
	var names []string
	for n := range nodes {
		names = append(names, fmt.Sprint("node-", n))
	}
	for n := range nodes {
		if n == 0 || sqltest.OnPostgres() {
			db, err := sqldb.Open(context.Background(), place)
			must(t, err)
			t.Cleanup(func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
			f.nodes = append(f.nodes, f.start(db, names, n))
		} else {
			f.nodes = append(f.nodes, f.start(f.nodes[0].db, names, n))
		}
	}
	f.node = f.nodes[0]
	return f
}

// start makes the services of a node, as a new process does.
func (f *fixture) start(db *sqldb.DB, names []string, which int) *node {
	f.t.Helper()
	n, ctx, logger := &node{db: db}, context.Background(), slog.New(slog.DiscardHandler)
	outbox, err := job.NewOutbox(ctx, db, logger)
	must(f.t, err)
	n.counters, err = counter.New(ctx, counter.Deps{DB: db, Clock: f.clock, Logger: logger, Node: names[which], Nodes: func() []string { return names },
		OnChange: func(ctx context.Context, tx *sql.Tx, changes []counter.Change) error {
			var likes []notification.Like
			for _, c := range changes {
				kind := ofPost
				if c.Kind == counter.CommentLikes {
					kind = ofComment
				}
				likes = append(likes, notification.Like{SubjectKind: kind, Subject: c.Subject, Author: f.authorOf(c.Subject), By: c.User, Present: !c.Remove})
			}
			return n.Liked(ctx, tx, likes)
		}})
	must(f.t, err)
	n.accounts, err = account.New(ctx, account.Deps{DB: db, Outbox: outbox, IDs: f.ids, Clock: f.clock, Logger: logger, SingleNode: true,
		OnRelation: func(ctx context.Context, tx *sql.Tx, c account.RelationChange) error {
			return n.Related(ctx, tx, notification.Relation(c))
		}}, account.Config{PasswordCost: auth.Cost{Memory: 64, Time: 1, Threads: 1}})
	must(f.t, err)
	n.feed, err = feed.New(ctx, feed.Deps{DB: db, Log: memlog.New(nil), Graph: n.accounts, Jobs: &f.jobs, IDs: f.ids, Clock: f.clock, Logger: logger,
		OnChange: func(ctx context.Context, tx *sql.Tx, c feed.Change) error {
			return n.Posted(ctx, tx, notification.Post(c))
		}}, feed.Config{PostsPerDay: 1 << 20})
	must(f.t, err)
	n.comments, err = comment.New(ctx, comment.Deps{DB: db, Graph: n.accounts, Subjects: map[commentv1.SubjectKind]comment.Subjects{onPost: n.feed}, IDs: f.ids, Clock: f.clock,
		Node: names[which], Nodes: func() []string { return names },
		OnChange: func(ctx context.Context, tx *sql.Tx, c comment.Change) error {
			if c.Deleted {
				return nil
			}
			return n.Commented(ctx, tx, notification.Comment{ID: c.ID, Post: c.Subject, Author: c.Author, PostAuthor: c.SubjectAuthor, ReplyTo: c.ReplyTo, ReplyToAuthor: c.ReplyToAuthor,
				Mentioned: c.Mentioned, Unmentioned: c.Unmentioned})
		}})
	must(f.t, err)
	n.Service, err = notification.New(ctx, notification.Deps{DB: db, Graph: n.accounts, Posts: n.feed, Comments: n.comments, Likes: likes{n.counters}, Jobs: &f.jobs, Notify: f.notify,
		Clock: f.clock, Logger: logger})
	must(f.t, err)
	return n
}

type likes struct{ counters *counter.Service }

func (l likes) LikersAmong(ctx context.Context, tx *sql.Tx, kind notificationv1.NotificationSubject, subject uint64, among []id.User) (map[id.User]bool, error) {
	set := counter.PostLikes
	if kind == ofComment {
		set = counter.CommentLikes
	}
	return l.counters.In(tx).MembersAmong(ctx, set, subject, among)
}

func (f *fixture) notify(users []id.User, frame []byte) {
	var sent gatewayv1.ServerFrame
	must(f.t, proto.Unmarshal(frame, &sent))
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, u := range users {
		f.told = append(f.told, hint{u, sent.Notifications.GetRead()})
	}
}

func (f *fixture) hints() []hint {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]hint(nil), f.told...)
}

func (f *fixture) authorOf(subject uint64) id.User {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.authors[subject]
}

func (f *fixture) setAuthor(subject uint64, u id.User) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.authors[subject] = u
}

// user makes a user.
func (f *fixture) user() id.User {
	f.t.Helper()
	f.users++
	u, err := f.accounts.PutUser(context.Background(), &accountv1.PutUserRequest{ExternalId: fmt.Sprint("user", f.users)})
	must(f.t, err)
	return id.User(u.Id)
}

// mentions of users in a text.
func mentions(users []id.User) (list []*chatv1.Mention) {
	for i, u := range users {
		list = append(list, &chatv1.Mention{Start: uint32(i), Length: 1, User: uint64(u)})
	}
	return list
}

// post publishes a post for everyone.
func (f *fixture) post(by id.User, mentioned ...id.User) uint64 {
	f.t.Helper()
	return f.publish(by, &feedv1.PostContent{Text: "a post of some length", Mentions: mentions(mentioned)})
}

func (f *fixture) publish(by id.User, c *feedv1.PostContent) uint64 {
	f.t.Helper()
	n, _ := f.ids.Next(context.Background())
	p, err := f.feed.Publish(context.Background(), by, &feedv1.PublishRequest{ClientPostId: fmt.Sprint(n), Content: c})
	must(f.t, err)
	f.setAuthor(p.Id, by)
	return p.Id
}

// comment comments on a post, or replies.
func (f *fixture) comment(by id.User, post, replyTo uint64, mentioned ...id.User) uint64 {
	f.t.Helper()
	c, err := f.tryComment(f.node, by, post, replyTo, mentioned...)
	must(f.t, err)
	return c
}

func (f *fixture) tryComment(on *node, by id.User, post, replyTo uint64, mentioned ...id.User) (uint64, error) {
	n, _ := f.ids.Next(context.Background())
	c, err := on.comments.CreateComment(context.Background(), by, &commentv1.CreateCommentRequest{ClientCommentId: fmt.Sprint(n), SubjectKind: onPost, Subject: post, ReplyTo: replyTo,
		Content: &commentv1.CommentContent{Text: "a comment", Mentions: mentions(mentioned)}})
	if err == nil {
		f.setAuthor(c.Id, by)
	}
	return c.GetId(), err
}

func (f *fixture) like(by id.User, post uint64, likes bool) {
	f.t.Helper()
	must(f.t, f.counters.Apply(context.Background(), []counter.Change{{Kind: counter.PostLikes, Subject: post, User: by, Remove: !likes}}))
}

// list returns all notifications of a user, by pages, and the position of the first page.
func (f *fixture) list(on *node, u id.User, limit uint32) (list []*notificationv1.Notification, position uint64) {
	f.t.Helper()
	for before := uint64(0); ; {
		r, err := on.ListNotifications(context.Background(), u, &notificationv1.ListNotificationsRequest{Before: before, Limit: limit})
		must(f.t, err)
		if before == 0 {
			position = r.Position
		}
		list = append(list, r.Notifications...)
		if before = r.Next; before == 0 {
			return list, position
		}
	}
}

// lines are the notifications of a user as text: kind, subject, actors of how many, items, and * for unread.
func (f *fixture) lines(u id.User) (lines []string) {
	f.t.Helper()
	list, _ := f.list(f.node, u, 0)
	for _, n := range list {
		lines = append(lines, line(n))
	}
	return lines
}

func line(n *notificationv1.Notification) string {
	mark := ""
	if !n.Read {
		mark = "*"
	}
	return fmt.Sprintf("%s %d %v/%d items %d%s", strings.ToLower(strings.TrimPrefix(n.Kind.String(), "NOTIFICATION_KIND_")), n.Subject, n.Actors, n.ActorCount, n.ItemCount, mark)
}

// read lists and marks all as read.
func (f *fixture) read(u id.User) {
	f.t.Helper()
	_, position := f.list(f.node, u, 0)
	f.readTo(u, position)
}

func (f *fixture) readTo(u id.User, position uint64) {
	f.t.Helper()
	_, err := f.ReadNotifications(context.Background(), u, &notificationv1.ReadNotificationsRequest{Position: position})
	must(f.t, err)
}

func (f *fixture) unread(on *node, u id.User) uint32 {
	f.t.Helper()
	r, err := on.UnreadNotifications(context.Background(), u)
	must(f.t, err)
	return r.Count
}

// runJobs runs all jobs that were inserted.
func (f *fixture) runJobs(again bool) (ran int) {
	f.t.Helper()
	for len(f.jobs.args) > 0 {
		next := f.jobs.args[0]
		f.jobs.args = f.jobs.args[1:]
		must(f.t, f.RunJob(context.Background(), next))
		if ran++; again {
			more := len(f.jobs.args)
			must(f.t, f.RunJob(context.Background(), next))
			f.jobs.args = f.jobs.args[:more]
		}
	}
	return ran
}

// many notifies a user of many replies of another one, as if they answered as many comments.
func (f *fixture) many(u, by id.User, n int) {
	f.t.Helper()
	reply := f.comment(by, f.post(by), 0)
	must(f.t, f.db.Write(context.Background(), func(tx *sql.Tx) error {
		if err := f.Commented(context.Background(), tx, notification.Comment{ID: reply, Author: by, ReplyTo: 1, ReplyToAuthor: u}); err != nil {
			return err
		}
		const numbers = `WITH RECURSIVE numbers(n) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT n + 1 FROM numbers WHERE n < $1) `
		for _, copies := range []string{
			`INSERT INTO notifications (owner, id, kind, subject_kind, subject, pos, causes, moved_ms) ` + numbers + `SELECT owner, id + n, kind, subject_kind, subject + n, pos + n, causes, moved_ms FROM notifications, numbers WHERE owner = $2`,
			`INSERT INTO notification_causes (owner, kind, subject_kind, subject, actor, item, notification, at_ms) ` + numbers + `SELECT owner, kind, subject_kind, subject + n, actor, item, notification + n, at_ms FROM notification_causes, numbers WHERE owner = $2`,
			`UPDATE notification_owners SET last_pos = last_pos + $1, kept = kept + $1 WHERE owner = $2`,
		} {
			if _, err := tx.Exec(copies, n-1, int64(u)); err != nil {
				return err
			}
		}
		return nil
	}))
}
