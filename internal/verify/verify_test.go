package verify_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
	"github.com/rialto-im/rialto/internal/timeline/pebblelog"
	"github.com/rialto-im/rialto/internal/timeline/timelinetest"
	"github.com/rialto-im/rialto/internal/verify"
	"google.golang.org/protobuf/proto"
	_ "modernc.org/sqlite" // the records' driver
)

// The directory under test has one group: 1 makes it with 2, both send, 3 joins, sends, leaves, 1 and 2 send again.
//
//	seq 1 created · 2 by 1 · 3 by 2 · 4 joined 3 · 5 by 3 · 6 left 3 · 7 by 1 · 8 by 2
const (
	group = 77
	last  = 8
)

var groupKey = timeline.Key{Kind: timeline.Conversation, ID: group}

type writer struct {
	t      *testing.T
	log    timeline.Log
	access uint64
	seq    uint64
	sent   map[uint64]uint64
}

func (w *writer) control(action chatv1.Control_Action, actor uint64, users ...uint64) {
	content, err := proto.Marshal(&chatv1.Content{Kind: &chatv1.Content_Control{Control: &chatv1.Control{Action: action, Actor: actor, Users: users, PrevAccess: w.access}}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.append(&message.Entry{Sender: id.User(actor), Control: true, Content: content})
	w.access = w.seq
}

func (w *writer) message(from uint64) {
	w.sent[from]++
	w.append(&message.Entry{Sender: id.User(from), Device: id.Device(from + 10), ClientSeq: w.sent[from], Content: message.AppendText(nil, "hello")})
}

func (w *writer) append(e *message.Entry) {
	e.ID = id.MessageOf(1_700_000_000_000+int64(w.seq), 0, 2, group)
	a := &timeline.Append{Key: groupKey, Payload: e.Append(nil), Counts: !e.Control, SetAccess: e.Control, Carry: true}
	if !e.Control {
		a.Author = uint64(e.Sender)
		a.Token = timeline.Token{Sender: uint64(e.Sender), Device: uint64(e.Device), Counter: e.ClientSeq}
	}
	if timelinetest.Append(w.log, a); a.Err != nil {
		w.t.Fatal(a.Err)
	}
	w.seq = a.Seq
}

// healthy makes a directory in which every promise holds; of it entry 8 is not carried yet.
func healthy(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	log, err := pebblelog.Open(filepath.Join(dir, "timeline"), pebblelog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, log)
	if err := os.WriteFile(filepath.Join(dir, "LOCK"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	records(t, "BLOB", func(statement string, args ...any) { execute(t, dir, statement, args...) })
	return dir
}

// fill writes the timelines, and closes them.
func fill(t *testing.T, log timeline.Log) {
	t.Helper()
	ctx := t.Context()
	for p := range uint16(timeline.Partitions) {
		if err := log.Take(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	w := &writer{t: t, log: log, sent: map[uint64]uint64{}}
	w.control(chatv1.Control_ACTION_CREATED, 1, 1, 2)
	w.message(1)
	w.message(2)
	w.control(chatv1.Control_ACTION_JOINED, 1, 3)
	w.message(3)
	w.control(chatv1.Control_ACTION_LEFT, 3, 3)
	w.message(1)
	w.message(2)
	for seq := uint64(1); seq < last; seq++ {
		for u := uint64(1); u <= 3; u++ {
			if u == 3 && (seq < 4 || seq > 6) {
				continue
			}
			if err := log.Post(ctx, []timeline.Post{{Key: timeline.Key{Kind: timeline.Inbox, ID: u}, Payload: message.AppendInboxRef(nil, group, seq)}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	p := groupKey.Partition()
	if err := log.PutCheckpoint(ctx, p, last-1); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// records writes the rooms' rows.
func records(t *testing.T, bytes string, do func(statement string, args ...any)) {
	t.Helper()
	event, err := proto.Marshal(&chatv1.Event{Body: &chatv1.Event_Message{Message: &chatv1.Message{Seq: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	do(`CREATE TABLE conversations (id BIGINT, applied BIGINT)`)
	do(`CREATE TABLE members (conversation BIGINT, member BIGINT, join_seq BIGINT, leave_seq BIGINT)`)
	do(`CREATE TABLE views (owner BIGINT, conversation BIGINT, read_seq BIGINT, read_counted BIGINT, delivered_seq BIGINT)`)
	do(`CREATE TABLE outbox (n BIGINT, owner BIGINT, body ` + bytes + `)`)
	do(`CREATE TABLE set_aside (conversation BIGINT, seq BIGINT, why TEXT)`)
	do(`INSERT INTO conversations VALUES (77, 6)`)
	do(`INSERT INTO members VALUES (77, 1, 1, 0), (77, 2, 1, 0), (77, 3, 4, 6)`)
	do(`INSERT INTO views VALUES (1, 77, 7, 4, 7), (2, 77, 0, 0, 8)`)
	do(`INSERT INTO outbox VALUES (1, 1, $1)`, event)
}

func execute(t *testing.T, dir, statement string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "records.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement, args...); err != nil {
		t.Fatal(err)
	}
}

// raw opens the timelines below every guard.
func raw(t *testing.T, dir string, do func(db *pebble.DB)) {
	t.Helper()
	db, err := pebble.Open(filepath.Join(dir, "timeline"), &pebble.Options{FormatMajorVersion: pebble.FormatNewest, Logger: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	do(db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// key as docs/formats/pebble.md draws it: a row's letter, a kind, numbers.
func key(row, kind byte, numbers ...uint64) []byte {
	b := []byte{row, kind}
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b
}

func entry(seq uint64) []byte { return key('e', 'c', group, seq) }

func tokenKey(sender, device, counter uint64) []byte {
	b := append([]byte{'k'}, key(0, 0, sender, device, counter)[2:]...)
	return binary.BigEndian.AppendUint64(append(b, 'c'), group)
}

// quiet discards what the engine says.
type quiet struct{}

func (quiet) Infof(string, ...any)           {}
func (quiet) Errorf(string, ...any)          {}
func (quiet) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }

func get(t *testing.T, db *pebble.DB, k []byte) []byte {
	t.Helper()
	v, closer, err := db.Get(k)
	if err != nil {
		t.Fatalf("%q: %v", k, err)
	}
	defer closer.Close()
	return bytes.Clone(v)
}

func set(t *testing.T, db *pebble.DB, k, v []byte) {
	t.Helper()
	if err := db.Set(k, v, pebble.Sync); err != nil {
		t.Fatal(err)
	}
}

func drop(t *testing.T, db *pebble.DB, k []byte) {
	t.Helper()
	get(t, db, k) // what is not there cannot be lost
	if err := db.Delete(k, pebble.Sync); err != nil {
		t.Fatal(err)
	}
}

func uvarints(numbers ...uint64) (b []byte) {
	for _, n := range numbers {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

// inboxKeys of a user, in their order.
func inboxKeys(t *testing.T, db *pebble.DB, u uint64) (keys [][]byte) {
	t.Helper()
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: key('e', 'i', u), UpperBound: key('e', 'i', u+1)})
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		keys = append(keys, bytes.Clone(it.Key()))
	}
	return keys
}

func run(t *testing.T, dir string) *verify.Report {
	t.Helper()
	r, err := verify.Run(context.Background(), dir, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestHealthyDirectoryPasses(t *testing.T) {
	dir := healthy(t)
	r := run(t, dir)
	for _, v := range r.Violations {
		t.Error(v)
	}
	if r.Conversations != 1 || r.Entries != last || r.Inboxes != 3 || r.InboxEntries != 17 || r.Uncarried != 1 {
		t.Errorf("read %+v", r)
	}
	if again := run(t, dir); len(again.Violations) != 0 || again.InboxEntries != r.InboxEntries {
		t.Errorf("reading changed the directory: %+v", again)
	}
	execute(t, dir, `DROP TABLE set_aside`)
	if older := run(t, dir); len(older.Violations) != 0 {
		t.Errorf("of a release that set nothing aside: %+v", older)
	}
}

// further adds entries to a healthy directory, posts each to users' streams, and has all of it carried.
func further(t *testing.T, dir string, add func(w *writer, post func(users ...uint64))) {
	t.Helper()
	log, err := pebblelog.Open(filepath.Join(dir, "timeline"), pebblelog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{t: t, log: log, access: 6, seq: last, sent: map[uint64]uint64{1: 2, 2: 2, 3: 1}}
	post := func(users ...uint64) {
		for _, u := range users {
			if err := log.Post(t.Context(), []timeline.Post{{Key: timeline.Key{Kind: timeline.Inbox, ID: u}, Payload: message.AppendInboxRef(nil, group, w.seq)}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	post(1, 2) // entry 8
	add(w, post)
	if err := log.PutCheckpoint(t.Context(), groupKey.Partition(), w.seq); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	execute(t, dir, `UPDATE conversations SET applied = $1`, w.access)
}

// Of a large group, one who joins it or leaves has the entry of that in the stream, and of others nobody has.
func TestComingAndGoingInALargeGroup(t *testing.T) {
	for missing, want := range map[uint64]int{0: 0, 10: 1, 12: 1, 13: 0} {
		dir := healthy(t)
		further(t, dir, func(w *writer, post func(users ...uint64)) {
			tell := func(users ...uint64) {
				if w.seq != missing {
					post(users...)
				}
			}
			w.control(chatv1.Control_ACTION_LARGE, 0)
			tell(1, 2)
			w.control(chatv1.Control_ACTION_JOINED, 1, 3)
			tell(3)
			w.message(3)
			w.control(chatv1.Control_ACTION_REMOVED, 1, 3)
			tell(3)
			w.message(1)
		})
		execute(t, dir, `UPDATE members SET join_seq = 10, leave_seq = 12 WHERE member = 3`)
		r := run(t, dir)
		for _, v := range r.Violations {
			if v.Rule != "delivery" {
				t.Error(v)
			}
		}
		if len(r.Violations) != want {
			t.Errorf("without entry %d in the stream: %v", missing, r.Violations)
		}
	}
}

// An entry of access is in no stream; what comes after it is.
func TestAnEntryOfAccessIsNotMissed(t *testing.T) {
	dir := healthy(t)
	further(t, dir, func(w *writer, post func(users ...uint64)) {
		w.control(chatv1.Control_ACTION_ACCESS, 0)
		w.message(1)
		post(1, 2)
	})
	r := run(t, dir)
	for _, v := range r.Violations {
		t.Error(v)
	}
	if r.Entries != last+2 || r.Uncarried != 0 {
		t.Errorf("read %+v", r)
	}
}

// expire lets what counts below head expire, as a server does.
func expire(t *testing.T, dir string, head uint64, keep ...uint64) {
	t.Helper()
	log, err := pebblelog.Open(filepath.Join(dir, "timeline"), pebblelog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Expire(t.Context(), groupKey, head, keep); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// What has expired is missed by nobody, also where it was never carried, and where nothing but changes is left.
func TestWhatHasExpiredIsNotMissed(t *testing.T) {
	for head, expired := range map[uint64]uint64{2: 0, 3: 1, 6: 3, 8: 4, 9: 5} {
		dir := healthy(t)
		expire(t, dir, head, 1, 4, 6)
		r := run(t, dir)
		for _, v := range r.Violations {
			t.Errorf("below %d: %v", head, v)
		}
		if r.Expired != expired || r.Entries != last-expired {
			t.Errorf("below %d: read %+v", head, r)
		}
	}
}

// Each kind of damage is found, under its rule.
func TestDamageIsFound(t *testing.T) {
	spoil := func(do func(t *testing.T, db *pebble.DB)) func(*testing.T, string) {
		return func(t *testing.T, dir string) { raw(t, dir, func(db *pebble.DB) { do(t, db) }) }
	}
	statement := func(s string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { execute(t, dir, s) }
	}
	for _, c := range []struct {
		name, rule string
		damage     func(t *testing.T, dir string)
	}{
		{"a change has expired", "access", func(t *testing.T, dir string) { expire(t, dir, 6, 1) }},
		{"a change has expired as if it counted", "counts", func(t *testing.T, dir string) { expire(t, dir, 6, 1) }},
		{"an entry above what expired is lost", "sequence", func(t *testing.T, dir string) {
			expire(t, dir, 4, 1)
			raw(t, dir, func(db *pebble.DB) { drop(t, db, entry(5)) })
		}},
		{"the last entry is lost, and the others expired", "sequence", func(t *testing.T, dir string) {
			expire(t, dir, 8, 1, 4, 6)
			raw(t, dir, func(db *pebble.DB) { drop(t, db, entry(last)) })
		}},
		{"an entry came back", "sequence", func(t *testing.T, dir string) {
			var kept []byte
			raw(t, dir, func(db *pebble.DB) { kept = get(t, db, entry(3)) })
			expire(t, dir, 4, 1)
			raw(t, dir, func(db *pebble.DB) { set(t, db, entry(3), kept) })
		}},
		{"more has expired than there was", "sequence", spoil(func(t *testing.T, db *pebble.DB) { set(t, db, key('h', 'c', group), uvarints(10)) })},
		{"an entry in the middle is lost", "sequence", spoil(func(t *testing.T, db *pebble.DB) { drop(t, db, entry(3)) })},
		{"the last entry is lost", "sequence", spoil(func(t *testing.T, db *pebble.DB) { drop(t, db, entry(last)) })},
		{"an entry is garbage", "sequence", spoil(func(t *testing.T, db *pebble.DB) { set(t, db, entry(3), []byte{1, 2, 0xff, 0xff}) })},
		{"the tail is behind", "sequence", spoil(func(t *testing.T, db *pebble.DB) { set(t, db, key('t', 'c', group), uvarints(7, 4, 6)) })},
		{"the tail's access version is wrong", "sequence", spoil(func(t *testing.T, db *pebble.DB) { set(t, db, key('t', 'c', group), uvarints(8, 5, 4)) })},
		{"a running number is off by one", "counts", spoil(func(t *testing.T, db *pebble.DB) {
			v := get(t, db, entry(5))
			v[1]++
			set(t, db, entry(5), v)
		})},
		{"one message in two places", "duplicate", spoil(func(t *testing.T, db *pebble.DB) {
			first, second := get(t, db, entry(2)), get(t, db, entry(7))
			set(t, db, entry(7), append(second[:2], first[2:]...))
		})},
		{"a token is lost", "duplicate", spoil(func(t *testing.T, db *pebble.DB) {
			drop(t, db, tokenKey(2, 12, 2))
		})},
		{"a token that is not the newest is lost", "duplicate", spoil(func(t *testing.T, db *pebble.DB) { drop(t, db, tokenKey(1, 11, 1)) })},
		{"a token names another entry", "duplicate", spoil(func(t *testing.T, db *pebble.DB) { set(t, db, tokenKey(1, 11, 1), uvarints(3)) })},
		{"the last of an author is wrong", "author", spoil(func(t *testing.T, db *pebble.DB) { set(t, db, key('a', 'c', group, 1), uvarints(2, 1)) })},
		{"a control entry does not follow the one before", "access", spoil(func(t *testing.T, db *pebble.DB) {
			created := get(t, db, entry(1))
			joined := get(t, db, entry(4))
			set(t, db, entry(4), append(joined[:2], created[2:]...))
		})},
		{"a message of someone who had left", "access", spoil(func(t *testing.T, db *pebble.DB) {
			m := message.Entry{ID: id.MessageOf(1_800_000_000_000, 0, 2, group), Sender: 3, Device: 13, ClientSeq: 1 << 20, Content: message.AppendText(nil, "still here")}
			set(t, db, entry(7), m.Append(get(t, db, entry(7))[:2]))
		})},
		{"a member's stream lacks an entry", "delivery", spoil(func(t *testing.T, db *pebble.DB) {
			keys := inboxKeys(t, db, 2)
			drop(t, db, keys[len(keys)-1])
		})},
		{"a member has no stream", "delivery", spoil(func(t *testing.T, db *pebble.DB) {
			for _, k := range inboxKeys(t, db, 3) {
				drop(t, db, k)
			}
		})},
		{"a fan-out record is lost", "delivery", spoil(func(t *testing.T, db *pebble.DB) {
			drop(t, db, binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint16([]byte{'r'}, groupKey.Partition()), last))
		})},
		{"a checkpoint is ahead of the streams", "delivery", spoil(func(t *testing.T, db *pebble.DB) {
			set(t, db, binary.BigEndian.AppendUint16([]byte{'p'}, groupKey.Partition()), uvarints(last))
		})},
		{"a stream's chain is broken", "inbox", spoil(func(t *testing.T, db *pebble.DB) { drop(t, db, inboxKeys(t, db, 1)[3]) })},
		{"a stream refers to what is not there", "inbox", spoil(func(t *testing.T, db *pebble.DB) {
			set(t, db, inboxKeys(t, db, 1)[6], message.AppendInboxRef([]byte{2, 1}, group, 99))
		})},
		{"a stream has what its user may not read", "inbox", spoil(func(t *testing.T, db *pebble.DB) {
			set(t, db, inboxKeys(t, db, 3)[2], message.AppendInboxRef([]byte{2, 1}, group, 7))
		})},
		{"a stream in disorder", "inbox", spoil(func(t *testing.T, db *pebble.DB) {
			keys := inboxKeys(t, db, 1)
			a, b := get(t, db, keys[2]), get(t, db, keys[3])
			set(t, db, keys[2], append(a[:2:2], b[2:]...))
			set(t, db, keys[3], append(b[:2:2], a[2:]...))
		})},
		{"an event in a stream is garbage", "inbox", spoil(func(t *testing.T, db *pebble.DB) { set(t, db, inboxKeys(t, db, 1)[2], []byte{2, 1, 9, 9, 9}) })},
		{"a member too many in the rows", "members", statement(`INSERT INTO members VALUES (77, 4, 1, 0)`)},
		{"a member missing in the rows", "members", statement(`DELETE FROM members WHERE member = 2`)},
		{"a member who left is there in the rows", "members", statement(`UPDATE members SET leave_seq = 0 WHERE member = 3`)},
		{"rows ahead of the log", "members", statement(`UPDATE conversations SET applied = 7`)},
		{"a read cursor past the end", "cursors", statement(`UPDATE views SET read_seq = 9`)},
		{"a delivered cursor past the end", "cursors", statement(`UPDATE views SET delivered_seq = 9`)},
		{"a read cursor with a wrong count", "cursors", statement(`UPDATE views SET read_counted = 3 WHERE owner = 1`)},
		{"a waiting event is garbage", "records", statement(`UPDATE outbox SET body = x'ffff'`)},
		{"a waiting event is empty", "records", statement(`UPDATE outbox SET body = x''`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := healthy(t)
			c.damage(t, dir)
			r := run(t, dir)
			named := false
			for _, v := range r.Violations {
				named = named || v.Rule == c.rule
			}
			if !named {
				t.Errorf("found %v, want %s", r.Violations, c.rule)
			}
		})
	}
}

func TestExitCodes(t *testing.T) {
	call := func(args ...string) (code int, out, errOut string) {
		var o, e bytes.Buffer
		code = verify.Main(args, &o, &e)
		return code, o.String(), e.String()
	}
	dir := healthy(t)
	if code, out, _ := call("--data", dir); code != 0 || !bytes.Contains([]byte(out), []byte("every promise holds")) {
		t.Errorf("healthy: exit %d, %s", code, out)
	}
	execute(t, dir, `UPDATE views SET read_seq = 9`)
	code, out, _ := call("--data", dir, "--json")
	var r verify.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 1 || len(r.Violations) != 2 || r.Violations[0].Rule != "cursors" {
		t.Errorf("damaged: exit %d, %v, %s", code, err, out)
	}
	if code, _, said := call("--data", t.TempDir()); code != 2 || said == "" {
		t.Errorf("no data directory: exit %d, %s", code, said)
	}
	for _, args := range [][]string{{"--nonsense"}, {"more"}, {"--cassandra", "127.0.0.1"}} {
		if code, _, said := call(args...); code != 2 || said == "" {
			t.Errorf("%v: exit %d, %s", args, code, said)
		}
	}
	lock, err := os.OpenFile(filepath.Join(dir, "LOCK"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if code, _, said := call("--data", dir); code != 2 || !bytes.Contains([]byte(said), []byte("in use")) {
		t.Errorf("a running server's: exit %d, %s", code, said)
	}
}

// More violations than are listed are counted.
func TestManyViolations(t *testing.T) {
	dir := healthy(t)
	for n := range 150 {
		execute(t, dir, fmt.Sprintf(`INSERT INTO views VALUES (%d, 77, 9, 0, 0)`, 100+n))
	}
	if r := run(t, dir); len(r.Violations) != 100 || r.More != 50 {
		t.Errorf("%d listed, %d more", len(r.Violations), r.More)
	}
}
