package faulttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/blob/s3blob/s3test"
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	notificationv1 "github.com/rialto-im/rialto/sdk/go/gen/notification/v1"
)

// device is a user's client that runs and stops as the test says, and shows messages.
type device struct {
	*rialto.Client
	shown *shownOn
	stop  func()
}

func newDevice(t *testing.T, b *backedUp, handle string) *device {
	t.Helper()
	d := deviceOn(t, b, rialto.NewMemoryStore())
	if err := d.Register(t.Context(), handle, "a good password", handle); err != nil {
		t.Fatal(err)
	}
	return d
}

// deviceOn has what a device has stored.
func deviceOn(t *testing.T, b *backedUp, store rialto.Store) *device {
	t.Helper()
	d := &device{shown: &shownOn{}}
	c, err := rialto.New(rialto.Config{URL: b.url(), MaxWait: 20 * time.Millisecond, Logger: quiet(), Store: store, Handler: d.shown.handle})
	if err != nil {
		t.Fatal(err)
	}
	d.Client = c
	return d
}

func (d *device) start(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	d.stop = func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want none or %v", err, context.Canceled)
		}
		d.stop = func() {}
	}
	t.Cleanup(func() { d.stop() })
}

// state returns the user's state of a conversation, and its last seq.
func (d *device) state(t *testing.T, conversation uint64) *chatv1.Conversation {
	t.Helper()
	c, err := d.Chat().GetConversation(t.Context(), connect.NewRequest(&chatv1.GetConversationRequest{Conversation: conversation}))
	if err != nil {
		t.Fatal(err)
	}
	return c.Msg
}

// intoBucket has the backups of a server written to a bucket, encrypted. It returns the flags of a restore.
func intoBucket(t *testing.T, b *backedUp) (flags []string) {
	t.Helper()
	server := s3test.Start(t)
	b.backups = "s3://" + server.Bucket(t) + "/backups"
	flags = []string{"--set", "backup.s3.endpoint=" + server.Endpoint, "--set", "backup.s3.access_key=" + server.AccessKey, "--set", "backup.s3.secret_key=" + server.SecretKey}
	b.args = append(append(b.args, flags...), "--set", "backup.directory="+b.backups)
	return append(flags, encrypted(t, b)...)
}

// encrypted has the backups of a server encrypted. It returns the flags of a restore.
func encrypted(t *testing.T, b *backedUp) (flags []string) {
	t.Helper()
	key := filepath.Join(t.TempDir(), "backup.key")
	out, code := b.command("", "backup", "--new-key", key)
	recipient := regexp.MustCompile(`age1\S+`).FindString(out)
	if code != 0 || recipient == "" {
		t.Fatalf("exit code %d, recipient %q; want 0 and a recipient: %s", code, recipient, out)
	}
	b.args = append(b.args, "--set", "backup.recipients="+recipient)
	return []string{"--identity", key}
}

// restoredOn is a test of what devices bring to a server that was restored: what they know, and what waits, is partly of lost messages.
type restoredOn struct {
	*testing.T
	b                  *backedUp
	alice, bob, reader *device
	chat, notices      uint64
	sent               int
	texts              []string // of chat, those that are stored
	flags              []string // of a restore
}

func (r *restoredOn) send(n int) {
	r.Helper()
	for range n {
		if err := sendBy(r.T, r.alice.Client, r.chat, r.sent); err != nil {
			r.Fatal(err)
		}
		r.texts = append(r.texts, fmt.Sprint("message ", r.sent))
		r.sent++
	}
}

func (r *restoredOn) notice(text string) {
	r.Helper()
	if _, err := r.alice.Chat().Send(r.Context(), connect.NewRequest(&chatv1.SendRequest{Conversation: r.notices, ClientMsgId: text, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}}})); err != nil {
		r.Fatal(err)
	}
}

func (r *restoredOn) restore(id string) {
	r.Helper()
	to := filepath.Join(r.TempDir(), "restored")
	if out, code := r.b.command("", append([]string{"restore", "--from", r.b.backups, "--backup", id, "--data", to}, r.flags...)...); code != 0 {
		r.Fatalf("exit code %d, want 0: %s", code, out)
	}
	r.b.dir = to
	r.b.verify()
	if !r.b.start("") {
		r.Fatal("the server did not start on what was restored")
	}
}

