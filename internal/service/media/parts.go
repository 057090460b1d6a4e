package media

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/failpoint"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

var (
	errPartDiffers = errs.New(errs.Conflict, "part_differs", "this part is stored already, with other bytes; to upload another file, create another upload")
	errPartsLost   = errs.New(errs.NotFound, "no_upload", "the parts of this upload are no longer stored; create another upload")
)

// storedPart is a row of upload_parts: the bytes of this part are durable.
type storedPart struct {
	number        int
	size          int64
	checksum, tag string
}

// partID names what only one request at a time may write: a part by its number, or one of the following.
type partID struct {
	upload id.Upload
	part   int
}

const (
	wholeUpload   = 0  // the bytes of an upload that has one body, or grows by tus
	joining       = -1 // the joining of an upload's parts
	concatenating = -2 // the concatenation that begins with this upload
)

// partLocks are the locks of parts. Their holders write in this process; several nodes share files only in S3, where a part is replaced as a
// whole.
type partLocks struct {
	mu   sync.Mutex // guards held
	held map[partID]*partLock
}

type partLock struct {
	free  chan struct{} // holds one value while nobody has the lock
	users int           // who have it or wait for it
}

// lock waits for a lock, at most until ctx ends.
func (l *partLocks) lock(ctx context.Context, of partID) (unlock func(), err error) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[partID]*partLock{}
	}
	p := l.held[of]
	if p == nil {
		p = &partLock{free: make(chan struct{}, 1)}
		p.free <- struct{}{}
		l.held[of] = p
	}
	p.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if p.users--; p.users == 0 {
			delete(l.held, of)
		}
	}
	select {
	case <-p.free:
		return func() {
			p.free <- struct{}{}
			leave()
		}, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// storePart stores and records the bytes of a part, and returns their checksum. A stored part is never written again: the same bytes are
// accepted, and others are refused.
func (s *Service) storePart(ctx context.Context, n id.Upload, m multipart, p blob.Part, r io.Reader) (checksum string, err error) {
	unlock, err := s.locks.lock(ctx, partID{n, p.Number})
	if err != nil {
		return "", err
	}
	defer unlock()
	stored, err := s.putPart(ctx, n, m, p, r)
	if err != nil {
		return "", err
	}
	return stored.checksum, s.recordParts(ctx, n, []storedPart{stored}, nil)
}

// putPart makes the bytes of a part durable, and does not record it. The caller has the lock of the part, or of all parts.
func (s *Service) putPart(ctx context.Context, n id.Upload, m multipart, p blob.Part, r io.Reader) (storedPart, error) {
	sum := sha256.New()
	old, err := s.findPart(ctx, n, p.Number)
	if err == nil {
		k, err := io.Copy(sum, io.LimitReader(r, p.Size+1))
		switch {
		case err != nil:
			return old, err
		case k != p.Size:
			return old, blob.ErrSize
		case hex.EncodeToString(sum.Sum(nil)) != old.checksum:
			return old, errPartDiffers
		}
		return old, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return old, err
	}
	if m.session, err = s.beginSession(ctx, n, m); err != nil {
		return old, err
	}
	tag, err := s.deps.Store.PutPart(ctx, blobKey(n, partsAttempt), m.session, p, io.TeeReader(r, sum))
	if errors.Is(err, blob.ErrNotFound) {
		err = errPartsLost
	}
	return storedPart{p.Number, p.Size, hex.EncodeToString(sum.Sum(nil)), tag}, err
}

func (s *Service) findPart(ctx context.Context, n id.Upload, number int) (storedPart, error) {
	p := storedPart{number: number}
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT size, checksum, tag FROM upload_parts WHERE upload = $1 AND number = $2`, int64(n), number).Scan(&p.size, &p.checksum, &p.tag)
	return p, err
}

// listParts returns the stored parts, in order.
func (s *Service) listParts(ctx context.Context, n id.Upload) (parts []storedPart, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT number, size, checksum, tag FROM upload_parts WHERE upload = $1 ORDER BY number`, int64(n))
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var p storedPart
		err := rows.Scan(&p.number, &p.size, &p.checksum, &p.tag)
		parts = append(parts, p)
		return err
	})
	return parts, err
}

