package inbox_test

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/inbox"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// device is a client of one user: its events and its position.
type device struct {
	at   uint64
	has  map[string]int
	lost bool // an unclean stop may have lost its events on disk
}

// item describes an event.
func item(e *chatv1.Event) string {
	switch b := e.Body.(type) {
	case *chatv1.Event_Message:
		return fmt.Sprintf("message %d of %d", b.Message.Seq, b.Message.Conversation)
	case *chatv1.Event_Conversation:
		return b.Conversation.Draft
	}
	return "nothing"
}

// stream is a user's stream and its expected content.
type stream struct {
	*harness
	items    []string
	payloads [][]byte
	drafts   int
}

const reader id.User = 1

func (s *stream) put(r tester, name string, payload []byte) {
	s.items = append(s.items, name)
	s.payloads = append(s.payloads, payload)
	s.post(r, reader, payload)
}

func (s *stream) message(r tester, c id.Conversation) {
	seq := s.send(r, 2, c, false)
	s.put(r, fmt.Sprintf("message %d of %d", seq, c), message.AppendInboxRef(nil, c, seq))
}

func (s *stream) draft(r tester) {
	s.drafts++
	name := fmt.Sprintf("draft %d", s.drafts)
	b, err := proto.Marshal(&chatv1.ConversationState{Conversation: 1, Draft: name})
	if err != nil {
		r.Fatalf("%v", err)
	}
	s.put(r, name, message.AppendInboxEvent(nil, message.AppendBody(nil, message.FieldConversation, b)))
}

// crash loses the unsynced entries, and appends them again, as fan-out does with records after its checkpoint.
func (s *stream) crash(r tester) {
	s.restart(true)
	kept, err := s.log.Read(s.t.Context(), streamKey(reader), 0, len(s.payloads)+1)
	if err != nil {
		r.Fatalf("%v", err)
	}
	tail, err := s.Tail(s.t.Context(), reader)
	if err != nil {
		r.Fatalf("%v", err)
	}
	from := 0
	if len(kept) > 0 {
		for i, p := range s.payloads {
			if bytes.Equal(p, kept[len(kept)-1].Payload) {
				from = i + 1
			}
		}
	} else if tail != 0 {
		from = len(s.payloads) // all are trimmed
	}
	for _, p := range s.payloads[from:] {
		s.post(r, reader, p)
	}
}

// page syncs one page, and reports whether there are more.
func (s *stream) page(r *rapid.T, d *device, limit uint32) bool {
	page, err := s.Sync(s.t.Context(), id.Caller{User: reader}, &chatv1.SyncRequest{After: &chatv1.Position{Epoch: uint32(d.at >> 32), Seq: d.at}, Limit: limit})
	if err != nil {
		r.Fatalf("sync after %x: %v", d.at, err)
	}
	if len(page.Events) > int(limit) || page.More && len(page.Events) == 0 {
		r.Fatalf("a page has %d events, the limit is %d, more %v", len(page.Events), limit, page.More)
	}
	if page.Reset_ {
		if len(page.Events) != 0 {
			r.Fatalf("a reset with %d events", len(page.Events))
		}
		for _, i := range s.items { // the device reads the lists
			d.has[i]++
		}
	}
	prev := d.at
	for n, e := range page.Events {
		if (n > 0 || !d.lost) && e.Prev != prev || e.Seq <= d.at || uint32(e.Seq>>32) != e.Epoch {
			r.Fatalf("event %d of a page after %x is %x of epoch %d, after %x", n, d.at, e.Seq, e.Epoch, e.Prev)
		}
		prev = e.Seq
		if m := e.GetMessage(); m != nil && m.Seq < s.conversations.kept[id.Conversation(m.Conversation)] {
			r.Fatalf("%s has expired", item(e))
		}
		if e.Body == nil {
			continue // an event of an expired message
		}
		d.has[item(e)]++
		if d.has[item(e)] > 1 && !d.lost {
			r.Fatalf("%s was delivered twice", item(e))
		}
	}
	next := page.GetNext().GetSeq()
	if len(page.Events) > 0 && next != prev || next < d.at {
		r.Fatalf("next is %x after %x and %d events", next, d.at, len(page.Events))
	}
	d.at = next
	return page.More
}

// Devices that connect and disconnect end with all events of the stream, after crashes, trims and expiry.
func TestDevicesConverge(t *testing.T) {
	for _, pebble := range []bool{false, true} {
		t.Run(fmt.Sprintf("pebble %v", pebble), func(t *testing.T) {
			check(t, func(r *rapid.T) { converge(t, r, pebble) })
		})
	}
}

