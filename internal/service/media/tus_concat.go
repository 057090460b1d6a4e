package media

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/blob"
)

// concatenate makes one upload of complete partial ones. These are deleted then, and count for the quota until they are. A repeated
// request with the same uploads returns the first one's result.
func (s *Service) concatenate(ctx context.Context, by id.User, name string, m multipart, of []id.Upload, now time.Time) (id.Upload, error) {
	unlock, err := s.locks.lock(ctx, partID{of[0], concatenating})
	if err != nil {
		return 0, err
	}
	defer unlock()
	if n, err := s.concatenated(ctx, by, of); err != nil || n != 0 {
		return n, err
	}
	var size int64
	var shares []upload
	for _, share := range of {
		u, m, err := s.ownMultipart(ctx, by, share)
		if err != nil {
			return 0, err
		}
		if m.protocol != byTusPartial {
			return 0, errTusConcat
		}
		if u, err = s.joinParts(ctx, share); err != nil {
			return 0, err
		}
		if size += u.declared; size > int64(s.config.MaxSize) {
			return 0, s.checkSize(s.config.MaxSize + 1)
		}
		shares = append(shares, u)
	}
	m.layout = layout{size, blob.PartSize(size)}
	n, err := s.insertMultipart(ctx, by, name, m, now)
	if err != nil {
		return 0, err
	}
	if err = s.copyShares(ctx, n, m, of, shares); err == nil {
		err = s.releaseShares(ctx, by, n, of)
	}
	if err != nil {
		return 0, errors.Join(err, s.AbortUpload(context.WithoutCancel(ctx), by, n))
	}
	s.WakeSweep()
	return n, nil
}

// concatenated returns the upload that an earlier request made of the same partial uploads, 0 if there is none.
func (s *Service) concatenated(ctx context.Context, by id.User, of []id.Upload) (final id.Upload, err error) {
	for i, share := range of {
		var n id.Upload
		err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT final FROM upload_multiparts JOIN uploads ON id = upload WHERE upload = $1 AND owner = $2 AND protocol = 2`, int64(share), int64(by)).Scan(&n)
		if errors.Is(err, sql.ErrNoRows) {
			return 0, nil // it is refused as any other that is not there
		}
		if err != nil || n == 0 || i > 0 && n != final {
			return 0, err
		}
		final = n
	}
	return final, nil
}

// copyShares stores the bytes of partial uploads, one after the other, as parts of an upload.
func (s *Service) copyShares(ctx context.Context, n id.Upload, m multipart, of []id.Upload, shares []upload) error {
	r := &shareReader{open: func(i int) (io.ReadCloser, error) {
		if i == len(of) {
			return nil, io.EOF
		}
		f, _, err := s.deps.Store.Open(ctx, blobKey(of[i], shares[i].stored))
		return f, err
	}}
	defer r.close()
	for number := 1; number <= m.count(); number++ {
		p, _ := m.at(number)
		if _, err := s.storePart(ctx, n, m, p, io.LimitReader(r, p.Size)); err != nil {
			return err
		}
	}
	return nil
}

// releaseShares drops partial uploads, which are part of another now.
func (s *Service) releaseShares(ctx context.Context, by id.User, n id.Upload, of []id.Upload) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		for _, share := range of {
			done, err := tx.ExecContext(ctx, `UPDATE uploads SET complete = -2 WHERE id = $1 AND complete = 0`, int64(share))
			if err != nil {
				return err
			}
			if k, err := done.RowsAffected(); err != nil {
				return err
			} else if k == 0 {
				return errNoUpload
			}
			if err := addToTotal(ctx, tx, by, 0, -1); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `UPDATE upload_multiparts SET final = $1 WHERE upload = $2`, int64(n), int64(share)); err != nil {
				return err
			}
		}
		return nil
	})
}

// shareReader reads files one after the other.
type shareReader struct {
	open func(i int) (io.ReadCloser, error)
	next int
	file io.ReadCloser
}

func (r *shareReader) Read(p []byte) (int, error) {
	for {
		if r.file == nil {
			var err error
			if r.file, err = r.open(r.next); err != nil {
				r.file = nil
				return 0, err
			}
			r.next++
		}
		n, err := r.file.Read(p)
		if !errors.Is(err, io.EOF) {
			return n, err
		}
		if err := r.close(); err != nil || n > 0 {
			return n, err
		}
	}
}

func (r *shareReader) close() error {
	if r.file == nil {
		return nil
	}
	f := r.file
	r.file = nil
	return f.Close()
}
