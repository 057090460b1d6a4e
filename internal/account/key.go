package account

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/auth"
)

// CreateKey makes an API key; it is shown this once.
func (s *Service) CreateKey(ctx context.Context, name string) (string, error) {
	key := auth.NewSecret("rk_")
	return key, s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO api_keys (sum, name, created_ms) VALUES ($1, $2, $3)`, auth.Sum(key), name, s.nowMs())
		return err
	})
}

// ListKeys gives the names of all API keys, oldest first.
func (s *Service) ListKeys(ctx context.Context) (names []string, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT name FROM api_keys ORDER BY created_ms, name`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n string
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		names = append(names, n)
	}
	return names, rows.Err()
}

// RevokeKey ends the keys of a name, at once, and says how many.
func (s *Service) RevokeKey(ctx context.Context, name string) (n int64, err error) {
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `DELETE FROM api_keys WHERE name = $1`, name)
		if err == nil {
			n, err = done.RowsAffected()
		}
		return err
	})
	return n, err
}
