package apptest_test

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/app"
	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/tool/apiclient"
	"github.com/rialto-im/rialto/internal/tool/exporter"
	"github.com/rialto-im/rialto/internal/tool/importer"
	"github.com/rialto-im/rialto/internal/tool/interchangefile"
	"github.com/rialto-im/rialto/internal/tool/verify"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
)

// interchangeServer is a server with a key of the role operator, and one of a business server.
type interchangeServer struct {
	*apptest.Server
	operator, business, data string
	postgres                 bool
}

func openInterchange(t *testing.T) *interchangeServer {
	t.Helper()
	s := &interchangeServer{}
	var database []string
	s.Server = apptest.Open(t, func(c *config.Config) {
		if database = []string{"--data", c.Data}; c.Postgres != "" {
			database, s.postgres = []string{"--postgres", c.Postgres}, true
		}
		s.data = c.Data
	})
	key := func(flags ...string) string {
		var out, errs strings.Builder
		if code := app.AdminMain(t.Context(), slices.Concat([]string{"key", "create"}, flags, database), &out, &errs); code != 0 {
			t.Fatalf("exit code %d, want 0: %s", code, errs.String())
		}
		return strings.TrimSpace(out.String())
	}
	s.operator, s.business = key("--name", "olga", "--role", "operator"), key("--name", "business")
	return s
}

// as opens a session of a user who was imported.
func (s *interchangeServer) as(t *testing.T, externalID string) *apptest.Person {
	t.Helper()
	admin := accountv1connect.NewAdminServiceClient(s.HTTP, s.URL)
	by := &apptest.Person{Session: &accountv1.Session{AccessToken: s.business}}
	session, err := admin.CreateSession(t.Context(), apptest.As(by, &accountv1.CreateSessionRequest{ExternalId: externalID}))
	must(t, err)
	return &apptest.Person{Session: session.Msg}
}

// client returns a client of the server with a key.
func (s *interchangeServer) client(t *testing.T, key string) *importer.Server {
	t.Helper()
	client, err := apiclient.New(apiclient.Config{URL: s.URL, Key: key, Access: importer.Access, Patience: importer.Patience})
	must(t, err)
	return &importer.Server{Client: client}
}

// errStopped ends a load or an export, as a signal does.
var errStopped = errors.New("stopped")

// stopAfter returns a hook that fails once, after some batches.
func stopAfter(n int) func() error {
	return func() error {
		if n--; n == 0 {
			return errStopped
		}
		return nil
	}
}

// load loads a directory, and is stopped after each batch once.
func (s *interchangeServer) load(t *testing.T, dir, prefix string) *importer.Report {
	t.Helper()
	for {
		report, err := importer.Load(t.Context(), importer.Options{Dir: dir, Server: s.client(t, s.operator), Prefix: prefix, Rate: 100_000, Progressed: stopAfter(2)})
		if err == nil {
			if len(report.Mismatches) > 0 {
				t.Errorf("the counts differ: %q", report.Mismatches)
			}
			return report
		}
		if !errors.Is(err, errStopped) {
			t.Fatalf("error %v, want %v", err, errStopped)
		}
	}
}

// export exports everything, and is stopped once.
func (s *interchangeServer) export(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	o := exporter.Options{Dir: dir, Server: s.client(t, s.operator), Progressed: stopAfter(2)}
	if _, err := exporter.Run(t.Context(), o); !errors.Is(err, errStopped) {
		t.Fatalf("the first export was not stopped: %v", err)
	}
	o.Progressed = nil
	_, err := exporter.Run(t.Context(), o)
	must(t, err)
	return dir
}

// slackSample is a small export of Slack, unpacked.
func slackSample(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"users.json":    `[{"id":"U1","name":"ann"},{"id":"U2","name":"bob"}]`,
		"channels.json": `[{"id":"C1","name":"general","creator":"U1","created":1600000000,"members":["U1","U2"]}]`,
		"general/2020-09-13.json": `[{"type":"message","user":"U1","text":"hello <@U2>","ts":"1600000001.000100","reactions":[{"name":"+1","users":["U2"],"count":1}]},
			{"type":"message","user":"U2","text":"root","ts":"1600000002.000100","thread_ts":"1600000002.000100","reply_count":1,"edited":{"ts":"1600000004.000100"}},
			{"type":"message","user":"U1","text":"reply","ts":"1600000003.000100","thread_ts":"1600000002.000100"},
			{"type":"message","user":"U1","text":"see","ts":"1600000005.000100","files":[{"id":"F1","name":"a.txt","mimetype":"text/plain"}]}]`,
		"__uploads/F1/a.txt": "the text of the file",
	} {
		name = filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(name), 0o700))
		must(t, os.WriteFile(name, []byte(text), 0o600))
	}
	return dir
}

