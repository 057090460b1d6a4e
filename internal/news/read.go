package news

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// round reads what is new and what was missing, and tells it.
func (s *Service) round(ctx context.Context, tell func(Item)) error {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	began := time.Now()
	// Rows that came while this node could not read may have been dropped by those who could. The monotonic clock may have stood
	// still while the machine slept.
	if away := max(began.Sub(s.read), began.Round(0).Sub(s.read.Round(0))); !s.read.IsZero() && away > keptFor/2 {
		s.miss("this node could not read for too long")
	}
	// Looked at before the numbers are asked for: what was stored by then is found.
	ended, err := s.ended(ctx)
	if err != nil {
		return err
	}
	if err := s.readHoles(ctx, tell); err != nil {
		return err
	}
	if ended {
		s.forget()
	}
	for {
		n, err := s.readNew(ctx, began, tell)
		if err != nil {
			return err
		}
		if n < page {
			break
		}
	}
	s.read = began
	if began.Before(s.trimAt) {
		return nil
	}
	s.trimAt = began.Add(trimEvery)
	return errors.Join(s.begin(ctx, began), s.trim(ctx, began))
}

func (s *Service) miss(why string) {
	s.deps.Logger.Warn("some of what other nodes told was missed", "why", why)
	if s.deps.Missed != nil {
		s.deps.Missed()
	}
}

const columns = `SELECT n, kind, owner, other, body FROM news WHERE `

// readNew tells a page of rows above the highest number that was seen, and notes which numbers are missing between them.
func (s *Service) readNew(ctx context.Context, at time.Time, tell func(Item)) (int, error) {
	return s.rows(ctx, columns+`n > $1 ORDER BY n LIMIT `+strconv.Itoa(page), []any{s.last}, func(n int64, i Item) {
		from := s.last + 1
		if s.last == 0 {
			from = n - before
		}
		if n-from > mostHoles {
			s.miss("too many numbers are missing at once")
			from = n - mostHoles
		}
		for missing := max(from, 1); missing < n; missing++ {
			s.holes[missing] = at
		}
		s.last = n
		tell(i)
	})
}

// readHoles tells the rows whose numbers were missing.
func (s *Service) readHoles(ctx context.Context, tell func(Item)) error {
	if len(s.holes) == 0 {
		return nil
	}
	missing := make([]int64, 0, len(s.holes))
	for n := range s.holes {
		missing = append(missing, n)
	}
	slices.Sort(missing)
	for some := range slices.Chunk(missing, asked) {
		marks, args := make([]string, len(some)), make([]any, len(some))
		for i, n := range some {
			marks[i], args[i] = "$"+strconv.Itoa(i+1), n
		}
		if _, err := s.rows(ctx, columns+`n IN (`+strings.Join(marks, ",")+`) ORDER BY n`, args, func(n int64, i Item) {
			delete(s.holes, n)
			tell(i)
		}); err != nil {
			return err
		}
	}
	if len(s.holes) > mostHoles {
		s.miss("too many numbers are missing")
		clear(s.holes)
	}
	return nil
}

func (s *Service) rows(ctx context.Context, query string, args []any, each func(n int64, i Item)) (count int, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		var i Item
		if err := rows.Scan(&n, &i.Kind, &i.User, &i.Other, &i.Text); err != nil {
			return count, err
		}
		each(n, i)
		count++
	}
	return count, rows.Err()
}

// later is a transaction that began when some numbers were found missing already: when all that began before it have ended, those that
// are missing still are nobody's. A transaction draws a number behind its first change, and so has its own place among them by then.
type later struct {
	begun int64     // its place; 0: there is none
	at    time.Time // the reading by which they were found
}

// begin has such a transaction where numbers are missing for long: as they do for ever whose transactions were undone, and for as long as
// the standby is away whose commits wait for it. SQLite, where a process is alone, has no such statements.
func (s *Service) begin(ctx context.Context, now time.Time) error {
	old := false
	for _, since := range s.holes {
		old = old || now.Sub(since) > openFor
	}
	if !old || s.later.begun != 0 {
		return nil
	}
	var begun int64
	if err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `/* PostgreSQL */ SELECT txid_current()`).Scan(&begun)
	}); err != nil {
		return err
	}
	s.later = later{begun, now}
	return nil
}

// ended tells whether all transactions have that began before s.later.
func (s *Service) ended(ctx context.Context) (bool, error) {
	if s.later.begun == 0 {
		return false, nil
	}
	var oldest int64
	err := s.deps.DB.Read().QueryRowContext(ctx, `/* PostgreSQL */ SELECT txid_snapshot_xmin(txid_current_snapshot())`).Scan(&oldest)
	return oldest >= s.later.begun, err
}

// forget the numbers that were missing when s.later began.
func (s *Service) forget() {
	for n, since := range s.holes {
		if !since.After(s.later.at) {
			delete(s.holes, n)
		}
	}
	s.later = later{}
}

// whole is the number up to which none is missing.
func (s *Service) whole() int64 {
	n := s.last
	for missing := range s.holes {
		n = min(n, missing-1)
	}
	return n
}

// trim drops what this node has seen for long enough. What is stored late is there for as long, to all, behind those that came before it.
func (s *Service) trim(ctx context.Context, now time.Time) error {
	s.marks = append(s.marks, mark{s.whole(), now})
	old := int64(0)
	for len(s.marks) > 0 && now.Sub(s.marks[0].at) >= keptFor {
		old, s.marks = s.marks[0].last, s.marks[1:]
	}
	if old == 0 {
		return nil
	}
	var some bool // most often another node was first
	if err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM news WHERE n <= $1)`, old).Scan(&some); err != nil || !some {
		return err
	}
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM news WHERE n <= $1`, old)
		return err
	})
}
