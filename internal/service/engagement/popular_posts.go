package engagement

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	"google.golang.org/protobuf/proto"
)

const (
	boardPosts = 500 // of a list
	// maxRanked is how many posts of a board are kept. A post that falls below is ranked again with its next like.
	maxRanked = 1000
	// boardIntervalMs is the time between two lists of a board, at least.
	boardIntervalMs = 10_000
	// boardLifeMs is how long a list is kept after the next one, for readers of its later pages.
	boardLifeMs = 15 * 60_000
	// entryBytes is the size of a post in a list: its id, and the likes within the period, big-endian.
	entryBytes = 8 + 4
	// hotToken is the form of a page token: period and version of the list, and the number of posts before the page.
	hotToken = "%d.%d.%d"
)

var errWindow = badEngagement("this server does not know this window of popular posts")

// boardState is what the coordinator knows of the boards.
type boardState struct {
	changed bool  // ranks have changed since the lists were made, or may have
	madeMs  int64 // when they were made; 0: never by this node
}

// due reports whether lists are to be made.
func (b *boardState) due(nowMs int64) bool {
	return b.changed && (nowMs >= b.madeMs+boardIntervalMs || nowMs < b.madeMs)
}

// entry of a list.
type entry struct {
	post  uint64
	likes uint32
}

func encodeEntries(list []entry) []byte {
	b := make([]byte, 0, len(list)*entryBytes)
	for _, e := range list {
		b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(b, e.post), e.likes)
	}
	return b
}

// DecodeEntries returns the posts of a stored list, with their likes within the period.
func DecodeEntries(b []byte) (posts []uint64, likes []uint32, err error) {
	if len(b)%entryBytes != 0 {
		return nil, nil, fmt.Errorf("a list of popular posts has %d bytes, which is no multiple of %d; delete its row of engagement_boards", len(b), entryBytes)
	}
	for ; len(b) > 0; b = b[entryBytes:] {
		posts = append(posts, binary.BigEndian.Uint64(b))
		likes = append(likes, binary.BigEndian.Uint32(b[8:]))
	}
	return posts, likes, nil
}

// makeBoards makes the lists of popular posts from the ranks.
func (s *Service) makeBoards(ctx context.Context) error {
	s.boards.changed = false
	nowMs := s.nowMs()
	now, today, week, _, _ := boardsAt(nowMs)
	var faults []error
	for _, b := range []board{now, today, week} {
		faults = append(faults, s.makeBoard(ctx, b, nowMs))
	}
	if err := errors.Join(faults...); err != nil {
		s.boards.changed = true
		return err
	}
	s.boards.madeMs = nowMs
	return nil
}

// makeBoard makes the list of a board, unless it is the same as before, and deletes old lists and ranks.
func (s *Service) makeBoard(ctx context.Context, b board, nowMs int64) error {
	list, gone, err := s.topPosts(ctx, b)
	if err != nil {
		return err
	}
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		for _, n := range gone {
			if _, err := tx.ExecContext(ctx, `DELETE FROM engagement_ranks WHERE board = $1 AND period = $2 AND post = $3`, int64(b.window), b.period, int64(n)); err != nil {
				return err
			}
		}
		_, old := tx.ExecContext(ctx, `DELETE FROM engagement_ranks WHERE board = $1 AND period < $2`, int64(b.window), b.period)
		_, low := tx.ExecContext(ctx, `DELETE FROM engagement_ranks WHERE board = $1 AND period = $2 AND (score, post) <= (
			SELECT score, post FROM engagement_ranks WHERE board = $1 AND period = $2 ORDER BY score DESC, post DESC LIMIT 1 OFFSET $3)`, int64(b.window), b.period, maxRanked)
		_, ended := tx.ExecContext(ctx, `UPDATE engagement_boards SET ended_ms = $3 WHERE board = $1 AND period < $2 AND ended_ms = 0`, int64(b.window), b.period, nowMs)
		_, deleted := tx.ExecContext(ctx, `DELETE FROM engagement_boards WHERE ended_ms > 0 AND ended_ms < $1`, nowMs-boardLifeMs)
		return errors.Join(old, low, ended, deleted, putBoard(ctx, tx, b, encodeEntries(list), nowMs), s.reached("board-stored"))
	})
}

// topPosts returns the first posts of a board, and those ranked among them that are not for everyone any more.
func (s *Service) topPosts(ctx context.Context, b board) (list []entry, gone []uint64, err error) {
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		list, gone = nil, nil
		var ids []uint64
		scores := map[uint64]int64{}
		rows, err := tx.QueryContext(ctx, `SELECT post, score FROM engagement_ranks WHERE board = $1 AND period = $2 ORDER BY score DESC, post DESC LIMIT $3`, int64(b.window), b.period, maxRanked)
		err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
			var n uint64
			var score int64
			err := rows.Scan(&n, &score)
			ids, scores[n] = append(ids, n), score
			return err
		})
		if err != nil {
			return err
		}
		public, err := s.deps.Posts.PublicPosts(ctx, tx, ids)
		if err != nil {
			return err
		}
		for _, n := range ids {
			e := entry{post: n}
			if b.period > 0 {
				e.likes = uint32(scores[n])
			}
			if _, ok := public[n]; !ok {
				gone = append(gone, n)
			} else if len(list) < boardPosts {
				list = append(list, e)
			}
		}
		return nil
	})
	return list, gone, err
}

