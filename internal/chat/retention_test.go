package chat_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/chat"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/timeline"
	"github.com/rialto-im/rialto/internal/timeline/pebblelog"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

func TestRetentionSetting(t *testing.T) {
	for text, days := range map[string]uint32{"": 0, "forever": 0, "company": 180, "private": 7, "1d": 1, "90d": 90, "36500d": 36_500} {
		if got, err := chat.ParseRetention(text); err != nil || got != days {
			t.Errorf("%q is %d days, %v", text, got, err)
		}
	}
	for _, text := range []string{"0d", "d", "90", "-1d", "+1d", "1.5d", "36501d", "4294967297d", "1D", " 7d", "Forever", "90days"} {
		if days, err := chat.ParseRetention(text); err == nil {
			t.Errorf("%q was taken as %d days", text, days)
		}
		if err := (chat.Config{Retention: text}).Check(); err == nil {
			t.Errorf("a configuration with %q passed", text)
		}
	}
}

// seqsOf what a user reads.
func seqsOf(t *testing.T, s *chat.Service, u id.User, c id.Conversation) (seqs []uint64) {
	t.Helper()
	page, err := s.History(context.Background(), u, &chatv1.HistoryRequest{Conversation: uint64(c), Limit: 200})
	must(t, err)
	for _, m := range page.Messages {
		seqs = append(seqs, m.Seq)
	}
	return seqs
}

// Either of two sets it, unless they are kept apart; whoever sets it is named, and to set it again changes nothing.
func TestRetentionOfTwo(t *testing.T) {
	ctx, h := context.Background(), newHouse(t, chat.Config{Retention: "30d"})
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	for _, try := range []struct {
		by   id.User
		days uint32
		want string
		seq  uint64
	}{{2, 5, "", 2}, {1, 5, "", 0}, {1, 30, "", 3}, {1, 31, "bad_retention", 0}, {3, 5, "no_conversation", 0}, {2, 0, "", 4}} {
		if seq, err := s.SetRetention(ctx, c, try.by, try.days); reasonOf(err) != try.want || seq != try.seq {
			t.Errorf("%d sets %d days: at %d, %v", try.by, try.days, seq, err)
		}
	}
	h.relations.set(h.relations.blocked, 1, 2, true)
	must(t, s.AccessChanged(ctx, 1, 2))
	if _, err := s.SetRetention(ctx, c, 2, 1); reasonOf(err) != "blocked" {
		t.Errorf("one who was blocked takes the messages away: %v", err)
	}
	list := h.entries(t, c)
	if e := list[1]; e.control.GetAction() != chatv1.Control_ACTION_RETENTION || e.control.Actor != 2 || e.control.RetentionDays != 5 {
		t.Errorf("the entry of the change is %v", e.control)
	}
}

// What a deployment kept longer before, and what was removed, is told apart: a longer time brings back what is still there.
func TestLongerRetentionBringsBackWhatIsThere(t *testing.T) {
	ctx, h := context.Background(), newHouse(t, chat.Config{})
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
	h.carry(t)
	set := func(days uint32, want ...uint64) {
		t.Helper()
		_, err := s.SetRetention(ctx, c, 1, days)
		must(t, err)
		if got := seqsOf(t, s, 2, c); !slices.Equal(got, want) {
			t.Errorf("with %d days: %v, want %v", days, got, want)
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
		t.Errorf("after a restart: %v", got)
	}
	// To the millisecond: a message is kept for its days, and no longer.
	set(1, 4, 5, 6, 7, 8, 9, 10)
	h.clock.ms.Add(dayMs - 1)
	if got := seqsOf(t, s, 2, c); !slices.Equal(got, between(4, 10)) {
		t.Errorf("a day after: %v", got)
	}
	h.clock.ms.Add(1)
	if got := seqsOf(t, s, 2, c); !slices.Equal(got, between(5, 10)) {
		t.Errorf("a day and a millisecond after: %v", got)
	}
}

// What fan-out has not carried waits, however old; then all goes, in as many steps as it takes, and a conversation whose messages
// are kept for ever keeps them.
func TestExpireWaitsForFanout(t *testing.T) {
	const many = 2*chat.ExpirePage + 20
	ctx, h := context.Background(), newHouse(t, chat.Config{})
	s := h.node(t)
	var list [2]id.Conversation
	for i := range list {
		var err error
		list[i], err = s.OpenDirect(ctx, 1, id.User(2+i))
		must(t, err)
	}
	_, err := s.SetRetention(ctx, list[0], 1, 1)
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
		t.Fatalf("before anything was carried %s entries are left, want %s", got, want)
	}
	h.carry(t)
	n++
	must(t, s.Send(ctx, draftOf(list[0], 1, n, "not carried")))
	h.clock.ms.Add(2 * dayMs)
	must(t, chat.Expire(ctx, s))
	tail := h.tail(t, list[0])
	if got, want := stored(), fmt.Sprint(3, many+1); got != want || tail.Head != tail.Seq {
		t.Errorf("%s entries are left, want %s; the tail is %+v", got, want, tail)
	}
	if got := seqsOf(t, s, 2, list[0]); len(got) != 0 {
		t.Errorf("old messages are read: %v", got)
	}
	if n := s.Removed(); n != many {
		t.Errorf("%d are counted as removed, of %d", n, many)
	}
	// The retry of one that was removed stores nothing.
	d := draftOf(list[0], 1, 1, "x")
	if err := s.Send(ctx, d); reasonOf(err) != "expired" {
		t.Errorf("the retry of a removed message: %+v, %v", d, err)
	}
	if now := h.tail(t, list[0]); now != tail {
		t.Errorf("the retry changed the tail from %+v to %+v", tail, now)
	}
}

