package search_test

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/searchindex/blevesearch"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/memlog"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/account"
	"github.com/rialto-im/rialto/internal/service/chat"
	"github.com/rialto-im/rialto/internal/service/feed"
	"github.com/rialto-im/rialto/internal/service/search"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
	"google.golang.org/protobuf/proto"
)

// fixture has search above real users, conversations and posts.
type fixture struct {
	t        testing.TB
	dir      string
	db       *sqldb.DB
	place    string // of db
	log      timeline.Log
	indexed  timeline.Log // that search reads; nil: log
	clock    *clocktest.Manual
	accounts *account.Service
	chat     *chat.Service
	feed     *feed.Service
	videos   *videos
	*search.Service
	// dictionary and preferences of services that are made from then on
	dictionary  *searchindex.Dictionary
	logger      *slog.Logger
	preferences func(ctx context.Context, tx *sql.Tx, reader id.User, posts []uint64) (map[uint64]float64, error)
	weights     search.Weights

	told    atomic.Pointer[search.Service] // the one that the log tells of commits
	users   []id.User
	sends   uint64
	apply   func() error // called before each batch; its error is that of Apply
	search  func()       // before each search, if set
	missing func()       // before each call of Missing, if set
}

// failing is an index whose Apply may fail.
type failing struct {
	searchindex.Index
	f *fixture
}

func (x *failing) Apply(ctx context.Context, b *searchindex.Batch) error {
	if x.f.apply != nil {
		if err := x.f.apply(); err != nil {
			return err
		}
	}
	return x.Index.Apply(ctx, b)
}

func (x *failing) Search(ctx context.Context, q *searchindex.Query) (searchindex.Result, error) {
	if search := x.f.search; search != nil {
		search()
	}
	return x.Index.Search(ctx, q)
}

