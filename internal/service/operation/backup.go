package operation

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/backup"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

var backupStates = map[backup.State]operationv1.BackupState{
	backup.None: operationv1.BackupState_BACKUP_STATE_UNSPECIFIED, backup.Running: operationv1.BackupState_BACKUP_STATE_RUNNING, backup.Complete: operationv1.BackupState_BACKUP_STATE_COMPLETE,
	backup.Failed: operationv1.BackupState_BACKUP_STATE_FAILED, backup.Cancelled: operationv1.BackupState_BACKUP_STATE_CANCELLED,
}

// StartBackup begins a backup of the data directory of this node.
func (s *Service) StartBackup(ctx context.Context, c id.Caller, r *operationv1.StartBackupRequest) (*operationv1.Backup, error) {
	record, err := s.recordBackup(c, "backup.start", r.Reason)
	if err != nil {
		return nil, err
	}
	status, err := s.deps.Backups.Start(ctx, c.Key, record)
	if err != nil {
		return nil, err
	}
	return backupOf(status), nil
}

// GetBackup tells how far the latest backup is.
func (s *Service) GetBackup(context.Context, id.Caller, *operationv1.GetBackupRequest) (*operationv1.Backup, error) {
	return backupOf(s.deps.Backups.Status()), nil
}

// CancelBackup ends the backup that runs.
func (s *Service) CancelBackup(ctx context.Context, c id.Caller, r *operationv1.CancelBackupRequest) (*operationv1.Backup, error) {
	record, err := s.recordBackup(c, "backup.cancel", r.Reason)
	if err != nil {
		return nil, err
	}
	status, err := s.deps.Backups.Cancel(ctx, record)
	if err != nil {
		return nil, err
	}
	return backupOf(status), nil
}

// recordBackup returns a function that adds an entry to the audit log before a backup begins or ends: it is no change of the database, with which
// the entry could be committed.
func (s *Service) recordBackup(c id.Caller, action, reason string) (func(ctx context.Context, directory string) error, error) {
	if !message.IsReason(reason) {
		return nil, errReason
	}
	return func(ctx context.Context, directory string) error {
		return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
			return s.deps.Audit.Add(ctx, tx, auditlog.Entry{Who: c.Key, Action: action, Subject: "backup in " + directory, Reason: reason})
		})
	}, nil
}

func backupOf(s backup.Status) *operationv1.Backup {
	b := &operationv1.Backup{State: backupStates[s.State], By: s.By, Directory: s.Directory, DoneBytes: uint64(s.Done), TotalBytes: uint64(s.Total), StartedMs: ms(s.Started), EndedMs: ms(s.Ended),
		Id: s.Result.ID, Files: uint64(s.Result.Files), NewFiles: uint64(s.Result.NewFiles), Bytes: uint64(s.Result.Bytes), NewBytes: uint64(s.Result.NewBytes)}
	if s.Err != nil {
		b.Error = s.Err.Error()
	}
	return b
}
