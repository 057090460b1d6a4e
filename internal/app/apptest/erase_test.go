package apptest_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/app"
	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/pebblelog"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/comment/v1/commentv1connect"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/engagement/v1/engagementv1connect"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/search/v1/searchv1connect"
	"google.golang.org/protobuf/proto"
)

// canary begins the words by which a test knows what a user wrote.
const canary = "canary"

// eraseServer is a server with the stores that a test searches.
type eraseServer struct {
	*apptest.Server
	data, postgres, key string
}

func openErase(t *testing.T, changes ...func(*config.Config)) *eraseServer {
	t.Helper()
	s := &eraseServer{}
	s.Server = apptest.Open(t, func(c *config.Config) {
		c.Data = filepath.Join(t.TempDir(), "data")
		for _, change := range changes {
			change(c)
		}
		s.data, s.postgres = c.Data, c.Postgres
	})
	at := []string{"--data", s.data}
	if s.postgres != "" {
		at = []string{"--postgres", s.postgres}
	}
	var key, errs strings.Builder
	if code := app.AdminMain(t.Context(), append([]string{"key", "create", "--name", "privacy"}, at...), &key, &errs); code != 0 {
		t.Fatalf("exit code %d, want 0: %s", code, errs.String())
	}
	s.key = strings.TrimSpace(key.String())
	return s
}

// admin returns a client with the server's key.
func (s *eraseServer) admin() accountv1connect.AdminServiceClient {
	return accountv1connect.NewAdminServiceClient(s.HTTP, s.URL, connect.WithInterceptors(connect.UnaryInterceptorFunc(func(call connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
			r.Header().Set("Authorization", "Bearer "+s.key)
			return call(ctx, r)
		}
	})))
}

// erase erases a user, and waits until nothing is left.
func (s *eraseServer) erase(t *testing.T, p *apptest.Person) *accountv1.Erasure {
	t.Helper()
	_, err := s.admin().EraseUser(t.Context(), connect.NewRequest(&accountv1.EraseUserRequest{User: p.User, Reason: "a test"}))
	must(t, err)
	var report *accountv1.Erasure
	eventually.True(t, "the erasure is complete", func() bool {
		r, err := s.admin().GetUserErasure(t.Context(), connect.NewRequest(&accountv1.GetUserErasureRequest{User: p.User}))
		must(t, err)
		report = r.Msg
		return report.DoneMs > 0
	})
	return report
}

// written is what a user wrote, in a scenario.
type written struct {
	direct, group uint64
	seqs          []uint64 // of the messages in direct
	post          uint64   // of the other
	picture       uint64
}

