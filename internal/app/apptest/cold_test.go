package apptest_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/tool/verify"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// coldFiles returns the segments in a data directory.
func coldFiles(t *testing.T, data string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(data, "blobs", "cold"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return nil
	})
	must(t, err)
	return files
}

// metrics returns a node's metrics.
func metrics(t *testing.T, h *apptest.Server) string {
	t.Helper()
	r, err := http.Get("http://" + h.AdminAddress().String() + "/metrics")
	must(t, err)
	defer r.Body.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(r.Body)
	must(t, err)
	return b.String()
}

// Old messages are in segments, and every call answers as before: pages in both directions and by time, single messages, later edits,
// reactions and recalls, what a user deleted, and retries. Retention deletes them; verify reads them, and finds a damaged segment.
func TestOldMessagesAreReadFromTheColdTier(t *testing.T) {
	ctx, now, data := t.Context(), &clockByHand{}, filepath.Join(t.TempDir(), "data")
	open := func(after string) *apptest.Server {
		return apptest.OpenAt(t, now, func(c *config.Config) {
			c.Data, c.Postgres = data, "" // the nodes of a cluster wait for half a minute before they trim
			c.Chat.ColdAfter, c.Chat.ColdMinEntries = after, 5
		})
	}
	h := open("never")
	ann, bob := h.Register(t, "anna"), h.Register(t, "bobo")
	c := h.Direct(t, ann, bob)
	var seqs []uint64
	for i := range 12 {
		seqs = append(seqs, h.Send(t, ann, c, fmt.Sprint("id", i), fmt.Sprint("text ", i)).Seq)
	}
	must(t, h.Close())
	// Entries stay in the log until they are fanned out, and the rest would be too few for a segment.
	eventually.True(t, "all entries are fanned out", func() bool {
		report, err := verify.Run(ctx, data, func(string, ...any) {})
		must(t, err)
		if report.Undelivered > 0 {
			must(t, open("never").Close())
		}
		return report.Undelivered == 0
	})
	now.move(3 * day)
	h = open("2d")
	device := ann.Device // a retry comes from the same one
	login, err := h.Accounts().Login(ctx, connect.NewRequest(&accountv1.LoginRequest{Handle: "anna", Password: "a good password", Client: &accountv1.Client{Type: "test", Device: device}}))
	must(t, err)
	ann, bob = &apptest.Person{Server: h, Session: login.Msg}, h.Login(t, "bobo")
	coldReads := regexp.MustCompile(`(?m)^rialto_cold_reads_total\{from="(file|cache)"\} [1-9]`)
	history := func(q *chatv1.HistoryRequest) (list []string) {
		t.Helper()
		q.Conversation = c
		r, err := h.Chat().History(ctx, apptest.As(bob, q))
		must(t, err)
		return texts(r.Msg.Messages)
	}
	var all []string
	for i := range 12 {
		all = append(all, fmt.Sprint("text ", i))
	}
	eventually.True(t, "old messages are read from segments", func() bool {
		if got := history(&chatv1.HistoryRequest{Limit: 50}); !slices.Equal(got, all) {
			t.Fatalf("the history is %q", got)
		}
		return coldReads.MatchString(metrics(t, h))
	})
	for _, page := range []struct {
		q    *chatv1.HistoryRequest
		want []string
	}{{&chatv1.HistoryRequest{Before: seqs[5], Limit: 3}, all[2:5]}, {&chatv1.HistoryRequest{After: seqs[5], Limit: 3}, all[6:9]},
		{&chatv1.HistoryRequest{TimeMs: 1, Limit: 3}, all[:2]}, {&chatv1.HistoryRequest{TimeMs: time.Now().UnixMilli() + 1}, nil}} {
		if got := history(page.q); !slices.Equal(got, page.want) {
			t.Errorf("%v: got %q, want %q", page.q, got, page.want)
		}
	}
	send := func(id string, content *chatv1.Content) (*chatv1.SendResponse, error) {
		r, err := h.Chat().Send(ctx, apptest.As(ann, &chatv1.SendRequest{Conversation: c, ClientMsgId: id, Content: content}))
		if err != nil {
			return nil, err
		}
		return r.Msg, nil
	}
	if again, err := send("id3", apptest.Text("text 3")); err != nil || again.Seq != seqs[3] || !again.Duplicate {
		t.Errorf("a retry of an old message returned %v, %v, want a duplicate at seq %d", again, err, seqs[3])
	}
	if _, err := send("id3", apptest.Text("another")); reasonOf(err) != "id_reuse" {
		t.Errorf("another message with the id of an old one: %v", err)
	}
	_, err = send("edit", &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: &chatv1.Ref{Seq: seqs[2]}, Content: apptest.Text("edited")}}})
	must(t, err)
	_, err = send("react", &chatv1.Content{Kind: &chatv1.Content_Reaction{Reaction: &chatv1.Reaction{Target: &chatv1.Ref{Seq: seqs[4]}, Emoji: "👍"}}})
	must(t, err)
	_, err = send("reply", &chatv1.Content{ReplyTo: &chatv1.Ref{Seq: seqs[1]}, Kind: &chatv1.Content_Text{Text: "a reply"}})
	must(t, err)
	_, err = h.Chat().DeleteMessages(ctx, apptest.As(bob, &chatv1.DeleteMessagesRequest{Conversation: c, Seqs: []uint64{seqs[6]}}))
	must(t, err)
	want := slices.Concat(all[:2], []string{"edited"}, all[3:6], all[7:], []string{"a reply"})
	if got := history(&chatv1.HistoryRequest{Limit: 50}); !slices.Equal(got, want) {
		t.Errorf("after changes of old messages the history is %q, want %q", got, want)
	}
	r, err := h.Chat().GetMessages(ctx, apptest.As(bob, &chatv1.GetMessagesRequest{Conversation: c, Seqs: []uint64{seqs[4]}}))
	must(t, err)
	if len(r.Msg.Messages) != 1 || len(r.Msg.Messages[0].GetReactions().GetCounts()) != 1 {
		t.Errorf("the message with a reaction is %v", r.Msg.Messages)
	}
	must(t, h.Close())

	report, err := verify.Run(ctx, data, func(string, ...any) {})
	must(t, err)
	if len(report.Violations) > 0 || report.Cold < 11 {
		t.Errorf("verify: %+v", report)
	}
	files := coldFiles(t, data)
	whole, err := os.ReadFile(files[0])
	must(t, err)
	must(t, os.WriteFile(files[0], append(bytes.Clone(whole[:len(whole)-1]), whole[len(whole)-1]^1), 0o600))
	if report, err = verify.Run(ctx, data, func(string, ...any) {}); err != nil || len(report.Violations) == 0 || !strings.Contains(report.Violations[0].What, "segment") {
		t.Errorf("verify of a damaged segment: %+v, %v", report, err)
	}
	h = open("never") // what was packed before stays readable
	bob = &apptest.Person{Server: h, Session: bob.Session}
	damaged, err := h.Chat().History(ctx, apptest.As(bob, &chatv1.HistoryRequest{Conversation: c, Limit: 50}))
	must(t, err)
	if len(damaged.Msg.Unreadable) == 0 || !slices.Contains(texts(damaged.Msg.Messages), "a reply") {
		t.Errorf("with a damaged segment: %v", damaged.Msg)
	}
	must(t, h.Close())
	must(t, os.WriteFile(files[0], whole, 0o600))
	h = open("never")
	bob = &apptest.Person{Server: h, Session: bob.Session}
	_, err = h.Chat().SetRetention(ctx, apptest.As(bob, &chatv1.SetRetentionRequest{Conversation: c, Seconds: 86_400}))
	must(t, err)
	if got := history(&chatv1.HistoryRequest{}); !slices.Equal(got, []string{"a reply"}) {
		t.Errorf("with a retention of a day the history is %q", got)
	}
	must(t, h.Close())
	h = open("never") // deletes what has expired
	eventually.True(t, "expired messages are deleted", func() bool {
		return regexp.MustCompile(`(?m)^rialto_expired_total 1[1-9]`).MatchString(metrics(t, h))
	})
	must(t, h.Close())
	if report, err = verify.Run(ctx, data, func(string, ...any) {}); err != nil || len(report.Violations) > 0 || report.Cold != 0 || report.Expired < 11 {
		t.Errorf("verify after messages have expired: %+v, %v", report, err)
	}
}
