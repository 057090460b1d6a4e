package moderation_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline/memlog"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/clusterevent"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/account"
	"github.com/rialto-im/rialto/internal/service/chat"
	"github.com/rialto-im/rialto/internal/service/comment"
	"github.com/rialto-im/rialto/internal/service/feed"
	"github.com/rialto-im/rialto/internal/service/moderation"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
	"google.golang.org/protobuf/proto"
)

const (
	spam      = moderationv1.ReportReason_REPORT_REASON_SPAM
	hate      = moderationv1.ReportReason_REPORT_REASON_HATE
	ofMessage = moderationv1.ReportedKind_REPORTED_KIND_MESSAGE
	ofPost    = moderationv1.ReportedKind_REPORTED_KIND_POST
	ofComment = moderationv1.ReportedKind_REPORTED_KIND_COMMENT
	ofUser    = moderationv1.ReportedKind_REPORTED_KIND_USER
	ofGroup   = moderationv1.ReportedKind_REPORTED_KIND_GROUP
	onPost    = commentv1.SubjectKind_SUBJECT_KIND_POST

	dismiss = moderationv1.Action_ACTION_DISMISS
	hide    = moderationv1.Action_ACTION_HIDE
	recall  = moderationv1.Action_ACTION_RECALL
	warn    = moderationv1.Action_ACTION_WARN
	ban     = moderationv1.Action_ACTION_BAN
)

// mia and moe, whose key is named max, moderate.
var mia, moe = id.Caller{Key: "mia", Role: id.Moderator}, id.Caller{Key: "max", Role: id.Moderator}

// fixture has moderation above real accounts, conversations, posts and comments, on some nodes with one database.
type fixture struct {
	t          *testing.T
	clock      *clocktest.Manual
	db         *sqldb.DB
	accounts   *account.Service
	chat       *chat.Service
	feed       *feed.Service
	comments   *comment.Service
	audit      *auditlog.Log
	nodes      []*moderation.Service
	ended      []account.Ended
	broken     atomic.Bool  // posts cannot be hidden
	told       atomic.Int64 // events that nodes got
	users      int
	tokens     int
	config     moderation.Config
	chatConfig chat.Config
	hinted     []id.User // who was told of decisions
	*moderation.Service
}

// brokenPosts fail while they are told to.
type brokenPosts struct {
	*feed.Service
	f *fixture
}

func (b brokenPosts) HidePost(ctx context.Context, r *feedv1.HidePostRequest) error {
	if b.f.broken.Load() {
		return errs.New(errs.Unavailable, "storage", "")
	}
	return b.Service.HidePost(ctx, r)
}

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

func open(t *testing.T, nodes int) *fixture {
	return openConfigured(t, nodes, moderation.Config{}, chat.Config{})
}

func openConfigured(t *testing.T, nodes int, config moderation.Config, chatConfig chat.Config) *fixture {
	t.Helper()
	f := &fixture{t: t, clock: clocktest.NewManual(), config: config, chatConfig: chatConfig}
	ctx, logger := context.Background(), slog.New(slog.DiscardHandler)
	db, err := sqldb.Open(ctx, sqltest.Place(t))
	must(t, err)
	log := memlog.New(nil)
	t.Cleanup(func() {
		must(t, log.Close())
		must(t, db.Close())
	})
	f.db = db
	ids, err := idgen.NewSnowflake(ctx, idgen.Fixed(f.clock, 1), idgen.SnowflakeConfig{})
	must(t, err)
	messages, err := idgen.NewMessages(ctx, idgen.Fixed(f.clock, 0), idgen.MessagesConfig{})
	must(t, err)
	outbox, err := job.NewOutbox(ctx, db, logger)
	must(t, err)
	f.accounts, err = account.New(ctx, account.Deps{DB: db, Outbox: outbox, IDs: ids,
		CheckText: func(texts ...string) (string, error) { return f.CheckText(texts...) }, Flagged: func(u *accountv1.User, word string) { f.FlagUser(u, word) }, Clock: f.clock, Logger: logger, SingleNode: true,
		CheckBan: func(ctx context.Context, q sqldb.Reader, u id.User, device id.Device) error {
			return f.CheckBan(ctx, q, u, device)
		},
		SessionEnded: func(e account.Ended) { f.ended = append(f.ended, e) }}, account.Config{WhoMayAdd: "everyone", PasswordCost: auth.Cost{Memory: 64, Time: 1, Threads: 1}})
	must(t, err)
	f.chat, err = chat.New(ctx, chat.Deps{Log: log, DB: db, IDs: ids, MessageIDs: messages, Relations: f.accounts, Clock: f.clock, Logger: logger, SingleNode: true,
		LimitedSince: f.limitedSince, Words: words{f}, Hold: func(ctx context.Context, by id.User, c id.Conversation, content *chatv1.Content, token, why string) error {
			return f.HoldMessage(ctx, by, c, content, token, why)
		}}, f.chatConfig)
	must(t, err)
	jobs, err := job.New(ctx, job.Deps{DB: db, Clock: f.clock, Logger: logger, Node: "node-1"}, job.Config{})
	must(t, err)
	f.feed, err = feed.New(ctx, feed.Deps{DB: db, Log: log, Graph: f.accounts, Jobs: jobs, IDs: ids, LimitedSince: f.limitedSince, Reviewer: reviewer{f}, Words: words{f}, Clock: f.clock, Logger: logger}, feed.Config{PostsPerDay: 10_000})
	must(t, err)
	f.comments, err = comment.New(ctx, comment.Deps{DB: db, Graph: f.accounts, Subjects: map[commentv1.SubjectKind]comment.Subjects{onPost: f.feed}, IDs: ids, LimitedSince: f.limitedSince, Reviewer: reviewer{f}, Words: words{f}, Clock: f.clock, Node: "node-1"})
	must(t, err)
	f.audit, err = auditlog.New(ctx, db, f.clock)
	must(t, err)
	for range nodes {
		f.node(ids, logger)
	}
	f.Service = f.nodes[0]
	return f
}

