package pglog

import (
	"context"
	"errors"
	"math"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Statements for the entries of a kind.
type statements struct{ forward, back, refs, keys string }

var (
	appended = newStatements("log_entries", "counted", "seq - 1", "log_tails")
	inboxes  = newStatements("log_posts", "0::BIGINT", "prev", "log_inboxes")
)

// Conversations and feeds share their tables. Ids have at most 63 bits; the rows of feeds have them with the sign, so below zero.
const feedSign = 1 << 63

// rowID returns the id of a timeline's rows.
func rowID(k timeline.Key) int64 {
	if k.Kind == timeline.Feed {
		return int64(k.ID | feedSign)
	}
	return int64(k.ID)
}

func newStatements(table, counted, prev, tails string) statements {
	columns := `seq, ` + counted + `, ` + prev + `, payload`
	return statements{
		forward: `SELECT ` + columns + ` FROM ` + table + ` WHERE id = $1 AND seq > $2 ORDER BY seq LIMIT $3`,
		back:    `SELECT ` + columns + ` FROM ` + table + ` WHERE id = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3`,
		// Entries up to the first that exceeds the limit; the first entry never does.
		refs: `SELECT place, ` + columns + ` FROM (
			SELECT r.place, e.*, sum(length(payload)) OVER line AS total, row_number() OVER line AS nth
			FROM unnest($1::BIGINT[], $2::BIGINT[], $3::BIGINT[]) WITH ORDINALITY AS r(ref, lowest, highest, place)
			JOIN ` + table + ` e ON e.id = r.ref AND e.seq BETWEEN r.lowest AND r.highest WINDOW line AS (ORDER BY place, seq)) found
			WHERE $4 < 0 OR nth <= 2 OR total - length(payload) <= $4 ORDER BY place, seq`,
		keys: `SELECT id FROM ` + tails + ` t WHERE id > $1 AND id <= $3 AND EXISTS (SELECT FROM ` + table + ` e WHERE e.id = t.id) ORDER BY id LIMIT $2`,
	}
}

func statementsOf(k timeline.Kind) statements {
	if k == timeline.Inbox {
		return inboxes
	}
	return appended
}

// querier is a pool, or a transaction.
type querier interface {
	Query(ctx context.Context, statement string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, statement string, args ...any) pgx.Row
}

// reader has the read methods of a log.
type reader struct{ db querier }

func entryOf(row pgx.CollectableRow) (e timeline.Entry, err error) {
	err = row.Scan(&e.Seq, &e.Counted, &e.Prev, &e.Payload)
	return e, err
}

// toBigint converts a seq to BIGINT.
func toBigint(seq uint64) int64 { return int64(min(seq, math.MaxInt64)) }

func (s reader) entries(ctx context.Context, statement string, k timeline.Key, seq uint64, limit int) ([]timeline.Entry, error) {
	rows, err := s.db.Query(ctx, statement, rowID(k), toBigint(seq), limit)
	if err != nil {
		return nil, s.readError(ctx, err)
	}
	entries, err := pgx.CollectRows(rows, entryOf)
	return entries, s.readError(ctx, err)
}

// readError returns the error for a reader.
func (s reader) readError(ctx context.Context, err error) error {
	var server *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &server) && (server.Code == dataCorrupted || server.Code == indexCorrupted):
		return errors.Join(timeline.ErrCorrupt, err)
	}
	return s.storageError(ctx, err)
}

// Error codes of PostgreSQL for corrupt pages and indexes.
const (
	dataCorrupted  = "XX001"
	indexCorrupted = "XX002"
)

// Read returns entries above a seq, in ascending order.
func (s reader) Read(ctx context.Context, k timeline.Key, after uint64, limit int) ([]timeline.Entry, error) {
	return s.entries(ctx, statementsOf(k.Kind).forward, k, after, limit)
}

// ReadBackward returns entries below a seq, in descending order.
func (s reader) ReadBackward(ctx context.Context, k timeline.Key, before uint64, limit int) ([]timeline.Entry, error) {
	if before == 0 {
		before = math.MaxInt64
	}
	return s.entries(ctx, statementsOf(k.Kind).back, k, before, limit)
}

// Get returns the entries of refs.
func (s reader) Get(ctx context.Context, refs []timeline.Ref) ([]timeline.Entry, error) {
	return s.GetLimited(ctx, refs, -1)
}

// GetLimited is Get with a limit on the payloads. Below 0 there is none.
func (s reader) GetLimited(ctx context.Context, refs []timeline.Ref, bytes int) ([]timeline.Entry, error) {
	found, err := s.getAll(ctx, refs, bytes)
	if err != nil {
		return nil, err
	}
	entries := make([]timeline.Entry, len(found))
	left := bytes
	for i, f := range found {
		if left -= len(f.Payload); bytes >= 0 && left < 0 && i > 0 {
			return nil, timeline.ErrTooLarge
		}
		entries[i] = f.Entry
	}
	return entries, nil
}

// found is an entry of a ref.
type found struct {
	ref int
	timeline.Entry
}

