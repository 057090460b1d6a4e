package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/lifecycle"
	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/datadir"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/platform/idservice"
	"github.com/rialto-im/rialto/internal/tool/idcli"
	"github.com/rialto-im/rialto/internal/tool/move"
)

// IDMain is rialto id.
func IDMain(ctx context.Context, args []string, out, errOut io.Writer) int {
	return idcli.Main(ctx, args, out, errOut, func(ctx context.Context, path string) (idcli.IDs, func() error, error) {
		d, err := openIDs(ctx, path, errOut)
		if err != nil {
			return nil, nil, err
		}
		return d.service, d.Close, nil
	})
}

// idStore is a database, or a data directory, that is opened for its IDs alone.
type idStore struct {
	service *idservice.Service
	stack   *lifecycle.Stack
	closers []func() error
}

// openIDs opens the ID service of a data directory, which it locks, or of a database, which it shares.
func openIDs(ctx context.Context, path string, errOut io.Writer) (_ *idStore, err error) {
	d := &idStore{stack: lifecycle.New()}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	logger, err := telemetry.NewLogger(telemetry.Config{Level: "warn"}, errOut)
	if err != nil {
		return nil, err
	}
	var db *sqldb.DB
	own := !strings.Contains(path, "://")
	if own {
		db, err = d.openDir(ctx, path, logger)
	} else if db, err = sqldb.Open(ctx, path); err == nil {
		d.closers = append(d.closers, db.Close)
	}
	if err != nil {
		return nil, err
	}
	machine, err := os.Hostname()
	if own {
		machine, err = fingerprint(path, recordsFile)
	}
	if err != nil {
		return nil, err
	}
	leases, err := idgen.NewLeases(ctx, idgen.LeaseDeps{DB: db, Clock: clock.System{}, Logger: logger}, idgen.LeaseConfig{Machine: machine, Exclusive: own})
	if err != nil {
		return nil, err
	}
	d.service, err = idservice.NewService(ctx, idservice.ServiceDeps{DB: db, Leases: leases, Clock: clock.System{}, Logger: logger}, idservice.ServiceConfig{Node: "rialto id", Exclusive: own})
	if err != nil {
		return nil, err
	}
	d.stack.Start("leases", leases.Run)
	d.stack.Start("ids", d.service.Run)
	return d, nil
}

// openDir locks a data directory, and opens its database.
func (d *idStore) openDir(ctx context.Context, path string, logger *slog.Logger) (*sqldb.DB, error) {
	dir, err := waitForDataDir(ctx, path)
	if isInUse(err) {
		return nil, fmt.Errorf("the data directory %s is in use by another rialto process; if that is a server, use --url and --key", path)
	}
	if err != nil {
		return nil, err
	}
	d.closers = append(d.closers, dir.Close)
	if err := move.CheckSource(path); err != nil {
		return nil, err
	}
	stores, err := datadir.OpenDatabase(ctx, path, logger)
	if err != nil {
		return nil, err
	}
	d.closers = append(d.closers, stores.Close)
	return stores.DB, nil
}

// lockWait is how long a start waits for another process to release the data directory.
const lockWait = 3 * time.Second

// waitForDataDir waits up to lockWait for another process to release the directory: scripts run rialto id many times in parallel, and
// supervisors restart a server right after it was killed.
func waitForDataDir(ctx context.Context, path string) (*dataDir, error) {
	const every = 20 * time.Millisecond
	again := time.NewTicker(every)
	defer again.Stop()
	for left := lockWait; ; left -= every {
		dir, err := openDataDir(path)
		if left <= 0 || !isInUse(err) {
			return dir, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Close returns the leases.
func (d *idStore) Close() error {
	return errors.Join(d.stack.Stop(stopTime), lifecycle.Close(closeTime, d.closers))
}
