package app

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// TestStoresHaveTheTermsOfGrants: a node acquires each partition in the log in the term of its grant, also when the log's terms are later
// than those of the cluster, as they are after one of the two was restored from a backup.
func TestStoresHaveTheTermsOfGrants(t *testing.T) {
	address := sqltest.Schema(t, sqltest.Postgres(t))
	db, err := sqldb.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	same := func(above int) func() bool {
		return func() bool {
			var count int
			err := db.Read().QueryRowContext(t.Context(), `SELECT count(*) FROM cluster_leases c JOIN log_terms t ON c.number = t.partition
				WHERE c.kind = $1 AND c.holder <> '' AND c.term = t.term AND t.holder <> 0 AND t.term > $2`, partitionWork, above).Scan(&count)
			if err != nil {
				t.Fatal(err)
			}
			return count == timeline.Partitions
		}
	}
	const later, warning = 1000, "a store has higher terms for parts than the cluster"
	first, logged := open(t, "postgres="+address)
	eventually.True(t, "the log has the terms of the grants", same(0))
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(logged.String(), warning) {
		t.Errorf("the terms were raised:\n%s", logged)
	}
	if err := db.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `UPDATE log_terms SET term = term + $1`, later)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	_, logged = open(t, "postgres="+address)
	eventually.True(t, "the log has the terms of later grants", same(later))
	if !strings.Contains(logged.String(), warning) {
		t.Errorf("the log has no warning about the terms:\n%s", logged)
	}
}