// TestWhatIsImportedIsReadAndExportedAgain: an export of Slack is loaded with stops; its users read it with its times, and nothing of it is unread. Then all of
// this server, with what its own users wrote, is exported, imported into an empty server and exported again: both exports are the same, byte for byte.
func TestWhatIsImportedIsReadAndExportedAgain(t *testing.T) {
	first := openInterchange(t)
	work := t.TempDir()
	must(t, importer.Convert(t.Context(), importer.Slack, "slack", slackSample(t), work, time.Now(), importer.DefaultMaxBytes))
	report := first.load(t, work, "slack:")
	if in := report.Imported; in.Users != 2 || in.Conversations != 2 || in.Messages != 4 || in.Reactions != 1 || in.Attachments != 1 || len(report.Skipped) != 0 {
		t.Errorf("the report is %+v", report)
	}
	bob := first.as(t, "slack:U2")
	list, err := first.Chat().ListConversations(t.Context(), apptest.As(bob, &chatv1.ListConversationsRequest{}))
	must(t, err)
	if len(list.Msg.Conversations) != 1 || list.Msg.Conversations[0].Title != "general" || list.Msg.Conversations[0].Unread != 0 {
		t.Fatalf("bob's list is %v", list.Msg.Conversations)
	}
	group := list.Msg.Conversations[0].Id
	page, err := first.Chat().History(t.Context(), apptest.As(bob, &chatv1.HistoryRequest{Conversation: group}))
	must(t, err)
	checkImported(t, first, bob, page.Msg.Messages)

	liveMessages(t, first, bob, group)
	liveRelations(t, first, bob)
	gina, hugo := livePosts(t, first.Server)
	exported := first.export(t)
	second := openInterchange(t)
	report = second.load(t, exported, "")
	if in := report.Imported; len(report.Skipped) != 0 || in.Posts != 8 || in.Comments != 4 || in.Likes != 4 || in.Videos != 1 {
		t.Errorf("imported %+v; skipped: %v %v", in, report.Skipped, report.Reasons)
	}
	checkPosts(t, second, second.as(t, "rialto:"+strconv.FormatUint(hugo.User, 10)), second.as(t, "rialto:"+strconv.FormatUint(gina.User, 10)).User)
	again := second.export(t)
	for _, name := range []string{"users.jsonl", "relations.jsonl", "videos.jsonl", "posts.jsonl", "comments.jsonl", "likes.jsonl", "conversations.jsonl", "messages.jsonl", "files.jsonl", "skipped.jsonl"} {
		a, err := os.ReadFile(filepath.Join(exported, name))
		must(t, err)
		b, err := os.ReadFile(filepath.Join(again, name))
		must(t, err)
		if lines := bytes.Count(a, []byte("\n")); name == "relations.jsonl" && lines != 6 {
			t.Errorf("%s has %d lines, want 6:\n%s", name, lines, a)
		}
		if bytes.Contains(a, []byte("a secret")) {
			t.Errorf("%s has what was recalled:\n%s", name, a)
		}
		if len(a) == 0 != (name == "skipped.jsonl") {
			t.Errorf("%s has %d bytes", name, len(a))
		}
		if !bytes.Equal(a, b) {
			t.Errorf("%s differs after a round trip:\n%s\nand then:\n%s", name, a, b)
		}
	}
	checkNoImportedNotifications(t, second, second.as(t, "rialto:"+strconv.FormatUint(gina.User, 10)), second.as(t, "rialto:"+strconv.FormatUint(hugo.User, 10)))
	if second.postgres {
		return
	}
	must(t, second.Close())
	checked, err := verify.Run(t.Context(), second.data, func(string, ...any) {})
	if err != nil || len(checked.Violations) > 0 {
		t.Errorf("verify: %+v, %v", checked, err)
	}
}

