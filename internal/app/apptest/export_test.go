package apptest_test

import (
	"archive/zip"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/base/eventually"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// archiveOf has an export made, and returns its entries by name.
func (s *eraseServer) archiveOf(t *testing.T, p *apptest.Person) map[string]string {
	t.Helper()
	_, err := s.Accounts().RequestExport(t.Context(), apptest.As(p, &accountv1.RequestExportRequest{}))
	must(t, err)
	var done *accountv1.Export
	eventually.True(t, "the export is complete", func() bool {
		r, err := s.Accounts().GetExport(t.Context(), apptest.As(p, &accountv1.GetExportRequest{}))
		must(t, err)
		done = r.Msg
		return done.DoneMs > 0
	})
	r, err := http.Get(s.URL + done.Url)
	must(t, err)
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	must(t, err)
	if r.StatusCode != http.StatusOK || uint64(len(b)) != done.Size {
		t.Fatalf("the download is %s with %d bytes of %d", r.Status, len(b), done.Size)
	}
	archive, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	must(t, err)
	entries := map[string]string{}
	for _, f := range archive.File {
		in, err := f.Open()
		must(t, err)
		text, err := io.ReadAll(in)
		must(t, err)
		entries[f.Name] = string(text)
	}
	return entries
}

// An export has what its user wrote, and what others wrote to the user, as the user may read it then; and no secrets.
func TestAnExportHasWhatItsUserMayRead(t *testing.T) {
	s := openErase(t)
	ann, bob, cat := s.Register(t, "canaryhandle"), s.Register(t, "bobo"), s.Register(t, "cate")
	w := s.writeEverywhere(t, ann, bob, cat)
	other := s.Direct(t, bob, cat)
	s.Send(t, bob, other, "o1", "a secret of bob and cat")
	recalled := s.Send(t, bob, w.direct, "r1", "bob recalls this").Seq
	mustSend(t, s.Server, bob, w.direct, "r2", &chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: &chatv1.Ref{Seq: recalled}}}})

	entries := s.archiveOf(t, ann)
	for entry, words := range map[string][]string{
		"messages.jsonl": {"canarytwo", "canarythree", "canaryfive", "a word by bob"}, "users.jsonl": {"canaryhandle", "canaryeight", "canarynine"}, "views.jsonl": {"canarysix"}, "scheduled.jsonl": {"canaryseven"},
		"relations.jsonl": {"canaryten"}, "feed_posts.jsonl": {"canaryeleven"}, "comments.jsonl": {"canarytwelve"}, "counter_members.jsonl": {"post_like"}, "reactions.jsonl": {"🐤"}, "sessions.jsonl": {"created_ms"}, "uploads.jsonl": {"old.txt"},
		"manifest.json": {"messages.jsonl", "sha256"},
	} {
		for _, word := range words {
			if !strings.Contains(entries[entry], word) {
				t.Errorf("%s lacks %s: %s", entry, word, entries[entry])
			}
		}
	}
	file := false
	for name, text := range entries {
		file = file || strings.HasPrefix(name, "files/") && text == "canaryfour in a file"
		for _, word := range []string{"bob recalls this", "a secret of bob and cat", "canaryone\"", "a post by bob", "$argon2", "refresh"} {
			if strings.Contains(text, word) {
				t.Errorf("%s has %s", name, word)
			}
		}
	}
	if !file {
		t.Error("the file that the user has uploaded is not in the archive")
	}
	if r, err := s.Accounts().GetExport(t.Context(), apptest.As(bob, &accountv1.GetExportRequest{})); err != nil || r.Msg.Id != 0 || r.Msg.Url != "" {
		t.Errorf("another user gets %v, %v", r, err)
	}
}