// beginSession returns the store's session for an upload's parts, and begins it if there is none.
func (s *Service) beginSession(ctx context.Context, n id.Upload, m multipart) (string, error) {
	if m.session != "" {
		return m.session, nil
	}
	unlock, err := s.locks.lock(ctx, partID{n, joining})
	if err != nil {
		return "", err
	}
	defer unlock()
	if session, err := s.session(ctx, n); err != nil || session != "" {
		return session, err
	}
	key := blobKey(n, partsAttempt)
	session, err := s.deps.Store.BeginParts(ctx, key)
	if err != nil {
		return "", err
	}
	did, err := s.update(ctx, nil, `UPDATE upload_multiparts SET session = $1 WHERE upload = $2 AND session = '' AND EXISTS (SELECT 1 FROM uploads WHERE id = $2 AND complete = 0)`, session, int64(n))
	if err != nil || did {
		return session, err // after an error the next part begins another session
	}
	other, err := s.session(ctx, n) // of another node, or the upload was dropped
	if err != nil || other != session {
		err = errors.Join(err, s.deps.Store.AbortParts(ctx, key, session))
	}
	return other, err
}

func (s *Service) session(ctx context.Context, n id.Upload) (session string, err error) {
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT session FROM upload_multiparts WHERE upload = $1 AND EXISTS (SELECT 1 FROM uploads WHERE id = $1 AND complete >= 0)`, int64(n)).Scan(&session)
	if errors.Is(err, sql.ErrNoRows) {
		err = errNoUpload
	}
	return session, err
}

// tail is the beginning of a part of tus, stored as a file of its own.
type tail struct {
	number     int64
	part, size int64
}

// recordParts records durable parts, and the tail after them, in one transaction. It fails if the upload was dropped meanwhile. The tail of a
// recorded part is forgotten.
func (s *Service) recordParts(ctx context.Context, n id.Upload, parts []storedPart, after *tail) error {
	failpoint.Hit("media/part-stored")
	defer failpoint.Hit("media/part-recorded")
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		for _, p := range parts {
			done, err := tx.ExecContext(ctx, `INSERT INTO upload_parts (upload, number, size, checksum, tag) SELECT id, CAST($2 AS BIGINT), CAST($3 AS BIGINT), CAST($4 AS TEXT), CAST($5 AS TEXT) FROM uploads
				WHERE id = $1 AND complete = 0 AND stored = 0 ON CONFLICT (upload, number) DO NOTHING`, int64(n), p.number, p.size, p.checksum, p.tag)
			if err != nil {
				return err
			}
			if k, err := done.RowsAffected(); err != nil {
				return err
			} else if k == 0 {
				if err := samePart(ctx, tx, n, p); err != nil {
					return err
				}
			}
			if _, err := tx.ExecContext(ctx, `UPDATE upload_multiparts SET tail = 0, tail_size = 0, tail_part = 0 WHERE upload = $1 AND tail_part = $2`, int64(n), p.number); err != nil {
				return err
			}
		}
		if after == nil {
			return nil
		}
		done, err := tx.ExecContext(ctx, `UPDATE upload_multiparts SET tail = $1, tail_size = $2, tail_part = $3 WHERE upload = $4 AND EXISTS (SELECT 1 FROM uploads WHERE id = $4 AND complete = 0)`, after.number, after.size, after.part, int64(n))
		if err != nil {
			return err
		}
		if k, err := done.RowsAffected(); err != nil || k > 0 {
			return err
		}
		return errNoUpload
	})
}

// samePart checks that a part which could not be recorded is recorded already, with the same bytes.
func samePart(ctx context.Context, tx *sql.Tx, n id.Upload, p storedPart) error {
	u, err := getUpload(ctx, tx, n)
	if err != nil {
		return err
	}
	var checksum string
	err = tx.QueryRowContext(ctx, `SELECT checksum FROM upload_parts WHERE upload = $1 AND number = $2`, int64(n), p.number).Scan(&checksum)
	if errors.Is(err, sql.ErrNoRows) && u.stored > 0 {
		return errPartsComplete
	}
	if err != nil {
		return err
	}
	if checksum != p.checksum {
		return errPartDiffers
	}
	return nil
}

// joinParts makes the stored parts the bytes of the upload, which can then be completed. It may be repeated.
func (s *Service) joinParts(ctx context.Context, n id.Upload) (upload, error) {
	unlock, err := s.locks.lock(ctx, partID{n, joining})
	if err != nil {
		return upload{}, err
	}
	defer unlock()
	u, err := s.get(ctx, n)
	if err != nil || u.stored > 0 {
		return u, err
	}
	m, err := s.multipart(ctx, n, u)
	if errors.Is(err, errNoParts) {
		return u, errNotUploaded
	}
	if err != nil {
		return u, err
	}
	stored, err := s.listParts(ctx, n)
	if err != nil {
		return u, err
	}
	parts := make([]blob.Part, 0, len(stored))
	for _, p := range stored {
		part, ok := m.at(p.number)
		if !ok || part.Size != p.size {
			return u, fmt.Errorf("part %d of upload %d has %d bytes", p.number, n, p.size)
		}
		part.Tag = p.tag
		parts = append(parts, part)
	}
	if missing := m.count() - len(parts); missing > 0 {
		return u, errs.New(errs.Invalid, "parts_missing", fmt.Sprintf("%d of %d parts are missing; put them first, GetMultipartUpload names them", missing, m.count()))
	}
	if err := s.deps.Store.JoinParts(ctx, blobKey(n, partsAttempt), m.session, parts); err != nil {
		if errors.Is(err, blob.ErrNotFound) {
			err = errPartsLost
		}
		return u, err
	}
	failpoint.Hit("media/joined")
	sum, err := checksumOfParts(stored, m.part)
	if err != nil {
		return u, fmt.Errorf("the checksums of the parts of upload %d: %w", n, err)
	}
	// The checksums are kept until the upload is complete, for clients that put a part again.
	_, err = s.update(ctx, nil, `UPDATE uploads SET stored = $1, attempts = $1, checksum = $2, checksum_piece = $3 WHERE id = $4 AND stored = 0 AND complete = 0`, int64(partsAttempt), sum.sum, sum.piece, int64(n))
	if err != nil {
		return u, err
	}
	failpoint.Hit("media/join-recorded")
	return s.get(ctx, n)
}

// abortParts deletes the bytes of an upload's parts.
func (s *Service) abortParts(ctx context.Context, n id.Upload) error {
	var session string
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT session FROM upload_multiparts WHERE upload = $1`, int64(n)).Scan(&session)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(s.deleteTails(ctx, n), s.deps.Store.AbortParts(ctx, blobKey(n, partsAttempt), session))
}

