package apptest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/app"
	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/engine/blob/s3blob/s3test"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/tool/verify"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// moved runs rialto move.
func moved(t *testing.T, args ...string) (code int, said string) {
	t.Helper()
	var out bytes.Buffer
	code = app.MoveMain(t.Context(), args, &out, &out)
	return code, out.String()
}

// snapshot is what a device reads from a server: its stream from a position, its list and a history.
type snapshot struct{ stream, rest []string }

func seen(t *testing.T, p *apptest.Person, after *chatv1.Position, conversations ...uint64) (s snapshot) {
	t.Helper()
	ctx, calls := t.Context(), p.Server.Chat()
	text := func(m proto.Message) string {
		b, err := prototext.MarshalOptions{}.Marshal(m)
		must(t, err)
		return strings.Join(strings.Fields(string(b)), " ") // protojson uses random spaces
	}
	r, err := calls.Sync(ctx, apptest.As(p, &chatv1.SyncRequest{After: after, Limit: 2000}))
	must(t, err)
	if r.Msg.Reset_ || r.Msg.More {
		t.Fatalf("sync from %v: got %v", after, r.Msg)
	}
	for _, e := range r.Msg.Events {
		s.stream = append(s.stream, text(e))
	}
	list, err := calls.ListConversations(ctx, apptest.As(p, &chatv1.ListConversationsRequest{}))
	must(t, err)
	s.rest = append(s.rest, fmt.Sprint("badge ", list.Msg.Badge))
	for _, c := range list.Msg.Conversations {
		s.rest = append(s.rest, fmt.Sprint(c.Id, c.LastSeq, c.Unread, c.MemberCount, c.Role, text(c.LastMessage), text(c.State)))
	}
	for _, c := range conversations {
		h, err := calls.History(ctx, apptest.As(p, &chatv1.HistoryRequest{Conversation: c, Limit: 200}))
		must(t, err)
		s.rest = append(s.rest, text(h.Msg))
	}
	return s
}

// extends reports whether a later snapshot equals an earlier one. Only other users' read cursors may have been added, which are sent with low priority.
func (s snapshot) extends(was snapshot) bool {
	n := len(was.stream)
	return len(s.stream) >= n && slices.Equal(s.stream[:n], was.stream) && slices.Equal(s.rest, was.rest) &&
		!slices.ContainsFunc(s.stream[n:], func(event string) bool { return !strings.Contains(event, " mark:{") })
}

func download(t *testing.T, p *apptest.Person, upload, conversation, seq uint64) string {
	t.Helper()
	r, err := chatv1connect.NewMediaServiceClient(p.Server.HTTP, p.Server.URL).GetDownload(t.Context(), apptest.As(p, &chatv1.GetDownloadRequest{Upload: upload, Conversation: conversation, Seq: seq}))
	must(t, err)
	answer, err := http.Get(p.Server.URL + r.Msg.Url)
	must(t, err)
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	must(t, err)
	return string(b)
}

// caught waits until a person's stream has an entry of a conversation and, if mark is set, what the person has changed. It returns the
// end of the stream.
func caught(t *testing.T, p *apptest.Person, conversation, seq uint64, mark string) *chatv1.Position {
	t.Helper()
	if mark != "" {
		streamOf(t, p, conversation, mark)
	}
	for {
		r, err := p.Server.Chat().Sync(t.Context(), apptest.As(p, &chatv1.SyncRequest{Limit: 2000}))
		must(t, err)
		for _, e := range r.Msg.Events {
			if m := e.GetMessage(); m.GetConversation() == conversation && m.GetSeq() == seq {
				last := r.Msg.Events[len(r.Msg.Events)-1]
				return &chatv1.Position{Epoch: last.Epoch, Seq: last.Seq}
			}
		}
	}
}

