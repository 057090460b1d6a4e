package chat_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/pebblelog"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

func TestRetentionSetting(t *testing.T) {
	for text, days := range map[string]uint32{"": 0, "forever": 0, "company": 180, "private": 7, "1d": 1, "90d": 90, "36500d": 36_500} {
		if got, err := chat.ParseRetention(text); err != nil || got != days*daySeconds {
			t.Errorf("%q is parsed as %d seconds, %v", text, got, err)
		}
	}
	for _, text := range []string{"0d", "d", "90", "-1d", "+1d", "1.5d", "36501d", "4294967297d", "1D", " 7d", "Forever", "90days"} {
		if seconds, err := chat.ParseRetention(text); err == nil {
			t.Errorf("%q was accepted as %d seconds", text, seconds)
		}
		if err := (chat.Config{Retention: text}).Check(); err == nil {
			t.Errorf("a configuration with %q is accepted", text)
		}
	}
}

// seqsOf returns the seqs that a user reads.
func seqsOf(t *testing.T, s *chat.Service, u id.User, c id.Conversation) (seqs []uint64) {
	t.Helper()
	page, err := s.History(context.Background(), u, &chatv1.HistoryRequest{Conversation: uint64(c), Limit: 200})
	must(t, err)
	for _, m := range page.Messages {
		seqs = append(seqs, m.Seq)
	}
	return seqs
}

// Either user of a direct conversation sets the retention, unless one has blocked the other. The entry names the user, and setting the same
// value again changes nothing.
func TestRetentionOfTwo(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{Retention: "30d"})
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	for _, test := range []struct {
		by      id.User
		seconds uint32
		want    string
		seq     uint64
	}{{2, 5 * daySeconds, "", 2}, {1, 5 * daySeconds, "", 0}, {1, 30 * daySeconds, "", 3}, {1, 30*daySeconds + 1, "bad_retention", 0},
		{3, 60, "no_conversation", 0}, {2, 59, "bad_retention", 0}, {2, 60, "", 4}, {2, 0, "", 5}} {
		if seq, err := s.SetRetention(ctx, c, test.by, test.seconds); reasonOf(err) != test.want || seq != test.seq {
			t.Errorf("setting the retention as user %d to %d seconds returned %d, %v", test.by, test.seconds, seq, err)
		}
	}
	h.relations.set(h.relations.blocked, 1, 2, true)
	must(t, s.AccessChanged(ctx, 1, 2))
	if _, err := s.SetRetention(ctx, c, 2, daySeconds); reasonOf(err) != "blocked" {
		t.Errorf("setting the retention as a blocked user returned %v", err)
	}
	list := h.entries(t, c)
	if e := list[1]; e.control.GetAction() != chatv1.Control_ACTION_RETENTION || e.control.Actor != 2 || e.control.RetentionSeconds != 5*daySeconds {
		t.Errorf("the entry of the change is %v", e.control)
	}
}

// A longer retention restores the messages that have expired but are not deleted yet.
func TestLongerRetentionRestoresUndeletedMessages(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	send := func(n uint64) {
		t.Helper()
		must(t, s.Send(ctx, draftOf(c, 1, n, "x")))
	}
	send(1) // at 2, day 0
	h.clock.ms.Add(dayMs)
	send(2) // at 3, day 1
	h.clock.ms.Add(dayMs)
	send(3) // at 4, day 2
	h.completeFanout(t)
	set := func(days uint32, want ...uint64) {
		t.Helper()
		_, err := s.SetRetention(ctx, c, 1, days*daySeconds)
		must(t, err)
		if got := seqsOf(t, s, 2, c); !slices.Equal(got, want) {
			t.Errorf("with a retention of %d days the user reads %v, want %v", days, got, want)
		}
	}
	h.clock.ms.Add(1)
	set(1, 4, 5)
	set(2, 3, 4, 5, 6)
	set(0, 1, 2, 3, 4, 5, 6, 7)
	set(2, 3, 4, 5, 6, 7, 8)
	must(t, chat.Expire(ctx, s))
	set(0, 3, 4, 5, 6, 7, 8, 9)
	if got := seqsOf(t, h.node(t), 2, c); !slices.Equal(got, between(3, 9)) {
		t.Errorf("after a restart the user reads %v", got)
	}
	// The retention is exact to the millisecond.
	set(1, 4, 5, 6, 7, 8, 9, 10)
	h.clock.ms.Add(dayMs - 1)
	if got := seqsOf(t, s, 2, c); !slices.Equal(got, between(4, 10)) {
		t.Errorf("a day later the user reads %v", got)
	}
	h.clock.ms.Add(1)
	if got := seqsOf(t, s, 2, c); !slices.Equal(got, between(5, 10)) {
		t.Errorf("a day and a millisecond later the user reads %v", got)
	}
}