// checkImported checks what a user reads of the sample.
func checkImported(t *testing.T, s *interchangeServer, u *apptest.Person, list []*chatv1.Message) {
	t.Helper()
	byID := map[string]*chatv1.Message{}
	for _, m := range list {
		byID[m.Content.GetExternalId()] = m
	}
	hello, root, see := byID["1600000001.000100"], byID["1600000002.000100"], byID["1600000005.000100"]
	if hello.GetTimeMs() != 1_600_000_001_000 || hello.GetContent().GetText() != "hello @U2" || len(hello.GetContent().GetMentions()) != 1 || hello.GetContent().GetMentions()[0].User != u.User || hello.GetReactions().GetMine()[0] != "👍" {
		t.Errorf("the first message is %v", hello)
	}
	if root.GetEditedMs() != 1_600_000_004_000 || root.GetThread().GetReplies() != 1 || root.GetThread().GetLastReplyMs() != 1_600_000_003_000 {
		t.Errorf("the root is %v", root)
	}
	file := see.GetContent().GetFile()
	d, err := chatv1connect.NewMediaServiceClient(s.HTTP, s.URL).GetDownload(t.Context(), apptest.As(u, &chatv1.GetDownloadRequest{Upload: file.GetUpload(), Conversation: see.GetConversation(), Seq: see.GetSeq()}))
	must(t, err)
	a, err := http.Get(s.URL + d.Msg.Url) //nolint:noctx // a test
	must(t, err)
	defer a.Body.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(a.Body)
	must(t, err)
	if b.String() != "the text of the file" || file.Caption != "see" {
		t.Errorf("the file has %q and the caption %q", b.String(), file.Caption)
	}
}

// liveMessages are of the server's own users: each kind of change, in a group that was imported and in others.
func liveMessages(t *testing.T, s *interchangeServer, bob *apptest.Person, imported uint64) {
	t.Helper()
	anna, carl := s.Register(t, "anna"), s.Register(t, "carla")
	s.Send(t, bob, imported, "after", "after the import")
	g := s.Group(t, anna, bob)
	send := func(p *apptest.Person, c uint64, key string, content *chatv1.Content) uint64 {
		r, err := s.Chat().Send(t.Context(), apptest.As(p, &chatv1.SendRequest{Conversation: c, ClientMsgId: key, Content: content}))
		must(t, err)
		return r.Msg.Seq
	}
	ref := func(seq uint64) *chatv1.Ref { return &chatv1.Ref{Seq: seq} }
	one := send(anna, g, "1", apptest.Text("one"))
	reply := apptest.Text("@bob two")
	reply.ReplyTo, reply.Mentions = ref(one), []*chatv1.Mention{{Start: 0, Length: 4, User: bob.User}}
	two := send(bob, g, "2", reply)
	send(bob, g, "3", &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: ref(two), Content: apptest.Text("two, edited")}}})
	send(anna, g, "4", &chatv1.Content{Kind: &chatv1.Content_Reaction{Reaction: &chatv1.Reaction{Target: ref(two), Emoji: "🎉"}}})
	send(anna, g, "5", &chatv1.Content{Kind: &chatv1.Content_Pin{Pin: &chatv1.Pin{Target: ref(one)}}})
	gone := send(anna, g, "6", apptest.Text("a secret that is recalled"))
	send(anna, g, "7", &chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: ref(gone)}}})
	send(anna, g, "8", &chatv1.Content{Kind: &chatv1.Content_Location{Location: &chatv1.Location{Latitude: 1, Longitude: 2, Label: "here"}}})
	_, err := s.Chat().Invite(t.Context(), apptest.As(anna, &chatv1.InviteRequest{Conversation: g, Users: []uint64{carl.User}}))
	must(t, err)
	title := "renamed"
	_, err = s.Chat().UpdateGroup(t.Context(), apptest.As(anna, &chatv1.UpdateGroupRequest{Conversation: g, Title: &title}))
	must(t, err)
	th, err := s.Chat().StartThread(t.Context(), apptest.As(bob, &chatv1.StartThreadRequest{Conversation: g, Seq: one}))
	must(t, err)
	send(bob, th.Msg.Id, "9", apptest.Text("in the thread"))
	alone := s.Direct(t, anna, carl)
	_, err = s.Chat().SetRetention(t.Context(), apptest.As(carl, &chatv1.SetRetentionRequest{Conversation: alone, Seconds: 86_400}))
	must(t, err)
	s.Send(t, anna, alone, "10", "to you alone")
}

