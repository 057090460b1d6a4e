package cluster

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// AgreeSetting returns the value that all nodes of a database must use for a setting, such as where timelines are stored: the value of
// the first node that called it. A node with a different value would start with empty data beside the others.
func AgreeSetting(ctx context.Context, db *sqldb.DB, name, value string) (agreed string, err error) {
	if err := db.Migrate(ctx, "cluster", migrations); err != nil {
		return "", err
	}
	err = db.Write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO cluster_settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, name, value); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, `SELECT value FROM cluster_settings WHERE name = $1`, name).Scan(&agreed)
	})
	return agreed, err
}
