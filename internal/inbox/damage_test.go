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
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/inbox"
	"github.com/rialto-im/rialto/internal/job"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/timeline"
	"github.com/rialto-im/rialto/internal/timeline/pglog"
)

// damager makes a store's entries unreadable, and readable again.
type damager struct {
	hurt, heal func(k timeline.Key, seqs ...uint64)
}

// damaged has a house on each engine that a test of damage is for.
func damaged(t *testing.T, test func(t *testing.T, h *house, d damager)) {
	t.Run("pebble", func(t *testing.T) {
		h := damagedHouse(t, true)
		test(t, h, onPebble(h))
	})
	t.Run("postgres", func(t *testing.T) {
		h := damagedHouse(t, false)
		address := sqltest.Schema(t, sqltest.Postgres(t))
		log, err := pglog.Open(t.Context(), address, pglog.Options{Readers: 1, Writers: 1})
		if err != nil {
			t.Fatal(err)
		}
		for p := range uint16(timeline.Partitions) {
			if err := log.Take(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		h.log = log
		h.start()
		test(t, h, onPostgres(t, address))
	})
}

func damagedHouse(t *testing.T, pebble bool) *house {
	h := newHouse(t, pebble, inbox.Config{})
	var err error
	if h.aside, err = job.NewAside(t.Context(), h.db, h.clock); err != nil {
		t.Fatal(err)
	}
	h.start()
	return h
}

// onPebble writes what is no entry in place of entries, while the log is closed.
func onPebble(h *house) damager {
	was := map[string][]byte{}
	change := func(k timeline.Key, seqs []uint64, change func(db *pebble.DB, key []byte) error) {
		if err := h.log.Close(); err != nil {
			h.t.Fatal(err)
		}
		db, err := pebble.Open("log", &pebble.Options{FS: h.fs, FormatMajorVersion: pebble.FormatNewest, Logger: quiet{}})
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
	return damager{
		hurt: func(k timeline.Key, seqs ...uint64) {
			change(k, seqs, func(db *pebble.DB, key []byte) error {
				v, closer, err := db.Get(key)
				if err != nil {
					return err
				}
				was[string(key)] = slices.Clone(v)
				return errors.Join(closer.Close(), db.Set(key, []byte{99, 99}, pebble.Sync))
			})
		},
		heal: func(k timeline.Key, seqs ...uint64) {
			change(k, seqs, func(db *pebble.DB, key []byte) error { return db.Set(key, was[string(key)], pebble.Sync) })
		},
	}
}

// quiet discards what the engine says.
type quiet struct{}

func (quiet) Infof(string, ...any)           {}
func (quiet) Errorf(string, ...any)          {}
func (quiet) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }

// onPostgres has the database say of entries what it says of a page that it cannot read. Nothing is written from then on.
func onPostgres(t *testing.T, address string) damager {
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
	torn := func(statement string) func(k timeline.Key, seqs ...uint64) {
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
	return damager{torn(`INSERT INTO torn VALUES ($1, $2)`), torn(`DELETE FROM torn WHERE id = $1 AND seq = $2`)}
}

// syncer is a device that reads page by page.
type syncer struct {
	h    *house
	at   *chatv1.Position
	got  []string
	last uint64
}

// page gives whether there is more.
func (d *syncer) page(limit uint32) (more, reset bool, err error) {
	d.h.t.Helper()
	r, err := d.h.Sync(context.Background(), id.Caller{User: reader}, &chatv1.SyncRequest{After: d.at, Limit: limit})
	if err != nil {
		return false, false, err
	}
	for _, e := range r.Events {
		if e.Prev != d.last {
			d.h.t.Errorf("event %x is after %x, and not %x", e.Seq, e.Prev, d.last)
		}
		d.last = e.Seq
		what := item(e)
		if u := e.GetUnreadable(); u != nil {
			what = fmt.Sprintf("unreadable %d of %d", u.Seq, u.Conversation)
		}
		d.got = append(d.got, what)
	}
	if r.Next.GetSeq() < d.last {
		d.h.t.Errorf("the next page is after %x, and %x was given", r.Next.GetSeq(), d.last)
	}
	d.at = r.Next
	return r.More, r.Reset_, nil
}

// all pages; what looks damaged is asked for again until that is believed.
func (d *syncer) all() (reset bool, failures int) {
	d.h.t.Helper()
	for more := true; more; {
		var err error
		var is bool
		if more, is, err = d.page(100); err != nil {
			if failures++; !errors.Is(err, timeline.ErrDamaged) || failures > 10 {
				d.h.t.Fatal(err)
			}
			d.h.clock.move(3 * time.Second)
			more = true
		}
		reset = reset || is
	}
	return reset, failures
}

// TestDamageIsPassed: entries become unreadable after they were carried. A sync gives all else, and says which they are; operators see
// them; and they come as messages when they can be read again.
func TestDamageIsPassed(t *testing.T) {
	damaged(t, func(t *testing.T, h *house, d damager) {
		const a, b, each = id.Conversation(7), id.Conversation(8), 150
		h.join(t, a, reader, 2)
		h.join(t, b, reader, 2)
		s := &stream{house: h}
		for i := range each {
			s.message(t, a)
			s.message(t, b)
			if i%50 == 0 {
				s.draft(t)
			}
		}
		d.hurt(logOf(a), 10, 11, 90)
		d.hurt(logOf(b), 151)
		want := slices.Clone(s.items)
		for i := range want {
			for _, torn := range []string{"10 of 7", "11 of 7", "90 of 7", "151 of 8"} {
				if want[i] == "message "+torn {
					want[i] = "unreadable " + torn
				}
			}
		}
		device := &syncer{h: h}
		if reset, failures := device.all(); reset || failures == 0 {
			t.Errorf("reset: %v, after %d failures: nothing is believed at once", reset, failures)
		}
		if !slices.Equal(device.got, want) {
			t.Errorf("%q\nwant %q", device.got, want)
		}
		again := &syncer{h: h} // what is known to be damaged keeps no other device
		if reset, failures := again.all(); reset || failures != 0 || !slices.Equal(again.got, want) {
			t.Errorf("the next device is told %q, reset %v, after %d failures", again.got, reset, failures)
		}
		if n := h.Passed(); n != 4 {
			t.Errorf("%d places were passed", n)
		}
		var aside []timeline.Ref
		for _, k := range []timeline.Key{logOf(a), logOf(b)} {
			list, _, err := h.aside.List(t.Context(), k.Partition(), timeline.Ref{Key: timeline.Key{ID: k.ID}}, 10)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range list {
				if r.Key == k {
					aside = append(aside, r)
				}
			}
		}
		ref := func(c id.Conversation, seq uint64) timeline.Ref {
			return timeline.Ref{Key: logOf(c), From: seq, To: seq}
		}
		if !slices.Equal(aside, []timeline.Ref{ref(a, 10), ref(a, 11), ref(a, 90), ref(b, 151)}) {
			t.Errorf("set aside are %v", aside)
		}
		d.heal(logOf(a), 10, 11, 90)
		d.heal(logOf(b), 151)
		healed := &syncer{h: h}
		if healed.all(); !slices.Equal(healed.got, s.items) {
			t.Errorf("healed: %q", healed.got)
		}
	})
}

// TestADamagedStream: what becomes unreadable is in the stream itself. Devices behind it are told to read their lists, once, and go on;
// those before it are not.
func TestADamagedStream(t *testing.T) {
	damaged(t, func(t *testing.T, h *house, d damager) {
		const c = id.Conversation(7)
		h.join(t, c, reader, 2)
		s := &stream{house: h}
		for range 30 {
			s.message(t, c)
		}
		entries, err := h.log.Read(t.Context(), inboxOf(reader), 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		d.hurt(inboxOf(reader), entries[9].Seq)
		device := &syncer{h: h}
		if reset, failures := device.all(); !reset || failures == 0 || len(device.got) != 0 || device.at.Seq != entries[29].Seq {
			t.Errorf("reset %v after %d failures, %q, to %x of %x", reset, failures, device.got, device.at.GetSeq(), entries[29].Seq)
		}
		if reset, failures := device.all(); reset || failures != 0 || len(device.got) != 0 {
			t.Errorf("then: reset %v after %d failures, %q", reset, failures, device.got)
		}
		behind := &syncer{h: h, at: &chatv1.Position{Epoch: uint32(entries[19].Seq >> 32), Seq: entries[19].Seq}, last: entries[19].Seq}
		if reset, failures := behind.all(); reset || failures != 0 || !slices.Equal(behind.got, s.items[20:]) {
			t.Errorf("behind it: reset %v after %d failures, %q", reset, failures, behind.got)
		}
		if n := h.Passed(); n != 1 {
			t.Errorf("%d places were passed", n)
		}
		d.heal(inboxOf(reader), entries[9].Seq)
		healed := &syncer{h: h}
		if reset, _ := healed.all(); reset || !slices.Equal(healed.got, s.items) {
			t.Errorf("healed: reset %v, %q", reset, healed.got)
		}
	})
}

// unreadable is a log of which no entry of a conversation can be read; it counts what it is asked.
type unreadable struct {
	timeline.Log
	of    timeline.Key
	gets  int
	reads int // entries that were asked for
}

func (l *unreadable) torn(refs []timeline.Ref) error {
	l.gets++
	for _, r := range refs {
		l.reads++
		if r.Key == l.of {
			return timeline.ErrDamaged
		}
	}
	return nil
}

func (l *unreadable) Get(ctx context.Context, refs []timeline.Ref) ([]timeline.Entry, error) {
	if err := l.torn(refs); err != nil {
		return nil, err
	}
	return l.Log.Get(ctx, refs)
}

func (l *unreadable) GetMost(ctx context.Context, refs []timeline.Ref, bytes int) ([]timeline.Entry, error) {
	if err := l.torn(refs); err != nil {
		return nil, err
	}
	return l.Log.GetMost(ctx, refs, bytes)
}

// TestDamageIsBounded: where much is damaged, a sync asks for each entry once, and some more, and tells operators of each place once.
func TestDamageIsBounded(t *testing.T) {
	const a, b, each = id.Conversation(7), id.Conversation(8), 400
	h := damagedHouse(t, false)
	l := &unreadable{Log: h.log, of: logOf(b)}
	h.join(t, a, reader, 2)
	h.join(t, b, reader, 2)
	s := &stream{house: h}
	for range each {
		s.message(t, a)
		s.message(t, b)
	}
	h.log = l
	h.start()
	d := &syncer{h: h}
	for failures := 0; ; failures++ { // until it is believed
		l.gets, l.reads = 0, 0
		_, _, err := d.page(2000)
		if err == nil {
			break
		}
		if l.gets > 70 || failures > 5 {
			t.Fatalf("%d questions to find that something is damaged: %v", l.gets, err)
		}
		h.clock.move(3 * time.Second)
	}
	if len(d.got) != 2*each || l.gets > 2*each+2*each/20 || l.reads > 4*each {
		t.Errorf("%d events of %d by %d questions for %d entries", len(d.got), 2*each, l.gets, l.reads)
	}
	if n := h.Passed(); n != each {
		t.Errorf("%d places were passed", n)
	}
}

// TestADamagedConversation: one whose state cannot be read hides none of the others.
func TestADamagedConversation(t *testing.T) {
	const a, b = id.Conversation(7), id.Conversation(8)
	h := damagedHouse(t, false)
	h.join(t, a, reader, 2)
	h.join(t, b, reader, 2)
	s := &stream{house: h}
	s.message(t, a)
	s.message(t, b)
	s.message(t, a)
	h.rooms.mu.Lock()
	h.rooms.torn = b
	h.rooms.mu.Unlock()
	d := &syncer{h: h}
	d.all()
	if want := []string{s.items[0], "unreadable 2 of 8", s.items[2]}; !slices.Equal(d.got, want) {
		t.Errorf("%q, want %q", d.got, want)
	}
}

// TestDamageBehindAPage: a page ends before what looks damaged; it is not kept with that.
func TestDamageBehindAPage(t *testing.T) {
	h := damagedHouse(t, false)
	const a, b = id.Conversation(7), id.Conversation(8)
	h.join(t, a, reader, 2)
	h.join(t, b, reader, 2)
	s := &stream{house: h}
	for range 100 {
		s.message(t, a)
	}
	s.message(t, b)
	h.log = &unreadable{Log: h.log, of: logOf(b)}
	h.start()
	d := &syncer{h: h}
	if more, _, err := d.page(500); err != nil || !more || len(d.got) < 64 || len(d.got) > 100 || message.Position(d.last) != message.Position(d.at.Seq) {
		t.Errorf("more %v, %v, %d events", more, err, len(d.got))
	}
	if d.all(); len(d.got) != 101 || d.got[100] != "unreadable 2 of 8" {
		t.Errorf("%d events: %q", len(d.got), d.got)
	}
}

// TestDamagedLists: what cannot be read at the end or the beginning of conversations does not keep them, or others, out of the list.
func TestDamagedLists(t *testing.T) {
	damaged(t, func(t *testing.T, h *house, d damager) {
		const end, begin, tail, fine = id.Conversation(1), id.Conversation(2), id.Conversation(3), id.Conversation(4)
		for c := end; c <= fine; c++ {
			h.join(t, c, reader, 2)
			for range 40 {
				h.send(t, 2, c, false)
			}
		}
		d.hurt(logOf(end), 41)
		d.hurt(logOf(begin), 1)
		var last []uint64
		for seq := uint64(20); seq <= 41; seq++ {
			last = append(last, seq)
		}
		d.hurt(logOf(tail), last...)
		var r *chatv1.ListConversationsResponse
		failures := 0
		for ; r == nil; failures++ {
			var err error
			if r, err = h.ListConversations(t.Context(), reader, &chatv1.ListConversationsRequest{}); err != nil && (!errors.Is(err, timeline.ErrDamaged) || failures > 20) {
				t.Fatal(err)
			}
			h.clock.move(3 * time.Second)
		}
		if failures < 2 {
			t.Error("damage is believed at once")
		}
		type row struct{ last, unread uint64 }
		got := map[id.Conversation]row{}
		for _, c := range r.Conversations {
			got[id.Conversation(c.Id)] = row{c.LastSeq, c.Unread}
			if (c.LastMessage == nil) != (c.Id == uint64(tail)) || c.LastMessage != nil && c.LastMessage.Seq != c.LastSeq {
				t.Errorf("conversation %d: last message %v at %d", c.Id, c.LastMessage, c.LastSeq)
			}
		}
		want := map[id.Conversation]row{end: {40, 39}, begin: {41, 0}, tail: {0, 0}, fine: {41, 40}}
		if !maps.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}