// newRestoredOn starts a server with three users. change, which may be nil, changes its settings of backups, and returns the flags of a restore.
func newRestoredOn(t *testing.T, change func(*testing.T, *backedUp) []string) *restoredOn {
	r := &restoredOn{T: t, b: newBackedUp(t)}
	if change != nil {
		r.b.stop()
		r.flags = change(t, r.b)
		if !r.b.start("") {
			t.Fatal("the server did not start again")
		}
	}
	r.alice, r.bob, r.reader = newDevice(t, r.b, "alice"), newDevice(t, r.b, "bob"), newDevice(t, r.b, "reader")
	direct, err := r.alice.Chat().OpenDirect(t.Context(), connect.NewRequest(&chatv1.OpenDirectRequest{User: r.bob.User()}))
	if err != nil {
		t.Fatal(err)
	}
	r.chat = direct.Msg.Id
	out, code := r.b.command("", "admin", "key", "create", "--data", r.b.dir, "--name", "app")
	if code != 0 {
		t.Fatalf("exit code %d, want 0: %s", code, out)
	}
	made, err := rialto.CreateNotices(t.Context(), rialto.NoticesConfig{URL: r.b.url(), APIKey: strings.TrimSpace(out), Owner: r.alice.User(), Title: "News", Key: "news"})
	if err != nil {
		t.Fatal(err)
	}
	r.notices = made.Id
	return r
}

// A device that has seen more than the backup comes back with all that waits on it. It is reset once. What it had read, and what it wanted to change, of lost
// messages does not happen to those that have their numbers now; what it had not sent arrives once. Whoever has messages only of a channel is reset as well.
// Incremental backups on a disk, encrypted ones there, and encrypted ones in a bucket.
func TestWhatDevicesBringToARestoredServer(t *testing.T) {
	for name, change := range map[string]func(*testing.T, *backedUp) []string{"disk": nil, "encrypted": encrypted, "bucket": intoBucket} {
		t.Run(name, func(t *testing.T) {
			r := newRestoredOn(t, change)
			r.reader.start(t)
			r.bob.start(t)
			r.notice("the first notice")
			eventually.True(t, "the reader follows the notices", func() bool { return r.reader.state(t, r.notices).LastSeq > 0 })
			r.b.mustBackup()
			r.send(10)
			kept := slices.Clone(r.texts)
			eventually.True(t, "bob has all", func() bool { return r.bob.shown.hasChat(kept) })
			last := r.bob.state(t, r.chat).LastSeq
			r.bob.Mark(r.chat, last-4, last-4) // 4 are unread
			eventually.True(t, "bob's cursor is stored", func() bool { return r.bob.state(t, r.chat).State.GetReadSeq() == last-4 })
			id := r.b.mustBackup()
			r.send(20)
			r.notice("a lost notice")
			eventually.True(t, "the reader has the lost notice", func() bool { return r.reader.shown.has("a lost notice") })
			eventually.True(t, "bob has all", func() bool { return r.bob.shown.hasChat(r.texts) })
			r.bob.Mark(r.chat, last+20, last+20)
			eventually.True(t, "bob's cursor is stored", func() bool { return r.bob.state(t, r.chat).State.GetReadSeq() == last+20 })
			r.bob.stop()
			r.b.kill()
			waits := r.bob.bringLost(r.chat, last)
			r.texts = kept
			r.restore(id)
			r.send(20) // with the numbers of those that bob knows
			r.bob.start(t)
			if err := r.bob.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			for name, wait := range waits {
				if _, err := wait(t.Context()); rialto.Reason(err) != "no_message" {
					t.Errorf("%s of a message that may be lost ended with %v", name, err)
				}
			}
			r.notice("a fresh notice") // with the number of the lost one
			eventually.True(t, "the reader shows the fresh notice", func() bool { return r.reader.shown.has("a fresh notice") })
			if n := r.reader.shown.count("a fresh notice"); n != 1 || r.reader.shown.resetTimes() != 1 {
				t.Errorf("the reader shows the fresh notice %d times, and was reset %d times", n, r.reader.shown.resetTimes())
			}
			for range 2 { // also on the connection after the next start
				r.checkRestored(last)
				r.b.stop()
				if !r.b.start("") {
					t.Fatal("the server did not start again")
				}
				r.send(1)
				eventually.True(t, "bob shows the new message", func() bool { return r.bob.shown.has(r.texts[len(r.texts)-1]) })
			}
			r.bob.stop()
			r.reader.stop()
			r.b.stop()
			r.b.verify()
		})
	}
}

