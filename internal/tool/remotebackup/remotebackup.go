// Package remotebackup asks a running server for a backup, and shows its progress. It is a client of OperationService.
package remotebackup

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/progress"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/operation/v1/operationv1connect"
)

// Options of Run.
type Options struct {
	// URL of a listener of the server, such as the admin listener's.
	URL string
	// Key with the role operator, or @FILE to read it from a file.
	Key string
	// Reason for the audit log.
	Reason  string
	Printer *progress.Printer
}

const (
	callTimeout = 30 * time.Second
	pollFirst   = 100 * time.Millisecond
	pollMost    = time.Second
	// mostFailures in a row of polls, after which the backup is left alone.
	mostFailures = 30
)

// Run begins a backup, waits for its end and returns it. If ctx ends, it cancels the backup.
func Run(ctx context.Context, o Options) (*operationv1.Backup, error) {
	key := o.Key
	if file, ok := strings.CutPrefix(key, "@"); ok {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("--key: %w", err)
		}
		key = strings.TrimSpace(string(b))
	}
	c := &client{operationv1connect.NewOperationServiceClient(&http.Client{Timeout: callTimeout}, strings.TrimRight(o.URL, "/")), key}
	if _, err := c.start(ctx, o.Reason); err != nil {
		return nil, err
	}
	b, err := c.wait(ctx, o.Printer)
	if ctx.Err() == nil || err == nil {
		return b, err
	}
	if _, err := c.cancel(context.WithoutCancel(ctx)); err != nil {
		return nil, fmt.Errorf("interrupted, and the backup goes on: it could not be cancelled: %w", err)
	}
	return nil, errors.New("interrupted: the backup was cancelled; earlier ones are not affected, and the next one uses what was copied")
}

type client struct {
	operations operationv1connect.OperationServiceClient
	key        string
}

// ask makes a call, and returns errors as texts for operators.
func ask[Q, A any](c *client, call func(*connect.Request[Q]) (*connect.Response[A], error), q *Q) (*A, error) {
	r := connect.NewRequest(q)
	r.Header().Set("Authorization", "Bearer "+c.key)
	a, err := call(r)
	switch e := (*connect.Error)(nil); {
	case err == nil:
		return a.Msg, nil
	case connect.CodeOf(err) == connect.CodeUnauthenticated:
		return nil, errors.New("the server does not accept this key: it needs one with the role operator, of rialto admin key create --role operator --name NAME")
	case errors.As(err, &e) && e.Message() != "":
		return nil, errors.New(e.Message())
	}
	return nil, err
}

func (c *client) start(ctx context.Context, reason string) (*operationv1.Backup, error) {
	return ask(c, func(r *connect.Request[operationv1.StartBackupRequest]) (*connect.Response[operationv1.Backup], error) {
		return c.operations.StartBackup(ctx, r)
	}, &operationv1.StartBackupRequest{Reason: reason})
}

func (c *client) cancel(ctx context.Context) (*operationv1.Backup, error) {
	return ask(c, func(r *connect.Request[operationv1.CancelBackupRequest]) (*connect.Response[operationv1.Backup], error) {
		return c.operations.CancelBackup(ctx, r)
	}, &operationv1.CancelBackupRequest{})
}

// wait waits for the end of the backup.
func (c *client) wait(ctx context.Context, printer *progress.Printer) (*operationv1.Backup, error) {
	step, delays, failed := printer.Step("backup"), backoff.New(pollFirst, pollMost), 0
	defer step.End()
	for {
		b, err := ask(c, func(r *connect.Request[operationv1.GetBackupRequest]) (*connect.Response[operationv1.Backup], error) {
			return c.operations.GetBackup(ctx, r)
		}, &operationv1.GetBackupRequest{})
		switch {
		case err != nil && (ctx.Err() != nil || failed == mostFailures):
			return nil, fmt.Errorf("the server does not say how far the backup is: %w", err)
		case err != nil:
			failed++
		case b.State == operationv1.BackupState_BACKUP_STATE_RUNNING:
			failed = 0
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
