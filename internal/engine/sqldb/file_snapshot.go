package sqldb

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rialto-im/rialto/internal/engine/sqldb/checksumvfs"
)

// FileSnapshot is the content of a file of SQLite at one moment. Until Close, the file's write-ahead log is not reset: it grows by all that is written.
type FileSnapshot struct {
	tx       *sql.Tx
	conn     *sql.Conn
	pages    int64
	pageSize int64
	checksum bool // the pages have checksums
}

// SnapshotFile takes a snapshot of a file of SQLite, and calls frozen, which may be nil, in the moment of the snapshot: no transaction is committed
// while it runs, so it must be short. The snapshot has all that Write returned for before, and nothing that is written after frozen.
func (d *DB) SnapshotFile(ctx context.Context, frozen func() error) (s *FileSnapshot, err error) {
	if d.dialect.linkOf != nil {
		return nil, errors.New("a snapshot of a file needs SQLite")
	}
	drop := func() {
		if s != nil {
			err = errors.Join(err, s.Close())
			s = nil
		}
	}
	err = d.Write(ctx, func(*sql.Tx) error {
		drop() // of an attempt whose commit failed
		var err error
		if s, err = d.snapshotFile(ctx); err != nil || frozen == nil {
			return err
		}
		return frozen()
	})
	if err != nil {
		drop()
	}
	return s, err
}

// snapshotFile begins the transaction of a snapshot.
func (d *DB) snapshotFile(ctx context.Context) (_ *FileSnapshot, err error) {
	s := &FileSnapshot{}
	// The connection must outlive the context: the snapshot is read by later calls.
	if s.conn, err = d.reader.Conn(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.tx, err = s.conn.BeginTx(context.WithoutCancel(ctx), &sql.TxOptions{ReadOnly: true}); err != nil {
		return nil, err
	}
	var reserve []byte
	if err := s.tx.QueryRowContext(ctx, `SELECT substr(data, 21, 1), length(data) FROM sqlite_dbpage WHERE pgno = 1`).Scan(&reserve, &s.pageSize); err != nil {
		return nil, err
	}
	s.checksum = len(reserve) == 1 && reserve[0] == checksumvfs.Size
	return s, s.tx.QueryRowContext(ctx, `PRAGMA page_count`).Scan(&s.pages)
}

// Size of the file in bytes.
func (s *FileSnapshot) Size() int64 { return s.pages * s.pageSize }

// lockByte is the offset of the page that SQLite uses for locks, and never for data.
const lockByte = 1 << 30

// Pages passes the bytes of the file to do, a page at a time, in their order. The pages have the checksums that they would have in the file: those
// that were only in the write-ahead log get theirs here. A page that does not match its checksum fails the call. b is valid until do returns.
func (s *FileSnapshot) Pages(ctx context.Context, do func(b []byte) error) (err error) {
	rows, err := s.tx.QueryContext(ctx, `SELECT pgno, data FROM sqlite_dbpage ORDER BY pgno`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var number int64
	var raw sql.RawBytes
	page := make([]byte, s.pageSize)
	for n := int64(1); rows.Next(); n++ {
		if err := rows.Scan(&number, &raw); err != nil {
			return err
		}
		if number != n || int64(len(raw)) != s.pageSize {
			return fmt.Errorf("page %d of the database has number %d and %d bytes", n, number, len(raw))
		}
		copy(page, raw)
		if end := len(page) - checksumvfs.Size; s.checksum && (n-1)*s.pageSize != lockByte {
			binary.BigEndian.PutUint64(page[end:], checksumvfs.Sum(uint32(n), page[:end]))
		}
		if err := do(page); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if number != s.pages {
		return fmt.Errorf("the database has %d pages, and %d were read", s.pages, number)
	}
	return nil
}

// Close ends the snapshot. It may be called again.
func (s *FileSnapshot) Close() (err error) {
	if s.tx != nil {
		if err = s.tx.Rollback(); errors.Is(err, sql.ErrTxDone) {
			err = nil
		}
	}
	if s.conn != nil {
		err = errors.Join(err, s.conn.Close())
	}
	s.tx, s.conn = nil, nil
	return err
}