// writeEverywhere makes a user write canaries in all places.
func (s *eraseServer) writeEverywhere(t *testing.T, ann, bob, cat *apptest.Person) (w written) {
	t.Helper()
	ctx := t.Context()
	befriend(t, s.Server, ann, bob)
	w.direct, w.group = s.Direct(t, ann, bob), s.Group(t, ann, bob, cat)
	first := s.Send(t, ann, w.direct, "1", "canaryone").Seq
	w.seqs = append(w.seqs, first, s.Send(t, bob, w.direct, "b1", "a word by bob").Seq)
	mustSend(t, s.Server, ann, w.direct, "2", &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: &chatv1.Ref{Seq: first}, Content: apptest.Text("canarytwo")}}})
	mustSend(t, s.Server, ann, w.direct, "3", &chatv1.Content{Kind: &chatv1.Content_Reaction{Reaction: &chatv1.Reaction{Target: &chatv1.Ref{Seq: w.seqs[1]}, Emoji: "🐤"}}})
	in := s.Send(t, ann, w.group, "4", "canarythree").Seq
	mustSend(t, s.Server, bob, w.group, "b2", &chatv1.Content{Kind: &chatv1.Content_Forward{Forward: &chatv1.Forward{Conversation: w.group, Seqs: []uint64{in}}}})
	w.picture = upload(t, ann, "canaryfour in a file")
	mustSend(t, s.Server, ann, w.group, "5", &chatv1.Content{Kind: &chatv1.Content_File{File: &chatv1.Media{Upload: w.picture, Caption: "canaryfive"}}})
	_, err := s.Chat().Configure(ctx, apptest.As(ann, &chatv1.ConfigureRequest{Conversation: w.direct, Draft: proto.String("canarysix")}))
	must(t, err)
	_, err = s.Chat().ScheduleMessage(ctx, apptest.As(ann, &chatv1.ScheduleMessageRequest{Conversation: w.direct, ClientMsgId: "s", Content: apptest.Text("canaryseven"), SendMs: time.Now().Add(30 * day).UnixMilli()}))
	must(t, err)
	_, err = s.Accounts().UpdateProfile(ctx, apptest.As(ann, &accountv1.UpdateProfileRequest{DisplayName: proto.String("canaryeight"), Bio: proto.String("canarynine")}))
	must(t, err)
	_, err = s.Graph().RemarkFriend(ctx, apptest.As(ann, &accountv1.RemarkFriendRequest{User: bob.User, Remark: "canaryten"}))
	must(t, err)
	_, err = s.Feed().Publish(ctx, apptest.As(ann, &feedv1.PublishRequest{ClientPostId: "p", Content: &feedv1.PostContent{Text: "canaryeleven", Audience: feedv1.Audience_AUDIENCE_EVERYONE}}))
	must(t, err)
	post, err := s.Feed().Publish(ctx, apptest.As(bob, &feedv1.PublishRequest{ClientPostId: "p", Content: &feedv1.PostContent{Text: "a post by bob", Audience: feedv1.Audience_AUDIENCE_EVERYONE}}))
	must(t, err)
	w.post = post.Msg.Id
	comments := commentv1connect.NewCommentServiceClient(s.HTTP, s.URL)
	_, err = comments.CreateComment(ctx, apptest.As(ann, &commentv1.CreateCommentRequest{ClientCommentId: "c", SubjectKind: commentv1.SubjectKind_SUBJECT_KIND_POST, Subject: w.post, Content: &commentv1.CommentContent{Text: "canarytwelve"}}))
	must(t, err)
	_, err = engagementv1connect.NewEngagementServiceClient(s.HTTP, s.URL).Like(ctx, apptest.As(ann, &engagementv1.LikeRequest{Kind: engagementv1.LikeKind_LIKE_KIND_POST, Subject: w.post}))
	must(t, err)
	return w
}

// A user who is erased is in no read and in no store, and the conversations of the others keep their slots, order and counts.
func TestErasedUsersAreInNoStore(t *testing.T) {
	s := openErase(t)
	ctx := t.Context()
	ann, bob, cat := s.Register(t, "canaryhandle"), s.Register(t, "bobo"), s.Register(t, "cate")
	w := s.writeEverywhere(t, ann, bob, cat)
	last := s.Send(t, cat, w.group, "c1", "a word by cat").Seq
	caught(t, bob, w.group, last, "")
	before := s.reads(t, bob, w)
	if found := strings.Count(fmt.Sprint(before), canary); found < 5 {
		t.Fatalf("before the erasure bob reads only %d canaries: %v", found, before)
	}
	report := s.erase(t, ann)
	if parts := partsOf(report); parts["messages"] < 5 || parts["posts"] < 1 || parts["comments"] < 1 || parts["files"] < 1 || parts["engagement"] < 1 || parts["scheduled"] < 1 {
		t.Errorf("the report is %v", parts)
	}
	after := s.reads(t, bob, w)
	for _, text := range after {
		if strings.Contains(text, canary) {
			t.Errorf("bob still reads %s", text)
		}
	}
	s.checkSlots(t, bob, w, last)
	s.checkGone(t, ann, bob, w)
	_, err := s.Accounts().Login(ctx, connect.NewRequest(&accountv1.LoginRequest{Handle: "canaryhandle", Password: "a good password"}))
	if connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("a login is answered with %v", err)
	}
	if _, err := s.Accounts().GetSettings(ctx, apptest.As(ann, &accountv1.GetSettingsRequest{})); connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("a call of the ended session is answered with %v", err)
	}
	must(t, s.Close())
	if len(stores(t, s, "a word by bob")) == 0 {
		t.Error("the search of the stores does not find what is there")
	}
	for _, place := range stores(t, s, canary) {
		t.Errorf("a canary is left in %s", place)
	}
}

func partsOf(e *accountv1.Erasure) map[string]uint64 {
	parts := map[string]uint64{}
	for _, p := range e.Parts {
		parts[p.Name] = p.Erased
	}
	return parts
}

