package video

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
)

// An import makes videos from uploads with their original times, and processes them as any others. The limit of videos that are processed does not apply. The key that a video
// has in the source is in its row until it is deleted: a repetition stores nothing.

// ImportVideo makes a video from an upload of its owner. Its key and its time are valid. It reports whether it was stored before.
func (s *Service) ImportVideo(ctx context.Context, r *operationv1.InterchangeVideo) (duplicate bool, err error) {
	by, upload := id.User(r.Owner), id.Upload(r.Upload)
	found, err := s.ImportedVideos(ctx, []string{r.Key})
	if err != nil {
		return false, err
	}
	n, duplicate := found[r.Key]
	if !duplicate {
		if err := s.off(); err != nil {
			return false, err
		}
		v := &video{owner: by, upload: upload, createdMs: r.TimeMs}
		if v.format, v.name, err = s.checkUpload(ctx, by, upload); err != nil {
			return false, err
		}
		if v.id, err = s.deps.IDs.Next(ctx); err != nil {
			return false, err
		}
		err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
			err := tx.QueryRowContext(ctx, `SELECT id FROM videos WHERE import_key = $1`, r.Key).Scan(&n)
			if duplicate = err == nil; !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			n = v.id
			return s.insert(ctx, tx, v, r.Key)
		})
		if err != nil {
			return false, err
		}
		s.deps.Jobs.Wake()
	}
	return duplicate, s.importSubtitles(ctx, by, n, r.Subtitles)
}

// importSubtitles stores subtitles in languages in which the video has none: an earlier call may have ended between them.
func (s *Service) importSubtitles(ctx context.Context, by id.User, n uint64, list []*operationv1.InterchangeSubtitles) error {
	if len(list) == 0 {
		return nil
	}
	has := map[string]bool{}
	err := s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		stored, err := subtitlesOf(ctx, tx, n)
		for _, t := range stored {
			has[t.language] = true
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, t := range list {
		if has[t.Language] {
			continue
		}
		if _, err := s.SetSubtitles(ctx, by, &videov1.SetSubtitlesRequest{Video: n, Language: t.Language, Label: t.Label, Default: t.Default, File: t.Content}); err != nil {
			return err
		}
	}
	return nil
}

// ExportVideos returns a page of the videos of all users whose files are there. Those that were made here get keys by their ids.
func (s *Service) ExportVideos(ctx context.Context, r *operationv1.ExportVideosRequest) (*operationv1.ExportVideosResponse, error) {
	limit := outputlimit.LargePageSize(r.Limit)
	out := &operationv1.ExportVideosResponse{}
	err := s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		out.Videos, out.Total = nil, 0
		if r.After == 0 {
			if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM videos WHERE state <> $1`, stateDeleted).Scan(&out.Total); err != nil {
				return err
			}
		}
		rows, err := tx.QueryContext(ctx, `SELECT id, coalesce(import_key, 'rialto:video:' || id), owner, upload, name, created_ms FROM videos WHERE id > $1 AND state <> $2 AND (state <> $3 OR retriable) ORDER BY id LIMIT $4`,
			int64(r.After), stateDeleted, stateFailed, limit)
		list, err := sqldb.Collect(rows, err, func(scan func(...any) error) (*operationv1.InterchangeVideo, error) {
			v := &operationv1.InterchangeVideo{}
			return v, scan(&v.Video, &v.Key, &v.Owner, &v.Upload, &v.Name, &v.TimeMs)
		})
		size := 0
		for _, v := range list {
			if size > outputlimit.LargePageBytes {
				break
			}
			if err := addSubtitles(ctx, tx, v, &size); err != nil {
				return err
			}
			out.Videos = append(out.Videos, v)
		}
		return err
	})
	return out, err
}

func addSubtitles(ctx context.Context, tx *sql.Tx, v *operationv1.InterchangeVideo, size *int) error {
	rows, err := tx.QueryContext(ctx, `SELECT language, label, is_default, content FROM video_subtitles WHERE video = $1 ORDER BY language`, int64(v.Video))
	return sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		t := &operationv1.InterchangeSubtitles{}
		var content []byte
		err := rows.Scan(&t.Language, &t.Label, &t.Default, &content)
		t.Content = string(content)
		*size += len(content)
		v.Subtitles = append(v.Subtitles, t)
		return err
	})
}

// ImportedVideos returns those of some videos that were imported and not deleted, by their keys.
func (s *Service) ImportedVideos(ctx context.Context, keys []string) (map[string]uint64, error) {
	if len(keys) == 0 {
		return map[string]uint64{}, nil
	}
	marks, args := sqldb.Placeholders(1, keys, func(key string) string { return key })
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT import_key, id FROM videos WHERE import_key IN (`+marks+`)`, args...)
	return sqldb.Pairs[string, uint64](rows, err)
}
