package sqldb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// Codes that PostgreSQL gives its errors.
const (
	uniqueViolation      = "23505"
	serializationFailure = "40001"
	deadlock             = "40P01"
	diskFull             = "53100"
	ioError              = "58030"
)

func isPostgres(where string) bool {
	return strings.HasPrefix(where, "postgres://") || strings.HasPrefix(where, "postgresql://")
}

func openPostgres(ctx context.Context, url string) (*DB, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("records in PostgreSQL: %w", err) // it leaves the password out
	}
	// Nothing may weaken these, but for a superuser who says so in a transaction.
	write, read := config.Copy(), config.Copy()
	write.RuntimeParams["default_transaction_isolation"] = "serializable"
	write.RuntimeParams["synchronous_commit"] = "on"
	read.RuntimeParams["default_transaction_read_only"] = "on"
	d := &DB{writer: stdlib.OpenDB(*write), reader: stdlib.OpenDB(*read), dialect: dialect{
		words: strings.NewReplacer("{bytes}", "BYTEA", "{number}", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"),
		alone: `LOCK TABLE migrations IN EXCLUSIVE MODE`,
		limit: 30 * time.Second,
	}}
	d.writer.SetMaxOpenConns(1)
	d.reader.SetMaxOpenConns(8)
	d.reader.SetMaxIdleConns(4)
	for range tries { // two nodes that make it at once meet, in spite of IF NOT EXISTS
		if _, err = d.writer.ExecContext(ctx, migrations); !IsUnique(err) && !isConflict(err) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("records in PostgreSQL at %s: %w", config.Host, err), d.reader.Close(), d.writer.Close())
	}
	return d, nil
}

// code of an error of PostgreSQL, "" of others.
func code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// isConflict tells that a transaction was undone because another was first.
func isConflict(err error) bool {
	c := code(err)
	return c == serializationFailure || c == deadlock
}

func classifyPostgres(err error) error {
	var connect *pgconn.ConnectError
	switch c := code(err); {
	case c == diskFull:
		return full(err)
	case c == ioError, strings.HasPrefix(c, "08"), strings.HasPrefix(c, "57P"), isConflict(err), errors.As(err, &connect):
		return failing(err)
	}
	return err
}
