package operation_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/platform/backup"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"google.golang.org/protobuf/proto"
)

// backups has a status, and records what was asked.
type backups struct {
	status backup.Status
	asked  []string
	err    error
}

func (b *backups) Start(ctx context.Context, by string, record func(ctx context.Context, directory string) error) (backup.Status, error) {
	b.asked = append(b.asked, "start by "+by)
	return b.status, errors.Join(b.err, record(ctx, "/backups"))
}

func (b *backups) Status() backup.Status { return b.status }

func (b *backups) Cancel(ctx context.Context, record func(ctx context.Context, directory string) error) (backup.Status, error) {
	b.asked = append(b.asked, "cancel")
	return b.status, errors.Join(b.err, record(ctx, "/backups"))
}

// Operators begin and cancel backups, which the audit log shows, and see how far the latest is.
func TestOperatorsMakeBackups(t *testing.T) {
	n := open(t, "a")
	n.backups.status = backup.Status{State: backup.Running, By: "olga", Directory: "/backups", Done: 3, Total: 7, Started: time.UnixMilli(5)}
	started, err := n.StartBackup(t.Context(), olga, &operationv1.StartBackupRequest{Reason: "before the upgrade"})
	must(t, err)
	want := &operationv1.Backup{State: operationv1.BackupState_BACKUP_STATE_RUNNING, By: "olga", Directory: "/backups", DoneBytes: 3, TotalBytes: 7, StartedMs: 5}
	if !proto.Equal(started, want) {
		t.Errorf("a backup that begins is %v", started)
	}
	_, err = n.CancelBackup(t.Context(), olga, &operationv1.CancelBackupRequest{Reason: "not now"})
	must(t, err)
	if got := strings.Join(n.backups.asked, ", "); got != "start by olga, cancel" {
		t.Errorf("asked: %s", got)
	}
	log, err := n.ListAuditEntries(t.Context(), olga, &operationv1.ListAuditEntriesRequest{})
	must(t, err)
	var entries []string
	for _, e := range log.Entries {
		entries = append(entries, e.Who+" "+e.Action+" "+e.Subject+" "+e.Reason)
	}
	if got := strings.Join(entries, ", "); got != "olga backup.cancel backup in /backups not now, olga backup.start backup in /backups before the upgrade" {
		t.Errorf("the audit log has %s", got)
	}
	n.backups.status = backup.Status{State: backup.Complete, Started: time.UnixMilli(5), Ended: time.UnixMilli(9), Result: backup.Result{ID: "one", Files: 4, NewFiles: 3, Bytes: 2, NewBytes: 1}}
	got, err := n.GetBackup(t.Context(), olga, &operationv1.GetBackupRequest{})
	want = &operationv1.Backup{State: operationv1.BackupState_BACKUP_STATE_COMPLETE, StartedMs: 5, EndedMs: 9, Id: "one", Files: 4, NewFiles: 3, Bytes: 2, NewBytes: 1}
	if err != nil || !proto.Equal(got, want) {
		t.Errorf("a complete backup is %v, %v", got, err)
	}
	n.backups.status = backup.Status{State: backup.Failed, Err: errors.New("the disk is full")}
	if got, err := n.GetBackup(t.Context(), olga, &operationv1.GetBackupRequest{}); err != nil || got.Error != "the disk is full" || got.State != operationv1.BackupState_BACKUP_STATE_FAILED {
		t.Errorf("a failed backup is %v, %v", got, err)
	}
	long := strings.Repeat("x", 501)
	_, err1 := n.StartBackup(t.Context(), olga, &operationv1.StartBackupRequest{Reason: long})
	_, err2 := n.CancelBackup(t.Context(), olga, &operationv1.CancelBackupRequest{Reason: long})
	if errs.Of(err1).Reason != "bad_change" || errs.Of(err2).Reason != "bad_change" || len(n.backups.asked) != 2 {
		t.Errorf("a long reason returned %v and %v, asked %v", err1, err2, n.backups.asked)
	}
}
