package video

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/subtitle"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
	"golang.org/x/text/language"
)

const (
	maxSubtitles = 20 // languages of a video
	maxLanguage  = 35 // bytes of a tag
	maxLabel     = 60 // characters
	// maxSubtitlesBytes bounds the content of all languages of a video, which is in the SQL database.
	maxSubtitlesBytes = 2 << 20

	// subtitlesFolder has a WebVTT file for each language, and an HLS playlist of it.
	subtitlesFolder = "subtitles"
)

var (
	errLanguage      = errs.New(errs.Invalid, "bad_language", fmt.Sprintf("a language is a BCP 47 tag of at most %d characters, such as en or zh-Hans", maxLanguage))
	errLabel         = errs.New(errs.Invalid, "bad_subtitles", fmt.Sprintf("the label of subtitles is a name in one line of at most %d characters%s", maxLabel, message.TextRule))
	errManySubtitles = errs.New(errs.Exhausted, "too_many_subtitles", fmt.Sprintf("a video has subtitles in at most %d languages; remove some first", maxSubtitles))
	errSubtitlesSize = errs.New(errs.Exhausted, "subtitles_too_large", fmt.Sprintf("the subtitles of a video have at most %d KiB in all languages together; remove some first, or shorten them", maxSubtitlesBytes>>10))
)

// subtitles are a row of video_subtitles, without its content.
type subtitles struct {
	language, label string
	id              uint64
	isDefault       bool
	cues            int64
}

// file is the name of the WebVTT file.
func (t *subtitles) file() string { return fmt.Sprintf("%s/%d.vtt", subtitlesFolder, t.id) }

func (t *subtitles) view(base string) *videov1.VideoSubtitles {
	return &videov1.VideoSubtitles{Language: t.language, Label: t.label, Default: t.isDefault, Url: base + t.file(), Cues: uint32(t.cues)}
}

