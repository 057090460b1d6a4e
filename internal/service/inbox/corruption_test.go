package inbox_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/pglog"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/inbox"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// corrupter makes a store's entries unreadable, and readable again.
type corrupter struct {
	corrupt, repair func(k timeline.Key, seqs ...uint64)
}

// onEachEngine runs a test of corrupt data on each engine.
func onEachEngine(t *testing.T, test func(t *testing.T, h *harness, d corrupter)) {
	t.Run("pebble", func(t *testing.T) {
		h := newDamaged(t, true)
		test(t, h, onPebble(h))
	})
	t.Run("postgres", func(t *testing.T) {
		h := newDamaged(t, false)
		address := sqltest.Schema(t, sqltest.Postgres(t))
		log, err := pglog.Open(t.Context(), address, pglog.Options{Readers: 1, Writers: 1})
		if err != nil {
			t.Fatal(err)
		}
		for p := range uint16(timeline.Partitions) {
			if err := log.Acquire(t.Context(), p, 1); err != nil {
				t.Fatal(err)
			}
		}
		h.log = log
		h.start()
		test(t, h, onPostgres(t, address))
	})
}

func newDamaged(t *testing.T, pebble bool) *harness {
	h := newHarness(t, pebble, inbox.Config{})
	var err error
	if h.quarantine, err = job.NewQuarantine(t.Context(), h.db, h.clock); err != nil {
		t.Fatal(err)
	}
	h.start()
	return h
}

// onPebble overwrites entries with invalid bytes while the log is closed.
func onPebble(h *harness) corrupter {
	was := map[string][]byte{}
	change := func(k timeline.Key, seqs []uint64, change func(db *pebble.DB, key []byte) error) {
		if err := h.log.Close(); err != nil {
			h.t.Fatal(err)
		}
		db, err := pebble.Open("log", &pebble.Options{FS: h.fs, FormatMajorVersion: pebble.FormatNewest, Logger: discardLogger{}})
		if err != nil {
			h.t.Fatal(err)
		}
		for _, seq := range seqs {
			key := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64([]byte{'e', byte(k.Kind)}, k.ID), seq)
			if err := change(db, key); err != nil {
				h.t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			h.t.Fatal(err)
		}
		h.log = h.openPebble()
		h.start()
	}
	return corrupter{
		corrupt: func(k timeline.Key, seqs ...uint64) {
			change(k, seqs, func(db *pebble.DB, key []byte) error {
				v, closer, err := db.Get(key)
				if err != nil {
					return err
				}
				was[string(key)] = slices.Clone(v)
				return errors.Join(closer.Close(), db.Set(key, []byte{99, 99}, pebble.Sync))
			})
		},
		repair: func(k timeline.Key, seqs ...uint64) {
			change(k, seqs, func(db *pebble.DB, key []byte) error { return db.Set(key, was[string(key)], pebble.Sync) })
		},
	}
}

// discardLogger discards the engine's log messages.
type discardLogger struct{}

func (discardLogger) Infof(string, ...any)           {}
func (discardLogger) Errorf(string, ...any)          {}
func (discardLogger) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }

// onPostgres makes the database report entries as if their page cannot be read. It writes nothing afterwards.
func onPostgres(t *testing.T, address string) corrupter {
	db, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	do := func(statement string, arguments ...any) {
		t.Helper()
		if _, err := db.Exec(t.Context(), statement, arguments...); err != nil {
			t.Fatal(err)
		}
	}
	var once sync.Once
	failReads := func(statement string) func(k timeline.Key, seqs ...uint64) {
		return func(k timeline.Key, seqs ...uint64) {
			once.Do(func() {
				do(`CREATE TABLE torn (id BIGINT, seq BIGINT)`)
				do(`CREATE FUNCTION page_of(i BIGINT, s BIGINT, p BYTEA) RETURNS BYTEA LANGUAGE plpgsql STABLE AS $$ BEGIN
					IF EXISTS (SELECT FROM torn WHERE id = i AND seq = s) THEN RAISE EXCEPTION 'invalid page' USING ERRCODE = 'data_corrupted'; END IF;
					RETURN p; END $$`)
				do(`ALTER TABLE log_entries RENAME TO pages_e`)
				do(`ALTER TABLE log_posts RENAME TO pages_p`)
				do(`CREATE VIEW log_entries AS SELECT id, seq, counted, page_of(id, seq, payload) AS payload FROM pages_e`)
				do(`CREATE VIEW log_posts AS SELECT id, seq, prev, page_of(id, seq, payload) AS payload FROM pages_p`)
			})
			for _, seq := range seqs {
				do(statement, int64(k.ID), int64(seq))
			}
		}
	}
	return corrupter{failReads(`INSERT INTO torn VALUES ($1, $2)`), failReads(`DELETE FROM torn WHERE id = $1 AND seq = $2`)}
}

