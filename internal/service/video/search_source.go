package video

import (
	"context"
	"database/sql"
	"strings"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/subtitle"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
)

// changed tells others that the subtitles of a video have changed, or that it was deleted.
func (s *Service) changed(ctx context.Context, tx *sql.Tx, n uint64) error {
	if s.deps.OnChange == nil {
		return nil
	}
	return s.deps.OnChange(ctx, tx, n)
}

// committed tells others of that after the commit.
func (s *Service) committed(n uint64) {
	if s.deps.Committed != nil {
		s.deps.Committed(n)
	}
}

// ShownVideos returns the videos of posts which a reader may see, by post, as lists have them, as of a transaction. It checks no permission. A video that was deleted,
// or has failed, is absent.
func (s *Service) ShownVideos(ctx context.Context, tx *sql.Tx, reader id.User, byPost map[uint64]uint64) (map[uint64]*videov1.Video, error) {
	out := make(map[uint64]*videov1.Video, len(byPost))
	for post, n := range byPost {
		v, err := getVideo(ctx, tx, n)
		if errs.Is(err, errs.NotFound) || err == nil && v.state == stateFailed {
			continue
		}
		if err != nil {
			return nil, err
		}
		if out[post], err = s.listed(ctx, tx, v, reader, post); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// SubtitlesText returns what the subtitles of a video say, as of a transaction: each cue in a line, the default language first, at most limit characters. It is empty
// for a video that was deleted.
func (s *Service) SubtitlesText(ctx context.Context, tx *sql.Tx, n uint64, limit int) (string, error) {
	// So many bytes of a language have the times of its cues, too. What is behind them is not searched.
	most := 2 * utf8.UTFMax * limit
	rows, err := tx.QueryContext(ctx, `SELECT substr(t.content, 1, $2) FROM video_subtitles t JOIN videos v ON v.id = t.video WHERE t.video = $1 AND v.state <> $3
		ORDER BY t.is_default DESC, t.language`, int64(n), most, stateDeleted)
	var b strings.Builder
	left := limit
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var content []byte
		if err := rows.Scan(&content); err != nil || left <= 0 {
			return err
		}
		text := []rune(subtitle.Text(string(content), len(content) == most))
		text = text[:min(len(text), left)]
		if len(text) > 0 && b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(string(text))
		left -= len(text) + 1
		return nil
	})
	return b.String(), err
}
