package apptest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/app"
	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// backupKey is a key that backups of a period are encrypted for.
type backupKey struct{ file, recipient string }

func newBackupKey(t *testing.T) backupKey {
	t.Helper()
	k := backupKey{file: filepath.Join(t.TempDir(), "backup.key")}
	var out, errs strings.Builder
	if code := app.BackupMain(t.Context(), []string{"--new-key", k.file}, &out, &errs); code != 0 {
		t.Fatal(errs.String())
	}
	k.recipient = regexp.MustCompile(`age1\S+`).FindString(out.String())
	return k
}

// backedUpFor has a server on a data directory write its backups for a key.
func backedUpFor(data, backups string, k backupKey) func(*config.Config) {
	return func(c *config.Config) {
		c.Data, c.Postgres = data, ""
		c.Backup.Directory, c.Backup.Recipients = backups, []string{k.recipient}
	}
}

// backUp asks the server for a backup, as an operator, and returns its id.
func (s *eraseServer) backUp(t *testing.T) string {
	t.Helper()
	var key, out, errs strings.Builder
	if code := app.AdminMain(t.Context(), []string{"key", "create", "--name", "olga", "--role", "operator", "--data", s.data}, &key, &errs); code != 0 {
		t.Fatal(errs.String())
	}
	if code := app.BackupMain(t.Context(), []string{"--url", s.URL, "--key", strings.TrimSpace(key.String())}, &out, &errs); code != 0 {
		t.Fatal(errs.String())
	}
	return regexp.MustCompile(`backup (\S+) is complete`).FindStringSubmatch(out.String())[1]
}

// restoreBackup restores into a new directory, and returns it with what the command said if it failed.
func restoreBackup(t *testing.T, backups, id string, flags ...string) (data, failure string) {
	t.Helper()
	data = filepath.Join(t.TempDir(), "restored")
	var out, errs strings.Builder
	if code := app.RestoreMain(t.Context(), append([]string{"--from", backups, "--backup", id, "--data", data}, flags...), &out, &errs); code != 0 {
		failure = fmt.Sprint("exits with ", code, ": ", errs.String())
	}
	return data, failure
}

// Backups from before an erasure have the user. When their key is deleted, as the documents say, nothing that is left has a word of the user: no byte of the
// directory of backups can be read, and what the backups of the next key restore has the others, and nothing of the user, not even in what stores do not show.
func TestErasedUsersAreInNoBackupThatCanBeRead(t *testing.T) {
	data, backups := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "backups")
	earlier, later := newBackupKey(t), newBackupKey(t)
	s := openErase(t, backedUpFor(data, backups, earlier))
	ann, bob, cat := s.Register(t, "canaryhandle"), s.Register(t, "bobo"), s.Register(t, "cate")
	w := s.writeEverywhere(t, ann, bob, cat)
	before := s.backUp(t)
	had, failure := restoreBackup(t, backups, before, "--identity", earlier.file)
	if found := stores(t, &eraseServer{data: had}, canary); failure != "" || len(found) < 5 {
		t.Fatalf("with its key, the backup from before the erasure has the user in %v (%s)", found, failure)
	}
	must(t, s.Close())
	s = openErase(t, backedUpFor(data, backups, earlier)) // what was written is in tables now
	s.erase(t, ann)
	must(t, s.Close())
	must(t, os.Remove(earlier.file))

	s = openErase(t, backedUpFor(data, backups, later))
	after := s.backUp(t)
	must(t, s.Close())
	for _, place := range filesWith(t, backups, hasWord(canary)) {
		t.Errorf("a canary can be read in %s", place)
	}
	for name, flags := range map[string][]string{"no key": nil, "the next key": {"--identity", later.file}} {
		if _, failure := restoreBackup(t, backups, before, flags...); failure == "" {
			t.Errorf("with %s, the backup from before the erasure is restored", name)
		}
	}
	restored, failure := restoreBackup(t, backups, after, "--identity", later.file)
	if failure != "" {
		t.Fatal(failure)
	}
	for _, place := range append(stores(t, &eraseServer{data: restored}, canary), filesWith(t, restored, hasWord(canary))...) {
		t.Errorf("a canary is in what the next key restores, in %s", place)
	}
	s = openErase(t, backedUpFor(restored, backups, later))
	page, err := s.Chat().History(t.Context(), apptest.As(bob, &chatv1.HistoryRequest{Conversation: w.direct}))
	must(t, err)
	if !slices.ContainsFunc(page.Msg.Messages, func(m *chatv1.Message) bool { return m.Content.GetText() == "a word by bob" }) {
		t.Errorf("bob's message is not in %v", page.Msg.Messages)
	}
}