// bringLost queues what concerns a message that only this device has, and what does not. It returns what waits for answers.
func (d *device) bringLost(chat, last uint64) map[string]func(context.Context) (*gatewayv1.Receipt, error) {
	lost := &chatv1.Ref{Seq: last + 5}
	text := func(text string, to *chatv1.Ref) *chatv1.Content {
		return &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}, ReplyTo: to}
	}
	d.Queue(chat, text("unsent", nil))
	d.Queue(chat, text("an answer", lost))
	d.Mark(chat, last+20, last+20)
	return map[string]func(context.Context) (*gatewayv1.Receipt, error){
		"a reaction": d.Queue(chat, &chatv1.Content{Kind: &chatv1.Content_Reaction{Reaction: &chatv1.Reaction{Target: lost, Emoji: "👍"}}}),
		"a pin":      d.Queue(chat, &chatv1.Content{Kind: &chatv1.Content_Pin{Pin: &chatv1.Pin{Target: lost}}}),
	}
}

// checkRestored compares what bob shows and what the server has with what was sent.
func (r *restoredOn) checkRestored(last uint64) {
	r.Helper()
	stored := map[string]int{}
	for _, m := range historyOf(r.T, r.bob.Client, r.chat) {
		if m.Reactions != nil || m.Pinned || m.Content.GetReplyTo() != nil {
			r.Errorf("what was meant for a lost message happened to %v", m)
		}
		if text := m.Content.GetText(); text != "" {
			stored[text]++
		}
	}
	for _, text := range append(slices.Clone(r.texts), "unsent", "an answer") {
		if stored[text] != 1 {
			r.Errorf("%q is stored %d times", text, stored[text])
		}
		if n := r.bob.shown.count(text); n > 1 || n == 0 && !slices.Contains(r.texts[:30], text) { // those from before the reset are read by the program
			r.Errorf("bob shows %q %d times", text, n)
		}
	}
	if len(stored) != len(r.texts)+2 {
		r.Errorf("%d messages are stored, want %d", len(stored), len(r.texts)+2)
	}
	if n := r.bob.shown.resetTimes(); n != 1 {
		r.Errorf("bob was reset %d times", n)
	}
	if read := r.bob.state(r.T, r.chat).State.GetReadSeq(); read > last+22 || read < last-4 {
		r.Errorf("bob's cursor is at %d", read)
	}
}

// hasChat reports whether a device that was not reset shows these messages of the chat, beside notices.
func (s *shownOn) hasChat(texts []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var chat []string
	for _, text := range s.texts {
		if strings.HasPrefix(text, "message ") {
			chat = append(chat, text)
		}
	}
	return s.resets == 0 && slices.Equal(chat, texts)
}

func (s *shownOn) has(text string) bool { return s.count(text) > 0 }

func (s *shownOn) count(text string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.texts {
		if t == text {
			n++
		}
	}
	return n
}

func (s *shownOn) resetTimes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resets
}