// Old messages are not deleted before fan-out has processed them. Then all are deleted, in batches; a conversation with unlimited retention
// keeps its messages.
func TestExpireWaitsForFanout(t *testing.T) {
	const many = 2*chat.ExpireBatchSize + 20
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	var list [2]id.Conversation
	for i := range list {
		var err error
		list[i], err = s.OpenDirect(ctx, 1, id.User(2+i))
		must(t, err)
	}
	_, err := s.SetRetention(ctx, list[0], 1, daySeconds)
	must(t, err)
	n := uint64(0)
	for range many {
		for _, c := range list {
			n++
			must(t, s.Send(ctx, draftOf(c, 1, n, "x")))
		}
	}
	h.clock.ms.Add(2 * dayMs)
	stored := func() string { return fmt.Sprint(len(h.entries(t, list[0])), len(h.entries(t, list[1]))) }
	must(t, chat.Expire(ctx, s))
	if got, want := stored(), fmt.Sprint(many+2, many+1); got != want {
		t.Fatalf("before fan-out %s entries remain, want %s", got, want)
	}
	h.completeFanout(t)
	n++
	must(t, s.Send(ctx, draftOf(list[0], 1, n, "not carried")))
	h.clock.ms.Add(2 * dayMs)
	must(t, chat.Expire(ctx, s))
	tail := h.tail(t, list[0])
	if got, want := stored(), fmt.Sprint(3, many+1); got != want || tail.FirstSeq != tail.Seq {
		t.Errorf("%s entries remain, want %s; the tail is %+v", got, want, tail)
	}
	if got := seqsOf(t, s, 2, list[0]); len(got) != 0 {
		t.Errorf("expired messages are read: %v", got)
	}
	if n := s.ExpiredMessages(); n != many {
		t.Errorf("%d messages are counted as deleted, want %d", n, many)
	}
	// The retry of a deleted message stores nothing.
	d := draftOf(list[0], 1, 1, "x")
	if err := s.Send(ctx, d); reasonOf(err) != "expired" {
		t.Errorf("the retry of a deleted message returned %+v, %v", d, err)
	}
	if now := h.tail(t, list[0]); now != tail {
		t.Errorf("the retry changed the tail from %+v to %+v", tail, now)
	}
}

// DeleteBefore deletes what is older than a time, dispatched and no control entry, of one conversation and without a retention. It counts nothing as expired.
func TestOldMessagesAreDeletedWithoutARetention(t *testing.T) {
	const many = chat.ExpireBatchSize + 20
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	var list [2]id.Conversation
	for i := range list {
		var err error
		list[i], err = s.OpenDirect(ctx, 1, id.User(2+i))
		must(t, err)
		for n := range uint64(many) {
			must(t, s.Send(ctx, draftOf(list[i], 1, uint64(i+1)*many+n, "x")))
		}
	}
	h.completeFanout(t)
	h.clock.ms.Add(dayMs)
	cut := h.clock.ms.Load()
	must(t, s.Send(ctx, draftOf(list[0], 1, 3*many, "new")))
	must(t, s.DeleteBefore(ctx, list[0], cut))
	if got := len(h.entries(t, list[0])); got != 2 {
		t.Errorf("%d entries remain, want the first and the newest", got)
	}
	if got := len(h.entries(t, list[1])); got != many+1 {
		t.Errorf("of the other conversation %d entries remain, want all %d", got, many+1)
	}
	if got := seqsOf(t, s, 2, list[0]); len(got) != 1 || got[0] != many+2 {
		t.Errorf("%v are read, want the newest alone", got)
	}
	if n := s.ExpiredMessages(); n != 0 {
		t.Errorf("%d messages count as expired", n)
	}
}

