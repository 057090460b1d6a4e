package apptest_test

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/tool/verify"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
)

// clockByHand is the machine's clock with an offset.
type clockByHand struct{ ahead atomic.Int64 }

func (c *clockByHand) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *clockByHand) move(d time.Duration) { c.ahead.Add(int64(d)) }

const day = 24 * time.Hour

// texts returns the texts of a page of history, in order.
func texts(messages []*chatv1.Message) (list []string) {
	for _, m := range messages {
		if text := m.Content.GetText(); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// upload uploads a complete file.
func upload(t *testing.T, p *apptest.Person, text string) uint64 {
	t.Helper()
	media := chatv1connect.NewMediaServiceClient(p.Server.HTTP, p.Server.URL)
	u, err := media.CreateUpload(t.Context(), apptest.As(p, &chatv1.CreateUploadRequest{Name: "old.txt", Size: uint64(len(text))}))
	must(t, err)
	put, err := http.NewRequestWithContext(t.Context(), http.MethodPut, p.Server.URL+u.Msg.Url, bytes.NewReader([]byte(text)))
	must(t, err)
	answer, err := p.Server.HTTP.Do(put)
	must(t, err)
	must(t, answer.Body.Close())
	_, err = media.CompleteUpload(t.Context(), apptest.As(p, &chatv1.CompleteUploadRequest{Upload: u.Msg.Upload}))
	must(t, err)
	return u.Msg.Upload
}

// A conversation's retention takes effect at once, for everybody and in every answer; expired messages are removed, and the store stays
// valid.
func TestMessagesExpire(t *testing.T) {
	ctx, now, data := t.Context(), &clockByHand{}, filepath.Join(t.TempDir(), "data")
	postgres := ""
	open := func() *apptest.Server {
		return apptest.OpenAt(t, now, func(c *config.Config) {
			postgres = cmp.Or(postgres, c.Postgres) // the same one at each start
			c.Data, c.Postgres = data, postgres
		})
	}
	h := open()
	ann, bob := h.Register(t, "anna"), h.Register(t, "bobo")
	c := h.Direct(t, ann, bob)
	file := upload(t, ann, "an old file")
	h.Send(t, ann, c, "1", "old")
	sent, err := h.Chat().Send(ctx, apptest.As(ann, &chatv1.SendRequest{Conversation: c, ClientMsgId: "2", Content: &chatv1.Content{Kind: &chatv1.Content_File{File: &chatv1.Media{Upload: file}}}}))
	must(t, err)
	named := &chatv1.GetDownloadRequest{Upload: file, Conversation: c, Seq: sent.Msg.Seq}
	files := chatv1connect.NewMediaServiceClient(h.HTTP, h.URL)
	_, err = files.GetDownload(ctx, apptest.As(bob, named))
	must(t, err)
	begin := len(streamOf(t, bob, c, "begun"))

	change, err := h.Chat().SetRetention(ctx, apptest.As(bob, &chatv1.SetRetentionRequest{Conversation: c, Seconds: 2 * 86_400}))
	must(t, err)
	caught(t, bob, c, change.Msg.Seq, "")
	now.move(3 * day)
	again, err := h.Accounts().Login(ctx, connect.NewRequest(&accountv1.LoginRequest{Handle: "anna", Password: "a good password", Client: &accountv1.Client{Type: "test", Device: ann.Device}}))
	must(t, err)
	ann, bob = &apptest.Person{Server: h, Session: again.Msg}, h.Login(t, "bobo")
	look := func(state string, newest string, seq uint64) {
		t.Helper()
		var want []string
		if newest != "" {
			want = []string{newest}
		}
		for _, q := range []*chatv1.HistoryRequest{{}, {Before: 1 << 40}, {After: 1}, {TimeMs: 1}, {TimeMs: time.Now().UnixMilli()}} {
			q.Conversation = c
			r, err := h.Chat().History(ctx, apptest.As(bob, q))
			must(t, err)
			if got := texts(r.Msg.Messages); fmt.Sprint(got) != fmt.Sprint(want) || len(r.Msg.Messages) != len(want) || r.Msg.More {
				t.Errorf("%s: history with %v: got %v, more %v", state, q, r.Msg.Messages, r.Msg.More)
			}
		}
		v, err := h.Chat().GetConversation(ctx, apptest.As(bob, &chatv1.GetConversationRequest{Conversation: c}))
		must(t, err)
		if v.Msg.JoinSeq != seq || v.Msg.LastMessage.GetContent().GetText() != newest || v.Msg.Unread != uint64(len(want)) || v.Msg.RetentionSeconds != 2*86_400 || v.Msg.KeptSeconds != 2*86_400 {
			t.Errorf("%s: got conversation %v", state, v.Msg)
		}
		list, err := h.Chat().ListConversations(ctx, apptest.As(bob, &chatv1.ListConversationsRequest{}))
		must(t, err)
		if list.Msg.Badge != uint64(len(want)) || len(list.Msg.Conversations) != 1 || list.Msg.Conversations[0].LastMessage.GetContent().GetText() != newest {
			t.Errorf("%s: got list %v", state, list.Msg)
		}
		if _, err := chatv1connect.NewMediaServiceClient(h.HTTP, h.URL).GetDownload(ctx, apptest.As(bob, named)); reasonOf(err) != "no_message" {
			t.Errorf("%s: file of an expired message: got %v", state, err)
		}
		if _, err := h.Chat().ListReaders(ctx, apptest.As(ann, &chatv1.ListReadersRequest{Conversation: c, Seq: 2})); reasonOf(err) != "no_message" {
			t.Errorf("%s: readers of an expired message: got %v", state, err)
		}
		events := streamOf(t, bob, c, state)
		prev, empty, heard := uint64(0), 0, []string(nil)
		for _, e := range events {
			if e.Prev != prev {
				t.Errorf("%s: event %d: got predecessor %d, want %d", state, e.Seq, e.Prev, prev)
			}
			prev = e.Seq
			if e.Body == nil {
				empty++
			}
			if m := e.GetMessage(); m != nil {
				heard = append(heard, m.Content.GetText())
			}
		}
		if empty != 4 || fmt.Sprint(heard) != fmt.Sprint(want) || len(events) <= begin {
			t.Errorf("%s: got a stream of %d events, %d without a body, with messages %q", state, len(events), empty, heard)
		}
	}
	look("nothing is left", "", change.Msg.Seq+1)
	last := h.Send(t, ann, c, "3", "new").Seq
	caught(t, bob, c, last, "")
	look("one is left", "new", last)

	retry := func() string {
		_, err := h.Chat().Send(ctx, apptest.As(ann, &chatv1.SendRequest{Conversation: c, ClientMsgId: "1", Content: apptest.Text("old")}))
		return reasonOf(err)
	}
	// Of several nodes, one that was assigned partitions after the step of the clock may have removed it already.
	if reason := retry(); reason != "" && reason != "expired" {
		t.Errorf("retry of an expired message: got %s", reason)
	}
	must(t, h.Close())
	h = open() // removes expired messages
	ann, bob = &apptest.Person{Server: h, Session: ann.Session}, &apptest.Person{Server: h, Session: bob.Session}
	for reason := retry(); reason != "expired"; reason = retry() {
		if reason != "" {
			t.Fatalf("retry of a removed message: got %s", reason)
		}
	}
	look("what has expired is gone", "new", last)
	must(t, h.Close())
	run, place := verify.Run, data
	if postgres != "" {
		run, place = verify.RunPostgres, postgres
	}
	report, err := run(ctx, place, func(string, ...any) {})
	must(t, err)
	if len(report.Violations) > 0 || report.Expired != 2 {
		t.Errorf("verify: got %+v, want no violations", report)
	}
}

// The deployment's retention is the maximum for conversations.
func TestRetentionOfTheDeployment(t *testing.T) {
	ctx, now := t.Context(), &clockByHand{}
	h := apptest.OpenAt(t, now, func(c *config.Config) { c.Chat.Retention = "private" })
	ann, bob, eve := h.Register(t, "anna"), h.Register(t, "bobo"), h.Register(t, "evee")
	c := h.Group(t, ann, bob)
	set := func(p *apptest.Person, days uint32) string {
		_, err := h.Chat().SetRetention(ctx, apptest.As(p, &chatv1.SetRetentionRequest{Conversation: c, Seconds: days * 86_400}))
		return reasonOf(err)
	}
	for _, try := range []struct {
		by   *apptest.Person
		days uint32
		want string
	}{{ann, 8, "bad_retention"}, {ann, 40_000, "bad_retention"}, {bob, 3, "not_allowed"}, {eve, 3, "no_conversation"}, {ann, 7, ""}, {ann, 0, ""}} {
		if got := set(try.by, try.days); got != try.want {
			t.Errorf("retention of %d days: got %q, want %q", try.days, got, try.want)
		}
	}
	h.Send(t, ann, c, "1", "first")
	now.move(6 * day)
	ann, bob = h.Login(t, "anna"), h.Login(t, "bobo")
	h.Send(t, ann, c, "2", "second")
	left := func() string {
		t.Helper()
		r, err := h.Chat().History(ctx, apptest.As(bob, &chatv1.HistoryRequest{Conversation: c}))
		must(t, err)
		return fmt.Sprint(texts(r.Msg.Messages))
	}
	if got := left(); got != "[first second]" {
		t.Errorf("after six days: got %s", got)
	}
	if set(ann, 3) != "" || left() != "[second]" {
		t.Errorf("with its own retention of three days: got %s", left())
	}
	if set(ann, 0) != "" || left() != "[first second]" {
		t.Errorf("with the deployment's seven days again, before the removal: got %s", left())
	}
	now.move(2 * day)
	bob = h.Login(t, "bobo")
	if got := left(); got != "[second]" {
		t.Errorf("after eight days: got %s", got)
	}
}
