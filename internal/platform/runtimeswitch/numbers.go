package runtimeswitch

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"strconv"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// Number returns a number, or a default if nobody has set it.
func (s *Service) Number(n Name, byDefault int64) int64 {
	if v, ok := s.state.Load().numbers[n]; ok {
		return v
	}
	return byDefault
}

// SetNumbers sets numbers as Set turns switches. One that is nil goes back to its default.
func (s *Service) SetNumbers(ctx context.Context, to map[Name]*int64, by, reason string) error {
	return s.change(ctx, by, reason, func(tx *sql.Tx) error {
		was, err := readNumbers(ctx, tx)
		if err != nil {
			return err
		}
		for _, n := range slices.Sorted(maps.Keys(to)) {
			old, isSet := was[n]
			value := sql.NullInt64{}
			switch v := to[n]; {
			case v == nil && !isSet, v != nil && isSet && *v == old:
				continue
			case v == nil:
				_, err = tx.ExecContext(ctx, `DELETE FROM runtime_numbers WHERE name = $1`, string(n))
			default:
				value = sql.NullInt64{Int64: *v, Valid: true}
				_, err = tx.ExecContext(ctx, `INSERT INTO runtime_numbers (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = $2`, string(n), *v)
			}
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO runtime_number_changes (name, value, changed_by, reason, time_ms) VALUES ($1, $2, $3, $4, $5)`,
				string(n), value, by, reason, s.deps.Clock.Now().UnixMilli()); err != nil {
				return err
			}
			if err := s.audit(ctx, tx, n, numberText(old, isSet), numberText(value.Int64, value.Valid), by, reason); err != nil {
				return err
			}
		}
		return nil
	})
}

func numberText(n int64, isSet bool) string {
	if !isSet {
		return "default"
	}
	return strconv.FormatInt(n, 10)
}

// NumberChange is a number that was set.
type NumberChange struct {
	Name Name
	// Value is nil if the number went back to its default.
	Value      *int64
	By, Reason string
	TimeMs     int64
}

// NumberChanges returns the latest changes of numbers whose names have a prefix, at most limit, the newest first.
func (s *Service) NumberChanges(ctx context.Context, prefix string, limit int) (list []NumberChange, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT name, value, changed_by, reason, time_ms FROM runtime_number_changes WHERE substr(name, 1, length($1)) = $1 ORDER BY n DESC LIMIT $2`, prefix, limit)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var c NumberChange
		var value sql.NullInt64
		err := rows.Scan(&c.Name, &value, &c.By, &c.Reason, &c.TimeMs)
		if value.Valid {
			c.Value = &value.Int64
		}
		list = append(list, c)
		return err
	})
	return list, err
}

func readNumbers(ctx context.Context, tx *sql.Tx) (map[Name]int64, error) {
	rows, err := tx.QueryContext(ctx, `SELECT name, value FROM runtime_numbers`)
	return sqldb.Pairs[Name, int64](rows, err)
}