// A server moves from its data directory to shared engines: no device misses an event or gets one twice.
func TestAServerMovesToSharedEngines(t *testing.T) {
	ctx, data, address, s3 := t.Context(), filepath.Join(t.TempDir(), "data"), sqltest.Schema(t, sqltest.Postgres(t)), s3test.Start(t)
	bucket := s3.Bucket(t)
	embedded := func(c *config.Config) { c.Data, c.Postgres = data, "" }
	h := apptest.Open(t, embedded)
	ann, bob, cem := h.Register(t, "anna"), h.Register(t, "bobo"), h.Register(t, "cemo")
	people := []*apptest.Person{ann, bob, cem}
	direct, group := h.Direct(t, ann, bob), h.Group(t, people...)
	file := upload(t, ann, "a file that moves")
	withFile, err := h.Chat().Send(ctx, apptest.As(ann, &chatv1.SendRequest{Conversation: direct, ClientMsgId: "file", Content: &chatv1.Content{Kind: &chatv1.Content_File{File: &chatv1.Media{Upload: file}}}}))
	must(t, err)
	first := h.Send(t, bob, group, "0", "before")
	var old []*chatv1.Position // of devices that are offline from now on
	for _, p := range people {
		old = append(old, caught(t, p, group, first.Seq, "early"))
	}
	var one *chatv1.SendResponse
	for i := range 30 {
		h.Send(t, people[i%3], group, fmt.Sprint("g", i), fmt.Sprint("to all ", i))
		one = h.Send(t, people[i%2], direct, fmt.Sprint("d", i), fmt.Sprint("to one ", i))
	}
	_, err = h.Chat().Mark(ctx, apptest.As(bob, &chatv1.MarkRequest{Conversation: direct, ReadSeq: 9}))
	must(t, err)
	removed, err := h.Chat().Remove(ctx, apptest.As(ann, &chatv1.RemoveRequest{Conversation: group, Users: []uint64{cem.User}}))
	must(t, err)
	again := h.Send(t, ann, group, "again", "sent before the move")
	for _, p := range people[:2] {
		caught(t, p, direct, one.Seq, "late "+fmt.Sprint(p.User))
		caught(t, p, group, again.Seq, "last "+fmt.Sprint(p.User))
	}
	caught(t, cem, group, removed.Msg.Seq, "")
	var before []snapshot
	for i, p := range people {
		before = append(before, seen(t, p, nil, group), seen(t, p, old[i], group))
	}
	must(t, h.Close())

	target := []string{"--data", data, "--to-postgres", address, "--to-s3", s3.Endpoint + "/" + bucket + "/files", "--set", "s3.access_key=" + s3.AccessKey, "--set", "s3.secret_key=" + s3.SecretKey}
	if code, said := moved(t, target...); code != 0 || !strings.Contains(said, "both sides are equal") {
		t.Fatalf("rialto move: got exit code %d: %s", code, said)
	}
	if code, said := moved(t, append(target, "--verify-only")...); code != 0 {
		t.Errorf("rialto move --verify-only: got exit code %d, want 0: %s", code, said)
	}
	db, err := pgx.Connect(ctx, address)
	must(t, err)
	var entries int
	err = db.QueryRow(ctx, `SELECT count(*) FROM audit_entries WHERE action = 'data.move' AND who LIKE 'os:%' AND subject = $1`, "data directory "+data).Scan(&entries)
	must(t, errors.Join(err, db.Close(ctx)))
	if entries != 1 {
		t.Errorf("the audit log of the target has %d moves, want 1", entries)
	}
	c, err := config.Load("", nil, []string{"data=" + data, "listen=127.0.0.1:0"})
	must(t, err)
	if _, err := app.Open(ctx, c, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "was moved to") {
		t.Errorf("a server on the moved directory: got %v, want an error", err)
	}

	h = apptest.Open(t, func(c *config.Config) {
		c.Data, c.Postgres = filepath.Join(t.TempDir(), "other"), address
		c.S3.Endpoint, c.S3.Bucket, c.S3.Prefix, c.S3.AccessKey, c.S3.SecretKey = s3.Endpoint, bucket, "files", s3.AccessKey, s3.SecretKey
	})
	var after []snapshot
	for i, p := range people {
		p.Server = h // with their existing tokens
		after = append(after, seen(t, p, nil, group), seen(t, p, old[i], group))
	}
	for i := range before {
		if !after[i].extends(before[i]) {
			t.Errorf("device %d of person %d: after the move\n%s\nbefore\n%s", i%2, i/2, after[i], before[i])
		}
	}
	if text := download(t, bob, file, direct, withFile.Msg.Seq); text != "a file that moves" {
		t.Errorf("the file: got %q", text)
	}
	if r := h.Send(t, ann, group, "again", "sent before the move"); r.Seq != again.Seq || r.Id != again.Id || !r.Duplicate {
		t.Errorf("retry after the move: got %v, first answer %v", r, again)
	}
	fresh := h.Send(t, bob, group, "new", "after the move")
	if fresh.Seq != again.Seq+1 || fresh.Id <= again.Id {
		t.Errorf("the next message: got %v after %v", fresh, again)
	}
	caught(t, ann, group, fresh.Seq, "moved")
	// A device that was offline during the move gets everything once, in one chain.
	r, err := h.Chat().Sync(ctx, apptest.As(ann, &chatv1.SyncRequest{After: old[0], Limit: 2000}))
	must(t, err)
	prev, times := old[0].Seq, 0
	for _, e := range r.Msg.Events {
		if e.Prev != prev {
			t.Errorf("event %d: got predecessor %d, want %d", e.Seq, e.Prev, prev)
		}
		if prev = e.Seq; e.GetMessage().GetContent().GetText() == "after the move" {
			times++
		}
	}
	if times != 1 {
		t.Errorf("the new message: got it %d times, want 1", times)
	}
	if report, err := verify.RunPostgres(ctx, address, t.Logf); err != nil || len(report.Violations) > 0 {
		t.Errorf("verify: got %+v, %v", report, err)
	}
	must(t, h.Close())

	// Back to the directory, unchanged.
	if code, said := moved(t, "--data", data, "--undo"); code != 0 {
		t.Errorf("rialto move --undo: got exit code %d: %s", code, said)
	}
	ann.Server = apptest.Open(t, embedded)
	if got := seen(t, ann, nil, group); !got.extends(before[0]) {
		t.Errorf("after undo: got %s", got)
	}
}

