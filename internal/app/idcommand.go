package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/idcli"
	"github.com/rialto-im/rialto/internal/idgen"
	"github.com/rialto-im/rialto/internal/lifecycle"
	"github.com/rialto-im/rialto/internal/move"
	"github.com/rialto-im/rialto/internal/sqldb"
	"github.com/rialto-im/rialto/internal/telemetry"
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

// idDir is a data directory of which only the ids are wanted.
type idDir struct {
	service *idgen.Service
	stack   *lifecycle.Stack
	closers []func() error
}

// openIDs opens the id service of a data directory, which is this process's alone meanwhile, or of a database, which it shares.
func openIDs(ctx context.Context, path string, errOut io.Writer) (_ *idDir, err error) {
	d := &idDir{stack: lifecycle.New()}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	records, own := path, !strings.Contains(path, "://")
	if own {
		if records, err = d.lock(ctx, path); err != nil {
			return nil, err
		}
	}
	db, err := sqldb.Open(ctx, records)
	if err != nil {
		return nil, err
	}
	d.closers = append(d.closers, db.Close)
	logger, err := telemetry.NewLogger(telemetry.Config{Level: "warn"}, errOut)
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
	leases, err := idgen.NewLeases(ctx, idgen.LeaseDeps{DB: db, Clock: clock.System{}, Logger: logger}, idgen.LeaseConfig{Machine: machine, Own: own})
	if err != nil {
		return nil, err
	}
	d.service, err = idgen.NewService(ctx, idgen.ServiceDeps{DB: db, Leases: leases, Clock: clock.System{}, Logger: logger}, idgen.ServiceConfig{Node: "rialto id", Own: own})
	if err != nil {
		return nil, err
	}
	d.stack.Start("leases", leases.Run)
	d.stack.Start("ids", d.service.Run)
	return d, nil
}

// lock holds a data directory, and gives the place of its records.
func (d *idDir) lock(ctx context.Context, path string) (records string, err error) {
	dir, err := waitForDataDir(ctx, path)
	if inUse := (*inUseError)(nil); errors.As(err, &inUse) {
		return "", fmt.Errorf("the data directory %s is in use by another rialto; where that is a server, ask it: --url and --key", path)
	}
	if err != nil {
		return "", err
	}
	d.closers = append(d.closers, dir.Close)
	return dir.join(recordsFile), move.CheckSource(path)
}

// waitForDataDir waits a little where another has the directory: rialto id is often run by many at once, and soon over.
func waitForDataDir(ctx context.Context, path string) (*dataDir, error) {
	const every, most = 20 * time.Millisecond, 3 * time.Second
	again := time.NewTicker(every)
	defer again.Stop()
	for left := most; ; left -= every {
		dir, err := openDataDir(path)
		if inUse := (*inUseError)(nil); left <= 0 || !errors.As(err, &inUse) {
			return dir, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Close gives back what was leased.
func (d *idDir) Close() error {
	return errors.Join(d.stack.Stop(stopTime), lifecycle.Close(closeTime, d.closers))
}
