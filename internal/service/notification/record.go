package notification

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
)

// record stores causes in the transaction of their operations, and merges them into notifications. Nobody is notified by themself, by somebody silenced, or of
// a kind that is off. The likes of one transaction may be thousands: whether their actors are silenced is checked at reads only.
func (s *Service) record(ctx context.Context, tx *sql.Tx, list []*cause) error {
	byOwner := map[id.User]map[topic][]*cause{}
	now := s.nowMs()
	for _, c := range list {
		if c.owner == 0 || c.owner == c.actor {
			continue
		}
		c.at = now
		if byOwner[c.owner] == nil {
			byOwner[c.owner] = map[topic][]*cause{}
		}
		byOwner[c.owner][c.topic] = append(byOwner[c.owner][c.topic], c)
	}
	if len(byOwner) == 0 {
		return nil
	}
	users := slices.Sorted(maps.Keys(byOwner)) // so that nodes lock rows in the same order
	owners, err := getOwners(ctx, tx, users)
	if err != nil {
		return err
	}
	for _, u := range users {
		if err := s.recordOf(ctx, tx, owners[u], byOwner[u], now); err != nil {
			return err
		}
	}
	return s.reached("recorded")
}

// recordOf stores the causes of one user.
func (s *Service) recordOf(ctx context.Context, tx *sql.Tx, o *owner, topics map[topic][]*cause, now int64) error {
	before := *o
	for _, t := range slices.SortedFunc(maps.Keys(topics), topic.compare) {
		causes := topics[t]
		if o.isOff(t.kind) {
			continue
		}
		if t.kind != likeKind {
			var err error
			if causes, err = s.audible(ctx, tx, o.user, causes); err != nil {
				return err
			}
		}
		if len(causes) == 0 {
			continue
		}
		if err := s.merge(ctx, tx, o, t, causes, now); err != nil {
			return err
		}
	}
	if *o == before {
		return nil
	}
	s.hints.want(o.user, o.last)
	return putOwner(ctx, tx, o)
}

// audible returns the causes whose actors are not silenced.
func (s *Service) audible(ctx context.Context, tx *sql.Tx, u id.User, causes []*cause) ([]*cause, error) {
	silenced, err := s.deps.Graph.MutedOrBlockedAmong(ctx, tx, u, actorsOf(causes))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(causes, func(c *cause) bool { return silenced[c.actor] }), nil
}

// actorsOf returns the actors of causes, each once.
func actorsOf(causes []*cause) []id.User {
	seen := map[id.User]bool{}
	for _, c := range causes {
		seen[c.actor] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// merge stores causes of one topic in its unread notification, or in a new one.
func (s *Service) merge(ctx context.Context, tx *sql.Tx, o *owner, t topic, causes []*cause, now int64) error {
	r, err := unreadRow(ctx, tx, o, t)
	if err != nil {
		return err
	}
	isNew := r == nil
	if isNew {
		r = &row{id: o.last + 1, topic: t}
	}
	// Not above the last list: a read of that list must not cover what happens now.
	moves := isNew || r.pos <= o.listed || now-r.moved >= moveInterval.Milliseconds() || now < r.moved
	room := max(s.sizes.causes-r.causes, 0)
	turnsOver := causes[0].item != 0 // one actor may have many of them: what they deleted must not keep others out
	if turnsOver {
		room = len(causes)
	}
	if room == 0 && !moves {
		return nil
	}
	slices.SortFunc(causes, func(a, b *cause) int { return cmp.Or(cmp.Compare(a.actor, b.actor), cmp.Compare(a.item, b.item)) })
	added := 0
	for _, c := range causes[:min(room, len(causes))] {
		n, err := insertCause(ctx, tx, c, r.id)
		if err != nil {
			return err
		}
		added += n
	}
	if added == 0 && room > 0 { // they are in notifications already
		return nil
	}
	r.causes += added
	if over := r.causes - s.sizes.causes; turnsOver && over > 0 {
		if err := dropOldest(ctx, tx, o.user, r, over); err != nil {
			return err
		}
	}
	if moves {
		o.last++
		r.pos, r.moved = o.last, now
	}
	if isNew {
		o.kept++
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO notifications (owner, id, kind, subject_kind, subject, pos, causes, moved_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (owner, id) DO UPDATE SET pos = $6, causes = $7, moved_ms = $8`, int64(o.user), int64(r.id), int64(t.kind), int64(t.subjectKind), int64(t.subject), int64(r.pos), r.causes, r.moved)
	return err
}

// dropOldest deletes the oldest causes of a notification that has too many.
func dropOldest(ctx context.Context, tx *sql.Tx, u id.User, r *row, over int) error {
	r.causes -= over
	_, err := tx.ExecContext(ctx, `DELETE FROM notification_causes WHERE owner = $1 AND kind = $2 AND subject_kind = $3 AND subject = $4 AND (actor, item) IN (
		SELECT actor, item FROM notification_causes WHERE owner = $1 AND notification = $5 ORDER BY at_ms, item, actor LIMIT $6)`,
		int64(u), int64(r.kind), int64(r.subjectKind), int64(r.subject), int64(r.id), over)
	return err
}

// insertCause stores a cause, unless it is stored, and returns how many are new.
func insertCause(ctx context.Context, tx *sql.Tx, c *cause, notification uint64) (int, error) {
	done, err := tx.ExecContext(ctx, `INSERT INTO notification_causes (owner, kind, subject_kind, subject, actor, item, notification, at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (owner, kind, subject_kind, subject, actor, item) DO NOTHING`,
		int64(c.owner), int64(c.kind), int64(c.subjectKind), int64(c.subject), int64(c.actor), int64(c.item), int64(notification), c.at)
	if err != nil {
		return 0, err
	}
	n, err := done.RowsAffected()
	return int(n), err
}

// remove removes causes whose operation was undone by an edit, or answered by their owner.
func (s *Service) remove(ctx context.Context, tx *sql.Tx, list []*cause) error {
	for _, c := range list {
		var n uint64
		err := tx.QueryRowContext(ctx, `DELETE FROM notification_causes WHERE owner = $1 AND kind = $2 AND subject_kind = $3 AND subject = $4 AND actor = $5 AND item = $6 RETURNING notification`,
			int64(c.owner), int64(c.kind), int64(c.subjectKind), int64(c.subject), int64(c.actor), int64(c.item)).Scan(&n)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE notifications SET causes = causes - 1 WHERE owner = $1 AND id = $2`, int64(c.owner), int64(n)); err != nil {
			return err
		}
	}
	return nil
}