func (x *failing) Missing(ctx context.Context, list []searchindex.Document) ([]searchindex.ID, error) {
	if missing := x.f.missing; missing != nil {
		missing()
	}
	return x.Index.Missing(ctx, list)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// videos are those of a fixture: which there are, and their subtitles. (The tests of internal/app have real ones, which need ffmpeg.)
type videos struct {
	said map[uint64]string
	read atomic.Int64 // subtitles
}

func (v *videos) ShownVideos(_ context.Context, _ *sql.Tx, _ id.User, byPost map[uint64]uint64) (map[uint64]*videov1.Video, error) {
	out := map[uint64]*videov1.Video{}
	for post, n := range byPost {
		if _, ok := v.said[n]; ok {
			out[post] = &videov1.Video{Id: n}
		}
	}
	return out, nil
}

func (v *videos) SubtitlesText(_ context.Context, _ *sql.Tx, n uint64, _ int) (string, error) {
	v.read.Add(1)
	return v.said[n], nil
}

// setVideo makes a video with subtitles, or replaces these; without ok it deletes the video.
func (f *fixture) setVideo(n uint64, said string, ok bool) {
	f.t.Helper()
	if ok {
		f.videos.said[n] = said
	} else {
		delete(f.videos.said, n)
	}
	must(f.t, f.db.Write(context.Background(), func(tx *sql.Tx) error { return f.Changed(context.Background(), tx, search.ChangedVideo, n) }))
}

// noJobs leaves home timelines alone.
type noJobs struct{}

func (noJobs) InsertTx(context.Context, *sql.Tx, job.Args, job.Options) (job.Inserted, error) {
	return job.Inserted{}, nil
}
func (noJobs) Wake() {}

func open(t testing.TB, users int) *fixture {
	t.Helper()
	return openAt(t, sqltest.Place(t), users)
}

// openAt opens a fixture with its tables at a place.
func openAt(t testing.TB, place string, users int) *fixture {
	t.Helper()
	db, err := sqldb.Open(context.Background(), place)
	must(t, err)
	f := &fixture{t: t, db: db, place: place, weights: search.DefaultWeights, dir: filepath.Join(t.TempDir(), "search"), clock: clocktest.NewManual(), videos: &videos{said: map[uint64]string{}}}
	f.log = memlog.New(func(c []timeline.Commit) {
		if s := f.told.Load(); s != nil {
			s.Committed(c)
		}
	})
	t.Cleanup(func() {
		if err := f.log.Close(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	logger := slog.New(slog.DiscardHandler)
	ids, err := idgen.NewSnowflake(context.Background(), idgen.Fixed(f.clock, 1), idgen.SnowflakeConfig{})
	must(t, err)
	messages, err := idgen.NewMessages(context.Background(), idgen.Fixed(f.clock, 0), idgen.MessagesConfig{})
	must(t, err)
	outbox, err := job.NewOutbox(t.Context(), db, logger)
	must(t, err)
	f.accounts, err = account.New(t.Context(), account.Deps{DB: db, Outbox: outbox, IDs: ids, Clock: f.clock, Logger: logger, SingleNode: true,
		AccessChanged: func(ctx context.Context, a, b id.User) error { return f.chat.AccessChanged(ctx, a, b) },
		OnProfile: func(ctx context.Context, tx *sql.Tx, u id.User) error {
			return f.Changed(ctx, tx, search.ChangedUser, uint64(u))
		}}, account.Config{WhoMayAdd: "everyone", PasswordCost: auth.Cost{Memory: 64, Time: 1, Threads: 1}})
	must(t, err)
	f.chat, err = chat.New(t.Context(), chat.Deps{Log: f.log, DB: db, IDs: ids, MessageIDs: messages, Relations: f.accounts, Clock: f.clock, Logger: logger, SingleNode: true}, chat.Config{})
	must(t, err)
	f.feed, err = feed.New(t.Context(), feed.Deps{DB: db, Log: f.log, Graph: f.accounts, Jobs: noJobs{}, IDs: ids, Clock: f.clock, Logger: logger,
		CheckVideo: func(context.Context, *sql.Tx, id.User, uint64) error { return nil },
		OnChange: func(ctx context.Context, tx *sql.Tx, c feed.Change) error {
			return f.Changed(ctx, tx, search.ChangedPost, c.ID)
		}}, feed.Config{PostsPerDay: 10_000})
	must(t, err)
	f.restart()
	for range users {
		f.user()
	}
	t.Cleanup(func() { must(t, f.CloseIndex()) })
	return f
}

// restart makes a new service, as a new process does, and opens the index.
func (f *fixture) restart() {
	f.t.Helper()
	if f.Service != nil {
		must(f.t, f.CloseIndex())
	}
	s, err := search.New(context.Background(), search.Deps{DB: f.db, Log: cmp.Or(f.indexed, f.log), Chat: f.chat, Accounts: f.accounts, Posts: f.feed, Videos: f.videos, Dictionary: f.dictionary, Weights: func() search.Weights { return f.weights }, Preferences: f.preferences, Dir: f.dir, Secret: []byte("of pages"), Clock: f.clock, Logger: cmp.Or(f.logger, slog.New(slog.DiscardHandler)),
		Open: func(_ context.Context, dir string) (searchindex.Index, error) {
			index, err := blevesearch.Open(dir, slog.New(slog.DiscardHandler))
			if err != nil {
				return nil, err
			}
			return &failing{index, f}, nil
		}}, search.Config{})
	must(f.t, err)
	s.SetSizes(8)
	f.Service = s
	f.told.Store(s)
	must(f.t, f.Open(context.Background()))
}

func (f *fixture) user() id.User {
	f.t.Helper()
	n := len(f.users) + 1
	u, err := f.accounts.PutUser(context.Background(), &accountv1.PutUserRequest{ExternalId: fmt.Sprint("user", n), Handle: fmt.Sprintf("person%d", n), DisplayName: fmt.Sprintf("Person Number%d", n)})
	must(f.t, err)
	f.users = append(f.users, id.User(u.Id))
	return id.User(u.Id)
}

func (f *fixture) group(owner id.User, title string, members ...id.User) id.Conversation {
	f.t.Helper()
	r := &chatv1.CreateGroupRequest{Title: title}
	for _, m := range members {
		r.Members = append(r.Members, uint64(m))
	}
	c, err := f.chat.CreateGroup(context.Background(), owner, r)
	must(f.t, err)
	return c
}

// sendContent sends a content, and returns its seq, or the error.
func (f *fixture) sendContent(c id.Conversation, u id.User, content *chatv1.Content) (uint64, error) {
	f.t.Helper()
	raw, err := proto.Marshal(content)
	must(f.t, err)
	f.sends++
	d := &message.Draft{Conversation: c, Sender: u, Device: id.Device(u), ClientSeq: f.sends, Content: raw}
	err = f.chat.Send(context.Background(), d)
	return d.Seq, err
}

func (f *fixture) send(c id.Conversation, u id.User, text string) uint64 {
	f.t.Helper()
	seq, err := f.sendContent(c, u, &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}})
	must(f.t, err)
	return seq
}

func (f *fixture) catchUp() {
	f.t.Helper()
	must(f.t, f.CatchUp(context.Background()))
}

// find searches, and returns what was found: "u7", "c7", "m7/3", "f7/3" as a file, "p7", or "v7" as a video.
func (f *fixture) find(u id.User, r *searchv1.SearchRequest) (found map[string]bool, out *searchv1.SearchResponse) {
	f.t.Helper()
	out, err := f.Search(context.Background(), u, r)
	must(f.t, err)
	found = map[string]bool{}
	for _, g := range out.Groups {
		for _, h := range g.Hits {
			found[name(h)] = true
		}
	}
	return found, out
}

func name(h *searchv1.Hit) string {
	switch {
	case h.User != nil:
		return fmt.Sprint("u", h.User.Id)
	case h.Conversation != nil:
		return fmt.Sprint("c", h.Conversation.Id)
	case h.File != nil:
		return fmt.Sprint("f", h.Message.Conversation, "/", h.Message.Seq)
	case h.Video != nil:
		return fmt.Sprint("v", h.Post.Id)
	case h.Message != nil:
		return fmt.Sprint("m", h.Message.Conversation, "/", h.Message.Seq)
	}
	return fmt.Sprint("p", h.Post.Id)
}

// findAll is find over all pages of a kind.
func (f *fixture) findAll(u id.User, query string, kind searchv1.HitKind, typing bool) map[string]bool {
	f.t.Helper()
	all := map[string]bool{}
	r := &searchv1.SearchRequest{Query: query, Kinds: []searchv1.HitKind{kind}, Typing: typing, Limit: 3}
	for {
		found, out := f.find(u, r)
		for n := range found {
			if all[n] {
				f.t.Errorf("%q found %s on two pages", query, n)
			}
			all[n] = true
		}
		if len(out.Groups) == 0 || out.Groups[0].Next == "" {
			return all
		}
		r.Page = out.Groups[0].Next
	}
}

func (f *fixture) publish(u id.User, c *feedv1.PostContent) uint64 {
	f.t.Helper()
	f.sends++
	p, err := f.feed.Publish(context.Background(), u, &feedv1.PublishRequest{ClientPostId: fmt.Sprint(f.sends), Content: c})
	must(f.t, err)
	return p.Id
}
