package news

import (
	"context"
	"database/sql"
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
	if err := s.readHoles(ctx, began, tell); err != nil {
		return err
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
	return s.trim(ctx, began)
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
			from = n - mostHoles
		}
		for missing := max(from, 1); missing < n; missing++ {
			s.holes[missing] = at
		}
		s.last = n
		tell(i)
	})
}

// readHoles tells the rows whose numbers were missing, and forgets those that are nobody's.
func (s *Service) readHoles(ctx context.Context, at time.Time, tell func(Item)) error {
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
	for n, since := range s.holes {
		if at.Sub(since) > openFor {
			delete(s.holes, n)
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

// trim drops what this node has seen for long enough, now and then.
func (s *Service) trim(ctx context.Context, now time.Time) error {
	if now.Before(s.trimAt) {
		return nil
	}
	s.trimAt = now.Add(trimEvery)
	s.marks = append(s.marks, mark{s.last, now})
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