// Who keeps the files is told in time: which conversation a file is sent to, by those alone who may write there, and what of it
// is removed. Where that fails, they are told again; and never of what is still there.
func TestFilesAreToldOfMessages(t *testing.T) {
	ctx, h := context.Background(), newHouse(t, chat.Config{Retention: "1d"})
	deps := h.deps(h.db)
	var told []string
	fails := false
	deps.Uploads = func(_ context.Context, c id.Conversation, by []id.User, uploads []id.Upload) []error {
		for i, u := range by {
			told = append(told, fmt.Sprintf("%d sends %d to %d", u, uploads[i], c))
		}
		return make([]error, len(by))
	}
	deps.Expired = func(_ context.Context, c id.Conversation, beforeMs int64) error {
		if fails {
			return errForeign
		}
		told = append(told, fmt.Sprintf("%d to %d, with %d stored", c, beforeMs, len(h.entries(t, c))))
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
		t.Errorf("a stranger sends a file: %v", err)
	}
	h.carry(t)
	h.clock.ms.Add(dayMs)
	must(t, send(1, 2))
	h.clock.ms.Add(1)
	want := []string{fmt.Sprintf("1 sends 71 to %d", c), fmt.Sprintf("2 sends 71 to %d", c), fmt.Sprintf("1 sends 72 to %d", c)}
	tells := func(what string) {
		t.Helper()
		must(t, chat.Expire(ctx, s))
		if !slices.Equal(told, want) {
			t.Errorf("%s, told %v, want %v", what, told, want)
		}
	}
	fails = true
	tells("where it fails")
	fails = false
	want = append(want, fmt.Sprintf("%d to %d, with 2 stored", c, newest+1))
	tells("after it failed")
	h.clock.ms.Add(dayMs) // all have expired; the last was not carried yet
	want = append(want, fmt.Sprintf("%d to %d, with 2 stored", c, newest+dayMs))
	tells("while a message waits to be carried")
	h.carry(t)
	want = append(want, fmt.Sprintf("%d to %d, with 1 stored", c, h.clock.ms.Load()-dayMs))
	tells("of an empty conversation")
}

// Messages expire and are removed while they are read, in both directions and by time: what is read is one run of seqs, up to the
// end that there was.
func TestHistoryWhileMessagesExpire(t *testing.T) {
	ctx, h := context.Background(), newHouse(t, chat.Config{Retention: "1d"})
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
	h.carry(t)
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
					t.Errorf("%v: %v", q, err)
					return
				}
				for k, m := range page.Messages {
					if k > 0 && m.Seq != page.Messages[k-1].Seq+1 {
						t.Errorf("%v: %d after %d", q, m.Seq, page.Messages[k-1].Seq)
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
	for range messages / 10 {
		h.clock.ms.Add(10_000)
		must(t, chat.Expire(ctx, nodes[0]))
	}
	close(ended)
	readers.Wait()
	if tail := h.tail(t, c); tail.Head < messages-20 {
		t.Errorf("what is left begins at %d", tail.Head)
	}
}

// A clock that is set back brings nothing into question, and does not have more removed.
func TestClockSetBackWhileMessagesExpire(t *testing.T) {
	ctx, h := context.Background(), newHouse(t, chat.Config{Retention: "1d"})
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	for n := range uint64(6) {
		must(t, s.Send(ctx, draftOf(c, 1, n+1, "x")))
		h.clock.ms.Add(dayMs / 2)
	}
	h.carry(t)
	before := seqsOf(t, s, 2, c)
	h.clock.ms.Add(-10 * dayMs)
	must(t, chat.Expire(ctx, s))
	if head := h.tail(t, c).Head; head != 0 {
		t.Errorf("below %d messages were removed", head)
	}
	if got := seqsOf(t, s, 2, c); !slices.Equal(got, before) {
		t.Errorf("with the clock set back %v are read, before it %v", got, before)
	}
	if got := seqsOf(t, h.node(t), 2, c); !slices.Equal(got, between(1, 7)) {
		t.Errorf("after a restart: %v", got)
	}
	entries, err := h.log.Read(ctx, timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}, 0, 100)
	must(t, err)
	if len(entries) != 7 {
		t.Errorf("%d entries are left", len(entries))
	}
}

// stored notes when the newest were.
func (m *model) stored(nowMs int64) {
	for uint64(len(m.ms)) < m.seq {
		m.ms = append(m.ms, nowMs)
	}
}

// kept is the first seq that has not expired.
func (m *model) kept(nowMs int64) uint64 {
	first := uint64(1)
	for m.retention != 0 && first <= m.seq && m.ms[first-1] < nowMs-int64(m.retention)*dayMs {
		first++
	}
	return max(first, m.head)
}

func (r *run) retain(t *rapid.T) {
	by, days := r.user("by"), uint32(rapid.IntRange(0, 3).Draw(t, "days"))
	seq, err := r.node().SetRetention(context.Background(), r.c, by, days)
	r.changed("retain", seq, err, r.m.acts(by, chatv1.Role_ROLE_ADMIN), func() {
		if r.m.retention != days {
			r.m.change(func(uint64) { r.m.retention = days })
		}
	})
}

// expire has a node remove what has expired, of what fan-out has carried.
func (r *run) expire(t *rapid.T) {
	if rapid.Bool().Draw(t, "carried") {
		r.h.carry(r)
		r.m.carried = r.m.seq
	}
	must(r, chat.Expire(context.Background(), r.node()))
	r.m.head = max(r.m.head, min(r.m.kept(r.h.clock.ms.Load()), r.m.carried+1))
}

func (r *run) sleep(t *rapid.T) { r.h.clock.ms.Add(rapid.Int64Range(1, dayMs).Draw(t, "asleep")) }
