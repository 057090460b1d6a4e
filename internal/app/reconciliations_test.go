package app

import (
	"context"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/account"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/operation/v1/operationv1connect"
)

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
	console := operationv1connect.NewOperationServiceClient(http.DefaultClient, "http://"+h.AdminAddress().String(), withKey)
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
	if list, of := differences(); len(list) != 6 || of["files"]+of["quotas"]+of["inboxes"]+of["search"] != 0 || list[0].Compared != 1 {
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