func (f *fixture) limitedSince(u id.User) int64 { return f.LimitedSince(u) }

// words is the filter of the first node.
type words struct{ f *fixture }

func (w words) HasWords() bool { return w.f.HasWords() }

func (w words) CheckText(texts ...string) (string, error) { return w.f.CheckText(texts...) }

func (w words) FlagMessage(m *chatv1.Message, word string) { w.f.FlagMessage(m, word) }

func (w words) FlagGroup(c id.Conversation, title, word string) { w.f.FlagGroup(c, title, word) }

func (w words) FlagPost(p *feedv1.Post, word string) { w.f.FlagPost(p, word) }

func (w words) FlagComment(c *commentv1.Comment, word string) { w.f.FlagComment(c, word) }

// reviewer asks the first node.
type reviewer struct{ f *fixture }

func (r reviewer) Reviews() bool { return r.f.Reviews() }

func (r reviewer) ReviewPost(ctx context.Context, by id.User, p *feedv1.PublishRequest, uploads []id.Upload) error {
	return r.f.ReviewPost(ctx, by, p, uploads)
}

func (r reviewer) ReviewPostEdit(ctx context.Context, by id.User, p *feedv1.EditPostRequest, uploads []id.Upload) error {
	return r.f.ReviewPostEdit(ctx, by, p, uploads)
}

func (r reviewer) ReviewComment(ctx context.Context, by id.User, c *commentv1.CreateCommentRequest, uploads []id.Upload) error {
	return r.f.ReviewComment(ctx, by, c, uploads)
}

func (r reviewer) ReviewCommentEdit(ctx context.Context, by id.User, c *commentv1.EditCommentRequest, uploads []id.Upload) error {
	return r.f.ReviewCommentEdit(ctx, by, c, uploads)
}

// node starts a node.
func (f *fixture) node(ids moderation.IDs, logger *slog.Logger) {
	f.t.Helper()
	var s *moderation.Service
	events, err := clusterevent.New(f.t.Context(), clusterevent.Deps{DB: f.db, Logger: logger, Handle: func(e clusterevent.Event) {
		f.told.Add(1)
		s.HandleEvent(e)
	}, Missed: func() { s.Missed() }})
	must(f.t, err)
	s, err = moderation.New(f.t.Context(), moderation.Deps{DB: f.db, IDs: ids, Chat: f.chat, Posts: brokenPosts{f.feed, f}, Comments: f.comments, Accounts: f.accounts, Audit: f.audit, ClusterEvents: events,
		Notify: func(users []id.User, _ []byte) { f.hinted = append(f.hinted, users...) }, Secret: []byte("a secret"), Clock: f.clock, Logger: logger}, f.config)
	must(f.t, err)
	f.nodes = append(f.nodes, s)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- events.Run(ctx) }()
	go func() { ended <- s.Run(ctx) }()
	f.t.Cleanup(func() {
		stop()
		for range 2 {
			must(f.t, <-ended)
		}
	})
}

// user makes a user.
func (f *fixture) user() id.User {
	f.t.Helper()
	f.users++
	u, err := f.accounts.PutUser(f.t.Context(), &accountv1.PutUserRequest{ExternalId: fmt.Sprint("user", f.users), Handle: fmt.Sprint("user", f.users)})
	must(f.t, err)
	return id.User(u.Id)
}

// login opens a session of a user on a device; 0 is a new one.
func (f *fixture) login(u id.User, device uint64) (*accountv1.Session, error) {
	return f.accounts.CreateSession(f.t.Context(), &accountv1.CreateSessionRequest{User: uint64(u), Client: &accountv1.Client{Device: device}})
}