// putBoard stores a list as the next version, unless it is the same as the last one.
func putBoard(ctx context.Context, tx *sql.Tx, b board, posts []byte, nowMs int64) error {
	version, last, err := lastBoard(ctx, tx, b)
	if err != nil || bytes.Equal(last, posts) {
		return err
	}
	_, ended := tx.ExecContext(ctx, `UPDATE engagement_boards SET ended_ms = $4 WHERE board = $1 AND period = $2 AND version = $3`, int64(b.window), b.period, version, nowMs)
	_, stored := tx.ExecContext(ctx, `INSERT INTO engagement_boards (board, period, version, posts) VALUES ($1, $2, $3, $4)`, int64(b.window), b.period, version+1, posts)
	return errors.Join(ended, stored)
}

// lastBoard returns the last list of a board; version 0 if there is none.
func lastBoard(ctx context.Context, tx *sql.Tx, b board) (version int64, posts []byte, err error) {
	err = tx.QueryRowContext(ctx, `SELECT version, posts FROM engagement_boards WHERE board = $1 AND period = $2 ORDER BY version DESC LIMIT 1`, int64(b.window), b.period).Scan(&version, &posts)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return version, posts, err
}

// hotPage is where a page of a list begins.
type hotPage struct {
	board
	version int64 // 0: the last one
	offset  int
}

func (p *hotPage) token() string { return fmt.Sprintf(hotToken, p.period, p.version, p.offset) }

// hotPageOf returns where a page begins.
func (s *Service) hotPageOf(window engagementv1.HotWindow, token string) (p hotPage, err error) {
	now, today, week, _, _ := boardsAt(s.nowMs())
	switch window {
	case engagementv1.HotWindow_HOT_WINDOW_UNSPECIFIED, engagementv1.HotWindow_HOT_WINDOW_NOW:
		p.board = now
	case engagementv1.HotWindow_HOT_WINDOW_TODAY:
		p.board = today
	case engagementv1.HotWindow_HOT_WINDOW_WEEK:
		p.board = week
	default:
		return p, errWindow
	}
	if token == "" {
		return p, nil
	}
	if _, err := fmt.Sscanf(token, hotToken, &p.period, &p.version, &p.offset); err != nil || p.version <= 0 || p.offset < 0 || p.token() != token {
		return p, pagetoken.ErrBad
	}
	return p, nil
}

// read returns the posts of the list of a page, and sets its version.
func (p *hotPage) read(ctx context.Context, tx *sql.Tx) (posts []uint64, likes []uint32, err error) {
	var body []byte
	if p.version == 0 {
		p.version, body, err = lastBoard(ctx, tx, p.board)
	} else {
		err = tx.QueryRowContext(ctx, `SELECT posts FROM engagement_boards WHERE board = $1 AND period = $2 AND version = $3`, int64(p.window), p.period, p.version).Scan(&body)
		if errors.Is(err, sql.ErrNoRows) {
			err = pagetoken.ErrBad
		}
	}
	if err != nil {
		return nil, nil, err
	}
	return DecodeEntries(body)
}

// ListHotPosts returns a page of the popular posts that a reader may see.
func (s *Service) ListHotPosts(ctx context.Context, reader id.User, r *engagementv1.ListHotPostsRequest) (out *engagementv1.ListHotPostsResponse, err error) {
	first, err := s.hotPageOf(r.Window, r.Page)
	if err != nil {
		return nil, err
	}
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		p := first
		list, likes, err := p.read(ctx, tx)
		if err != nil {
			return err
		}
		posts, next, err := outputlimit.FillPage(outputlimit.SmallPageSize(r.Limit), p.offset, func(offset, n int) ([]hotRow, error) {
			offset = min(offset, len(list))
			end := min(offset+n, len(list))
			return s.hotAmong(ctx, tx, reader, list[offset:end], likes[offset:end], offset)
		})
		if out = (&engagementv1.ListHotPostsResponse{Posts: posts}); next != nil {
			p.offset = *next
			out.Next = p.token()
		}
		return err
	})
	return out, err
}

type hotRow = outputlimit.Row[int, engagementv1.HotPost]

// hotAmong returns posts of a list, those from an offset on, as a reader sees them. Only posts for everyone are in such lists.
func (s *Service) hotAmong(ctx context.Context, tx *sql.Tx, reader id.User, list []uint64, likes []uint32, offset int) ([]hotRow, error) {
	visible, err := s.deps.Posts.VisiblePosts(ctx, tx, reader, list)
	if err != nil {
		return nil, err
	}
	rows := make([]hotRow, len(list))
	for i, n := range list {
		rows[i].Place = offset + i + 1
		if shown := visible[n]; shown != nil && shown.Content.Audience == feedv1.Audience_AUDIENCE_EVERYONE {
			rows[i].Entry, rows[i].Bytes = &engagementv1.HotPost{Post: shown, Likes: likes[i]}, proto.Size(shown)
		}
	}
	return rows, nil
}

// PopularPosts returns at most n posts of the lists of popular posts: of those that are popular now, then today, then this week. Some may not be visible any more.
func (s *Service) PopularPosts(ctx context.Context, tx *sql.Tx, n int) (list []uint64, err error) {
	now, today, week, _, _ := boardsAt(s.nowMs())
	known := map[uint64]bool{}
	for _, b := range []board{now, today, week} {
		if len(list) >= n {
			break
		}
		p := hotPage{board: b}
		posts, _, err := p.read(ctx, tx)
		if err != nil {
			return nil, err
		}
		for _, post := range posts {
			if !known[post] && len(list) < n {
				known[post], list = true, append(list, post)
			}
		}
	}
	return list, nil
}