// syncer is a device that reads page by page.
type syncer struct {
	h    *harness
	at   *chatv1.Position
	got  []string
	last uint64
}

// page syncs one page, and reports whether there are more.
func (d *syncer) page(limit uint32) (more, reset bool, err error) {
	d.h.t.Helper()
	r, err := d.h.Sync(context.Background(), id.Caller{User: reader}, &chatv1.SyncRequest{After: d.at, Limit: limit})
	if err != nil {
		return false, false, err
	}
	for _, e := range r.Events {
		if e.Prev != d.last {
			d.h.t.Errorf("event %x follows %x, want %x", e.Seq, e.Prev, d.last)
		}
		d.last = e.Seq
		what := item(e)
		if u := e.GetUnreadable(); u != nil {
			what = fmt.Sprintf("unreadable %d of %d", u.Seq, u.Conversation)
		}
		d.got = append(d.got, what)
	}
	if r.Next.GetSeq() < d.last {
		d.h.t.Errorf("the next page is after %x, but the last event was %x", r.Next.GetSeq(), d.last)
	}
	d.at = r.Next
	return r.More, r.Reset_, nil
}

// all syncs all pages. It repeats reads of corrupt entries until the detector has confirmed them.
func (d *syncer) all() (reset bool, failures int) {
	d.h.t.Helper()
	for more := true; more; {
		var err error
		var is bool
		if more, is, err = d.page(100); err != nil {
			if failures++; !errors.Is(err, timeline.ErrCorrupt) || failures > 10 {
				d.h.t.Fatalf("error %v after %d failures, want at most 10 of corrupt entries", err, failures)
			}
			d.h.clock.move(3 * time.Second)
			more = true
		}
		reset = reset || is
	}
	return reset, failures
}

// Entries become unreadable after fan-out. A sync returns all others and marks the corrupt ones, and the metrics count them. Once they are
// readable again, they are returned as messages.
func TestSyncSkipsCorruptEntries(t *testing.T) {
	onEachEngine(t, func(t *testing.T, h *harness, d corrupter) {
		const a, b, each = id.Conversation(7), id.Conversation(8), 150
		h.join(t, a, reader, 2)
		h.join(t, b, reader, 2)
		s := &stream{harness: h}
		for i := range each {
			s.message(t, a)
			s.message(t, b)
			if i%50 == 0 {
				s.draft(t)
			}
		}
		d.corrupt(conversationKey(a), 10, 11, 90)
		d.corrupt(conversationKey(b), 151)
		want := slices.Clone(s.items)
		for i := range want {
			for _, failReads := range []string{"10 of 7", "11 of 7", "90 of 7", "151 of 8"} {
				if want[i] == "message "+failReads {
					want[i] = "unreadable " + failReads
				}
			}
		}
		device := &syncer{h: h}
		if reset, failures := device.all(); reset || failures == 0 {
			t.Errorf("reset %v after %d failures, want no reset, and failures before the corruption is confirmed", reset, failures)
		}
		if !slices.Equal(device.got, want) {
			t.Errorf("%q\nwant %q", device.got, want)
		}
		again := &syncer{h: h} // confirmed corruption delays no other device
		if reset, failures := again.all(); reset || failures != 0 || !slices.Equal(again.got, want) {
			t.Errorf("the next device gets %q, reset %v, after %d failures", again.got, reset, failures)
		}
		if n := h.CorruptSkipped(); n != 4 {
			t.Errorf("%d corrupt locations were skipped", n)
		}
		var quarantine []timeline.Ref
		for _, k := range []timeline.Key{conversationKey(a), conversationKey(b)} {
			list, _, err := h.quarantine.List(t.Context(), k.Partition(), timeline.Ref{Key: timeline.Key{ID: k.ID}}, 10)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range list {
				if r.Key == k {
					quarantine = append(quarantine, r)
				}
			}
		}
		ref := func(c id.Conversation, seq uint64) timeline.Ref {
			return timeline.Ref{Key: conversationKey(c), From: seq, To: seq}
		}
		if !slices.Equal(quarantine, []timeline.Ref{ref(a, 10), ref(a, 11), ref(a, 90), ref(b, 151)}) {
			t.Errorf("the quarantine has %v", quarantine)
		}
		d.repair(conversationKey(a), 10, 11, 90)
		d.repair(conversationKey(b), 151)
		repaired := &syncer{h: h}
		if repaired.all(); !slices.Equal(repaired.got, s.items) {
			t.Errorf("after the repair the events are %q", repaired.got)
		}
	})
}

