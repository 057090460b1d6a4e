package pglog

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Lookups of many keys at once, each in one round trip.

// lookupRow is the result for one requested key. Place is its index in the request, from 1.
type lookupRow struct {
	Place        int
	Seq, Counted uint64
}

func (s reader) lookUp(ctx context.Context, n int, statement string, args ...any) ([]timeline.Position, error) {
	places := make([]timeline.Position, n)
	rows, err := s.db.Query(ctx, statement, args...)
	if err != nil {
		return nil, s.readError(ctx, err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[lookupRow])
	for _, f := range found {
		places[f.Place-1] = timeline.Position{Seq: f.Seq, Counted: f.Counted}
	}
	return places, s.readError(ctx, err)
}

// tailsAtOnce bounds the keys in one statement.
const tailsAtOnce = 1000

// The tails of a kind, by the positions of their keys. The LATERAL joins make the planner look up each key, however many there are.
const (
	appendedTails = `SELECT coalesce(t.seq, 0), coalesce(t.counted, 0), coalesce(t.access, 0), coalesce(h.head, 0)
		FROM unnest($1::BIGINT[]) WITH ORDINALITY AS u(id, place)
		LEFT JOIN LATERAL (SELECT seq, counted, access FROM log_tails WHERE id = u.id LIMIT 1) t ON true` + headsOf
	inboxTails = `SELECT coalesce(t.seq, 0), 0::BIGINT, 0::BIGINT, coalesce(h.head, 0)
		FROM unnest($1::BIGINT[]) WITH ORDINALITY AS u(id, place)
		LEFT JOIN LATERAL (SELECT seq FROM log_inboxes WHERE id = u.id LIMIT 1) t ON true` + headsOf
	headsOf = `
		LEFT JOIN LATERAL (SELECT head FROM log_heads WHERE kind = $2 AND id = u.id LIMIT 1) h ON true ORDER BY u.place`
)

// Tails of timelines.
func (s reader) Tails(ctx context.Context, keys []timeline.Key) ([]timeline.Tail, error) {
	tails := make([]timeline.Tail, 0, len(keys))
	for len(keys) > 0 { // keys of one kind, as a rule
		n := 1
		for n < min(len(keys), tailsAtOnce) && keys[n].Kind == keys[0].Kind {
			n++
		}
		some, err := s.someTails(ctx, keys[:n])
		if err != nil {
			return nil, err
		}
		tails, keys = append(tails, some...), keys[n:]
	}
	return tails, nil
}

// someTails returns the tails of keys of one kind.
func (s reader) someTails(ctx context.Context, keys []timeline.Key) ([]timeline.Tail, error) {
	statement := appendedTails
	if keys[0].Kind == timeline.Inbox {
		statement = inboxTails
	}
	ids := make([]int64, len(keys))
	for i, k := range keys {
		ids[i] = rowID(k)
	}
	rows, err := s.db.Query(ctx, statement, ids, int16(keys[0].Kind))
	if err != nil {
		return nil, s.readError(ctx, err)
	}
	tails, err := pgx.CollectRows(rows, pgx.RowToStructByPos[timeline.Tail])
	return tails, s.readError(ctx, err)
}

// TokenSeqs returns the seqs that are stored for tokens, 0 for none.
func (s reader) TokenSeqs(ctx context.Context, tokens []timeline.TokenKey) ([]uint64, error) {
	var senders, devices, counters, ids, sumIDs, at, sumAt []int64
	var sums [][16]byte
	for i, t := range tokens {
		switch {
		case t.Token.IsZero():
		case t.Token.Counter != 0:
			senders, devices, counters = append(senders, int64(t.Token.Sender)), append(devices, int64(t.Token.Device)), append(counters, int64(t.Token.Counter))
			ids, at = append(ids, int64(t.Key.ID)), append(at, int64(i+1))
		default:
			sums, sumIDs, sumAt = append(sums, t.Token.Sum), append(sumIDs, int64(t.Key.ID)), append(sumAt, int64(i+1))
		}
	}
	seqs := make([]uint64, len(tokens))
	if len(ids) > 0 {
		found, err := s.lookUp(ctx, len(tokens), `SELECT u.place, k.seq, 0::BIGINT FROM unnest($1::BIGINT[], $2::BIGINT[], $3::BIGINT[], $4::BIGINT[], $5::BIGINT[]) AS u(sender, device, counter, id, place)
			JOIN log_tokens k ON k.sender = u.sender AND k.device = u.device AND k.counter = u.counter AND k.id = u.id`, senders, devices, counters, ids, at)
		if err != nil {
			return nil, err
		}
		for i, f := range found {
			seqs[i] = f.Seq
		}
	}
	if len(sums) > 0 {
		found, err := s.lookUp(ctx, len(tokens), `SELECT u.place, k.seq, 0::BIGINT FROM unnest($1::BIGINT[], $2::UUID[], $3::BIGINT[]) AS u(id, sum, place)
			JOIN log_sums k ON k.id = u.id AND k.sum = u.sum`, sumIDs, sums, sumAt)
		if err != nil {
			return nil, err
		}
		for i, f := range found {
			seqs[i] = max(seqs[i], f.Seq)
		}
	}
	return seqs, nil
}

// LatestByAuthors returns the position of each author's latest entry, or a zero Position.
func (s reader) LatestByAuthors(ctx context.Context, authors []timeline.AuthorKey) ([]timeline.Position, error) {
	ids, by := make([]int64, len(authors)), make([]int64, len(authors))
	for i, a := range authors {
		ids[i], by[i] = int64(a.Key.ID), int64(a.Author)
	}
	return s.lookUp(ctx, len(authors), `SELECT u.place, a.seq, a.counted FROM unnest($1::BIGINT[], $2::BIGINT[]) WITH ORDINALITY AS u(id, author, place)
		JOIN log_authors a ON a.id = u.id AND a.author = u.author`, ids, by)
}

// HighestCounters of devices, 0 for none.
func (s reader) HighestCounters(ctx context.Context, devices []timeline.Device) ([]uint64, error) {
	senders, numbers := make([]int64, len(devices)), make([]int64, len(devices))
	for i, d := range devices {
		senders[i], numbers[i] = int64(d.Sender), int64(d.Device)
	}
	found, err := s.lookUp(ctx, len(devices), `SELECT u.place, coalesce(k.counter, 0), 0::BIGINT FROM unnest($1::BIGINT[], $2::BIGINT[]) WITH ORDINALITY AS u(sender, device, place)
		CROSS JOIN LATERAL (SELECT max(counter) AS counter FROM log_tokens t WHERE t.sender = u.sender AND t.device = u.device) k`, senders, numbers)
	if err != nil {
		return nil, err
	}
	counters := make([]uint64, len(devices))
	for i, f := range found {
		counters[i] = f.Seq
	}
	return counters, nil
}

// Stored counts the tokens, by counter or by hash, and the authors' rows.
func (s reader) Stored(ctx context.Context) (tokens, authors uint64, err error) {
	err = s.db.QueryRow(ctx, `SELECT (SELECT count(*) FROM log_tokens) + (SELECT count(*) FROM log_sums), (SELECT count(*) FROM log_authors)`).Scan(&tokens, &authors)
	return tokens, authors, s.readError(ctx, err)
}