// reads returns what a user reads by all calls, as texts.
func (s *eraseServer) reads(t *testing.T, p *apptest.Person, w written) (list []string) {
	t.Helper()
	ctx := t.Context()
	add := func(m proto.Message, err error) {
		t.Helper()
		must(t, err)
		list = append(list, fmt.Sprint(m))
	}
	for _, c := range []uint64{w.direct, w.group} {
		history, err := s.Chat().History(ctx, apptest.As(p, &chatv1.HistoryRequest{Conversation: c}))
		must(t, err)
		add(history.Msg, err)
	}
	conversations, err := s.Chat().ListConversations(ctx, apptest.As(p, &chatv1.ListConversationsRequest{}))
	must(t, err)
	add(conversations.Msg, nil)
	for _, e := range streamOf(t, p, w.direct, "read") {
		if e.GetRelation() == nil { // what a stream has of earlier relations is trimmed with age
			add(e, nil)
		}
	}
	feed, err := s.Feed().HomeTimeline(ctx, apptest.As(p, &feedv1.HomeTimelineRequest{}))
	must(t, err)
	add(feed.Msg, nil)
	comments, err := commentv1connect.NewCommentServiceClient(s.HTTP, s.URL).ListComments(ctx, apptest.As(p, &commentv1.ListCommentsRequest{SubjectKind: commentv1.SubjectKind_SUBJECT_KIND_POST, Subject: w.post}))
	must(t, err)
	add(comments.Msg, nil)
	for _, word := range []string{"canaryone", "canarytwo", "canarythree", "canaryeight", "canaryeleven", "canaryhandle"} {
		found, err := searchv1connect.NewSearchServiceClient(s.HTTP, s.URL).Search(ctx, apptest.As(p, &searchv1.SearchRequest{Query: word}))
		must(t, err)
		for _, group := range found.Msg.Groups {
			for _, hit := range group.Hits {
				add(hit, nil)
			}
		}
	}
	relations, err := s.Graph().ListRelations(ctx, apptest.As(p, &accountv1.ListRelationsRequest{}))
	must(t, err)
	add(relations.Msg, nil)
	return list
}

// checkSlots checks that messages are in their places without contents, and that those of others are as they were.
func (s *eraseServer) checkSlots(t *testing.T, bob *apptest.Person, w written, last uint64) {
	t.Helper()
	ctx := t.Context()
	page, err := s.Chat().History(ctx, apptest.As(bob, &chatv1.HistoryRequest{Conversation: w.direct}))
	must(t, err)
	byseq := map[uint64]*chatv1.Message{}
	previous := uint64(0)
	for _, m := range page.Msg.Messages {
		if byseq[m.Seq] = m; m.Seq != previous+1 {
			t.Errorf("seq %d follows %d, want no gap", m.Seq, previous)
		}
		previous = m.Seq
	}
	if m := byseq[w.seqs[0]]; m == nil || m.RecallSeq == 0 || m.Content != nil {
		t.Errorf("the slot of the erased message is %v", m)
	}
	if m := byseq[w.seqs[1]]; m.GetContent().GetText() != "a word by bob" || len(m.GetReactions().GetCounts()) != 0 {
		t.Errorf("bob's own message is %v, want its text without reactions", m)
	}
	list, badge := conversations(t, bob)
	for _, c := range list {
		switch c.Id {
		case w.direct:
			if !c.Dissolved || c.Unread != 0 {
				t.Errorf("the conversation with the erased user is %v", c)
			}
		case w.group: // cat's message; the erased ones do not count
			if c.Unread != 1 || badge != 1 {
				t.Errorf("%d messages are unread, with a badge of %d: %v", c.Unread, badge, c)
			}
		}
	}
	if _, why := sendContent(t, s.Server, bob, w.direct, "b9", apptest.Text("is anybody there?")); why != "dissolved" {
		t.Errorf("a message to the erased user is answered with %q", why)
	}
	if next := s.Send(t, bob, w.group, "b10", "we go on").Seq; next <= last {
		t.Errorf("the group continues at %d after %d", next, last)
	}
}