// Entries of the user's stream itself are corrupt. A device whose position is before them gets one reset, and then syncs normally. A
// device whose position is after them gets none.
func TestCorruptStreamResets(t *testing.T) {
	onEachEngine(t, func(t *testing.T, h *harness, d corrupter) {
		const c = id.Conversation(7)
		h.join(t, c, reader, 2)
		s := &stream{harness: h}
		for range 30 {
			s.message(t, c)
		}
		entries, err := h.log.Read(t.Context(), streamKey(reader), 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		d.corrupt(streamKey(reader), entries[9].Seq)
		device := &syncer{h: h}
		if reset, failures := device.all(); !reset || failures == 0 || len(device.got) != 0 || device.at.Seq != entries[29].Seq {
			t.Errorf("reset %v after %d failures, %q, to %x of %x", reset, failures, device.got, device.at.GetSeq(), entries[29].Seq)
		}
		if reset, failures := device.all(); reset || failures != 0 || len(device.got) != 0 {
			t.Errorf("the next sync: reset %v after %d failures, %q", reset, failures, device.got)
		}
		after := &syncer{h: h, at: &chatv1.Position{Epoch: uint32(entries[19].Seq >> 32), Seq: entries[19].Seq}, last: entries[19].Seq}
		if reset, failures := after.all(); reset || failures != 0 || !slices.Equal(after.got, s.items[20:]) {
			t.Errorf("a device after the corruption: reset %v after %d failures, %q", reset, failures, after.got)
		}
		if n := h.CorruptSkipped(); n != 1 {
			t.Errorf("%d corrupt locations were skipped", n)
		}
		d.repair(streamKey(reader), entries[9].Seq)
		repaired := &syncer{h: h}
		if reset, _ := repaired.all(); reset || !slices.Equal(repaired.got, s.items) {
			t.Errorf("after the repair: reset %v, %q", reset, repaired.got)
		}
	})
}

// A corrupt event in a stream, first or later, does not keep the stream from being trimmed by age or by number.
func TestCorruptStreamsAreTrimmed(t *testing.T) {
	onEachEngine(t, func(t *testing.T, h *harness, d corrupter) {
		const c = id.Conversation(7)
		h.join(t, c, reader, 2)
		s := &stream{harness: h}
		for range 30 {
			s.message(t, c)
		}
		h.clock.move(100 * 24 * time.Hour)
		s.message(t, c)
		entries, err := h.log.Read(t.Context(), streamKey(reader), 0, 100)
		if err != nil || len(entries) != 31 {
			t.Fatalf("got %d entries, %v, want 31", len(entries), err)
		}
		d.corrupt(streamKey(reader), entries[0].Seq, entries[9].Seq, entries[10].Seq, entries[11].Seq)
		if remaining, tail := trimmed(t, h); remaining != 1 || tail != entries[30].Seq {
			t.Errorf("got %d entries up to %x, want the new one, %x", remaining, tail, entries[30].Seq)
		}
	})
}

// unreadable is a log that fails to read the entries of one conversation. It counts the reads.
type unreadable struct {
	timeline.Log
	of       timeline.Key
	requests int
	reads    int // requested entries
}

func (l *unreadable) failReads(refs []timeline.Ref) error {
	l.requests++
	for _, r := range refs {
		l.reads++
		if r.Key == l.of {
			return timeline.ErrCorrupt
		}
	}
	return nil
}

func (l *unreadable) Get(ctx context.Context, refs []timeline.Ref) ([]timeline.Entry, error) {
	if err := l.failReads(refs); err != nil {
		return nil, err
	}
	return l.Log.Get(ctx, refs)
}

func (l *unreadable) GetLimited(ctx context.Context, refs []timeline.Ref, bytes int) ([]timeline.Entry, error) {
	if err := l.failReads(refs); err != nil {
		return nil, err
	}
	return l.Log.GetLimited(ctx, refs, bytes)
}

// With much corruption, a sync reads each entry once, plus a bounded number of retries, and reports each location once.
func TestCorruptionDetectorIsBounded(t *testing.T) {
	const a, b, each = id.Conversation(7), id.Conversation(8), 400
	h := newDamaged(t, false)
	l := &unreadable{Log: h.log, of: conversationKey(b)}
	h.join(t, a, reader, 2)
	h.join(t, b, reader, 2)
	s := &stream{harness: h}
	for range each {
		s.message(t, a)
		s.message(t, b)
	}
	h.log = l
	h.start()
	d := &syncer{h: h}
	for failures := 0; ; failures++ { // until it is confirmed
		l.requests, l.reads = 0, 0
		_, _, err := d.page(2000)
		if err == nil {
			break
		}
		if l.requests > 70 || failures > 5 {
			t.Fatalf("%d requests without a confirmed corruption: %v", l.requests, err)
		}
		h.clock.move(3 * time.Second)
	}
	if len(d.got) != 2*each || l.requests > 2*each+2*each/20 || l.reads > 4*each {
		t.Errorf("got %d events with %d requests for %d entries, want %d with at most %d for %d", len(d.got), l.requests, l.reads, 2*each, 2*each+2*each/20, 4*each)
	}
	if n := h.CorruptSkipped(); n != each {
		t.Errorf("%d corrupt locations were skipped", n)
	}
}

// A conversation whose state is corrupt does not hide the others.
func TestCorruptConversation(t *testing.T) {
	const a, b = id.Conversation(7), id.Conversation(8)
	h := newDamaged(t, false)
	h.join(t, a, reader, 2)
	h.join(t, b, reader, 2)
	s := &stream{harness: h}
	s.message(t, a)
	s.message(t, b)
	s.message(t, a)
	h.conversations.mu.Lock()
	h.conversations.corrupt = b
	h.conversations.mu.Unlock()
	d := &syncer{h: h}
	d.all()
	if want := []string{s.items[0], "unreadable 2 of 8", s.items[2]}; !slices.Equal(d.got, want) {
		t.Errorf("events are %q, want %q", d.got, want)
	}
}

// A page ends before an entry that seems corrupt, and is returned without waiting for the confirmation.
func TestCorruptionAfterPage(t *testing.T) {
	h := newDamaged(t, false)
	const a, b = id.Conversation(7), id.Conversation(8)
	h.join(t, a, reader, 2)
	h.join(t, b, reader, 2)
	s := &stream{harness: h}
	for range 100 {
		s.message(t, a)
	}
	s.message(t, b)
	h.log = &unreadable{Log: h.log, of: conversationKey(b)}
	h.start()
	d := &syncer{h: h}
	if more, _, err := d.page(500); err != nil || !more || len(d.got) < 64 || len(d.got) > 100 || message.Position(d.last) != message.Position(d.at.Seq) {
		t.Errorf("the page has more %v (%v), %d events", more, err, len(d.got))
	}
	if d.all(); len(d.got) != 101 || d.got[100] != "unreadable 2 of 8" {
		t.Errorf("the device has %d events: %q", len(d.got), d.got)
	}
}

// Corrupt entries at the end or the beginning of a conversation remove neither it nor others from the list.
func TestListsSkipCorruption(t *testing.T) {
	onEachEngine(t, func(t *testing.T, h *harness, d corrupter) {
		const end, begin, tail, fine = id.Conversation(1), id.Conversation(2), id.Conversation(3), id.Conversation(4)
		for c := end; c <= fine; c++ {
			h.join(t, c, reader, 2)
			for range 40 {
				h.send(t, 2, c, false)
			}
		}
		d.corrupt(conversationKey(end), 41)
		d.corrupt(conversationKey(begin), 1)
		var last []uint64
		for seq := uint64(20); seq <= 41; seq++ {
			last = append(last, seq)
		}
		d.corrupt(conversationKey(tail), last...)
		var r *chatv1.ListConversationsResponse
		failures := 0
		for ; r == nil; failures++ {
			var err error
			if r, err = h.ListConversations(t.Context(), reader, &chatv1.ListConversationsRequest{}); err != nil && (!errors.Is(err, timeline.ErrCorrupt) || failures > 20) {
				t.Fatalf("error %v after %d failures, want at most 20 of corrupt entries", err, failures)
			}
			h.clock.move(3 * time.Second)
		}
		if failures < 2 {
			t.Error("the corruption is confirmed by one read")
		}
		type row struct{ last, unread uint64 }
		got := map[id.Conversation]row{}
		for _, c := range r.Conversations {
			got[id.Conversation(c.Id)] = row{c.LastSeq, c.Unread}
			if (c.LastMessage == nil) != (c.Id == uint64(tail)) || c.LastMessage != nil && c.LastMessage.Seq != c.LastSeq {
				t.Errorf("the last message of conversation %d is %v at %d", c.Id, c.LastMessage, c.LastSeq)
			}
		}
		want := map[id.Conversation]row{end: {40, 39}, begin: {41, 0}, tail: {0, 0}, fine: {41, 40}}
		if !maps.Equal(got, want) {
			t.Errorf("the list is %v, want %v", got, want)
		}
	})
}