// A move creates the same tables as the services do.
func TestMovedTables(t *testing.T) {
	data, server := filepath.Join(t.TempDir(), "data"), sqltest.Postgres(t)
	h := apptest.Open(t, func(c *config.Config) { c.Data, c.Postgres = data, "" })
	must(t, h.Close())
	native := sqltest.Schema(t, server)
	h = apptest.Open(t, func(c *config.Config) { c.Postgres = native })
	must(t, h.Close())
	address := sqltest.Schema(t, server)
	if code, said := moved(t, "--data", data, "--to-postgres", address); code != 0 || !strings.Contains(said, "both sides are equal") {
		t.Fatalf("rialto move: got exit code %d: %s", code, said)
	}
	others := func(prefixes ...string) func(line string) bool {
		return func(line string) bool {
			return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(line, prefix) })
		}
	}
	got := slices.DeleteFunc(schema(t, address), others("move"))
	want := slices.DeleteFunc(schema(t, native), others("cluster_nodes", "cluster_protocol", "cluster_settings", "cluster_leases")) // nodes create them
	if !slices.Equal(got, want) {
		t.Errorf("a move creates\n%s\nthe services create\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func schema(t *testing.T, address string) []string {
	c, err := pgx.Connect(t.Context(), address)
	must(t, err)
	defer c.Close(t.Context())
	rows, err := c.Query(t.Context(), `
		SELECT concat_ws(' ', table_name, column_name, data_type, is_nullable, column_default, is_identity, ordinal_position) FROM information_schema.columns WHERE table_schema = current_schema()
		UNION ALL SELECT concat(tablename, ' ', replace(indexdef, current_schema() || '.', '')) FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1`)
	must(t, err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	return list
}