func converge(t *testing.T, r *rapid.T, pebble bool) {
	s := &stream{harness: newHarness(t, pebble, inbox.Config{})}
	defer s.close()
	devices := []*device{{has: map[string]int{}}, {has: map[string]int{}}, {has: map[string]int{}}}
	trimmed := false
	r.Repeat(map[string]func(*rapid.T){
		"message": func(r *rapid.T) {
			for range rapid.IntRange(1, 5).Draw(r, "n") {
				s.message(r, id.Conversation(rapid.IntRange(1, 3).Draw(r, "conversation")))
			}
		},
		"draft": func(r *rapid.T) { s.draft(r) },
		"sync": func(r *rapid.T) {
			s.page(r, devices[rapid.IntRange(0, 1).Draw(r, "device")], uint32(rapid.IntRange(1, 7).Draw(r, "limit")))
		},
		"trim": func(r *rapid.T) {
			tail, err := s.Tail(t.Context(), reader)
			if err != nil || tail == 0 {
				return
			}
			trimmed = true
			back := rapid.Uint64Range(0, 5).Draw(r, "back")
			if err := s.log.Trim(t.Context(), streamKey(reader), uint64(tail)-min(back, uint64(tail)&(1<<32-1))); err != nil {
				r.Fatalf("%v", err)
			}
		},
		"expire": func(r *rapid.T) {
			c := id.Conversation(rapid.IntRange(1, 3).Draw(r, "conversation"))
			log, err := s.log.Tail(t.Context(), conversationKey(c))
			if err != nil {
				r.Fatalf("%v", err)
			}
			s.expire(r, c, rapid.Uint64Range(1, log.Seq+1).Draw(r, "first"), rapid.Bool().Draw(r, "gone"))
		},
		"restart": func(*rapid.T) { s.restart(false) },
		"crash": func(r *rapid.T) {
			if s.fs == nil || trimmed { // a trim cannot be distinguished from a loss
				return
			}
			s.crash(r)
			for _, d := range devices {
				d.lost = true
			}
		},
	})
	for _, d := range devices { // the last device starts now
		for n := 0; s.page(r, d, 5); n++ {
			if n > len(s.items) {
				r.Fatalf("the pages do not end")
			}
		}
		for _, i := range s.items {
			var seq uint64
			var c id.Conversation
			if _, err := fmt.Sscanf(i, "message %d of %d", &seq, &c); err == nil && seq < s.conversations.kept[c] {
				continue // has expired
			}
			if d.has[i] == 0 {
				r.Errorf("%s is missing", i)
			}
		}
		if d.at == 0 && len(s.items) > 0 {
			r.Errorf("a device has no position")
		}
	}
}

