package cassandralog

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
)

// Frozen is a log that no server changes once Freeze has returned, to be copied.
type Frozen struct{ View }

// rename is the other name of a column of a table. Only columns of primary keys can be renamed.
type rename struct {
	table, column, to string
	name              *regexp.Regexp // the column in a statement
}

func newRename(table, column, to string) rename {
	return rename{table, column, to, regexp.MustCompile(`\b` + column + `\b`)}
}

// While columns have other names, Cassandra refuses all statements that name them, from any process of any release.
var (
	// All statements that insert, replace or delete entries, tokens and authors name tok; those that read entries and tails do not. All statements on fan-out
	// records, terms and checkpoints name store.
	frozenColumns = []rename{newRename("segments", "tok", "frozen_tok"), newRename("records", "store", "frozen_store"), newRename("partitions", "store", "frozen_store")}
	// All statements on timelines name store.
	retiredColumns = []rename{newRename("segments", "store", "frozen_store")}
)

// renames are the columns that have their other names.
type renames []rename

// in returns a statement with the names that columns have.
func (r renames) in(statement string) string {
	for _, c := range r {
		if strings.Contains(statement, " "+c.table) {
			statement = c.name.ReplaceAllString(statement, c.to)
		}
	}
	return statement
}

// OpenFrozen opens the log of servers, before or after Freeze.
func OpenFrozen(ctx context.Context, options Options) (*Frozen, error) {
	v, err := OpenView(ctx, options)
	if err != nil {
		return nil, err
	}
	f := &Frozen{*v}
	if err := f.readNames(ctx); err != nil {
		f.log.session.Close()
		return nil, err
	}
	return f, nil
}

// has reports whether a table has a column.
func (f *Frozen) has(ctx context.Context, table, column string) (bool, error) {
	var n int
	err := f.log.query(ctx, `SELECT count(*) FROM system_schema.columns WHERE keyspace_name = ? AND table_name = ? AND column_name = ?`, f.log.options.Keyspace, table, column).Scan(&n)
	return n > 0, err
}

// readNames finds the names that columns have.
func (f *Frozen) readNames(ctx context.Context) error {
	renamed := renames{}
	for _, c := range slices.Concat(frozenColumns, retiredColumns) {
		is, err := f.has(ctx, c.table, c.to)
		if err != nil {
			return err
		}
		if is {
			renamed = append(renamed, c)
		}
	}
	f.log.renamed = renamed
	return nil
}

// CanFreeze returns an error if Freeze could not stop all servers of this log, or would stop those of others.
func (f *Frozen) CanFreeze(ctx context.Context) error {
	l := f.log
	for _, host := range l.session.GetHosts() {
		if !host.IsUp() {
			return fmt.Errorf("a node of Cassandra is down, %s: it would accept writes when it starts; start it first", host.ConnectAddress())
		}
	}
	var others []int32
	var store int32
	it := l.query(ctx, selectStores).Iter()
	for it.Scan(&store) {
		if store != l.options.Store {
			others = append(others, store)
		}
	}
	if err := it.Close(); err != nil {
		return err
	}
	if slices.Sort(others); len(others) > 0 {
		return fmt.Errorf("the keyspace %s has the timelines of other deployments too, the stores %v, which would stop as well", l.options.Keyspace, others)
	}
	return nil
}

// Freeze makes Cassandra refuse what servers write, until Unfreeze. They read on. A statement that a node of Cassandra had begun before may still be
// stored. A server learns of that only within queryTimeout; later it asks again, and is refused. So the log has all that was ever acknowledged when
// the returned time has passed.
func (f *Frozen) Freeze(ctx context.Context) (wait time.Duration, err error) {
	if err := f.CanFreeze(ctx); err != nil {
		return 0, err
	}
	return 2 * queryTimeout, f.rename(ctx, frozenColumns)
}

// Retire makes Cassandra refuse what servers read of a frozen log as well, until Unfreeze. It fails if the log is not frozen.
func (f *Frozen) Retire(ctx context.Context) error {
	if err := f.log.session.AwaitSchemaAgreement(ctx); err != nil {
		return err
	}
	for _, c := range frozenColumns {
		is, err := f.has(ctx, c.table, c.to)
		if err == nil && !is {
			err = fmt.Errorf("servers could write the timelines meanwhile, because the column %s of %s does not have its name %s", c.column, c.table, c.to)
		}
		if err != nil {
			return err
		}
	}
	return f.rename(ctx, retiredColumns)
}

// Unfreeze ends Freeze and Retire.
func (f *Frozen) Unfreeze(ctx context.Context) error {
	var back []rename
	for _, c := range slices.Concat(retiredColumns, frozenColumns) {
		back = append(back, newRename(c.table, c.to, c.column))
	}
	return f.rename(ctx, back)
}

// rename renames the columns that no earlier call has renamed.
func (f *Frozen) rename(ctx context.Context, columns []rename) error {
	session := f.log.session
	if err := session.AwaitSchemaAgreement(ctx); err != nil {
		return err
	}
	for _, c := range columns {
		if err := f.renameOne(ctx, c); err != nil {
			return fmt.Errorf("renaming the column %s of %s: %w", c.column, c.table, err)
		}
	}
	if err := session.AwaitSchemaAgreement(ctx); err != nil {
		return err
	}
	return f.readNames(ctx)
}

// renameOne renames a column, unless it has its new name. It tries again if Cassandra does not answer in time, which it may have done all the same.
func (f *Frozen) renameOne(ctx context.Context, c rename) error {
	for tries := 1; ; tries++ {
		is, err := f.has(ctx, c.table, c.column)
		if err == nil && is {
			err = f.log.session.Query(fmt.Sprintf(`ALTER TABLE %s.%s RENAME %s TO %s`, f.log.options.Keyspace, c.table, c.column, c.to)).ExecContext(ctx)
		}
		if err == nil || tries == schemaTries {
			return err
		}
		if waited := backoff.Sleep(ctx, time.Second); waited != nil {
			return errors.Join(waited, err)
		}
	}
}