// checkGone checks what is left of the user.
func (s *eraseServer) checkGone(t *testing.T, ann, bob *apptest.Person, w written) {
	t.Helper()
	ctx := t.Context()
	users, err := s.Accounts().GetUsers(ctx, apptest.As(bob, &accountv1.GetUsersRequest{Users: []uint64{ann.User}}))
	must(t, err)
	if len(users.Msg.Users) != 1 || !users.Msg.Users[0].Deleted || users.Msg.Users[0].Avatar != 0 || users.Msg.Users[0].Bio != "" {
		t.Errorf("the user is %v", users.Msg.Users)
	}
	members, err := s.Chat().ListMembers(ctx, apptest.As(bob, &chatv1.ListMembersRequest{Conversation: w.group}))
	must(t, err)
	owners := 0
	for _, m := range members.Msg.Members {
		if m.Role == chatv1.Role_ROLE_OWNER {
			owners++
		}
		if m.User == ann.User {
			t.Error("the user is still in the group")
		}
	}
	if owners != 1 || len(members.Msg.Members) != 2 {
		t.Errorf("the members of the group are %v", members.Msg.Members)
	}
	likes, err := engagementv1connect.NewEngagementServiceClient(s.HTTP, s.URL).ListLikers(ctx, apptest.As(bob, &engagementv1.ListLikersRequest{Kind: engagementv1.LikeKind_LIKE_KIND_POST, Subject: w.post}))
	must(t, err)
	if len(likes.Msg.Likers) != 0 {
		t.Errorf("the likers of bob's post are %v", likes.Msg.Likers)
	}
}

// stores returns the places in all stores of a closed server that have a word: rows of SQL, of the log, and files.
func stores(t *testing.T, s *eraseServer, word string) (places []string) {
	t.Helper()
	has := hasWord(word)
	where := filepath.Join(s.data, "records.db")
	if s.postgres != "" {
		where = s.postgres
	}
	places = append(places, tablesWith(t, where, s.postgres != "", has)...)
	if s.postgres == "" {
		places = append(places, rowsWith(t, s.data, has)...)
	}
	return append(places, filesWith(t, filepath.Join(s.data, "blobs"), has)...)
}

func hasWord(word string) func([]byte) bool {
	return func(b []byte) bool {
		return bytes.Contains(b, []byte(word)) || bytes.Contains(b, []byte(hex.EncodeToString([]byte(word))))
	}
}

// filesWith returns the files below a directory that have something in their bytes or names.
func filesWith(t *testing.T, dir string, has func([]byte) bool) (places []string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if has(b) || has([]byte(d.Name())) {
			places = append(places, path)
		}
		return err
	}))
	return places
}

// tablesWith returns the tables of a database that have a row with something.
func tablesWith(t *testing.T, where string, postgres bool, has func([]byte) bool) (places []string) {
	t.Helper()
	db, err := sqldb.Open(t.Context(), where)
	must(t, err)
	defer func() { must(t, db.Close()) }()
	list := `SELECT name FROM sqlite_master WHERE type = 'table'`
	if postgres {
		list = `SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'`
	}
	var tables []string
	rows, err := db.Read().QueryContext(t.Context(), list)
	must(t, err)
	for rows.Next() {
		var name string
		must(t, rows.Scan(&name))
		tables = append(tables, name)
	}
	must(t, rows.Close())
	for _, table := range tables {
		rows, err := db.Read().QueryContext(t.Context(), `SELECT * FROM `+table)
		must(t, err)
		columns, err := rows.Columns()
		must(t, err)
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		for rows.Next() {
			must(t, rows.Scan(values...))
			for i, v := range values {
				text, ok := (*v.(*any)).([]byte)
				if !ok {
					text = fmt.Append(nil, *v.(*any))
				}
				if has(text) && !slices.Contains(places, table+"."+columns[i]) {
					places = append(places, table+"."+columns[i])
				}
			}
		}
		must(t, rows.Err())
		must(t, rows.Close())
	}
	return places
}

// rowsWith returns the rows of the timelines in a data directory that have something.
func rowsWith(t *testing.T, data string, has func([]byte) bool) (places []string) {
	t.Helper()
	log, err := pebblelog.Open(filepath.Join(data, "timeline"), pebblelog.Options{})
	must(t, err)
	defer func() { must(t, log.Close()) }()
	for _, part := range pebblelog.RowRanges() {
		must(t, log.Export(t.Context(), part, nil, func(_ []byte, rows []timeline.Row) error {
			for _, r := range rows {
				if has(r.Entry.Payload) {
					places = append(places, fmt.Sprintf("%s %c%d/%d", part.Name, r.Key.Kind, r.Key.ID, r.Entry.Seq))
				}
			}
			return nil
		}))
	}
	return places
}
