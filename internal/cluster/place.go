package cluster

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/sqldb"
)

// Place says where the nodes of a database keep something, as their timelines: where the first one that came said that it keeps it. A node
// that is configured otherwise would go on from nothing beside the others.
func Place(ctx context.Context, db *sqldb.DB, kind, mine string) (all string, err error) {
	if err := db.Migrate(ctx, "cluster", steps); err != nil {
		return "", err
	}
	err = db.Write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO cluster_places (kind, place) VALUES ($1, $2) ON CONFLICT (kind) DO NOTHING`, kind, mine); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, `SELECT place FROM cluster_places WHERE kind = $1`, kind).Scan(&all)
	})
	return all, err
}