// Package media is notified when a permitted sender sends a file to a conversation, and when the message is deleted. A failed notification
// is repeated. None is sent for messages that still exist.
func TestOnExpiredIsCalled(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{Retention: "1d"})
	deps := h.deps(h.db)
	var notified []string
	fails := false
	deps.CheckUploads = func(_ context.Context, c id.Conversation, by []id.User, uploads []id.Upload) []error {
		for i, u := range by {
			notified = append(notified, fmt.Sprintf("%d sends %d to %d", u, uploads[i], c))
		}
		return make([]error, len(by))
	}
	deps.OnExpired = func(_ context.Context, c id.Conversation, beforeMs int64) error {
		if fails {
			return errForeign
		}
		notified = append(notified, fmt.Sprintf("%d to %d, with %d stored", c, beforeMs, len(h.entries(t, c))))
		return nil
	}
	s, err := chat.New(ctx, deps, h.config)
	must(t, err)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	send := func(u id.User, n uint64) error {
		content, err := proto.Marshal(&chatv1.Content{Kind: &chatv1.Content_File{File: &chatv1.Media{Upload: 70 + n}}})
		must(t, err)
		d := draftOf(c, u, n, "")
		d.Content = content
		return s.Send(ctx, d)
	}
	must(t, send(1, 1))
	h.clock.ms.Add(10)
	must(t, send(2, 1))
	newest := h.clock.ms.Load()
	if err := send(3, 1); reasonOf(err) != "no_conversation" {
		t.Errorf("a non-member sends a file: %v", err)
	}
	h.completeFanout(t)
	h.clock.ms.Add(dayMs)
	must(t, send(1, 2))
	h.clock.ms.Add(1)
	want := []string{fmt.Sprintf("1 sends 71 to %d", c), fmt.Sprintf("2 sends 71 to %d", c), fmt.Sprintf("1 sends 72 to %d", c)}
	expectNotified := func(what string) {
		t.Helper()
		must(t, chat.Expire(ctx, s))
		if !slices.Equal(notified, want) {
			t.Errorf("%s: notified of %v, want %v", what, notified, want)
		}
	}
	fails = true
	expectNotified("during the failure")
	fails = false
	want = append(want, fmt.Sprintf("%d to %d, with 2 stored", c, newest+1))
	expectNotified("after it failed")
	h.clock.ms.Add(dayMs) // all have expired; the last was not dispatched yet
	want = append(want, fmt.Sprintf("%d to %d, with 2 stored", c, newest+dayMs))
	expectNotified("while a message waits for fan-out")
	h.completeFanout(t)
	want = append(want, fmt.Sprintf("%d to %d, with 1 stored", c, h.clock.ms.Load()-dayMs))
	expectNotified("of an empty conversation")
}

