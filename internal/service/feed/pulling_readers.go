package feed

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/id"
)

// A reader who follows very many authors pulls: fan-out writes nothing for the reader, whose pages are read from the rows of the authors. Readers move between the two
// ways when they read a page:
//
//   - To pull: the reader's row is stored, and from then on pages use no window. Then the window is closed. A step of fan-out that had found it open may write to
//     it afterwards, so each page closes a window that has entries.
//   - Back: the row is deleted. Then a window is built, while pages are read from the rows of the authors.
//
// A page is right with and without a window, and with one that is being closed or built, because a window that lacks something is found to. So no timeline changes at any step, nor
// where two nodes move a reader at the same time.

// pulls reports whether a reader pulls, who follows some authors. Only readers with so many that they may do are looked up.
func (s *Service) pulls(ctx context.Context, tx *sql.Tx, reader id.User, followed int) (bool, error) {
	if followed < s.config.ReaderPushBelow {
		return false, nil
	}
	return hasPullingRow(ctx, tx, reader)
}

func hasPullingRow(ctx context.Context, tx *sql.Tx, reader id.User) (bool, error) {
	var one int
	err := tx.QueryRowContext(ctx, `SELECT 1 FROM feed_pulling_readers WHERE reader = $1`, int64(reader)).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// startPulling makes a reader pull.
func (s *Service) startPulling(ctx context.Context, reader id.User) error {
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO feed_pulling_readers (reader) VALUES ($1) ON CONFLICT (reader) DO NOTHING`, int64(reader))
		return err
	})
	if err == nil {
		err = s.reached("reader-pulls")
	}
	if err != nil {
		return err
	}
	return s.closeWindow(ctx, reader)
}

// closeWindow drops all entries of a reader's window, so that fan-out writes no more of them.
func (s *Service) closeWindow(ctx context.Context, reader id.User) error {
	tail, err := s.deps.Log.Tail(ctx, windowKey(reader))
	if err != nil || tail.FirstSeq > tail.Seq || tail.Seq == 0 {
		return err
	}
	return s.deps.Log.Expire(ctx, windowKey(reader), tail.Seq+1, nil)
}

// fillWindow builds the window of a reader, who does not pull any more.
func (s *Service) fillWindow(ctx context.Context, reader id.User) error {
	if err := s.stopPulling(ctx, reader); err != nil {
		return err
	}
	return s.buildWindow(ctx, reader)
}

// stopPulling makes a reader not pull. It must precede a window that can be used: a page that finds one changes nothing.
func (s *Service) stopPulling(ctx context.Context, reader id.User) error {
	pulled := false
	if err := s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) (err error) {
		pulled, err = hasPullingRow(ctx, tx, reader)
		return err
	}); err != nil || !pulled {
		return err
	}
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM feed_pulling_readers WHERE reader = $1`, int64(reader))
		return err
	})
	if err != nil {
		return err
	}
	return s.reached("reader-pushed")
}