// liveRelations are of each kind: a friendship with a name, a request, a block, and follows, of which one is muted.
func liveRelations(t *testing.T, s *interchangeServer, bob *apptest.Person) {
	t.Helper()
	dora, emil, faye := s.Register(t, "dora"), s.Register(t, "emil"), s.Register(t, "faye")
	ctx, g := t.Context(), s.Graph()
	_, err := g.RequestFriend(ctx, apptest.As(dora, &accountv1.RequestFriendRequest{User: emil.User}))
	must(t, err)
	_, err = g.AnswerFriend(ctx, apptest.As(emil, &accountv1.AnswerFriendRequest{User: dora.User, Accept: true}))
	must(t, err)
	_, err = g.RemarkFriend(ctx, apptest.As(dora, &accountv1.RemarkFriendRequest{User: emil.User, Remark: "my brother"}))
	must(t, err)
	_, err = g.RequestFriend(ctx, apptest.As(faye, &accountv1.RequestFriendRequest{User: bob.User, Message: "remember me?"}))
	must(t, err)
	_, err = g.Block(ctx, apptest.As(emil, &accountv1.BlockRequest{User: faye.User}))
	must(t, err)
	for _, other := range []*apptest.Person{bob, emil} {
		_, err = g.Follow(ctx, apptest.As(dora, &accountv1.FollowRequest{User: other.User}))
		must(t, err)
	}
	_, err = g.Mute(ctx, apptest.As(dora, &accountv1.MuteRequest{User: bob.User}))
	must(t, err)
}

// TestAnImportThatWasGivenUpIsEnded: rialto import --end ends each conversation whose import has begun, whose members write then. What was stored before is kept, and the load goes on with the other conversations.
func TestAnImportThatWasGivenUpIsEnded(t *testing.T) {
	s, work := openInterchange(t), t.TempDir()
	must(t, importer.Convert(t.Context(), importer.Slack, "slack", slackSample(t), work, time.Now(), importer.DefaultMaxBytes))
	o := importer.Options{Dir: work, Server: s.client(t, s.operator), Prefix: "slack:", Rate: 100_000, Progressed: stopAfter(2)} // after the first batch of the first conversation
	if _, err := importer.Load(t.Context(), o); !errors.Is(err, errStopped) {
		t.Fatalf("error %v, want %v", err, errStopped)
	}
	for _, want := range []string{"ended: conversation", "0 imports have ended"} {
		var out, errs strings.Builder
		if code := app.ImportMain(t.Context(), []string{"--end", "--url", s.URL, "--key", s.operator}, &out, &errs); code != 0 || !strings.Contains(out.String(), want) {
			t.Fatalf("import --end prints %q and %q, and exits with %d; want %q", &out, &errs, code, want)
		}
	}
	bob := s.as(t, "slack:U2")
	list, err := s.Chat().ListConversations(t.Context(), apptest.As(bob, &chatv1.ListConversationsRequest{}))
	must(t, err)
	s.Send(t, bob, list.Msg.Conversations[0].Id, "1", "after the end")
	o.Progressed = nil
	report, err := importer.Load(t.Context(), o)
	must(t, err)
	if report.Imported.Conversations != 2 || report.Imported.Messages != 4 || len(report.Mismatches) > 0 {
		t.Errorf("the report of a load that goes on is %+v", report)
	}
}

// TestOnlyOperatorsImportAndExport: a key of a business server is refused.
func TestOnlyOperatorsImportAndExport(t *testing.T) {
	s := openInterchange(t)
	if _, err := exporter.Run(t.Context(), exporter.Options{Dir: t.TempDir(), Server: s.client(t, s.business)}); err == nil || !strings.Contains(err.Error(), "--role operator") {
		t.Errorf("an export with the key of a business server: %v", err)
	}
	dir := t.TempDir()
	w, err := interchangefile.Create(t.Context(), dir, "test", time.Now())
	must(t, err)
	must(t, w.User(interchangefile.User{ID: "u", Name: "U"}))
	_, err = w.Close()
	must(t, err)
	if _, err := importer.Load(t.Context(), importer.Options{Dir: dir, Server: s.client(t, s.business)}); err == nil || !strings.Contains(err.Error(), "--role operator") {
		t.Errorf("an import with the key of a business server: %v", err)
	}
}
