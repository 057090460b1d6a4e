package faulttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/platform/backup"
	"github.com/rialto-im/rialto/internal/platform/datadir"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// backedUp is a server with a directory for backups, and a key for an operator.
type backedUp struct {
	*process
	backups, key string
}

func newBackedUp(t *testing.T) *backedUp {
	t.Helper()
	backups := filepath.Join(t.TempDir(), "backups")
	b := &backedUp{process: newProcess(t, "--set", "backup.directory="+backups, "--set", "backup.bytes_per_second=1000000000"), backups: backups}
	out, code := b.command("", "admin", "key", "create", "--data", b.dir, "--name", "olga", "--role", "operator")
	if code != 0 {
		t.Fatalf("exit code %d, want 0: %s", code, out)
	}
	b.key = regexp.MustCompile(`\S{20,}`).FindString(out)
	if !b.start("") {
		t.Fatal("the server did not start")
	}
	return b
}

// command runs a command of the program, and returns its output and exit code; -1 if it was killed at its failpoint.
func (b *backedUp) command(failpoint string, args ...string) (out string, code int) {
	b.t.Helper()
	return b.interruptible(nil, failpoint, args...)
}

// interruptible is command, which is interrupted when a channel is closed.
func (b *backedUp) interruptible(interrupt <-chan struct{}, failpoint string, args ...string) (out string, code int) {
	b.t.Helper()
	c, text := exec.Command(b.Path, args...), bytes.Buffer{}
	c.Env = append(os.Environ(), "RIALTO_FAILPOINT="+failpoint)
	c.Stdout, c.Stderr = &text, &text
	if err := c.Start(); err != nil {
		b.t.Fatal(err)
	}
	ended, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-interrupt:
			_ = c.Process.Signal(os.Interrupt) // it may have ended just now
		case <-ended:
		}
	}()
	err := c.Wait()
	close(ended)
	<-stopped
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		b.t.Fatal(err)
	}
	return text.String(), c.ProcessState.ExitCode()
}

// backup asks the server for a backup, and returns its id; "" if there is none, and what was said. It does not wait for a server that has died.
func (b *backedUp) backup() (id, said string) {
	b.t.Helper()
	out, code := b.interruptible(b.gone, "", "backup", "--url", b.url(), "--key", b.key, "--reason", "a test")
	m := regexp.MustCompile(`backup (\S+) is complete`).FindStringSubmatch(out)
	if code != 0 || m == nil {
		return "", out
	}
	return m[1], out
}

func (b *backedUp) mustBackup() string {
	b.t.Helper()
	id, said := b.backup()
	if id == "" {
		b.t.Fatalf("the backup printed no id: %s", said)
	}
	return id
}

// restore has the server, which is stopped, use the directory that a backup is restored in. What is restored keeps all guarantees.
func (b *backedUp) restore(id string) {
	b.t.Helper()
	to := filepath.Join(b.t.TempDir(), "restored")
	if out, code := b.command("", "restore", "--from", b.backups, "--backup", id, "--data", to); code != 0 {
		b.t.Fatalf("exit code %d, want 0: %s", code, out)
	}
	b.dir = to
	b.verify()
}

