package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/service/schedule"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// desk is a schedule above a chat that stores each client message id once, as the log does. The tests call SendDue instead of Run.
type desk struct {
	t *testing.T
	*schedule.Service
	nowMs  int64
	nextID uint64

	refuse, fail error // of the check, and of sends
	onCheck      func()
	afterSend    func()
	attempts     int
	stored       []string // texts, in order
	ids          map[string]bool

	lost bool     // KeepUploads refuses
	kept []string // what KeepUploads keeps, with hours from the start of the test
}

func (d *desk) Now() time.Time                       { return time.UnixMilli(d.nowMs) }
func (d *desk) Next(context.Context) (uint64, error) { d.nextID++; return d.nextID, nil }

func (d *desk) CheckScheduled(_ context.Context, m *message.Draft) error {
	if m.Conversation != 7 {
		return errs.New(errs.NotFound, "no_conversation", "")
	}
	if d.onCheck != nil {
		d.onCheck()
	}
	if d.refuse != nil {
		return d.refuse
	}
	return d.CheckDraft(m)
}

func (d *desk) CheckDraft(m *message.Draft) error {
	var c chatv1.Content
	if err := proto.Unmarshal(m.Content, &c); err != nil {
		return err
	}
	if n := c.GetFile().GetUpload(); n != 0 {
		m.Uploads = []id.Upload{id.Upload(n)}
	}
	return nil
}

func (d *desk) KeepUploads(_ context.Context, by id.User, uploads []id.Upload, sendMs int64) error {
	if d.lost {
		return errs.New(errs.NotFound, "no_upload", "")
	}
	d.kept = append(d.kept, fmt.Sprint(by, uploads, (sendMs-startMs)/time.Hour.Milliseconds()))
	return nil
}

func (d *desk) Send(_ context.Context, m *message.Draft) error {
	d.attempts++
	if d.fail != nil {
		return d.fail
	}
	key := fmt.Sprint(m.Sender, m.Device, m.ClientMsgID)
	if !d.ids[key] {
		text, _ := message.TextOf(m.Content)
		d.stored = append(d.stored, string(text))
	}
	d.ids[key] = true
	if d.afterSend != nil {
		d.afterSend()
	}
	return nil
}

const startMs = 1_800_000_000_000

