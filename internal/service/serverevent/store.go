package serverevent

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/failpoint"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/webhook"
	eventv1 "github.com/rialto-im/rialto/sdk/go/gen/event/v1"
	"google.golang.org/protobuf/proto"
)

// errMoved: the consumer was changed by a seek, or deleted, since its position was read.
var errMoved = errs.New(errs.Conflict, "cursor_outdated", "the consumer was moved by SeekEvents, or deleted, after this cursor; pull without a cursor")

// consumers returns all consumers, by name.
func (s *Service) consumers(ctx context.Context) (all []*consumer, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT name, filter, bot, audit, url, secret, generation, last_error FROM event_consumers ORDER BY name`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var bots []id.User
	for rows.Next() {
		c, f, v := &consumer{}, []byte(nil), eventv1.EventConsumer{}
		if err := rows.Scan(&c.name, &f, &c.bot, &c.audit, &c.url, &c.secret, &c.generation, &c.lastError); err != nil {
			return nil, err
		}
		if err := proto.Unmarshal(f, &v); err != nil {
			return nil, err
		}
		c.filter = filter{kinds: v.Kinds, conversations: v.ConversationKinds}
		if c.bot != 0 {
			bots = append(bots, c.bot)
		}
		all = append(all, c)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || len(bots) == 0 {
		return all, err
	}
	bridges := map[id.User]string{}
	if s.deps.Bridges != nil {
		if bridges, err = s.deps.Bridges(ctx); err != nil {
			return nil, err
		}
	}
	for _, c := range all {
		if c.bot != 0 {
			c.filter.bots = bots
		}
		if c.filter.bridge = bridges[c.bot]; c.filter.bridge != "" {
			c.filter.bots = []id.User{c.bot}
		}
	}
	return all, nil
}

// storeConsumer creates a consumer at some positions, or changes one, whose positions stay.
func (s *Service) storeConsumer(ctx context.Context, by id.Caller, c *consumer, positions map[timeline.Key]uint64) error {
	f, err := proto.Marshal(&eventv1.EventConsumer{Kinds: c.filter.kinds, ConversationKinds: c.filter.conversations})
	if err != nil {
		return err
	}
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		var bot id.User
		var audit bool
		var secret string
		err := tx.QueryRowContext(ctx, `SELECT bot, audit, secret, generation FROM event_consumers WHERE name = $1`, c.name).Scan(&bot, &audit, &secret, &c.generation)
		exists := err == nil
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if exists {
			if err := checkAccess(by, bot, audit); err != nil {
				return err
			}
			if bot != c.bot {
				return errBotFixed
			}
			if c.secret == "" {
				c.secret = secret
			}
		}
		if c.url != "" && c.secret == "" {
			return webhook.ErrSecret
		}
		if exists {
			_, err := tx.ExecContext(ctx, `UPDATE event_consumers SET filter = $2, audit = $3, url = $4, secret = $5, last_error = '' WHERE name = $1`, c.name, f, c.audit, c.url, c.secret)
			return err
		}
		return insertConsumer(ctx, tx, c, f, positions, s.nowMs())
	})
}

func insertConsumer(ctx context.Context, tx *sql.Tx, c *consumer, filter []byte, positions map[timeline.Key]uint64, nowMs int64) error {
	var n int
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM event_consumers WHERE bot = $1`, int64(c.bot)).Scan(&n); err != nil {
		return err
	}
	if c.bot == 0 && n >= maxConsumers || c.bot != 0 && n >= maxBotConsumers {
		return errTooMany
	}
	c.generation = uint64(nowMs) // higher than that of a deleted consumer of the same name
	if _, err := tx.ExecContext(ctx, `INSERT INTO event_consumers (name, filter, bot, audit, url, secret, generation) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		c.name, filter, int64(c.bot), c.audit, c.url, c.secret, int64(c.generation)); err != nil {
		return err
	}
	return putPositions(ctx, tx, c.name, positions)
}

// positions returns the confirmed positions of a consumer. Streams without a row are at their beginning.
func (s *Service) positions(ctx context.Context, consumer string) (map[timeline.Key]uint64, error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT stream, position FROM event_positions WHERE consumer = $1`, consumer)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	positions := map[timeline.Key]uint64{}
	for rows.Next() {
		var stream, at uint64
		if err := rows.Scan(&stream, &at); err != nil {
			return nil, err
		}
		positions[timeline.Key{Kind: timeline.Inbox, ID: stream}] = at
	}
	return positions, rows.Err()
}

// putPositions moves positions forward.
func putPositions(ctx context.Context, tx *sql.Tx, consumer string, positions map[timeline.Key]uint64) error {
	for k, at := range positions {
		if _, err := tx.ExecContext(ctx, `INSERT INTO event_positions (consumer, stream, position) VALUES ($1, $2, $3) ON CONFLICT (consumer, stream) DO UPDATE SET position = excluded.position
			WHERE event_positions.position < excluded.position`, consumer, int64(k.ID), int64(at)); err != nil {
			return err
		}
	}
	return nil
}

// confirm moves the positions of a consumer forward, unless it was moved by a seek since. also is done in the same transaction; it may be nil.
func (s *Service) confirm(ctx context.Context, consumer string, generation uint64, positions map[timeline.Key]uint64, also func(tx *sql.Tx) error) error {
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if err := checkGeneration(ctx, tx, consumer, generation); err != nil {
			return err
		}
		if also != nil {
			if err := also(tx); err != nil {
				return err
			}
		}
		return putPositions(ctx, tx, consumer, positions)
	})
	if err == nil {
		failpoint.Hit("serverevent/confirmed")
	}
	return err
}

func checkGeneration(ctx context.Context, tx *sql.Tx, consumer string, generation uint64) error {
	var now uint64
	err := tx.QueryRowContext(ctx, `SELECT generation FROM event_consumers WHERE name = $1`, consumer).Scan(&now)
	if errors.Is(err, sql.ErrNoRows) || err == nil && now != generation {
		return errMoved
	}
	return err
}

// move gives a consumer a new generation at some positions.
func (s *Service) move(ctx context.Context, consumer string, positions map[timeline.Key]uint64) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `UPDATE event_consumers SET generation = generation + 1 WHERE name = $1`, consumer)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil {
			return err
		} else if n == 0 {
			return errNoConsumer
		}
		for k := range positions {
			if _, err := tx.ExecContext(ctx, `DELETE FROM event_positions WHERE consumer = $1 AND stream = $2`, consumer, int64(k.ID)); err != nil {
				return err
			}
		}
		return putPositions(ctx, tx, consumer, positions)
	})
}

func (s *Service) deleteConsumer(ctx context.Context, name string) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM event_consumers WHERE name = $1`, name); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM event_positions WHERE consumer = $1`, name); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM event_dead WHERE consumer = $1`, name)
		return err
	})
}

// setError stores the error of a consumer's webhook; "" if it works again.
func (s *Service) setError(ctx context.Context, consumer, text string) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE event_consumers SET last_error = $2 WHERE name = $1 AND last_error <> $2`, consumer, text)
		return err
	})
}