// A server under load is backed up, goes on, and is killed. Each backup is restored with all guarantees, and has everything that was acknowledged before
// it began.
func TestBackupsUnderLoad(t *testing.T) {
	b := newBackedUp(t)
	c := newChatters(t, b.url())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stop := make(chan struct{})
	group := c.chat(ctx, stop)
	type cut struct {
		id    string
		acked map[string]bool // "conversation seq id" of the messages that were acknowledged before
	}
	var cuts []cut
	for range 3 {
		if !c.until(c.acks.Load()+400, b.gone) {
			t.Fatal("the server died by itself")
		}
		before := map[string]bool{}
		for m, places := range c.history.Acknowledged() {
			before[fmt.Sprint(m.Conversation, " ", places[0].Seq, " ", places[0].ID)] = true
		}
		cuts = append(cuts, cut{b.mustBackup(), before})
	}
	if !c.until(c.acks.Load()+200, b.gone) {
		t.Fatal("the server died by itself")
	}
	close(stop)
	c.settle(b.gone)
	cancel()
	group.Wait()
	for _, v := range c.history.Check() {
		t.Error(v)
	}
	b.kill()
	for i, cut := range cuts {
		b.restore(cut.id)
		if !b.start("") {
			t.Fatal("the server did not start on what was restored")
		}
		found := map[string]bool{}
		for _, m := range c.members {
			for _, conversation := range m.to {
				for _, e := range historyOf(t, m.client, conversation) {
					found[fmt.Sprint(conversation, " ", e.Seq, " ", e.Id)] = true
				}
			}
		}
		missing := 0
		for place := range cut.acked {
			if !found[place] {
				missing++
			}
		}
		if missing > 0 || len(cut.acked) == 0 {
			t.Errorf("backup %d lacks %d of the %d messages that were acknowledged before it began", i, missing, len(cut.acked))
		}
		b.stop()
		b.verify()
	}
}

// historyOf reads all messages of a conversation, the oldest first.
func historyOf(t *testing.T, c *rialto.Client, conversation uint64) (all []*chatv1.Message) {
	t.Helper()
	for after := uint64(1); ; {
		r, err := c.Chat().History(t.Context(), connect.NewRequest(&chatv1.HistoryRequest{Conversation: conversation, After: after, Limit: 200}))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range r.Msg.Messages {
			all, after = append(all, m), m.Seq
		}
		if !r.Msg.More {
			return all
		}
	}
}

// shownOn are the messages that a device shows: those since the last reset.
type shownOn struct {
	mu     sync.Mutex // guards the fields below
	texts  []string
	resets int
}

func (s *shownOn) handle(e rialto.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Reset {
		s.texts, s.resets = nil, s.resets+1
	}
	if text := e.Message.GetContent().GetText(); text != "" {
		s.texts = append(s.texts, text)
	}
}

func (s *shownOn) is(resets int, texts ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resets == resets && slices.Equal(s.texts, texts)
}

// isReset reports whether a device was reset once, and shows fresh messages since, each once. Before them it may show the last ones that were stored before the
// backup: the server repeats those that its fan-out had not noted as done when the backup was made.
func (s *shownOn) isReset(before []string, fresh ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	repeated := len(s.texts) - len(fresh)
	return s.resets == 1 && repeated >= 0 && repeated <= len(before) && slices.Equal(s.texts, append(slices.Clone(before[len(before)-repeated:]), fresh...))
}