func syncPage(t *testing.T, h *harness, after uint64, limit uint32) *chatv1.SyncResponse {
	t.Helper()
	page, err := h.Sync(t.Context(), id.Caller{User: reader}, &chatv1.SyncRequest{After: &chatv1.Position{Epoch: uint32(after >> 32), Seq: after}, Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func TestLimitsOfAPage(t *testing.T) {
	s := &stream{harness: newHarness(t, false, inbox.Config{})}
	for range 600 {
		s.message(t, 1)
	}
	if n := len(syncPage(t, s.harness, 0, 0).Events); n != 500 {
		t.Errorf("a page without a limit has %d events", n)
	}
	if p := syncPage(t, s.harness, 0, 2000); len(p.Events) != 600 || p.More {
		t.Errorf("a page of 2,000 has %d events, more %v", len(p.Events), p.More)
	}
	for _, limit := range []int{-1, 2001, 1 << 31} {
		if _, err := s.AppendSync(t.Context(), nil, reader, 0, limit); errs.Of(err).Reason != "bad_limit" {
			t.Errorf("a limit of %d returned %v", limit, err)
		}
	}
	b, err := s.AppendSync(t.Context(), []byte("before"), reader, 0, 1)
	if err != nil || !bytes.HasPrefix(b, []byte("before")) {
		t.Errorf("AppendSync returned %q, %v", b, err)
	}
}

// A page ends at about 1 MiB, whatever its limit. Each page makes progress.
func TestAPageIsBoundedInBytes(t *testing.T) {
	s := &stream{harness: newHarness(t, false, inbox.Config{})}
	state, err := proto.Marshal(&chatv1.ConversationState{Conversation: 1, Draft: string(bytes.Repeat([]byte("x"), 400_000))})
	if err != nil {
		t.Fatal(err)
	}
	const events = 20
	for range events {
		s.post(t, reader, message.AppendInboxEvent(nil, message.AppendBody(nil, message.FieldConversation, state)))
	}
	got, at := 0, uint64(0)
	for more := true; more; {
		b, err := s.AppendSync(t.Context(), nil, reader, message.Position(at), 2000)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > 1<<20+len(state)+1000 {
			t.Errorf("a page has %d bytes", len(b))
		}
		page := &chatv1.SyncResponse{}
		if err := proto.Unmarshal(b, page); err != nil {
			t.Fatal(err)
		}
		if len(page.Events) == 0 {
			t.Fatal("an empty page that is not the last")
		}
		got, at, more = got+len(page.Events), page.Next.Seq, page.More
	}
	if got != events {
		t.Errorf("got %d of %d events", got, events)
	}
}

func TestUnknownPositions(t *testing.T) {
	s := &stream{harness: newHarness(t, true, inbox.Config{})}
	s.message(t, 1)
	s.restart(false)
	s.message(t, 1)
	tail, err := s.Tail(t.Context(), reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range []uint64{uint64(tail) + 1, 9 << 32, 1<<64 - 1} {
		if p := syncPage(t, s.harness, after, 0); !p.Reset_ || p.Next.Seq != uint64(tail) || p.More {
			t.Errorf("a sync after %x returned %v", after, p)
		}
	}
	// A position of an earlier epoch beyond the recovered entries continues at their end.
	if p := syncPage(t, s.harness, 1<<32+7, 0); p.Reset_ || len(p.Events) != 1 || p.Next.Seq != uint64(tail) {
		t.Errorf("a sync after a lost position returned %v", p)
	}
}

func TestNewDeviceResetsOnLongStream(t *testing.T) {
	for _, pebble := range []bool{false, true} {
		s := &stream{harness: newHarness(t, pebble, inbox.Config{NewDeviceMaxEntries: 10})}
		for n := range 10 {
			if n%3 == 0 {
				s.restart(false) // entries are counted across epochs
			}
			s.message(t, 1)
		}
		first := syncPage(t, s.harness, 0, 100)
		if first.Reset_ || len(first.Events) != 10 {
			t.Errorf("a new device of a stream of 10 events got %v", first)
		}
		s.message(t, 1)
		if p := syncPage(t, s.harness, 0, 100); !p.Reset_ || p.Next.Seq <= first.Next.Seq {
			t.Errorf("a new device of a stream of 11 events got %v", p)
		}
		if p := syncPage(t, s.harness, first.Events[0].Seq, 100); p.Reset_ || len(p.Events) != 10 {
			t.Errorf("a device with the first event got %v", p)
		}
	}
}

func TestLargeGroupsComeWithTheLastPage(t *testing.T) {
	s := &stream{harness: newHarness(t, false, inbox.Config{})}
	s.join(t, 7, reader, 2)
	s.conversations.large[7] = true
	s.join(t, 8, reader, 2)
	s.conversations.large[8] = true
	s.leave(t, 8, reader)
	s.message(t, 1)
	s.message(t, 1)
	last := s.send(t, 2, 7, false)
	first := syncPage(t, s.harness, 0, 1)
	if !first.More || len(first.Large) != 0 {
		t.Errorf("the first page is %v", first)
	}
	p := syncPage(t, s.harness, first.Next.Seq, 1)
	if p.More || len(p.Large) != 1 || p.Large[0].Conversation != 7 || p.Large[0].LastSeq != last {
		t.Errorf("the last page is %v", p)
	}
	if p := syncPage(t, s.harness, p.Next.Seq, 1); len(p.Events) != 0 || len(p.Large) != 1 {
		t.Errorf("an empty page is %v", p)
	}
}

// A reference to a missing entry is an error of the store, never skipped silently.
func TestADanglingReferenceIsAnError(t *testing.T) {
	s := &stream{harness: newHarness(t, false, inbox.Config{})}
	s.message(t, 1)
	s.post(t, reader, message.AppendInboxRef(nil, 1, 99))
	s.message(t, 1)
	if _, err := s.AppendSync(t.Context(), nil, reader, 0, 10); !errs.Is(err, errs.Internal) {
		t.Errorf("a sync of a dangling reference returned %v", err)
	}
}

// An expired message leaves its event without a body, whether it was deleted or not. Other events are not affected. A missing entry after
// it is still an error, and the readers of an expired message are not returned.
func TestEventsOfExpiredMessages(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		s := &stream{harness: newHarness(t, false, inbox.Config{})}
		s.open(t, 1, 1, 2)
		for range 3 {
			s.message(t, 1)
			s.message(t, 2)
		}
		s.expire(t, 1, 4, deleted) // entries 2 and 3, which are the first two messages
		var got []string
		prev := uint64(0)
		for _, e := range syncPage(t, s.harness, 0, 0).Events {
			if e.Prev != prev {
				t.Errorf("deleted %v: %x follows %x, want %x", deleted, e.Seq, e.Prev, prev)
			}
			prev = e.Seq
			got = append(got, item(e))
		}
		if want := "[nothing message 1 of 2 nothing message 2 of 2 message 4 of 1 message 3 of 2]"; fmt.Sprint(got) != want {
			t.Errorf("deleted %v: events are %v, want %s", deleted, got, want)
		}
		for seq, want := range map[uint64]errs.Kind{3: errs.NotFound, 4: errs.Denied} {
			if _, err := s.ListReaders(t.Context(), reader, &chatv1.ListReadersRequest{Conversation: 1, Seq: seq}); !errs.Is(err, want) {
				t.Errorf("deleted %v: the readers of %d returned %v, want %v", deleted, seq, err, want)
			}
		}
		// A read cursor at an expired message changes nothing.
		st, err := s.MarkNow(t.Context(), reader, 1, 3, 3)
		if err != nil || st.ReadSeq != 3 || st.ReadCounted != 2 {
			t.Errorf("deleted %v: after a cursor at an expired message the state is %v, %v", deleted, st, err)
		}
		s.post(t, reader, message.AppendInboxRef(nil, 1, 9))
		if _, err := s.AppendSync(t.Context(), nil, reader, 0, 10); !errs.Is(err, errs.Internal) {
			t.Errorf("deleted %v: the readers of an entry that never existed returned %v", deleted, err)
		}
	}
}

// Messages expire and are deleted while they are read: no reader gets an error, or an event out of order.
func TestReadingWhileMessagesExpire(t *testing.T) {
	for _, pebble := range []bool{false, true} {
		s := &stream{harness: newHarness(t, pebble, inbox.Config{})}
		s.open(t, 1, 1, 2)
		const messages = 300
		for range messages {
			s.message(t, 1)
		}
		ended := make(chan struct{})
		var readers sync.WaitGroup
		read := func(what string, do func() error) {
			readers.Go(func() {
				for {
					if err := do(); err != nil {
						t.Errorf("pebble %v: %s: %v", pebble, what, err)
						return
					}
					select {
					case <-ended:
						return
					default:
					}
				}
			})
		}
		read("sync", func() error {
			page, err := s.Sync(t.Context(), id.Caller{User: reader}, &chatv1.SyncRequest{Limit: 2000})
			if err == nil && len(page.Events) != messages {
				err = fmt.Errorf("the page has %d events", len(page.Events))
			}
			return err
		})
		read("list", func() error {
			list, err := s.ListConversations(t.Context(), 2, &chatv1.ListConversationsRequest{})
			if err == nil && list.Badge != 0 {
				err = fmt.Errorf("own messages count as %d unread", list.Badge)
			}
			return err
		})
		read("conversation", func() error {
			_, err := s.GetConversation(t.Context(), reader, 1)
			return err
		})
		read("settings", func() error {
			_, err := s.Configure(t.Context(), reader, &chatv1.ConfigureRequest{Conversation: 1})
			return err
		})
		for first := uint64(2); first <= messages+2; first += 7 {
			s.expire(t, 1, first, true)
		}
		s.expire(t, 1, messages+2, true)
		close(ended)
		readers.Wait()
	}
}

// A stream whose oldest messages were deleted is trimmed too.
func TestStreamsOfExpiredMessagesAreTrimmed(t *testing.T) {
	s := &stream{harness: newHarness(t, true, inbox.Config{MaxAge: time.Hour})}
	for range 5 {
		s.message(t, 1)
	}
	s.clock.move(2 * time.Hour)
	s.expire(t, 1, 6, true)
	if left, _ := trimmed(t, s.harness); left != 5 {
		t.Errorf("%d entries remain while their age is unknown", left)
	}
	s.message(t, 1)
	s.clock.move(2 * time.Hour)
	if left, _ := trimmed(t, s.harness); left != 1 {
		t.Errorf("%d entries remain, although the newest is old", left)
	}
}

// The messages of a page equal the entries of the log.
func TestMessagesAreWhole(t *testing.T) {
	s := &stream{harness: newHarness(t, true, inbox.Config{})}
	s.message(t, 5)
	m := syncPage(t, s.harness, 0, 0).Events[0].GetMessage()
	want := id.MessageOf(s.clock.Now().UnixMilli(), 1, 1, 5)
	if m.GetConversation() != 5 || m.Seq != 1 || m.Counted != 1 || m.Sender != 2 || m.Device != 2 || m.Id != want.String() ||
		m.TimeMs != want.Ms() || m.Content.GetText() != "hello" {
		t.Errorf("the message is %v", m)
	}
}

// restoredLog is a log that goes on from a backup.
type restoredLog struct {
	timeline.Log
	epoch uint32
}

func (l restoredLog) RestoredEpoch() uint32 { return l.epoch }

// After a backup was restored, each device is reset once: one that has less than the backup, one that has as much, and one that has more, which a disk
// that lost the end of a stream does not reset. It goes on with what comes afterwards. Nobody is reset again, also after the next start.
func TestDevicesAreResetAfterARestore(t *testing.T) {
	for _, messages := range []int{0, 3} {
		s := &stream{harness: newHarness(t, true, inbox.Config{})}
		for range messages {
			s.message(t, 1)
		}
		s.restart(false)
		restore := func() {
			s.log = restoredLog{s.log, 2}
			s.start()
		}
		restore()
		const begin = uint64(2) << 32
		reset := func(when string, after uint64) {
			t.Helper()
			if p := syncPage(t, s.harness, after, 0); !p.Reset_ || p.More || p.Next.Seq < begin || p.Next.Epoch < 2 || len(p.Events) != 0 {
				t.Errorf("%d messages, %s: a sync after %x returned %v", messages, when, after, p)
			}
		}
		before := []uint64{1<<32 + 1, 1<<32 + 3, 1<<32 + 4, 1<<32 + 1000, begin - 1}
		for _, after := range before {
			reset("at first", after)
		}
		if p := syncPage(t, s.harness, begin, 0); p.Reset_ || p.More || len(p.Events) != 0 || p.Next.Seq != begin {
			t.Errorf("%d messages: a device that was reset is answered with %v", messages, p)
		}
		s.message(t, 1)
		for _, after := range before {
			reset("with a new message", after)
		}
		if p := syncPage(t, s.harness, begin, 0); p.Reset_ || len(p.Events) != 1 || p.Next.Seq != begin+1 {
			t.Errorf("%d messages: a device that was reset gets %v of a new message", messages, p)
		}
		s.log = s.log.(restoredLog).Log
		s.restart(false)
		restore()
		s.message(t, 1)
		if p := syncPage(t, s.harness, begin, 0); p.Reset_ || len(p.Events) != 2 || p.Events[1].Prev != begin+1 {
			t.Errorf("%d messages: after another start, a device that was reset gets %v", messages, p)
		}
		reset("after another start", 1<<32+1000)
	}
}

// A user of whom a restored log has nothing begins as with any other log.
func TestNewUsersAfterARestore(t *testing.T) {
	s := &stream{harness: newHarness(t, true, inbox.Config{})}
	s.log = restoredLog{s.log, 1}
	s.start()
	if p := syncPage(t, s.harness, 0, 0); p.Reset_ || p.More || len(p.Events) != 0 {
		t.Errorf("a new device of a new user is answered with %v", p)
	}
}

// A stream may have nothing although its user has messages: those of a channel that everybody follows. Its devices are reset as well, once.
func TestWhoHasOnlyLargeGroupsIsReset(t *testing.T) {
	s := &stream{harness: newHarness(t, true, inbox.Config{})}
	s.join(t, 7, reader, 2)
	s.conversations.large[7] = true
	s.log = restoredLog{s.log, 2}
	s.start()
	const begin = uint64(2) << 32
	p := syncPage(t, s.harness, 0, 0)
	if !p.Reset_ || p.Next.GetSeq() != begin || len(p.Large) != 1 {
		t.Errorf("a device without a position is answered with %v", p)
	}
	if p := syncPage(t, s.harness, begin, 0); p.Reset_ || p.More || len(p.Large) != 1 {
		t.Errorf("a device that was reset is answered with %v", p)
	}
}