// Messages expire and are deleted while they are read, in both directions and by time. Each read returns consecutive seqs, up to the end
// at its start.
func TestHistoryWhileMessagesExpire(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{Retention: "1d"})
	log, err := pebblelog.Open(t.TempDir(), pebblelog.Options{})
	must(t, err)
	defer func() { must(t, log.Close()) }()
	h.log = log
	nodes := []*chat.Service{h.node(t), h.node(t)}
	c, err := nodes[0].OpenDirect(ctx, 1, 2)
	must(t, err)
	const messages = 400
	for n := range uint64(messages) {
		h.clock.ms.Add(1000)
		must(t, nodes[0].Send(ctx, draftOf(c, 1, n+1, "x")))
	}
	newest := h.clock.ms.Load()
	h.completeFanout(t)
	h.clock.ms.Store(newest - messages*1000 + dayMs)
	ended := make(chan struct{})
	var readers sync.WaitGroup
	for i, q := range []*chatv1.HistoryRequest{{}, {After: 1}, {TimeMs: 1}, {TimeMs: newest}, {Before: messages}} {
		readers.Go(func() {
			q := proto.CloneOf(q)
			q.Conversation, q.Limit = uint64(c), 200
			for {
				page, err := nodes[i%2].History(ctx, 2, q)
				if err != nil {
					t.Errorf("reading %v: %v", q, err)
					return
				}
				for k, m := range page.Messages {
					if k > 0 && m.Seq != page.Messages[k-1].Seq+1 {
						t.Errorf("reading %v: seq %d follows %d", q, m.Seq, page.Messages[k-1].Seq)
						return // one error is enough
					}
				}
				select {
				case <-ended:
					return
				default:
				}
			}
		})
	}
	func() {
		defer readers.Wait()
		defer close(ended) // also if a step fails
		for range messages / 10 {
			h.clock.ms.Add(10_000)
			must(t, chat.Expire(ctx, nodes[0]))
		}
	}()
	if tail := h.tail(t, c); tail.FirstSeq < messages-20 {
		t.Errorf("the remaining entries begin at %d", tail.FirstSeq)
	}
}

// If the clock is set back, no expired message is readable again, and no further one is deleted.
func TestClockSetBackWhileMessagesExpire(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{Retention: "1d"})
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	for n := range uint64(6) {
		must(t, s.Send(ctx, draftOf(c, 1, n+1, "x")))
		h.clock.ms.Add(dayMs / 2)
	}
	h.completeFanout(t)
	before := seqsOf(t, s, 2, c)
	h.clock.ms.Add(-10 * dayMs)
	must(t, chat.Expire(ctx, s))
	if firstSeq := h.tail(t, c).FirstSeq; firstSeq != 0 {
		t.Errorf("messages below %d were deleted", firstSeq)
	}
	if got := seqsOf(t, s, 2, c); !slices.Equal(got, before) {
		t.Errorf("with the clock set back %v are read, before that %v", got, before)
	}
	if got := seqsOf(t, h.node(t), 2, c); !slices.Equal(got, between(1, 7)) {
		t.Errorf("after a restart %v are read", got)
	}
	entries, err := h.log.Read(ctx, timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}, 0, 100)
	must(t, err)
	if len(entries) != 7 {
		t.Errorf("the log has %d entries", len(entries))
	}
}

// stored records when the newest entries were stored.
func (m *model) stored(nowMs int64) {
	for uint64(len(m.ms)) < m.seq {
		m.ms = append(m.ms, nowMs)
	}
}

// kept returns the first seq that has not expired.
func (m *model) kept(nowMs int64) uint64 {
	first := uint64(1)
	for m.retention != 0 && first <= m.seq && m.ms[first-1] < nowMs-int64(m.retention)*1000 {
		first++
	}
	return max(first, m.firstSeq)
}

func (r *run) retain(t *rapid.T) {
	by, seconds := r.user("by"), rapid.SampledFrom([]uint32{0, 60, 60 * 60, daySeconds, 2 * daySeconds, 3 * daySeconds}).Draw(t, "seconds")
	seq, err := r.node().SetRetention(context.Background(), r.c, by, seconds)
	r.changed("retain", seq, err, r.m.acts(by, chatv1.Role_ROLE_ADMIN), func() {
		if r.m.retention != seconds {
			r.m.change(func(uint64) { r.m.retention = seconds })
		}
	})
}

// expire makes a node delete the expired entries that fan-out has dispatched.
func (r *run) expire(t *rapid.T) {
	if rapid.Bool().Draw(t, "carried") {
		r.h.completeFanout(r)
		r.m.fannedOut = r.m.seq
	}
	must(r, chat.Expire(context.Background(), r.node()))
	r.m.firstSeq = max(r.m.firstSeq, min(r.m.kept(r.h.clock.ms.Load()), r.m.fannedOut+1))
}

func (r *run) sleep(t *rapid.T) { r.h.clock.ms.Add(rapid.Int64Range(1, dayMs).Draw(t, "asleep")) }