// A device that has seen more than the backup has, on a server that was started several times since, is reset once. It then gets each new message once, although
// these have the seqs of messages that it has seen. A device that was not connected since the backup misses nothing either.
func TestADeviceThatHasSeenMoreThanTheBackup(t *testing.T) {
	b := newBackedUp(t)
	shown := &shownOn{}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("bob was reset %d times, and shows %q since", shown.resets, shown.texts)
		}
	})
	alice := person(t, b.process, "alice")
	bob, err := rialto.New(rialto.Config{URL: b.url(), MaxWait: 20 * time.Millisecond, Logger: quiet(), Handler: shown.handle})
	if err != nil {
		t.Fatal(err)
	}
	if err := bob.Register(t.Context(), "bob", "a good password", "bob"); err != nil {
		t.Fatal(err)
	}
	r, err := alice.Chat().OpenDirect(t.Context(), connect.NewRequest(&chatv1.OpenDirectRequest{User: bob.User()}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- bob.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want none or %v", err, context.Canceled)
		}
	}()
	send := func(from, to int) (texts []string) {
		t.Helper()
		for n := from; n < to; n++ {
			eventually.True(t, "a message is sent", func() bool { return sendBy(t, alice, r.Msg.Id, n) == nil })
			texts = append(texts, fmt.Sprint("message ", n))
		}
		return texts
	}
	kept := send(0, 10)
	eventually.True(t, "bob has the messages before the backup", func() bool { return shown.is(0, kept...) })
	id := b.mustBackup()
	lost := send(10, 30)
	eventually.True(t, "bob has the messages after the backup", func() bool { return shown.is(0, append(slices.Clone(kept), lost...)...) })
	for n := range 3 { // each start begins an epoch
		b.stop()
		if !b.start("") {
			t.Fatal("the server did not start again")
		}
		lost = append(lost, send(30+n, 31+n)...)
		eventually.True(t, "bob follows", func() bool { return shown.is(0, append(slices.Clone(kept), lost...)...) })
	}
	b.kill()
	b.restore(id)
	if !b.start("") {
		t.Fatal("the server did not start on what was restored")
	}
	eventually.True(t, "bob is reset", func() bool { return shown.isReset(kept) })
	fresh := send(100, 125)
	eventually.True(t, "bob has each new message once", func() bool { return shown.isReset(kept, fresh...) })
	var stored []string
	for _, m := range historyOf(t, bob, r.Msg.Id) {
		stored = append(stored, m.Content.GetText())
	}
	if want := append(slices.Clone(kept), fresh...); !slices.Equal(stored, want) {
		t.Errorf("bob reads %v, want %v", stored, want)
	}
	b.stop()
	if !b.start("") { // nobody is reset again
		t.Fatal("the server did not start again")
	}
	fresh = append(fresh, send(200, 205)...)
	eventually.True(t, "bob has what comes after another start", func() bool { return shown.isReset(kept, fresh...) })
	b.stop()
	b.verify()
}

// The server is killed at each failpoint of a backup. Then there is no backup, or a whole one, and the next one is whole. The server starts again, and removes what
// the killed one has left.
func TestKilledDuringABackup(t *testing.T) {
	b := newBackedUp(t)
	alice, bob := b.register("alice"), b.register("bob")
	r, err := alice.Chat().OpenDirect(t.Context(), connect.NewRequest(&chatv1.OpenDirectRequest{User: bob.User()}))
	if err != nil {
		t.Fatal(err)
	}
	sent := 0
	send := func() {
		t.Helper()
		for range 20 {
			if err := sendBy(t, alice, r.Msg.Id, sent); err != nil {
				t.Fatal(err)
			}
			sent++
		}
	}
	send()
	whole := []string{b.mustBackup()}
	for _, failpoint := range []string{"backup/after-cut", "backup/after-part", "backup/after-file:1", "backup/after-file:3", "backup/before-manifest", "backup/after-manifest"} {
		b.stop()
		if !b.start(failpoint) {
			t.Fatal("the server did not start again")
		}
		send()
		if id, said := b.backup(); id != "" {
			t.Errorf("%s was not reached: %s", failpoint, said)
		}
		<-b.gone
		_, err := os.Stat(filepath.Join(b.dir, datadir.BackupDir))
		if err != nil && failpoint != "backup/before-manifest" && failpoint != "backup/after-manifest" {
			t.Errorf("killed at %s, there are no links: %v", failpoint, err)
		}
		if !b.start("") {
			t.Fatal("the server did not start again")
		}
		if _, err := os.Stat(filepath.Join(b.dir, datadir.BackupDir)); err == nil {
			t.Errorf("killed at %s, the links of a backup stay", failpoint)
		}
		list, err := backup.List(t.Context(), backup.Config{Directory: b.backups})
		want := len(whole)
		if failpoint == "backup/after-manifest" {
			want++
		}
		if err != nil || len(list) != want {
			t.Fatalf("killed at %s, the backups are %v, want %d: %v", failpoint, list, want, err)
		}
		for _, s := range list {
			if out, code := b.command("", "restore", "--from", b.backups, "--backup", s.ID, "--check"); code != 0 {
				t.Errorf("killed at %s: %s", failpoint, out)
			}
		}
		whole = append(whole[:0:0], idsOf(list)...)
		whole = append(whole, b.mustBackup())
	}
	b.kill()
	b.restore(whole[len(whole)-1])
	if !b.start("") {
		t.Fatal("the server did not start on what was restored")
	}
	if got := texts(t, alice, r.Msg.Id); len(got) != sent {
		t.Errorf("%d messages were restored, want %d", len(got), sent)
	}
}