func open(t *testing.T) *desk {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqltest.Place(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	d := &desk{t: t, nowMs: startMs, ids: map[string]bool{}}
	d.Service, err = schedule.New(t.Context(), schedule.Deps{DB: db, Chat: d, IDs: d, KeepUploads: d.KeepUploads, Clock: d, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

var ann, bob = id.Caller{User: 1, Device: 10}, id.Caller{User: 2, Device: 20}

func text(s string) *chatv1.Content { return &chatv1.Content{Kind: &chatv1.Content_Text{Text: s}} }

func (d *desk) schedule(by id.Caller, clientID, body string, in time.Duration) (*chatv1.ScheduledMessage, error) {
	return d.ScheduleMessage(d.t.Context(), by, &chatv1.ScheduleMessageRequest{Conversation: 7, ClientMsgId: clientID, Content: text(body), SendMs: d.nowMs + in.Milliseconds()})
}

func (d *desk) must(m *chatv1.ScheduledMessage, err error) *chatv1.ScheduledMessage {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
	return m
}

func (d *desk) pass(by time.Duration) {
	d.t.Helper()
	d.nowMs += by.Milliseconds()
	if err := d.SendDue(context.WithoutCancel(d.t.Context())); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) check(want ...string) {
	d.t.Helper()
	if !slices.Equal(d.stored, want) {
		d.t.Errorf("stored %v, want %v", d.stored, want)
	}
}

func (d *desk) list(by id.Caller) (lines []string) {
	d.t.Helper()
	for page := ""; ; {
		r, err := d.ListScheduled(d.t.Context(), by, &chatv1.ListScheduledRequest{Conversation: 7, Limit: 2, Page: page})
		if err != nil {
			d.t.Fatal(err)
		}
		for _, m := range r.Messages {
			lines = append(lines, m.Content.GetText()+m.Failed)
		}
		if page = r.Next; page == "" {
			return lines
		}
	}
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return errs.Of(err).Reason
}

// Messages are sent at their times, in the order of the times, and not before.
func TestMessagesAreSentAtTheirTimes(t *testing.T) {
	d := open(t)
	d.must(d.schedule(ann, "c", "third", 3*time.Hour))
	d.must(d.schedule(ann, "a", "first", time.Hour))
	d.must(d.schedule(ann, "b", "second", 2*time.Hour))
	if got, want := d.list(ann), []string{"first", "second", "third"}; !slices.Equal(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
	d.pass(time.Hour - time.Millisecond)
	d.check()
	d.pass(time.Millisecond)
	d.check("first")
	d.pass(-30 * time.Minute) // the clock is set back: nothing is repeated
	d.check("first")
	d.pass(10 * time.Hour) // and ahead: what is due is sent, in order
	d.check("first", "second", "third")
	if got := d.list(ann); len(got) > 0 {
		t.Errorf("left: %v", got)
	}
}

// A node that dies after its message was stored, and before the row is gone, leaves it to another one, which stores it no second time.
func TestACrashAfterTheSendRepeatsNothing(t *testing.T) {
	d := open(t)
	d.must(d.schedule(ann, "a", "once", time.Minute))
	ctx, crash := context.WithCancel(t.Context())
	d.afterSend = crash
	d.nowMs += time.Minute.Milliseconds()
	if err := d.SendDue(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("the first round: %v", err)
	}
	m := d.list(ann)
	if !slices.Equal(m, []string{"once"}) {
		t.Fatalf("the crash left %v", m)
	}
	// It may be in the conversation: it can no longer be changed or cancelled.
	if err := d.CancelScheduled(t.Context(), ann, 1); reason(err) != "already_sending" {
		t.Errorf("cancelling: %v", err)
	}
	if _, err := d.UpdateScheduled(t.Context(), ann, &chatv1.UpdateScheduledRequest{Id: 1, Content: text("twice")}); reason(err) != "already_sending" {
		t.Errorf("changing: %v", err)
	}
	d.afterSend = nil
	d.pass(time.Second)
	if d.check("once"); d.attempts != 2 {
		t.Errorf("%d attempts", d.attempts)
	}
	// A retry of the call, which the sender has no answer to, sends nothing again either.
	d.must(d.schedule(ann, "a", "once", time.Minute))
	d.pass(time.Hour)
	d.check("once")
}

// After an acknowledged change or cancellation only that holds.
func TestChangesAndCancellations(t *testing.T) {
	d := open(t)
	first := d.must(d.schedule(ann, "a", "old text", time.Hour))
	if again := d.must(d.schedule(ann, "a", "old text", time.Hour)); again.Id != first.Id {
		t.Errorf("a retry made another one: %v", again)
	}
	second := d.must(d.schedule(ann, "b", "never", time.Hour))
	if _, err := d.UpdateScheduled(t.Context(), ann, &chatv1.UpdateScheduledRequest{Id: first.Id, Content: text("new text"), SendMs: d.nowMs + 2*time.Hour.Milliseconds()}); err != nil {
		t.Fatal(err)
	}
	if err := d.CancelScheduled(t.Context(), ann, second.Id); err != nil {
		t.Fatal(err)
	}
	d.pass(90 * time.Minute)
	d.check()
	d.pass(time.Hour)
	d.check("new text")
	if err := d.CancelScheduled(t.Context(), ann, first.Id); reason(err) != "no_scheduled" {
		t.Errorf("cancelling what was sent: %v", err)
	}
}

// One device changes the text while another one changes the time: both hold.
func TestChangesOfTwoDevicesAtOnceBothHold(t *testing.T) {
	d := open(t)
	m := d.must(d.schedule(ann, "a", "old text", time.Hour))
	d.onCheck = func() { // the other device's change comes between the read and the write
		d.onCheck = nil
		d.must(d.UpdateScheduled(t.Context(), ann, &chatv1.UpdateScheduledRequest{Id: m.Id, SendMs: d.nowMs + 2*time.Hour.Milliseconds()}))
	}
	after := d.must(d.UpdateScheduled(t.Context(), ann, &chatv1.UpdateScheduledRequest{Id: m.Id, Content: text("new text")}))
	if got, want := after.SendMs, d.nowMs+2*time.Hour.Milliseconds(); got != want || after.Content.GetText() != "new text" {
		t.Errorf("sent at %d, want %d; the text is %q", got, want, after.Content.GetText())
	}
	d.pass(90 * time.Minute)
	d.check()
	d.pass(time.Hour)
	d.check("new text")
}

// The files of a message are kept until its time, also if the time, or the content, is changed. One that its sender may not send is refused at once.
func TestFilesOfScheduledMessagesAreKept(t *testing.T) {
	d := open(t)
	file := func(upload uint64) *chatv1.Content {
		return &chatv1.Content{Kind: &chatv1.Content_File{File: &chatv1.Media{Upload: upload}}}
	}
	in := func(hours int64) int64 { return startMs + hours*time.Hour.Milliseconds() }
	request := &chatv1.ScheduleMessageRequest{Conversation: 7, ClientMsgId: "f", Content: file(5), SendMs: in(1)}
	m := d.must(d.ScheduleMessage(t.Context(), ann, request))
	d.must(d.schedule(ann, "t", "a text", time.Hour))
	d.must(d.UpdateScheduled(t.Context(), ann, &chatv1.UpdateScheduledRequest{Id: m.Id, SendMs: in(2000)}))
	d.must(d.UpdateScheduled(t.Context(), ann, &chatv1.UpdateScheduledRequest{Id: m.Id, Content: file(6)}))
	d.must(d.UpdateScheduled(t.Context(), ann, &chatv1.UpdateScheduledRequest{Id: m.Id, Content: file(7), SendMs: in(3)}))
	if want := []string{"1 [5] 1", "1 [5] 2000", "1 [6] 2000", "1 [7] 3"}; !slices.Equal(d.kept, want) {
		t.Errorf("kept %q, want %q", d.kept, want)
	}
	d.lost = true
	request.ClientMsgId = "lost"
	if _, err := d.ScheduleMessage(t.Context(), ann, request); reason(err) != "no_upload" {
		t.Errorf("a file that is gone: %v", err)
	}
	if _, err := d.UpdateScheduled(t.Context(), ann, &chatv1.UpdateScheduledRequest{Id: m.Id, SendMs: in(4)}); reason(err) != "no_upload" {
		t.Errorf("another time for a file that is gone: %v", err)
	}
}

// Nobody sees, changes or cancels another user's messages, or learns that they exist.
func TestForeignIDsAreRefused(t *testing.T) {
	d := open(t)
	m := d.must(d.schedule(ann, "a", "ann's", time.Hour))
	if got := d.list(bob); len(got) > 0 {
		t.Errorf("bob lists %v", got)
	}
	for _, scheduled := range []uint64{m.Id, m.Id + 1} {
		if err := d.CancelScheduled(t.Context(), bob, scheduled); reason(err) != "no_scheduled" {
			t.Errorf("cancelling %d: %v", scheduled, err)
		}
		if _, err := d.UpdateScheduled(t.Context(), bob, &chatv1.UpdateScheduledRequest{Id: scheduled, Content: text("bob's")}); reason(err) != "no_scheduled" {
			t.Errorf("changing %d: %v", scheduled, err)
		}
	}
	if _, err := d.ScheduleMessage(t.Context(), bob, &chatv1.ScheduleMessageRequest{Conversation: 8, ClientMsgId: "b", Content: text("x"), SendMs: d.nowMs + 1}); reason(err) != "no_conversation" {
		t.Errorf("in another conversation: %v", err)
	}
	d.pass(time.Hour)
	d.check("ann's")
}

// Whether the sender may write counts when the message is sent. One that is refused stays, with the reason, and holds up no other.
func TestRefusedMessagesStayAndHoldUpNoOther(t *testing.T) {
	d := open(t)
	m := d.must(d.schedule(ann, "a", "blocked now", time.Hour))
	d.must(d.schedule(bob, "b", "bob's", 2*time.Hour))
	d.fail = errs.New(errs.Denied, "blocked", "")
	d.pass(time.Hour)
	if got := d.list(ann); !slices.Equal(got, []string{"blocked nowblocked"}) {
		t.Errorf("listed %v", got)
	}
	d.fail = nil
	d.pass(time.Hour)
	d.check("bob's")
	if _, err := d.UpdateScheduled(t.Context(), ann, &chatv1.UpdateScheduledRequest{Id: m.Id, SendMs: d.nowMs + 1}); err != nil {
		t.Fatal(err)
	}
	d.pass(time.Second)
	d.check("bob's", "blocked now")
}

// A message that cannot be stored for now is sent later, once, and another one is not held up meanwhile.
func TestAMessageThatCannotBeStoredNowIsSentLater(t *testing.T) {
	d := open(t)
	d.must(d.schedule(ann, "a", "late", time.Hour))
	d.fail = &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "", Retry: time.Second}
	d.pass(time.Hour)
	d.pass(time.Second)
	if d.check(); d.attempts != 1 {
		t.Errorf("%d attempts, want 1 until the delay is over", d.attempts)
	}
	d.fail = nil
	d.must(d.schedule(bob, "b", "on time", time.Second))
	d.pass(time.Second)
	d.check("on time")
	d.pass(time.Minute)
	d.check("on time", "late")
}

func TestLimitsOfSchedules(t *testing.T) {
	d := open(t)
	for n := range 100 {
		d.must(d.schedule(ann, fmt.Sprint(n), "text", time.Hour))
	}
	if _, err := d.schedule(ann, "one more", "text", time.Hour); reason(err) != "too_many_scheduled" {
		t.Errorf("message 101: error %v, want too_many_scheduled", err)
	}
	d.must(d.schedule(ann, "5", "text", time.Hour)) // a retry
	d.must(d.schedule(bob, "one more", "text", time.Hour))
	for _, in := range []time.Duration{0, -time.Hour, 367 * 24 * time.Hour} {
		if _, err := d.schedule(bob, "late", "text", in); reason(err) != "bad_send_time" {
			t.Errorf("in %v: %v", in, err)
		}
	}
	edit := &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{}}}
	forward := &chatv1.Content{Kind: &chatv1.Content_Forward{Forward: &chatv1.Forward{Conversation: 7, Seqs: []uint64{1}}}}
	for _, content := range []*chatv1.Content{nil, {}, edit, forward} {
		if _, err := d.ScheduleMessage(t.Context(), bob, &chatv1.ScheduleMessageRequest{Conversation: 7, ClientMsgId: "x", Content: content, SendMs: d.nowMs + 1}); reason(err) != "bad_scheduled" {
			t.Errorf("%v: error %v, want the reason bad_scheduled", content, err)
		}
	}
	for _, q := range []*chatv1.ListScheduledRequest{{Limit: 101}, {Page: "x"}} {
		if _, err := d.ListScheduled(t.Context(), bob, q); reason(err) != "bad_page" {
			t.Errorf("%v: error %v, want the reason bad_page", q, err)
		}
	}
	d.refuse = errs.New(errs.Denied, "muted", "")
	if _, err := d.schedule(bob, "muted", "text", time.Hour); reason(err) != "muted" {
		t.Errorf("who may not write: %v", err)
	}
}
