package feed_test

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
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/memlog"
	"github.com/rialto-im/rialto/internal/engine/timeline/pglog"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/account"
	"github.com/rialto-im/rialto/internal/service/feed"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// fixture has feeds above real accounts. Its test runs the steps of fan-out.
type fixture struct {
	t        testing.TB
	db       *sqldb.DB
	log      timeline.Log
	accounts *account.Service
	clock    *clocktest.Manual
	ids      *skewedIDs
	pictures map[id.Upload]id.User // owners
	videos   map[uint64]id.User    // likewise
	*feed.Service
	config feed.Config
	users  int
	jobs   jobs
	told   map[id.User][]uint64 // posts, by user
	// countTold is called in place of filling told, unless it is nil.
	countTold func(users []id.User)
	// interest in posts on screens; nil: there is one node
	interest  feed.Interest
	connected []id.User
	events    feed.ClusterEvents
	switches  feed.Switches
	// frequent readers were active on 20 days of the last 28, others on 19.
	frequent map[id.User]bool
}

// skewedIDs are ids of two nodes. The clock of the second is behind, if behind is not 0, and it gives the next ids.
type skewedIDs struct {
	mu                       sync.Mutex // guards all below
	last, late, step, behind uint64
	// before is called before each id, unless it is nil.
	before func(ctx context.Context) error
}

func (i *skewedIDs) Next(ctx context.Context) (uint64, error) {
	if i.before != nil {
		if err := i.before(ctx); err != nil {
			return 0, err
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.last += i.step
	if i.behind == 0 {
		return 2 * i.last, nil
	}
	i.late = max(i.late+1, i.last-i.behind)
	return 2*i.late + 1, nil
}

func (i *skewedIDs) set(step, behind uint64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.step, i.behind = step, behind
}

// jobs leaves the jobs to the test.
type jobs struct {
	args       []job.Args
	priorities []job.Priority
}

func (j *jobs) InsertTx(_ context.Context, _ *sql.Tx, args job.Args, o job.Options) (job.Inserted, error) {
	j.args = append(j.args, args)
	j.priorities = append(j.priorities, o.Priority)
	return job.Inserted{}, nil
}
func (*jobs) Wake() {}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, config feed.Config) *fixture {
	t.Helper()
	place := sqltest.Place(t)
	db, err := sqldb.Open(context.Background(), place)
	must(t, err)
	f := &fixture{t: t, db: db, clock: clocktest.NewManual(), ids: &skewedIDs{}, config: config, pictures: map[id.Upload]id.User{}}
	f.ids.last, f.ids.step = 1<<40, 1
	if sqltest.OnPostgres() {
		f.log, err = pglog.Open(context.Background(), place, pglog.Options{})
		must(t, err)
	} else {
		f.log = memlog.New(nil)
	}
	t.Cleanup(func() {
		if err := f.log.Close(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	logger := slog.New(slog.DiscardHandler)
	outbox, err := job.NewOutbox(t.Context(), db, logger)
	must(t, err)
	f.accounts, err = account.New(t.Context(), account.Deps{DB: db, Outbox: outbox, IDs: f.ids, Clock: f.clock, Logger: logger, SingleNode: true}, account.Config{PasswordCost: auth.Cost{Memory: 64, Time: 1, Threads: 1}})
	must(t, err)
	f.restart()
	return f
}

// restart makes a new service, as a new process does.
func (f *fixture) restart() {
	f.t.Helper()
	f.Service = f.other("node")
}

// other returns the service of another node.
func (f *fixture) other(node string) *feed.Service {
	f.t.Helper()
	s, err := feed.New(context.Background(), feed.Deps{DB: f.db, Log: f.log, Graph: f.accounts, Jobs: &f.jobs, IDs: f.ids, KeepPicture: f.keepPicture, CheckVideo: f.checkVideo, Notify: f.notify, CheckLinkPreview: checkPreview, Interest: f.interest,
		Connected: func() []id.User { return f.connected }, NotifyConnected: f.notify, ClusterEvents: f.events, ActiveDays: f.activeDays, Switches: f.switches, Node: node, Clock: f.clock, Logger: slog.New(slog.DiscardHandler)}, f.config)
	must(f.t, err)
	return s
}

func (f *fixture) activeDays(_ context.Context, reader id.User) (int, error) {
	if f.frequent[reader] {
		return 20, nil
	}
	return 19, nil
}

func (f *fixture) keepPicture(_ context.Context, _ *sql.Tx, by id.User, upload id.Upload) error {
	if f.pictures[upload] != by {
		return errs.New(errs.NotFound, "no_upload", "")
	}
	return nil
}

func (f *fixture) checkVideo(_ context.Context, _ *sql.Tx, by id.User, video uint64) error {
	if f.videos[video] != by {
		return errs.New(errs.NotFound, "no_video", "")
	}
	return nil
}

func (f *fixture) notify(users []id.User, frame []byte) {
	if f.countTold != nil {
		f.countTold(users)
		return
	}
	var hint gatewayv1.ServerFrame
	must(f.t, proto.Unmarshal(frame, &hint))
	if f.told == nil {
		f.told = map[id.User][]uint64{}
	}
	for _, u := range users {
		for _, p := range hint.Posts {
			f.told[u] = append(f.told[u], p.Post)
		}
	}
}

func checkPreview(u id.User, p *chatv1.LinkPreview) error {
	if string(p.Signature) != fmt.Sprint(u) {
		return errs.New(errs.Invalid, "bad_preview", "")
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

// publish publishes a post for everyone.
func (f *fixture) publish(by id.User, text string) *feedv1.Post {
	f.t.Helper()
	p, err := f.Publish(context.Background(), by, &feedv1.PublishRequest{ClientPostId: text, Content: &feedv1.PostContent{Text: text}})
	must(f.t, err)
	return p
}

func (f *fixture) follow(a, b id.User) {
	f.t.Helper()
	_, err := f.accounts.SetFollow(context.Background(), a, b, true)
	must(f.t, err)
}

// push runs all steps of fan-out.
func (f *fixture) push() {
	f.t.Helper()
	for {
		pending, err := f.PendingPosts(context.Background())
		must(f.t, err)
		if len(pending) == 0 {
			return
		}
		for _, n := range pending {
			must(f.t, f.PushStep(context.Background(), n, false))
		}
	}
}

// page reads the first page of a home timeline, and returns the number of posts.
func (f *fixture) page(t testing.TB, reader id.User) int {
	t.Helper()
	r, err := f.HomeTimeline(context.Background(), reader, &feedv1.HomeTimelineRequest{})
	must(t, err)
	return len(r.Posts)
}

// home returns the texts of a home timeline.
func (f *fixture) home(reader id.User, limit uint32) (texts []string) {
	f.t.Helper()
	for before := uint64(0); ; {
		r, err := f.HomeTimeline(context.Background(), reader, &feedv1.HomeTimelineRequest{Before: before, Limit: limit})
		must(f.t, err)
		for _, p := range r.Posts {
			texts = append(texts, p.Content.Text)
		}
		if before = r.Next; before == 0 {
			return texts
		}
	}
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return errs.Of(err).Reason
}