func idsOf(list []backup.Summary) (ids []string) {
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	return ids
}

// A restore that is killed leaves a directory that no server accepts, and that is not restored into. Another directory can be.
func TestKilledDuringARestore(t *testing.T) {
	b := newBackedUp(t)
	alice, bob := b.register("alice"), b.register("bob")
	r, err := alice.Chat().OpenDirect(t.Context(), connect.NewRequest(&chatv1.OpenDirectRequest{User: bob.User()}))
	if err != nil {
		t.Fatal(err)
	}
	if err := sendBy(t, alice, r.Msg.Id, 0); err != nil {
		t.Fatal(err)
	}
	id := b.mustBackup()
	b.stop()
	original := b.dir
	for _, failpoint := range []string{"restore/after-file:1", "restore/after-file:3", "restore/before-adopt"} {
		to := filepath.Join(t.TempDir(), "restored")
		if out, code := b.command(failpoint, "restore", "--from", b.backups, "--backup", id, "--data", to); code != -1 {
			t.Errorf("%s was not reached: %d %s", failpoint, code, out)
		}
		b.dir = to
		if b.start("") {
			t.Errorf("killed at %s, the directory is served", failpoint)
			b.kill()
		}
		if out, code := b.command("", "restore", "--from", b.backups, "--data", to); code != 1 || !strings.Contains(out, "not empty") {
			t.Errorf("killed at %s, another restore into it exits with %d: %s", failpoint, code, out)
		}
	}
	b.dir = original
	b.restore(id)
}

// While a server uses a directory, the command line says how to ask it. Afterwards it backs the directory up by itself. Only an operator's key is accepted.
func TestWhoMayAskForABackup(t *testing.T) {
	b := newBackedUp(t)
	b.register("alice")
	own := filepath.Join(t.TempDir(), "own")
	if out, code := b.command("", "backup", "--data", b.dir, "--to", own); code != 1 || !strings.Contains(out, "rialto backup --url") {
		t.Errorf("a backup of a directory in use exits with %d: %s", code, out)
	}
	auditor, code := b.command("", "admin", "key", "create", "--data", b.dir, "--name", "adam", "--role", "auditor")
	if code != 0 {
		t.Fatalf("exit code %d, want 0: %s", code, auditor)
	}
	for key, want := range map[string]string{"wrong": "does not accept this key", regexp.MustCompile(`\S{20,}`).FindString(auditor): "role operator"} {
		if out, code := b.command("", "backup", "--url", b.url(), "--key", key); code != 1 || !strings.Contains(out, want) {
			t.Errorf("a backup with the key %q exits with %d: %s", key, code, out)
		}
	}
	b.stop()
	out, code := b.command("", "backup", "--data", b.dir, "--to", own)
	if code != 0 || !strings.Contains(out, "is complete in "+own) {
		t.Errorf("a backup of a stopped server exits with %d: %s", code, out)
	}
	if out, code := b.command("", "backup", "--to", own, "--list"); code != 0 || strings.Count(out, "as of") != 1 {
		t.Errorf("the list exits with %d: %s", code, out)
	}
	marker := filepath.Join(b.dir, datadir.MarkerFile)
	was, err := os.ReadFile(marker)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(marker, bytes.Repeat([]byte{0}, len(was)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := b.command("", "backup", "--data", b.dir, "--to", own); code != 1 || !strings.Contains(out, "is damaged") {
		t.Errorf("a backup of a damaged directory exits with %d: %s", code, out)
	}
	if out, code := b.command("", "restore", "--from", own, "--data", filepath.Join(t.TempDir(), "restored")); code != 0 {
		t.Errorf("exit code %d, want 0: %s", code, out)
	}
}
