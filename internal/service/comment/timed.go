package comment

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
)

const onVideo = commentv1.SubjectKind_SUBJECT_KIND_VIDEO

// Limits of comments on a time of a video.
const (
	maxTimedText = 100    // characters
	maxTimed     = 100    // comments that are read of each slot
	slotMs       = 10_000 // the statements and their index have it, too
	maxWindowMs  = 60_000
)

var (
	errTimed = badComment(fmt.Sprintf("a comment on a video names the video and a time within it, and has a text in one line of at most %d characters and nothing else%s", maxTimedText, message.TextRule))
	// A text over the picture was seen at its time: it is taken back, and not changed.
	errTimedEdit = badComment("a comment on a video cannot be edited; delete it, and create another one")
	errNoTime    = badComment("only a comment on a video has a video and a time")
	errWindow    = errs.New(errs.Invalid, "bad_window", fmt.Sprintf("a window of a video ends after it begins, and at most %d seconds later", maxWindowMs/1000))
)

// Video that a post shows.
type Video struct {
	ID       uint64
	Author   id.User
	Duration time.Duration
}

// Videos has the videos that posts show.
type Videos interface {
	// VisibleVideos returns the videos of those of some posts that a reader may see, by post, as of a transaction. A video that was deleted, or cannot be played, is none.
	VisibleVideos(ctx context.Context, tx *sql.Tx, reader id.User, posts []uint64) (map[uint64]Video, error)
}

// videoSubjects are the videos of posts, as subjects of comments.
type videoSubjects struct{ Videos }

func (v videoSubjects) VisibleAuthors(ctx context.Context, tx *sql.Tx, reader id.User, posts []uint64) (map[uint64]id.User, error) {
	found, err := v.VisibleVideos(ctx, tx, reader, posts)
	authors := make(map[uint64]id.User, len(found))
	for n, video := range found {
		authors[n] = video.Author
	}
	return authors, err
}

// checkTimed checks what only comments on videos have, and what they do not have.
func checkTimed(r *commentv1.CreateCommentRequest, c *commentv1.CommentContent) error {
	if r.SubjectKind != onVideo {
		if r.Video != 0 || r.TimeMs != 0 {
			return errNoTime
		}
		return nil
	}
	if r.Video == 0 || r.ReplyTo != 0 || c.Image != nil || len(c.Mentions) > 0 || !message.IsText(c.Text, maxTimedText, message.IsLine) {
		return errTimed
	}
	return nil
}

// checkVideo fails unless the post of a comment on a video shows that video, and the time is within it.
func (s *Service) checkVideo(ctx context.Context, tx *sql.Tx, r *row) error {
	if r.kind != onVideo {
		return nil
	}
	v, err := s.videoOf(ctx, tx, r.author, r.subject, r.video)
	if err == nil && time.Duration(r.timeMs)*time.Millisecond > v.Duration {
		err = errTimed
	}
	return err
}

// videoOf returns the video that a post shows which a reader may see, if it is a certain one.
func (s *Service) videoOf(ctx context.Context, tx *sql.Tx, reader id.User, post, video uint64) (v Video, err error) {
	if s.deps.Videos == nil {
		return v, errKind
	}
	found, err := s.deps.Videos.VisibleVideos(ctx, tx, reader, []uint64{post})
	if v = found[post]; err == nil && (video == 0 || v.ID != video) {
		err = errNoSubject
	}
	return v, err
}

// ListTimedComments returns the comments of a window of a video.
func (s *Service) ListTimedComments(ctx context.Context, reader id.User, r *commentv1.ListTimedCommentsRequest) (out *commentv1.ListTimedCommentsResponse, err error) {
	if r.ToMs <= r.FromMs || r.ToMs-r.FromMs > maxWindowMs {
		return nil, errWindow
	}
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		if _, err := s.videoOf(ctx, tx, reader, r.Post, r.Video); err != nil {
			return err
		}
		var rows []*row
		for slot := r.FromMs / slotMs; slot <= (r.ToMs-1)/slotMs; slot++ {
			some, err := timedRows(ctx, tx, r.Post, r.Video, slot)
			if err != nil {
				return err
			}
			rows = append(rows, some...)
		}
		rows = slices.DeleteFunc(rows, func(c *row) bool { return c.timeMs < int64(r.FromMs) || c.timeMs >= int64(r.ToMs) })
		slices.SortFunc(rows, func(a, b *row) int { return cmp.Or(cmp.Compare(a.timeMs, b.timeMs), cmp.Compare(a.id, b.id)) })
		views, err := s.views(ctx, tx, reader, rows)
		out = &commentv1.ListTimedCommentsResponse{Comments: slices.DeleteFunc(views, func(c *commentv1.Comment) bool { return c == nil })}
		return err
	})
	return out, err
}

// timedRows returns the newest comments of ten seconds of a video.
func timedRows(ctx context.Context, tx *sql.Tx, post, video uint64, slot uint32) (list []*row, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT `+commentColumns+` FROM comments
		WHERE kind = 2 AND NOT deleted AND subject = $1 AND video = $2 AND (time_ms / 10000) = $3 ORDER BY id DESC LIMIT $4`, int64(post), int64(video), int64(slot), maxTimed)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		r, err := scanRow(rows.Scan)
		list = append(list, r)
		return err
	})
	return list, err
}