// deleteLedger deletes the row that an upload in parts has beside its own.
func deleteLedger(ctx context.Context, tx *sql.Tx, n id.Upload) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM upload_multiparts WHERE upload = $1`, int64(n))
	return err
}

// tailKey is the key of the beginning of an incomplete part. Each has a key of its own, so that none is replaced while the ledger names it.
func tailKey(n id.Upload, number int64) string {
	return fmt.Sprintf("%s-t%d", blobKey(n, partsAttempt), number)
}

// deleteTails deletes the tails of an upload that the ledger no longer names.
func (s *Service) deleteTails(ctx context.Context, n id.Upload) error {
	var current, tails, deleted int64
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT CASE WHEN uploads.stored = 0 AND uploads.complete = 0 THEN tail ELSE 0 END, tails, tails_deleted FROM upload_multiparts JOIN uploads ON id = upload WHERE upload = $1`, int64(n)).
		Scan(&current, &tails, &deleted)
	if errors.Is(err, sql.ErrNoRows) { // it has no parts
		return nil
	}
	if err != nil || tails == deleted {
		return err
	}
	last := tails
	if current > 0 {
		last = current - 1
	}
	for number := deleted + 1; number <= last; number++ {
		if err := s.deps.Store.Delete(ctx, tailKey(n, number)); err != nil {
			return err
		}
	}
	if last <= deleted {
		return nil
	}
	_, err = s.update(ctx, nil, `UPDATE upload_multiparts SET tails_deleted = $1 WHERE upload = $2 AND tails_deleted < $1`, last, int64(n))
	return err
}
