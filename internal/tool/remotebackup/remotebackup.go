// Package remotebackup asks a running server for a backup, and shows its progress. It is a client of OperationService.
package remotebackup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/progress"
	"github.com/rialto-im/rialto/internal/tool/apiclient"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/operation/v1/operationv1connect"
)

// Options of Run.
type Options struct {
	// Server has a key with the role operator.
	Server *apiclient.Client
	// Reason for the audit log.
	Reason  string
	Printer *progress.Printer
}

const (
	pollFirst = 100 * time.Millisecond
	pollMost  = time.Second
)

// Run begins a backup, waits for its end and returns it. If ctx ends, it cancels the backup, and asks for that once: who interrupts a command does not wait
// for a server that may have died.
func Run(ctx context.Context, o Options) (*operationv1.Backup, error) {
	if err := o.Server.CallOnce(ctx, operationv1connect.OperationServiceStartBackupProcedure, &operationv1.StartBackupRequest{Reason: o.Reason}, &operationv1.Backup{}); err != nil {
		return nil, err
	}
	b, err := wait(ctx, o.Server, o.Printer)
	if ctx.Err() == nil || err == nil {
		return b, err
	}
	if err := o.Server.CallOnce(context.WithoutCancel(ctx), operationv1connect.OperationServiceCancelBackupProcedure, &operationv1.CancelBackupRequest{}, &operationv1.Backup{}); err != nil {
		return nil, fmt.Errorf("interrupted, and the backup goes on: it could not be cancelled: %w", err)
	}
	return nil, errors.New("interrupted: the backup was cancelled; earlier ones are not affected, and the next one uses what was copied")
}

// wait waits for the end of the backup.
func wait(ctx context.Context, server *apiclient.Client, printer *progress.Printer) (*operationv1.Backup, error) {
	step, delays := printer.Step("backup"), backoff.New(pollFirst, pollMost)
	defer step.End()
	for {
		b := &operationv1.Backup{}
		err := server.Call(ctx, operationv1connect.OperationServiceGetBackupProcedure, &operationv1.GetBackupRequest{}, b)
		switch {
		case err != nil:
			return nil, fmt.Errorf("the server does not say how far the backup is: %w", err)
		case b.State == operationv1.BackupState_BACKUP_STATE_RUNNING:
			step.At(float64(b.DoneBytes)/float64(max(b.TotalBytes, 1)), fmt.Sprintf("%d of %d MB", b.DoneBytes/1e6, b.TotalBytes/1e6))
		case b.State == operationv1.BackupState_BACKUP_STATE_COMPLETE:
			return b, nil
		case b.Error != "":
			return nil, errors.New(b.Error)
		default:
			return nil, errors.New("the server was started again, and knows of no backup: see rialto backup --to DIRECTORY --list")
		}
		if err := delays.Wait(ctx); err != nil {
			return nil, err
		}
	}
}