// getAll returns the entries of refs in their order: all of them, or those up to the first that exceeds a limit in bytes.
func (s reader) getAll(ctx context.Context, refs []timeline.Ref, bytes int) (all []found, err error) {
	for len(refs) > 0 { // refs of one kind, as a rule
		n := 1
		for n < len(refs) && refs[n].Key.Kind == refs[0].Key.Kind {
			n++
		}
		first := 0
		if len(all) > 0 {
			first = all[len(all)-1].ref + 1
		}
		some, err := s.getSome(ctx, refs[:n], first, bytes)
		if err != nil {
			return nil, err
		}
		all, refs = append(all, some...), refs[n:]
	}
	return all, nil
}

func (s reader) getSome(ctx context.Context, refs []timeline.Ref, first, bytes int) ([]found, error) {
	ids, lowest, highest := make([]int64, len(refs)), make([]int64, len(refs)), make([]int64, len(refs))
	for i, r := range refs {
		ids[i], lowest[i], highest[i] = rowID(r.Key), toBigint(r.From), toBigint(r.To)
	}
	rows, err := s.db.Query(ctx, statementsOf(refs[0].Key.Kind).refs, ids, lowest, highest, bytes)
	if err != nil {
		return nil, s.readError(ctx, err)
	}
	some, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (f found, err error) {
		err = row.Scan(&f.ref, &f.Seq, &f.Counted, &f.Prev, &f.Payload)
		f.ref += first - 1
		return f, err
	})
	return some, s.readError(ctx, err)
}

// Tail of a timeline.
func (s reader) Tail(ctx context.Context, k timeline.Key) (t timeline.Tail, err error) {
	statement := `SELECT coalesce(t.seq, 0), coalesce(t.counted, 0), coalesce(t.access, 0), coalesce(h.head, 0)
		FROM (SELECT $1::BIGINT AS id) k LEFT JOIN log_tails t ON t.id = k.id LEFT JOIN log_heads h ON h.kind = $2 AND h.id = k.id`
	if k.Kind == timeline.Inbox {
		statement = `SELECT coalesce(t.seq, 0), 0::BIGINT, 0::BIGINT, coalesce(h.head, 0)
		FROM (SELECT $1::BIGINT AS id) k LEFT JOIN log_inboxes t ON t.id = k.id LEFT JOIN log_heads h ON h.kind = $2 AND h.id = k.id`
	}
	err = s.db.QueryRow(ctx, statement, rowID(k), int16(k.Kind)).Scan(&t.Seq, &t.Counted, &t.Access, &t.FirstSeq)
	return t, s.readError(ctx, err)
}

// LatestByAuthor returns an author's latest entry.
func (s reader) LatestByAuthor(ctx context.Context, k timeline.Key, author uint64) (seq, counted uint64, err error) {
	err = s.db.QueryRow(ctx, `SELECT seq, counted FROM log_authors WHERE id = $1 AND author = $2`, int64(k.ID), int64(author)).Scan(&seq, &counted)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, 0, nil
	}
	return seq, counted, s.readError(ctx, err)
}

// HighestCounter of a device.
func (s reader) HighestCounter(ctx context.Context, sender, device uint64) (highest uint64, err error) {
	err = s.db.QueryRow(ctx, `SELECT coalesce(max(counter), 0) FROM log_tokens WHERE sender = $1 AND device = $2`, int64(sender), int64(device)).Scan(&highest)
	return highest, s.readError(ctx, err)
}

// TokenSeq returns the seq that is stored for a token in a key, or 0.
func (s reader) TokenSeq(ctx context.Context, k timeline.Key, t *timeline.Token) (seq uint64, err error) {
	switch {
	case t.IsZero():
		return 0, nil
	case t.Counter != 0:
		err = s.db.QueryRow(ctx, `SELECT seq FROM log_tokens WHERE sender = $1 AND device = $2 AND counter = $3 AND id = $4`, int64(t.Sender), int64(t.Device), int64(t.Counter), int64(k.ID)).Scan(&seq)
	default:
		err = s.db.QueryRow(ctx, `SELECT seq FROM log_sums WHERE id = $1 AND sum = $2`, int64(k.ID), t.Sum).Scan(&seq)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return seq, s.readError(ctx, err)
}

// Keys returns keys of a kind with entries, in ascending order.
func (s reader) Keys(ctx context.Context, kind timeline.Kind, above uint64, limit int) ([]timeline.Key, error) {
	above = min(above, math.MaxInt64)
	rows, err := s.db.Query(ctx, statementsOf(kind).keys, rowID(timeline.Key{Kind: kind, ID: above}), limit, rowID(timeline.Key{Kind: kind, ID: math.MaxInt64}))
	if err != nil {
		return nil, s.readError(ctx, err)
	}
	keys, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (timeline.Key, error) {
		var n int64
		err := row.Scan(&n)
		return timeline.Key{Kind: kind, ID: uint64(n) &^ feedSign}, err
	})
	return keys, s.readError(ctx, err)
}