// subtitlesOf returns the subtitles of a video, by language.
func subtitlesOf(ctx context.Context, tx *sql.Tx, n uint64) (list []*subtitles, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT language, label, id, is_default, cues FROM video_subtitles WHERE video = $1 ORDER BY language`, int64(n))
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		t := &subtitles{}
		err := rows.Scan(&t.language, &t.label, &t.id, &t.isDefault, &t.cues)
		list = append(list, t)
		return err
	})
	return list, err
}

// languageOf returns the canonical form of a language tag.
func languageOf(tag string) (string, error) {
	if tag == "" || len(tag) > maxLanguage {
		return "", errLanguage
	}
	parsed, err := language.Parse(tag)
	if err != nil || parsed == language.Und {
		return "", errLanguage
	}
	return parsed.String(), nil
}

// SetSubtitles stores subtitles of a video, in place of those in the same language. A file that is stored already keeps its address.
func (s *Service) SetSubtitles(ctx context.Context, by id.User, r *videov1.SetSubtitlesRequest) (*videov1.Video, error) {
	t := &subtitles{label: r.Label, isDefault: r.Default}
	var err error
	if t.language, err = languageOf(r.Language); err != nil {
		return nil, err
	}
	if t.label == "" {
		t.label = t.language
	}
	if !message.IsText(t.label, maxLabel, message.IsName) {
		return nil, errLabel
	}
	content, cues, err := subtitle.Convert(r.File)
	if err != nil {
		return nil, err
	}
	t.cues = int64(cues)
	if t.id, err = s.deps.IDs.Next(ctx); err != nil {
		return nil, err
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		v, err := own(ctx, tx, by, r.Video)
		if err == nil && v.state == stateFailed {
			err = errNoVideo
		}
		if err != nil {
			return err
		}
		if err := t.put(ctx, tx, v.id, content); err != nil {
			return err
		}
		return s.changed(ctx, tx, v.id)
	})
	if err != nil {
		return nil, err
	}
	s.committed(r.Video)
	return s.GetVideo(ctx, by, &videov1.GetVideoRequest{Video: r.Video})
}

// put stores a row with its content.
func (t *subtitles) put(ctx context.Context, tx *sql.Tx, n uint64, content string) error {
	var others, size int
	if err := tx.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(length(content)), 0) FROM video_subtitles WHERE video = $1 AND language <> $2`, int64(n), t.language).Scan(&others, &size); err != nil {
		return err
	}
	switch {
	case others >= maxSubtitles:
		return errManySubtitles
	case size+len(content) > maxSubtitlesBytes:
		return errSubtitlesSize
	}
	if t.isDefault {
		if _, err := tx.ExecContext(ctx, `UPDATE video_subtitles SET is_default = FALSE WHERE video = $1 AND is_default`, int64(n)); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO video_subtitles AS t (video, language, id, label, is_default, cues, content) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (video, language) DO UPDATE SET id = CASE WHEN t.content = excluded.content THEN t.id ELSE excluded.id END, label = excluded.label, is_default = excluded.is_default,
		cues = excluded.cues, content = excluded.content`, int64(n), t.language, int64(t.id), t.label, t.isDefault, t.cues, []byte(content))
	return err
}

// RemoveSubtitles removes the subtitles in one language from a video.
func (s *Service) RemoveSubtitles(ctx context.Context, by id.User, r *videov1.RemoveSubtitlesRequest) (*videov1.Video, error) {
	tag, err := languageOf(r.Language)
	if err != nil {
		return nil, err
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		v, err := own(ctx, tx, by, r.Video)
		if err != nil {
			return err
		}
		if _, err = tx.ExecContext(ctx, `DELETE FROM video_subtitles WHERE video = $1 AND language = $2`, int64(v.id), tag); err != nil {
			return err
		}
		return s.changed(ctx, tx, v.id)
	})
	if err != nil {
		return nil, err
	}
	s.committed(r.Video)
	return s.GetVideo(ctx, by, &videov1.GetVideoRequest{Video: r.Video})
}

// subtitlesFile finds a file of subtitles: the WebVTT file, or the playlist that has all of it as one segment.
func (v *video) subtitlesFile(ctx context.Context, tx *sql.Tx, base string) (*file, error) {
	name, isPlaylist := strings.CutSuffix(base, ".m3u8")
	if !isPlaylist {
		var isText bool
		if name, isText = strings.CutSuffix(base, ".vtt"); !isText {
			return nil, errNoFile
		}
	}
	n, err := strconv.ParseUint(name, 10, 63)
	if err != nil {
		return nil, errNoFile
	}
	var content []byte
	err = tx.QueryRowContext(ctx, `SELECT content FROM video_subtitles WHERE video = $1 AND id = $2`, int64(v.id), int64(n)).Scan(&content)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errNoFile
	}
	if err != nil {
		return nil, err
	}
	if !isPlaylist {
		return &file{kind: kindVTT, text: string(content), final: true}, nil
	}
	seconds := v.source.Duration.Seconds()
	text := fmt.Sprintf("#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:%d\n#EXT-X-MEDIA-SEQUENCE:0\n#EXT-X-PLAYLIST-TYPE:VOD\n#EXTINF:%.6f,\n%d.vtt\n#EXT-X-ENDLIST\n", int64(math.Ceil(seconds)), seconds, n)
	return &file{kind: kindPlaylist, text: text, final: true}, nil
}

// masterSubtitles writes the subtitles of a master playlist. Their names are different, as HLS wants.
func (p *progress) masterSubtitles(b *strings.Builder) {
	names := map[string]bool{}
	for _, t := range p.subtitles {
		name := strings.ReplaceAll(t.label, "\"", "'")
		for names[name] { // a label may be the name that another language got
			name += " (" + t.language + ")"
		}
		names[name] = true
		isDefault := "NO"
		if t.isDefault {
			isDefault = "YES"
		}
		fmt.Fprintf(b, "#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"subtitles\",NAME=\"%s\",LANGUAGE=\"%s\",DEFAULT=%s,AUTOSELECT=YES,FORCED=NO,URI=\"%s/%d.m3u8\"\n", name, t.language, isDefault, subtitlesFolder, t.id)
	}
}