// What is not in the stream comes back as well: an upload goes on with the parts that the backup has, timelines have what it has and then new posts, notifications
// that were lost are not counted, a draft that waits on a device wins, and presence is as it is now.
func TestWhatElseComesBackFromABackup(t *testing.T) {
	r := newRestoredOn(t, nil)
	file := bytes.Repeat([]byte("0123456789abcdef"), 1<<20) // 16 MiB
	stopAfter := func(parts int64) *cutReader {
		return &cutReader{Reader: bytes.NewReader(file), left: parts << 23}
	}
	var begun uint64
	upload := func(from *cutReader, more uint64) (*chatv1.Upload, error) {
		return r.bob.UploadFile(t.Context(), "film", "application/octet-stream", int64(len(file)), from, rialto.UploadOptions{Upload: more, Parallel: 1, Begun: func(id uint64) { begun = id }})
	}
	if _, err := upload(stopAfter(1), 0); err == nil {
		t.Fatal("the upload was not interrupted")
	}
	first := begun
	follow(t, r.reader, r.alice)
	post(t, r.alice, "a kept post")
	if err := r.bob.SetDraft(r.chat, "before"); err != nil {
		t.Fatal(err)
	}
	if err := r.bob.FlushDrafts(t.Context()); err != nil {
		t.Fatal(err)
	}
	id := r.b.mustBackup()
	if _, err := upload(stopAfter(2), first); err != nil {
		t.Fatal(err)
	}
	if _, err := upload(stopAfter(1), 0); err == nil {
		t.Fatal("the upload was not interrupted")
	}
	second := begun
	post(t, r.alice, "a lost post")
	eventually.True(t, "the reader has both posts", func() bool { return slices.Equal(timelineOf(t, r.reader), []string{"a lost post", "a kept post"}) })
	r.b.kill()
	if err := r.bob.SetDraft(r.chat, "typed meanwhile"); err != nil {
		t.Fatal(err)
	}
	r.restore(id)
	if _, err := upload(stopAfter(2), first); err != nil {
		t.Errorf("an upload of which the backup has a part does not go on: %v", err)
	}
	if _, err := upload(stopAfter(2), second); rialto.Reason(err) != "no_upload" {
		t.Errorf("an upload that was lost goes on: %v", err)
	}
	if _, err := upload(stopAfter(2), 0); err != nil {
		t.Errorf("a new upload: %v", err)
	}
	if got := timelineOf(t, r.reader); !slices.Equal(got, []string{"a kept post"}) {
		t.Errorf("the timeline has %q", got)
	}
	post(t, r.alice, "a new post")
	eventually.True(t, "the timeline has the new post once", func() bool { return slices.Equal(timelineOf(t, r.reader), []string{"a new post", "a kept post"}) })
	r.bob.start(t)
	eventually.True(t, "the draft is told", func() bool { return r.bob.state(t, r.chat).State.GetDraft() == "typed meanwhile" })
	unread, err := r.alice.Notification().UnreadNotifications(t.Context(), connect.NewRequest(&notificationv1.UnreadNotificationsRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	list, err := r.alice.Notification().ListNotifications(t.Context(), connect.NewRequest(&notificationv1.ListNotificationsRequest{Limit: 50}))
	if err != nil {
		t.Fatal(err)
	}
	if int(unread.Msg.Count) != len(list.Msg.Notifications) {
		t.Errorf("%d notifications are unread, of %d", unread.Msg.Count, len(list.Msg.Notifications))
	}
	r.bob.stop()
	r.b.stop()
	r.b.verify()
}

// cutReader reads from a file until so many bytes are read.
type cutReader struct {
	*bytes.Reader
	left int64
}

func (c *cutReader) ReadAt(p []byte, at int64) (int, error) {
	if c.left -= int64(len(p)); c.left < 0 {
		return 0, errors.New("the device was switched off")
	}
	return c.Reader.ReadAt(p, at)
}

func follow(t *testing.T, who, author *device) {
	t.Helper()
	if _, err := who.Graph().Follow(t.Context(), connect.NewRequest(&accountv1.FollowRequest{User: author.User()})); err != nil {
		t.Fatal(err)
	}
}

func post(t *testing.T, author *device, text string) {
	t.Helper()
	if _, err := author.Feed().Publish(t.Context(), connect.NewRequest(&feedv1.PublishRequest{Content: &feedv1.PostContent{Text: text}, ClientPostId: text})); err != nil {
		t.Fatal(err)
	}
}

// timelineOf reads the texts of a home timeline, the newest first.
func timelineOf(t *testing.T, d *device) (all []string) {
	t.Helper()
	r, err := d.Feed().HomeTimeline(t.Context(), connect.NewRequest(&feedv1.HomeTimelineRequest{Limit: 50}))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Msg.Posts {
		all = append(all, p.Content.GetText())
	}
	return all
}
