package media

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/userdata"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

// erasedAtOnce is how many uploads a step erases.
const erasedAtOnce = 50

// userTables are the tables of the package with data of users.
var userTables = []userdata.Table{
	{Name: "uploads", Export: `SELECT id, name, declared AS size, mime_type, width, height, created_ms, complete > 0 AS complete FROM uploads WHERE owner = $1 AND complete >= 0 ORDER BY id`},
	{Name: "upload_uses", Export: `SELECT s.upload, s.conversation, s.used_ms FROM upload_uses s JOIN uploads u ON u.id = s.upload WHERE u.owner = $1 AND s.conversation NOT IN (0, 1) ORDER BY s.upload, s.conversation`},
	{Name: "upload_multiparts"},
	{Name: "upload_parts"},
	{Name: "upload_sums", Erase: `DELETE FROM upload_sums WHERE owner = $1 AND $2 > 0`},
}

// UserData is what an export and an erasure ask of this package.
func (s *Service) UserData() userdata.Participant {
	return userData{s, &userdata.Tables{Service: "files", DB: s.deps.DB, List: userTables}}
}

type userData struct {
	service *Service
	*userdata.Tables
}

// EraseUser first deletes some files, and when none is left the rows of tables.
func (d userData) EraseUser(ctx context.Context, u id.User, from string) (userdata.Step, error) {
	if from != "" {
		return d.Tables.EraseUser(ctx, u, from)
	}
	rows, err := d.service.deps.DB.Read().QueryContext(ctx, `SELECT id, owner, attempts FROM uploads WHERE owner = $1 ORDER BY id LIMIT $2`, int64(u), erasedAtOnce)
	list, err := scanAbandoned(rows, err)
	if err != nil {
		return userdata.Step{}, err
	}
	for _, a := range list {
		if err := d.service.eraseUpload(ctx, a); err != nil {
			return userdata.Step{}, err
		}
	}
	if len(list) < erasedAtOnce {
		return userdata.Step{Next: userdata.FirstTable, Erased: int64(len(list))}, nil
	}
	return userdata.Step{Erased: int64(len(list))}, nil
}

// eraseUpload deletes the bytes and all rows of an upload, whatever its state.
func (s *Service) eraseUpload(ctx context.Context, a abandoned) error {
	if _, err := s.update(ctx, nil, `UPDATE uploads SET complete = -2 WHERE id = $1 AND complete > 0`, int64(a.id)); err != nil {
		return err
	}
	if err := s.drop(ctx, a); err != nil {
		return err
	}
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		for _, statement := range []string{
			`DELETE FROM upload_uses WHERE upload = $1`,
			`DELETE FROM upload_multiparts WHERE upload = $1`,
			`DELETE FROM upload_parts WHERE upload = $1`,
			`DELETE FROM uploads WHERE id = $1 AND complete < 0`,
		} {
			if _, err := tx.ExecContext(ctx, statement, int64(a.id)); err != nil {
				return err
			}
		}
		return nil
	})
}

// ExportUser writes rows, and the files with their bytes.
func (d userData) ExportUser(ctx context.Context, u id.User, to userdata.Writer) error {
	if err := d.Tables.ExportUser(ctx, u, to); err != nil {
		return err
	}
	type file struct {
		id     id.Upload
		name   string
		stored int64
	}
	for after := id.Upload(0); ; {
		var list []file
		rows, err := d.service.deps.DB.Read().QueryContext(ctx, `SELECT id, name, stored FROM uploads WHERE owner = $1 AND id > $2 AND complete > 0 AND name NOT LIKE $3 ORDER BY id LIMIT $4`, int64(u), int64(after), exportPrefix+"%", erasedAtOnce)
		err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
			var f file
			err := rows.Scan(&f.id, &f.name, &f.stored)
			list = append(list, f)
			return err
		})
		if err != nil || len(list) == 0 {
			return err
		}
		for _, f := range list {
			after = f.id
			if err := to.File(ctx, f.id.String()+"-"+f.name, blobKey(f.id, f.stored)); err != nil {
				return err
			}
		}
	}
}

// exportPrefix begins the names of exports, which no name of a user's file does: cleanName removes colons.
const exportPrefix = "rialto:"

// StoreExport stores size bytes as a complete file of a user, also beyond the quota.
func (s *Service) StoreExport(ctx context.Context, u id.User, name string, r io.Reader, size int64) (id.Upload, error) {
	next, err := s.deps.IDs.Next(ctx)
	if err != nil {
		return 0, err
	}
	n := id.Upload(next)
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO uploads (id, owner, name, declared, created_ms, attempts, traced) VALUES ($1, $2, $3, $4, $5, 1, 1)`,
			int64(n), int64(u), exportPrefix+name, size, s.deps.Clock.Now().UnixMilli()); err != nil {
			return err
		}
		return addToTotal(ctx, tx, u, size, 1)
	})
	if err != nil {
		return 0, err
	}
	sum, err := s.put(ctx, n, 1, r, size)
	if err != nil {
		return 0, err // the sweep drops it
	}
	did, err := s.update(ctx, func(tx *sql.Tx) error { return addToTotal(ctx, tx, u, 0, -1) },
		`UPDATE uploads SET complete = 2, stored = 1, checksum = $1, checksum_piece = $2, mime_type = 'application/zip' WHERE id = $3 AND complete = 0`, sum.sum, sum.piece, int64(n))
	if err == nil && !did {
		err = errNoUpload
	}
	return n, err
}

// DropExport deletes a file that StoreExport has stored. A missing one is not an error.
func (s *Service) DropExport(ctx context.Context, n id.Upload) error {
	var a abandoned
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT id, owner, attempts FROM uploads WHERE id = $1`, int64(n)).Scan(&a.id, &a.owner, &a.attempts)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.eraseUpload(ctx, a)
}

// ExportURL returns an address of an export, and until when it is good.
func (s *Service) ExportURL(n id.Upload) (url string, ends time.Time) {
	r := s.download(n)
	return r.Url, time.UnixMilli(r.ExpiresMs)
}

// ExportFile returns an address of any complete file, for an export of everything.
func (s *Service) ExportFile(ctx context.Context, n id.Upload) (*operationv1.ExportFileResponse, error) {
	u, err := s.get(ctx, n)
	if err == nil && u.complete == 0 {
		err = errNoUpload
	}
	if err != nil {
		return nil, err
	}
	return &operationv1.ExportFileResponse{Url: s.download(n).Url, Owner: uint64(u.owner), Name: u.name, MimeType: u.mime, Size: uint64(u.declared)}, nil
}
