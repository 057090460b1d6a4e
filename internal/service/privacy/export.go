package privacy

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/platform/job"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

const (
	// exportEvery is how often a user may have an export made.
	exportEvery = 24 * time.Hour
	// exportTimeout of an attempt. A user with 100 GB of files takes some hours.
	exportTimeout = 12 * time.Hour
	// exportFailures is how many attempts may fail; with the delays between them that takes some hours.
	exportFailures = 16
)

// exportRow is an export.
type exportRow struct {
	id                        uint64
	owner                     id.User
	requestedMs, doneMs, size int64
	upload                    id.Upload
}

const selectExport = `SELECT id, owner, requested_ms, done_ms, upload, size FROM exports `

func (e *exportRow) scan(row *sql.Row) error {
	return row.Scan(&e.id, &e.owner, &e.requestedMs, &e.doneMs, &e.upload, &e.size)
}

// newest returns the newest export of a user; one with id 0 if there is none.
func newest(ctx context.Context, q sqldb.Querier, u id.User) (e exportRow, err error) {
	err = e.scan(q.QueryRowContext(ctx, selectExport+`WHERE owner = $1 ORDER BY id DESC LIMIT 1`, int64(u)))
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return e, err
}

// RequestExport begins an export of the caller's data, unless one was begun in the last 24 hours.
func (s *Service) RequestExport(ctx context.Context, c id.Caller) (*accountv1.Export, error) {
	n, err := s.deps.IDs.Next(ctx)
	if err != nil {
		return nil, err
	}
	var e exportRow
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
		now := s.nowMs()
		if e, err = newest(ctx, tx, c.User); err != nil || e.id != 0 && e.requestedMs > now-exportEvery.Milliseconds() {
			return err
		}
		e = exportRow{id: n, owner: c.User, requestedMs: now}
		if _, err := tx.ExecContext(ctx, `INSERT INTO exports (id, owner, requested_ms) VALUES ($1, $2, $3)`, int64(n), int64(c.User), now); err != nil {
			return err
		}
		_, err = s.deps.Jobs.InsertTx(ctx, tx, exportArgs{n}, job.Options{Queue: Queue, MaxFailures: exportFailures, Timeout: exportTimeout})
		return err
	})
	if err != nil {
		return nil, err
	}
	s.deps.Jobs.Wake()
	return s.exportProto(e), nil
}

// GetExport returns the newest export of the caller.
func (s *Service) GetExport(ctx context.Context, c id.Caller) (*accountv1.Export, error) {
	e, err := newest(ctx, s.deps.DB.Read(), c.User)
	return s.exportProto(e), err
}

func (s *Service) exportProto(e exportRow) *accountv1.Export {
	out := &accountv1.Export{Id: e.id, RequestedMs: e.requestedMs, DoneMs: e.doneMs, Size: uint64(e.size)}
	if e.doneMs == 0 {
		return out
	}
	out.AvailableUntilMs = e.doneMs + s.config.KeepExports.Milliseconds()
	if e.upload != 0 && s.nowMs() < out.AvailableUntilMs {
		url, ends := s.deps.Files.ExportURL(e.upload)
		out.Url, out.ExpiresMs = url, ends.UnixMilli()
	}
	return out
}

// export is the worker of an export.
func (s *Service) export(ctx context.Context, j job.Job[exportArgs]) error {
	var e exportRow
	err := e.scan(s.deps.DB.Read().QueryRowContext(ctx, selectExport+`WHERE id = $1`, int64(j.Args.Export)))
	switch {
	case errors.Is(err, sql.ErrNoRows): // the user was erased
		return nil
	case err != nil:
		return err
	case e.doneMs > 0: // an attempt before this one has stored it
		return s.dropEarlier(ctx, e)
	}
	f, err := os.CreateTemp(s.deps.TempDir, "export-*.zip")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	defer f.Close()
	size, err := s.writeArchive(ctx, e, f)
	if err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	day := time.UnixMilli(e.requestedMs).UTC().Format(time.DateOnly)
	upload, err := s.deps.Files.StoreExport(ctx, e.owner, "export-"+day+".zip", f, size)
	if err != nil {
		return err
	}
	if err := s.reached("exported"); err != nil {
		return err
	}
	stored := false
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `UPDATE exports SET done_ms = $2, upload = $3, size = $4 WHERE id = $1 AND done_ms = 0`, int64(e.id), s.nowMs(), int64(upload), size)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		stored = n > 0
		return err
	})
	switch {
	case err != nil:
		return err
	case !stored: // the user was erased meanwhile
		return s.deps.Files.DropExport(ctx, upload)
	}
	return s.dropEarlier(ctx, e)
}

// dropEarlier deletes the exports of a user that a newer one replaces: only the newest is offered, and exports do not count in the user's quota.
func (s *Service) dropEarlier(ctx context.Context, newer exportRow) error {
	rows, err := s.deps.DB.Read().QueryContext(ctx, selectExport+`WHERE owner = $1 AND id < $2 AND done_ms > 0 ORDER BY id LIMIT 1000`, int64(newer.owner), int64(newer.id))
	return s.dropExports(ctx, rows, err)
}

// writeArchive writes the archive of an export to a file, and returns its size.
func (s *Service) writeArchive(ctx context.Context, e exportRow, f io.Writer) (int64, error) {
	w := newArchive(f, s.deps.Store)
	for _, p := range s.deps.Participants {
		if err := p.ExportUser(ctx, e.owner, w); err != nil {
			return 0, fmt.Errorf("%s: %w", p.Name(), err)
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
	}
	return w.close(manifest{Format: archiveFormat, User: e.owner.String(), CreatedMs: e.requestedMs})
}

// Run deletes old exports until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	(&cluster.Periodic{IsCoordinator: s.deps.IsCoordinator, Interval: time.Hour, AtStart: true, Round: s.dropOld, Failed: "old exports could not be deleted", Logger: s.deps.Logger}).Run(ctx)
	return nil
}

// dropOld deletes the archives of exports that are no longer available, and exports that could not be made.
func (s *Service) dropOld(ctx context.Context) error {
	before := s.nowMs() - s.config.KeepExports.Milliseconds()
	rows, err := s.deps.DB.Read().QueryContext(ctx, selectExport+`WHERE requested_ms < $1 AND (done_ms > 0 AND done_ms < $1 OR done_ms = 0 AND requested_ms < $1 - 86400000) ORDER BY requested_ms LIMIT 1000`, before)
	return s.dropExports(ctx, rows, err)
}

// dropExports deletes the exports of a query.
func (s *Service) dropExports(ctx context.Context, rows *sql.Rows, err error) error {
	var old []exportRow
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var e exportRow
		err := rows.Scan(&e.id, &e.owner, &e.requestedMs, &e.doneMs, &e.upload, &e.size)
		old = append(old, e)
		return err
	})
	if err != nil {
		return err
	}
	for _, e := range old {
		if err := s.dropExport(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// dropExport deletes an export with its archive.
func (s *Service) dropExport(ctx context.Context, e exportRow) error {
	if e.upload != 0 {
		if err := s.deps.Files.DropExport(ctx, e.upload); err != nil {
			return err
		}
	}
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM exports WHERE id = $1`, int64(e.id))
		return err
	})
}
