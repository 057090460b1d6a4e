package media

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"unicode"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const (
	// maxListedUnfinished bounds a list of unfinished uploads.
	maxListedUnfinished = 100
	// maxPurpose of an upload, in bytes.
	maxPurpose = 64
)

// checkPurpose fails unless a text may be the purpose of an upload.
func checkPurpose(purpose string) error {
	if len(purpose) > maxPurpose || strings.ContainsFunc(purpose, unicode.IsControl) {
		return errs.New(errs.Invalid, "bad_purpose", fmt.Sprintf("the purpose of an upload has at most %d bytes, and no control characters", maxPurpose))
	}
	return nil
}

// ListUnfinishedUploads lists a user's uploads in parts by number that are neither complete nor expired, the newest first. With a purpose, it lists those that were
// created with it.
func (s *Service) ListUnfinishedUploads(ctx context.Context, by id.User, r *chatv1.ListUnfinishedUploadsRequest) (*chatv1.ListUnfinishedUploadsResponse, error) {
	if err := checkPurpose(r.Purpose); err != nil {
		return nil, err
	}
	out := &chatv1.ListUnfinishedUploadsResponse{}
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT u.id, u.name, u.declared, u.created_ms, m.metadata,
		CASE WHEN u.stored > 0 THEN u.declared ELSE COALESCE((SELECT CAST(SUM(size) AS BIGINT) FROM upload_parts WHERE upload = u.id), 0) END
		FROM uploads u JOIN upload_multiparts m ON m.upload = u.id
		WHERE u.owner = $1 AND u.complete = 0 AND u.created_ms >= $2 AND m.protocol = $3 AND ($4 = '' OR m.metadata = $4) ORDER BY u.id DESC LIMIT $5`,
		int64(by), s.unfinishedBefore(), int64(byParts), r.Purpose, maxListedUnfinished)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		u := &chatv1.UnfinishedUpload{}
		err := rows.Scan(&u.Upload, &u.Name, &u.Size, &u.CreatedMs, &u.Purpose, &u.Stored)
		u.ExpiresMs = u.CreatedMs + unfinishedRetention.Milliseconds()
		out.Uploads = append(out.Uploads, u)
		return err
	})
	return out, err
}