func (f *fixture) session(u id.User) *accountv1.Session {
	f.t.Helper()
	s, err := f.login(u, 0)
	must(f.t, err)
	return s
}

func (f *fixture) group(owner id.User, members ...id.User) id.Conversation {
	f.t.Helper()
	r := &chatv1.CreateGroupRequest{Title: "a group"}
	for _, m := range members {
		r.Members = append(r.Members, uint64(m))
	}
	c, err := f.chat.CreateGroup(f.t.Context(), owner, r)
	must(f.t, err)
	return c
}

func (f *fixture) token() string {
	f.tokens++
	return fmt.Sprint("token ", f.tokens)
}

// send sends a text, and returns its seq.
func (f *fixture) send(by id.User, c id.Conversation, text string) uint64 {
	f.t.Helper()
	content, err := proto.Marshal(&chatv1.Content{Kind: &chatv1.Content_Text{Text: text}})
	must(f.t, err)
	d := &message.Draft{Conversation: c, Sender: by, Device: 1, ClientMsgID: f.token(), Content: content}
	must(f.t, f.chat.Send(f.t.Context(), d))
	return d.Seq
}

func (f *fixture) post(by id.User, text string) uint64 {
	f.t.Helper()
	p, err := f.feed.Publish(f.t.Context(), by, &feedv1.PublishRequest{ClientPostId: f.token(), Content: &feedv1.PostContent{Text: text}})
	must(f.t, err)
	return p.Id
}

func (f *fixture) comment(by id.User, post, replyTo uint64, text string) uint64 {
	f.t.Helper()
	c, err := f.comments.CreateComment(f.t.Context(), by, &commentv1.CreateCommentRequest{ClientCommentId: f.token(), SubjectKind: onPost, Subject: post, ReplyTo: replyTo, Content: &commentv1.CommentContent{Text: text}})
	must(f.t, err)
	return c.Id
}

func subject(kind moderationv1.ReportedKind, item, seq uint64) *moderationv1.ReportedThing {
	return &moderationv1.ReportedThing{Kind: kind, Id: item, Seq: seq}
}

// report reports something, for spam.
func (f *fixture) report(by id.User, of *moderationv1.ReportedThing) *moderationv1.Report {
	f.t.Helper()
	r, err := f.ReportContent(f.t.Context(), by, &moderationv1.ReportContentRequest{Subject: of, Reason: spam})
	must(f.t, err)
	return r
}

// cases returns the cases of a state on all pages, as one line each: id, kind and reports.
func (f *fixture) cases(r *moderationv1.ListCasesRequest) (list []*moderationv1.Case) {
	f.t.Helper()
	for r.Limit = 2; ; {
		page, err := f.ListCases(f.t.Context(), mia, r)
		must(f.t, err)
		list = append(list, page.Cases...)
		if r.Page = page.Next; r.Page == "" {
			return list
		}
	}
}

// onlyCase returns the one case that is open.
func (f *fixture) onlyCase() *moderationv1.Case {
	f.t.Helper()
	list := f.cases(&moderationv1.ListCasesRequest{})
	if len(list) != 1 {
		f.t.Fatalf("%d cases are open, want one", len(list))
	}
	c, err := f.GetCase(f.t.Context(), mia, &moderationv1.GetCaseRequest{Case: list[0].Id})
	must(f.t, err)
	return c
}

// decide decides a case.
func (f *fixture) decide(c *moderationv1.Case, action moderationv1.Action, endsMs int64) *moderationv1.Decision {
	f.t.Helper()
	r := &moderationv1.DecideRequest{Case: c.Id, Action: action, BanEndsMs: endsMs, Explanation: "it breaks the rules", Note: "seen twice"}
	if action != dismiss {
		r.Reason = hate
	}
	d, err := f.Decide(f.t.Context(), mia, r)
	must(f.t, err)
	return d
}

// texts returns what a user reads in a conversation; a recalled message is "-".
func (f *fixture) texts(u id.User, c id.Conversation) (texts []string) {
	f.t.Helper()
	page, err := f.chat.History(f.t.Context(), u, &chatv1.HistoryRequest{Conversation: uint64(c), Limit: 50})
	must(f.t, err)
	for _, m := range page.Messages {
		switch {
		case m.RecallSeq != 0:
			texts = append(texts, "-")
		case m.Content.GetText() != "":
			texts = append(texts, m.Content.GetText())
		}
	}
	return texts
}

// audited returns the audit log, the oldest entry first, as action, subject, before, after and who.
func (f *fixture) audited() (lines []string) {
	f.t.Helper()
	list, err := f.audit.List(f.t.Context(), 1<<62, 100)
	must(f.t, err)
	for _, e := range list {
		lines = append([]string{strings.Join([]string{e.Who, e.Action, e.Before, e.After, e.Reason}, "; ")}, lines...)
	}
	return lines
}
