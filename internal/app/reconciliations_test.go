package app

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/counter"
	"github.com/rialto-im/rialto/internal/service/account"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/operation/v1/operationv1connect"
)

// operatorConsole is the console of the operator olga.
func operatorConsole(t *testing.T, h *Node) operationv1connect.OperationServiceClient {
	t.Helper()
	key, err := h.accounts.CreateKey(t.Context(), account.NewKey{Name: "olga", Role: id.Operator}, nil)
	if err != nil {
		t.Fatal(err)
	}
	withKey := connect.WithInterceptors(connect.UnaryInterceptorFunc(func(call connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
			r.Header().Set("Authorization", "Bearer "+key)
			return call(ctx, r)
		}
	}))
	return operationv1connect.NewOperationServiceClient(http.DefaultClient, "http://"+h.AdminAddress().String(), withKey)
}

// A file disappears from the disk of a server. The next round of its comparisons finds that, and nothing else. An operator has it repaired, which is in the audit log, and
// the round after it finds that all stores agree.
func TestAServerFindsAndRepairsALostFile(t *testing.T) {
	h, log := open(t)
	alice := client(t, h)
	if err := alice.Register(t.Context(), "alice", "a good password", "Alice"); err != nil {
		t.Fatal(err)
	}
	upload, err := alice.Upload(t.Context(), "notes.txt", "text/plain", 9, strings.NewReader("some text"))
	if err != nil {
		t.Fatal(err)
	}
	console := operatorConsole(t, h)
	differences := func() (list []*operationv1.Comparison, of map[string]uint32) {
		t.Helper()
		if err := h.reconciliation.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, err := console.ListComparisons(t.Context(), connect.NewRequest(&operationv1.ListComparisonsRequest{}))
		if err != nil {
			t.Fatal(err)
		}
		of = map[string]uint32{}
		for _, c := range r.Msg.Comparisons {
			if of[c.Name] = c.Differences; c.Round < 2 && !strings.HasPrefix(c.Name, "search") { // the index may be built still
				t.Errorf("the comparison %s is at %v", c.Name, c)
			}
		}
		return r.Msg.Comparisons, of
	}
	if list, of := differences(); len(list) != 10 || of["files"]+of["quotas"]+of["inboxes"]+of["search"] != 0 || list[0].Compared != 10 {
		t.Fatalf("at first the comparisons are %v", list)
	}
	err = filepath.WalkDir(filepath.Join(h.config.Data, filesDir, "media"), func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			err = os.Remove(p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if list, of := differences(); of["files"] != 1 || of["quotas"]+of["inboxes"]+of["search"] != 0 {
		t.Fatalf("without the file the comparisons are %v", list)
	}
	found, err := console.ListDifferences(t.Context(), connect.NewRequest(&operationv1.ListDifferencesRequest{Comparison: "files"}))
	subject := "upload " + id.Upload(upload.Upload).String()
	if err != nil || len(found.Msg.Differences) != 1 || found.Msg.Differences[0].Subject != subject || !strings.Contains(log.String(), "two stores differ") {
		t.Fatalf("the differences are %v (%v)", found, err)
	}
	if _, err := console.RepairDifference(t.Context(), connect.NewRequest(&operationv1.RepairDifferenceRequest{Comparison: "files", Subject: subject, Reason: "the disk was replaced"})); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the difference is repaired", func() bool { return strings.Contains(log.String(), "two stores were made to agree") })
	if list, of := differences(); of["files"]+of["quotas"]+of["inboxes"]+of["search"] != 0 {
		t.Errorf("after the repair the comparisons are %v", list)
	}
	audit, err := console.ListAuditEntries(t.Context(), connect.NewRequest(&operationv1.ListAuditEntriesRequest{}))
	if err != nil || len(audit.Msg.Entries) != 1 || audit.Msg.Entries[0].Who != "olga" || audit.Msg.Entries[0].Action != "difference.repair" || audit.Msg.Entries[0].Reason != "the disk was replaced" {
		t.Errorf("the audit log has %v (%v)", audit, err)
	}
}

// A file that no row names, and a wrong count of likes, are found in one round. The file is deleted when an operator asks for it. The count is corrected at once, and stays in the list until an operator has seen it.
func TestAServerFindsAFileWithoutARowAndAWrongCount(t *testing.T) {
	h, log := open(t)
	console := operatorConsole(t, h)
	planted := filepath.Join(h.config.Data, filesDir, "media", "45", "12345")
	old := time.Now().Add(-49 * time.Hour)
	if err := errors.Join(os.MkdirAll(filepath.Dir(planted), 0o700), os.WriteFile(planted, []byte("planted"), 0o600), os.Chtimes(planted, old, old)); err != nil {
		t.Fatal(err)
	}
	if _, err := h.counters.Add(t.Context(), counter.PostLikes, 7, 1); err != nil {
		t.Fatal(err)
	}
	if err := h.db.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `UPDATE counter_counts SET n = n + 2`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	round := func(wantFiles, wantCorrected uint32) {
		t.Helper()
		if err := h.reconciliation.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, err := console.ListComparisons(t.Context(), connect.NewRequest(&operationv1.ListComparisonsRequest{}))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range r.Msg.Comparisons {
			want := [2]uint32{}
			switch c.Name {
			case "unreferenced_files":
				want[0] = wantFiles
			case "counts":
				want[1] = wantCorrected
			}
			if got := [2]uint32{c.Differences, c.Corrected}; got != want {
				t.Errorf("%s has %v differences and corrected ones, want %v", c.Name, got, want)
			}
		}
	}
	round(1, 1)
	round(1, 1)
	if n, err := h.counters.Counts(t.Context(), counter.PostLikes, []uint64{7}); err != nil || n[0] != 1 {
		t.Errorf("%v likes (%v)", n, err)
	}
	for comparison, subject := range map[string]string{"unreferenced_files": "media/45/12345", "counts": "post_likes 7"} {
		found, err := console.ListDifferences(t.Context(), connect.NewRequest(&operationv1.ListDifferencesRequest{Comparison: comparison}))
		if err != nil || len(found.Msg.Differences) != 1 || found.Msg.Differences[0].Subject != subject || found.Msg.Differences[0].Corrected != (comparison == "counts") {
			t.Errorf("the differences are %v (%v)", found, err)
		}
		if _, err := console.RepairDifference(t.Context(), connect.NewRequest(&operationv1.RepairDifferenceRequest{Comparison: comparison, Subject: subject, Reason: "it was planted"})); err != nil {
			t.Fatal(err)
		}
	}
	eventually.True(t, "both are repaired", func() bool { return strings.Count(log.String(), "two stores were made to agree") == 2 })
	round(0, 0)
	if _, err := os.Stat(planted); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there still: %v", err)
	}
}
