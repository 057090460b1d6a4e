package comment

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
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
	maxTimedText = 100 // characters
	maxTimed     = 100 // comments of each slot
	// maxTimedOfAuthor is how many of them one user may have written.
	maxTimedOfAuthor = 20
	slotMs           = 10_000 // the statements and their index have it, too
	maxWindowMs      = 60_000
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

// subjectOf returns the author of a comment's subject, and the length of its video, or errNoSubject where a reader may not see the subject, or the post of a timed
// comment shows another video by now.
func (s *Service) subjectOf(ctx context.Context, tx *sql.Tx, reader id.User, r *row) (author id.User, length time.Duration, err error) {
	if r.kind == onVideo {
		v, err := s.videoOf(ctx, tx, reader, r.subject, r.video)
		return v.Author, v.Duration, err
	}
	author, err = s.subjectAuthor(ctx, tx, reader, r.kind, r.subject)
	return author, 0, err
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
		var list []*commentv1.Comment
		for slot := r.FromMs / slotMs; slot <= (r.ToMs-1)/slotMs; slot++ {
			some, err := s.timedViews(ctx, tx, reader, r.Post, r.Video, slot)
			if err != nil {
				return err
			}
			list = append(list, some...)
		}
		list = slices.DeleteFunc(list, func(c *commentv1.Comment) bool { return c.TimeMs < r.FromMs || c.TimeMs >= r.ToMs })
		slices.SortFunc(list, func(a, b *commentv1.Comment) int {
			return cmp.Or(cmp.Compare(a.TimeMs, b.TimeMs), cmp.Compare(a.Id, b.Id))
		})
		out = &commentv1.ListTimedCommentsResponse{Comments: list}
		return nil
	})
	return out, err
}

// timedViews returns the newest comments of ten seconds of a video that a reader sees. Neither users with whom the reader has a block nor one busy author displace others.
func (s *Service) timedViews(ctx context.Context, tx *sql.Tx, reader id.User, post, video uint64, slot uint32) (list []*commentv1.Comment, err error) {
	ofAuthor := map[uint64]int{}
	for before, examined := uint64(math.MaxInt64), 0; len(list) < maxTimed && examined < maxExamined; {
		rows, err := timedRows(ctx, tx, post, video, slot, before)
		if err != nil {
			return nil, err
		}
		views, err := s.views(ctx, tx, reader, rows)
		if err != nil {
			return nil, err
		}
		for _, c := range views {
			if c != nil && len(list) < maxTimed && ofAuthor[c.Author] < maxTimedOfAuthor {
				list = append(list, c)
				ofAuthor[c.Author]++
			}
		}
		if len(rows) < maxTimed {
			break
		}
		before, examined = rows[len(rows)-1].id, examined+len(rows)
	}
	return list, nil
}

// timedRows returns the newest comments of ten seconds of a video that are older than one of them.
func timedRows(ctx context.Context, tx *sql.Tx, post, video uint64, slot uint32, before uint64) (list []*row, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT `+commentColumns+` FROM comments
		WHERE kind = 2 AND NOT deleted AND subject = $1 AND video = $2 AND (time_ms / 10000) = $3 AND id < $4 ORDER BY id DESC LIMIT $5`, int64(post), int64(video), int64(slot),
		int64(before), maxTimed)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		r, err := scanRow(rows.Scan)
		list = append(list, r)
		return err
	})
	return list, err
}
