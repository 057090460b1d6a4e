package apptest_test

import (
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline/pglog"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
)

// While timelines are moved, servers answer reads and refuse messages. If the move is aborted, the same messages are stored, once, and delivered.
func TestServersReadFrozenTimelines(t *testing.T) {
	ctx, address := t.Context(), sqltest.Schema(t, sqltest.Postgres(t))
	h := apptest.Open(t, func(c *config.Config) { c.Data, c.Postgres = filepath.Join(t.TempDir(), "data"), address })
	ann, bob := h.Register(t, "anna"), h.Register(t, "bobo")
	direct := h.Direct(t, ann, bob)
	first := h.Send(t, ann, direct, "1", "before")
	caught(t, bob, direct, first.Seq, "")

	pool, err := pgxpool.New(ctx, address)
	must(t, err)
	defer pool.Close()
	must(t, pglog.LockTables(ctx, pool, func(tx pgx.Tx) error { return pglog.Freeze(ctx, tx) }))
	send := &chatv1.SendRequest{Conversation: direct, ClientMsgId: "2", Content: apptest.Text("meanwhile")}
	once := chatv1connect.NewChatServiceClient(h.HTTP, h.URL) // h.Chat() would try again
	if _, err := once.Send(ctx, apptest.As(ann, send)); connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), "being moved to another store") {
		t.Errorf("a message while timelines are moved: got error %v", err)
	}
	history, err := h.Chat().History(ctx, apptest.As(bob, &chatv1.HistoryRequest{Conversation: direct, Limit: 10}))
	must(t, err)
	if n := len(history.Msg.Messages); n == 0 || history.Msg.Messages[n-1].Seq != first.Seq {
		t.Errorf("the history while timelines are moved: got %v", history.Msg.Messages)
	}
	must(t, pglog.LockTables(ctx, pool, func(tx pgx.Tx) error { return pglog.Unfreeze(ctx, tx) }))
	second := h.Send(t, ann, direct, "2", "meanwhile")
	if again := h.Send(t, ann, direct, "2", "meanwhile"); again.Seq != second.Seq || second.Seq != first.Seq+1 {
		t.Errorf("the message has seq %d, its retry %d, want %d", second.Seq, again.Seq, first.Seq+1)
	}
	caught(t, bob, direct, second.Seq, "")
}

func TestMoveTimelinesNamesWhatIsMissing(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"", "give the address of the nodes' database"},
		{"--set postgres=postgres://rialto@127.0.0.1/x", "no target: use --to-cassandra HOSTS"},
		{"--set cassandra.hosts=127.0.0.1", "set postgres as well"},
		{"--to-postgres --set postgres=postgres://rialto@127.0.0.1/x", "no source: use --set cassandra.hosts=HOSTS"},
		{"--to-postgres --to-cassandra 127.0.0.1 --set postgres=postgres://rialto@127.0.0.1/x --set plaintext_engines=cassandra", "opposite directions"},
		{"data", "data"},
	} {
		if code, said := moved(t, append([]string{"timelines"}, strings.Fields(test.args)...)...); code != 2 || !strings.Contains(said, test.want) {
			t.Errorf("rialto move timelines %s: got exit code %d: %s", test.args, code, said)
		}
	}
	if code, said := moved(t, "timelines", "--help"); code != 0 || !strings.Contains(said, "from PostgreSQL to Cassandra") || !strings.Contains(said, "--abort") || !strings.Contains(said, "--to-postgres") {
		t.Errorf("rialto move timelines --help: got exit code %d: %s", code, said)
	}
}
