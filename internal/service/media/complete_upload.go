package media

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"image"
	_ "image/gif" // picture formats
	_ "image/jpeg"
	_ "image/png"
	"io"
	"mime"
	"net/http"

	"github.com/rialto-im/rialto/internal/base/failpoint"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/blob"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	_ "golang.org/x/image/webp" // picture format
)

const (
	maxPixels    = 40_000_000  // of an image; a larger one is stored as a file
	maxAnimation = 100_000_000 // pixels of all its frames, likewise
	// maxScans of a JPEG. A decoder visits all pixels for each, which may have a few bytes. Cameras and programs write at most some ten.
	maxScans = 100
)

// CompleteUpload checks the bytes. Afterwards messages may refer to the upload. Repeated calls return the same result.
func (s *Service) CompleteUpload(ctx context.Context, by id.User, n id.Upload) (*chatv1.Upload, error) {
	u, err := s.get(ctx, n)
	if err == nil && u.owner != by {
		err = errNoUpload
	}
	if err != nil {
		return nil, err
	}
	if u.stored == 0 {
		if u, err = s.joinParts(ctx, n); err != nil {
			return nil, err
		}
	}
	if u.complete == 0 {
		if err := s.deleteTails(ctx, n); err != nil { // here, and not when its parts are joined: a kill may have come after that
			s.deps.Logger.Warn("bytes of incomplete parts could not be deleted; they are deleted with their upload", "upload", n, "error", err)
		}
		if u, err = s.complete(ctx, n, u); err != nil {
			return nil, err
		}
	}
	return &chatv1.Upload{Upload: uint64(n), Name: u.name, MimeType: u.mime, Size: uint64(u.declared), Width: uint32(u.width), Height: uint32(u.height)}, nil
}

// complete inspects the bytes and marks the upload as complete. A concurrent call may have completed it, or the upload may have been
// abandoned.
func (s *Service) complete(ctx context.Context, n id.Upload, was upload) (upload, error) {
	u := was
	if err := s.inspect(ctx, n, &u); err != nil {
		if now, gerr := s.get(ctx, n); gerr == nil && now.complete > 0 {
			return now, nil
		}
		return u, err
	}
	failpoint.Hit("media/inspected")
	did, err := s.update(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM upload_parts WHERE upload = $1`, int64(n)); err != nil {
			return err
		}
		return addToTotal(ctx, tx, u.owner, u.declared-was.declared, -1)
	},
		`UPDATE uploads SET complete = 1, mime_type = $1, width = $2, height = $3, stored = $4, declared = $5, checksum = $6, checksum_piece = $7 WHERE id = $8 AND complete = 0`, u.mime, u.width, u.height, u.stored, u.declared, u.checksum.sum, u.checksum.piece, int64(n))
	if err != nil {
		return u, err // it is unknown which bytes are the upload's; the sweep deletes them all
	}
	failpoint.Hit("media/completed")
	cut, unused := u.stored != was.stored, was.stored
	if !did {
		unused = u.stored
		u, err = s.get(ctx, n)
	}
	if cut {
		if derr := s.deps.Store.Delete(ctx, blobKey(n, unused)); derr != nil {
			s.deps.Logger.Warn("unused bytes could not be deleted; they are deleted with their upload", "upload", n, "error", derr)
		}
	}
	return u, err
}

// inspect determines a file's type, and the dimensions of an image. It stores an image without its metadata, as another attempt.
func (s *Service) inspect(ctx context.Context, n id.Upload, u *upload) error {
	f, size, err := s.deps.Store.Open(ctx, blobKey(n, u.stored))
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 512)
	k, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	u.mime, _, err = mime.ParseMediaType(http.DetectContentType(head[:k]))
	if err != nil {
		u.mime = "application/octet-stream"
	}
	if strippers[u.mime] == nil {
		return nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	config, _, bad := image.DecodeConfig(f)
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	kept, err := stripMetadata(f, u.mime)
	if err != nil {
		return err
	}
	pixels := int64(config.Width) * int64(config.Height)
	if bad == nil && config.Width > 0 && config.Height > 0 && pixels <= maxPixels && pixels*int64(max(kept.frames, 1)) <= maxAnimation && kept.scans <= maxScans {
		u.width, u.height = int64(config.Width), int64(config.Height)
	} else {
		u.mime = "application/octet-stream" // so that no browser decodes it
	}
	if kept.rotated {
		u.width, u.height = u.height, u.width
	}
	if !kept.changed(size) {
		return nil
	}
	// The stored bytes are never changed.
	attempt, err := s.beginAttempt(ctx, n)
	if err != nil {
		return err
	}
	u.stored, u.declared = attempt, kept.size
	u.checksum, err = s.put(ctx, n, attempt, &strippedFile{file: f, pieces: kept.pieces}, kept.size)
	return err
}

// put stores size bytes as those of an attempt at an upload, and returns their checksum.
func (s *Service) put(ctx context.Context, n id.Upload, attempt int64, r io.Reader, size int64) (checksum, error) {
	piece := blob.PartSize(size)
	sum := blob.NewChecksumWriter(piece)
	if err := s.deps.Store.Put(ctx, blobKey(n, attempt), io.TeeReader(r, sum), size); err != nil {
		return checksum{}, err
	}
	return checksum{hex.EncodeToString(sum.Sum()), piece}, nil
}

// beginAttempt allocates the number of the next attempt to store an upload's bytes.
func (s *Service) beginAttempt(ctx context.Context, n id.Upload) (beginAttempt int64, err error) {
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `UPDATE uploads SET attempts = attempts + 1 WHERE id = $1 RETURNING attempts`, int64(n)).Scan(&beginAttempt)
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = errNoUpload
	}
	return beginAttempt, err
}
