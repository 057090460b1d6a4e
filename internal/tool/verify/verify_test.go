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
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/progress"
	"github.com/rialto-im/rialto/internal/engine/sqldb/checksumvfs"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/pebblelog"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
	"github.com/rialto-im/rialto/internal/tool/verify"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
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
	a := &timeline.AppendRequest{Key: groupKey, Payload: e.Append(nil), Counts: !e.Control, SetAccess: e.Control, NeedsFanout: true}
	if !e.Control {
		a.Author = uint64(e.Sender)
		a.Token = timeline.Token{Sender: uint64(e.Sender), Device: uint64(e.Device), Counter: e.ClientSeq}
	}
	if timelinetest.Append(w.log, a); a.Err != nil {
		w.t.Fatal(a.Err)
	}
	w.seq = a.Seq
}

// healthy creates a directory without violations, whose entry 8 is not fanned out yet.
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
		if err := log.Acquire(ctx, p, 1); err != nil {
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

// records writes the rows of the services.
func records(t *testing.T, bytes string, do func(statement string, args ...any)) {
	t.Helper()
	event, err := proto.Marshal(&chatv1.Event{Body: &chatv1.Event_Message{Message: &chatv1.Message{Seq: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	do(`CREATE TABLE conversations (id BIGINT, applied BIGINT)`)
	do(`CREATE TABLE members (conversation BIGINT, member BIGINT, join_seq BIGINT, leave_seq BIGINT, follower BOOLEAN DEFAULT FALSE, former_leave_seq BIGINT DEFAULT 0)`)
	do(`CREATE TABLE views (owner BIGINT, conversation BIGINT, read_seq BIGINT, read_counted BIGINT, delivered_seq BIGINT)`)
	do(`CREATE TABLE outbox (n BIGINT, owner BIGINT, body ` + bytes + `)`)
	do(`CREATE TABLE quarantine (conversation BIGINT, seq BIGINT, why TEXT)`)
	do(`CREATE TABLE counter_members (kind BIGINT, subject BIGINT, member BIGINT, present BOOLEAN)`)
	do(`CREATE TABLE counter_counts (kind BIGINT, subject BIGINT, bucket BIGINT, n BIGINT)`)
	do(`INSERT INTO counter_members VALUES (1, 9, 1, TRUE), (1, 9, 2, TRUE), (1, 9, 3, FALSE), (2, 9, 1, TRUE), (1, 10, 1, FALSE)`)
	do(`INSERT INTO counter_counts VALUES (1, 9, 0, 3), (1, 9, 1, -1), (2, 9, 0, 1), (1, 10, 0, 0)`)
	do(`INSERT INTO conversations VALUES (77, 6)`)
	do(`INSERT INTO members (conversation, member, join_seq, leave_seq) VALUES (77, 1, 1, 0), (77, 2, 1, 0), (77, 3, 4, 6)`)
	do(`INSERT INTO views VALUES (1, 77, 7, 4, 7), (2, 77, 0, 0, 8)`)
	do(`INSERT INTO outbox VALUES (1, 1, $1)`, event)
}

func execute(t *testing.T, dir, statement string, args ...any) {
	t.Helper()
	path := filepath.Join(dir, "records.db")
	if err := checksumvfs.Create(path); err != nil { // creates it if it does not exist
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path+"?vfs="+checksumvfs.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement, args...); err != nil {
		t.Fatal(err)
	}
}

// raw opens the timelines' Pebble directly.
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

// key encodes a key as in docs/formats/pebble.md: the row's letter, a kind, numbers.
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

// quiet discards the engine's log.
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
	get(t, db, k) // fails if the key does not exist
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
	r, err := verify.Run(progress.With(context.Background(), progress.New(t.Output())), dir, t.Logf)
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
	if r.Conversations != 1 || r.Entries != last || r.Inboxes != 3 || r.InboxEntries != 17 || r.Undelivered != 1 {
		t.Errorf("got report %+v", r)
	}
	if again := run(t, dir); len(again.Violations) != 0 || again.InboxEntries != r.InboxEntries {
		t.Errorf("a second check: got %+v, want the same report", again)
	}
	execute(t, dir, `DROP TABLE quarantine`)
	execute(t, dir, `DROP TABLE counter_members`)
	execute(t, dir, `DROP TABLE counter_counts`)
	if older := run(t, dir); len(older.Violations) != 0 {
		t.Errorf("without the later tables: got %+v, want no violations", older)
	}
}

// further adds entries to a healthy directory, posts each to users' streams, and moves the checkpoint past all of them.
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

// In a large group, the entry of joining or leaving is in the stream of the user who joined or left; other entries are in no stream.
func TestJoinsAndLeavesInALargeGroup(t *testing.T) {
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
				t.Errorf("an unexpected violation: %v", v)
			}
		}
		if len(r.Violations) != want {
			t.Errorf("without entry %d in the stream: got %v, want one delivery violation", missing, r.Violations)
		}
	}
}

// An entry of an access change is in no stream; later entries are.
func TestMissingAccessEntriesAreNoViolation(t *testing.T) {
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
	if r.Entries != last+2 || r.Undelivered != 0 {
		t.Errorf("got report %+v", r)
	}
}

// expire lets the counted entries below head expire, as a server does.
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

// Expired entries are not reported as missing, even if they were never fanned out, or if only control entries remain.
func TestMissingExpiredEntriesAreNoViolation(t *testing.T) {
	for head, expired := range map[uint64]uint64{2: 0, 3: 1, 6: 3, 8: 4, 9: 5} {
		dir := healthy(t)
		expire(t, dir, head, 1, 4, 6)
		r := run(t, dir)
		for _, v := range r.Violations {
			t.Errorf("after expiry below %d: got %v, want no violation", head, v)
		}
		if r.Expired != expired || r.Entries != last-expired {
			t.Errorf("after expiry below %d: got report %+v", head, r)
		}
	}
}

// Each corruption is found, under its rule.
// TestBridgedMessagesPass: a user of another system, for whom a bridge writes, is no member.
func TestBridgedMessagesPass(t *testing.T) {
	for bridge, want := range map[string]string{"irc": "", "": "access"} {
		dir := healthy(t)
		log, err := pebblelog.Open(filepath.Join(dir, "timeline"), pebblelog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := log.Acquire(t.Context(), groupKey.Partition(), 2); err != nil {
			t.Fatal(err)
		}
		content, err := proto.Marshal(&chatv1.Content{Kind: &chatv1.Content_Text{Text: "from there"}, ExternalId: "1", Bridge: bridge})
		if err != nil {
			t.Fatal(err)
		}
		w := &writer{t: t, log: log, seq: last}
		w.append(&message.Entry{Sender: 9, Content: content})
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		var rules []string
		for _, v := range run(t, dir).Violations {
			rules = append(rules, v.Rule)
		}
		if got := strings.Join(rules, " "); got != want {
			t.Errorf("of an entry with the bridge %q, these rules are violated: %q, want %q", bridge, got, want)
		}
	}
}

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
		{"a control entry has expired", "access", func(t *testing.T, dir string) { expire(t, dir, 6, 1) }},
		{"an entry above the first seq is missing", "sequence", func(t *testing.T, dir string) {
			expire(t, dir, 4, 1)
			raw(t, dir, func(db *pebble.DB) { drop(t, db, entry(5)) })
		}},
		{"the last entry is missing, and the others have expired", "sequence", func(t *testing.T, dir string) {
			expire(t, dir, 8, 1, 4, 6)
			raw(t, dir, func(db *pebble.DB) { drop(t, db, entry(last)) })
		}},
		{"an expired entry exists again", "sequence", func(t *testing.T, dir string) {
			var kept []byte
			raw(t, dir, func(db *pebble.DB) { kept = get(t, db, entry(3)) })
			expire(t, dir, 4, 1)
			raw(t, dir, func(db *pebble.DB) { set(t, db, entry(3), kept) })
		}},
		{"the first seq is beyond the tail", "sequence", spoil(func(t *testing.T, db *pebble.DB) { set(t, db, key('h', 'c', group), uvarints(10)) })},
		{"an entry in the middle is missing", "sequence", spoil(func(t *testing.T, db *pebble.DB) { drop(t, db, entry(3)) })},
		{"the last entry is missing", "sequence", spoil(func(t *testing.T, db *pebble.DB) { drop(t, db, entry(last)) })},
		{"an entry cannot be decoded", "sequence", spoil(func(t *testing.T, db *pebble.DB) { set(t, db, entry(3), []byte{1, 2, 0xff, 0xff}) })},
		{"the tail is behind", "sequence", spoil(func(t *testing.T, db *pebble.DB) { set(t, db, key('t', 'c', group), uvarints(7, 4, 6)) })},
		{"the tail's access version is wrong", "sequence", spoil(func(t *testing.T, db *pebble.DB) { set(t, db, key('t', 'c', group), uvarints(8, 5, 4)) })},
		{"a count is off by one", "counts", spoil(func(t *testing.T, db *pebble.DB) {
			v := get(t, db, entry(5))
			v[1]++
			set(t, db, entry(5), v)
		})},
		{"a message is stored twice", "duplicate", spoil(func(t *testing.T, db *pebble.DB) {
			first, second := get(t, db, entry(2)), get(t, db, entry(7))
			set(t, db, entry(7), append(second[:2], first[2:]...))
		})},
		{"a token is missing", "duplicate", spoil(func(t *testing.T, db *pebble.DB) {
			drop(t, db, tokenKey(2, 12, 2))
		})},
		{"an older token is missing", "duplicate", spoil(func(t *testing.T, db *pebble.DB) { drop(t, db, tokenKey(1, 11, 1)) })},
		{"a token names another entry", "duplicate", spoil(func(t *testing.T, db *pebble.DB) { set(t, db, tokenKey(1, 11, 1), uvarints(3)) })},
		{"the latest entry of an author is wrong", "author", spoil(func(t *testing.T, db *pebble.DB) { set(t, db, key('t', 'c', group, 1), uvarints(2, 1)) })},
		{"a control entry does not follow the one before", "access", spoil(func(t *testing.T, db *pebble.DB) {
			created := get(t, db, entry(1))
			joined := get(t, db, entry(4))
			set(t, db, entry(4), append(joined[:2], created[2:]...))
		})},
		{"a message of a user who had left", "access", spoil(func(t *testing.T, db *pebble.DB) {
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
		{"a fan-out record is missing", "delivery", spoil(func(t *testing.T, db *pebble.DB) {
			drop(t, db, binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint16([]byte{'r'}, groupKey.Partition()), last))
		})},
		{"a checkpoint is ahead of the streams", "delivery", spoil(func(t *testing.T, db *pebble.DB) {
			set(t, db, binary.BigEndian.AppendUint16([]byte{'p'}, groupKey.Partition()), uvarints(last))
		})},
		{"a stream's chain is broken", "inbox", spoil(func(t *testing.T, db *pebble.DB) { drop(t, db, inboxKeys(t, db, 1)[3]) })},
		{"a stream refers to a missing entry", "inbox", spoil(func(t *testing.T, db *pebble.DB) {
			set(t, db, inboxKeys(t, db, 1)[6], message.AppendInboxRef([]byte{2, 1}, group, 99))
		})},
		{"a stream has an entry that its user may not read", "inbox", spoil(func(t *testing.T, db *pebble.DB) {
			set(t, db, inboxKeys(t, db, 3)[2], message.AppendInboxRef([]byte{2, 1}, group, 7))
		})},
		{"the entries of a stream are out of order", "inbox", spoil(func(t *testing.T, db *pebble.DB) {
			keys := inboxKeys(t, db, 1)
			a, b := get(t, db, keys[2]), get(t, db, keys[3])
			set(t, db, keys[2], append(a[:2:2], b[2:]...))
			set(t, db, keys[3], append(b[:2:2], a[2:]...))
		})},
		{"an event in a stream cannot be decoded", "inbox", spoil(func(t *testing.T, db *pebble.DB) { set(t, db, inboxKeys(t, db, 1)[2], []byte{2, 1, 9, 9, 9}) })},
		{"the rows have an additional member", "members", statement(`INSERT INTO members (conversation, member, join_seq, leave_seq) VALUES (77, 4, 1, 0)`)},
		{"the rows lack a member", "members", statement(`DELETE FROM members WHERE member = 2`)},
		{"a former member is in the rows", "members", statement(`UPDATE members SET leave_seq = 0 WHERE member = 3`)},
		{"the rows are ahead of the log", "members", statement(`UPDATE conversations SET applied = 7`)},
		{"a read cursor past the end", "cursors", statement(`UPDATE views SET read_seq = 9`)},
		{"a delivered cursor past the end", "cursors", statement(`UPDATE views SET delivered_seq = 9`)},
		{"a read cursor with a wrong count", "cursors", statement(`UPDATE views SET read_counted = 3 WHERE owner = 1`)},
		{"a counter is too high", "counters", statement(`UPDATE counter_counts SET n = n + 1 WHERE bucket = 1`)},
		{"a counter lacks a member", "counters", statement(`DELETE FROM counter_counts WHERE kind = 2`)},
		{"a counter of an empty set", "counters", statement(`UPDATE counter_counts SET n = 1 WHERE subject = 10`)},
		{"a member was removed without its counter", "counters", statement(`UPDATE counter_members SET present = FALSE WHERE kind = 2`)},
		{"an outbox event cannot be decoded", "records", statement(`UPDATE outbox SET body = x'ffff'`)},
		{"an outbox event is empty", "records", statement(`UPDATE outbox SET body = x''`)},
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
				t.Errorf("got violations %v, want rule %s", r.Violations, c.rule)
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
	if code, out, _ := call("--data", dir); code != 0 || !bytes.Contains([]byte(out), []byte("all guarantees hold")) {
		t.Errorf("healthy directory: got exit code %d, %s", code, out)
	}
	execute(t, dir, `UPDATE views SET read_seq = 9`)
	code, out, _ := call("--data", dir, "--json")
	var r verify.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 1 || len(r.Violations) != 2 || r.Violations[0].Rule != "cursors" {
		t.Errorf("corrupt directory: got exit code %d, %v, %s", code, err, out)
	}
	if code, _, said := call("--data", t.TempDir()); code != 2 || said == "" {
		t.Errorf("no data directory: got exit code %d, %s", code, said)
	}
	for _, args := range [][]string{{"--nonsense"}, {"more"}, {"--cassandra", "127.0.0.1"}} {
		if code, _, said := call(args...); code != 2 || said == "" {
			t.Errorf("arguments %v: got exit code %d, %s", args, code, said)
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
		t.Errorf("directory in use: got exit code %d, %s", code, said)
	}
}

// Violations beyond the listed ones are counted.
func TestManyViolations(t *testing.T) {
	dir := healthy(t)
	for n := range 150 {
		execute(t, dir, fmt.Sprintf(`INSERT INTO views VALUES (%d, 77, 9, 0, 0)`, 100+n))
	}
	if r := run(t, dir); len(r.Violations) != 100 || r.More != 50 {
		t.Errorf("got %d listed and %d more violations", len(r.Violations), r.More)
	}
}
