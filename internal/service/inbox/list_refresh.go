package inbox

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Rows keep a user's list in order: the time of the last activity (members.active_ms of package chat), and which conversations may have
// unread messages (views.unread_ms). They are a projection of the logs, with a watermark in the user's stream. A request for a page first
// refreshes the conversations that the stream has named since the watermark. So each entry of a stream costs at most one refresh, whatever
// the length of the list, and a page reads only its own rows. Large groups are in no stream: their tails are compared instead.
//
// The rows have no counts. Until the next badge they may mark too many conversations as unread, but never too few. A refresh is
// idempotent, also on two nodes at once. If entries after the watermark are missing in the stream, all conversations are refreshed in
// batches, and each batch is kept.

const (
	// refreshBatch bounds the conversations, and the entries of a stream, between two writes of rows.
	refreshBatch = 500
	// maxRefreshes bounds the users whose lists are refreshed at once, each by one call.
	maxRefreshes = 16
)

// refreshesInFlight lets one call at a time refresh a user's list. The others wait for it.
type refreshesInFlight map[id.User]chan struct{}

// refreshList updates a user's rows up to the end of the stream.
func (s *Service) refreshList(ctx context.Context, u id.User) error {
	for {
		stale, err := s.listIsStale(ctx, u)
		if err != nil || !stale {
			return err
		}
		s.mu.Lock()
		other := s.refreshes[u]
		var done chan struct{}
		if other == nil {
			done = make(chan struct{})
			s.refreshes[u] = done
		}
		s.mu.Unlock()
		if other == nil {
			return s.refreshListAlone(ctx, u, done)
		}
		select {
		case <-other:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// refreshListAlone refreshes a user's list, and closes done when others may. So a user has at most one of maxRefreshes slots, however slow
// the refresh is and however many calls the user makes.
func (s *Service) refreshListAlone(ctx context.Context, u id.User, done chan struct{}) error {
	defer func() { // also after a panic, which the caller recovers from
		s.mu.Lock()
		delete(s.refreshes, u)
		s.mu.Unlock()
		close(done)
	}()
	return s.refreshListOnce(ctx, u)
}

// watermark of a user's rows in the stream.
type watermark struct {
	known    bool
	position message.Position
	above    int64 // conversations above this id must still be refreshed; allRefreshed: none
}

const allRefreshed = -1

func (s *Service) watermark(ctx context.Context, u id.User) (w watermark, err error) {
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT position, above FROM listed WHERE owner = $1`, int64(u)).Scan(&w.position, &w.above)
	if errors.Is(err, sql.ErrNoRows) {
		return w, nil
	}
	w.known = err == nil
	return w, err
}

// listIsStale reports whether the stream or a large group has entries that the rows lack.
func (s *Service) listIsStale(ctx context.Context, u id.User) (bool, error) {
	w, err := s.watermark(ctx, u)
	if err != nil {
		return false, err
	}
	tail, err := s.Tail(ctx, u)
	if err != nil {
		return false, err
	}
	if !w.known || w.above != allRefreshed || w.position < tail || w.position > tail && w.position.Epoch() >= s.deps.Log.Epoch() {
		return true, nil
	}
	grown, err := s.grownLargeGroups(ctx, u)
	return len(grown) > 0, err
}

func (s *Service) refreshListOnce(ctx context.Context, u id.User) error {
	select {
	case s.refreshSlots <- struct{}{}:
		defer func() { <-s.refreshSlots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	w, err := s.watermark(ctx, u)
	if err != nil {
		return err
	}
	tail, err := s.Tail(ctx, u)
	if err != nil {
		return err
	}
	if !w.known || w.position > tail && w.position.Epoch() >= s.deps.Log.Epoch() { // from before a restored backup
		w = watermark{position: tail}
	}
	if err := s.refreshAll(ctx, u, w); err != nil {
		return err
	}
	for w.position < tail {
		next, err := s.refreshFromStream(ctx, u, w.position)
		if errors.Is(err, errStreamGap) {
			return s.refreshAll(ctx, u, watermark{position: tail})
		}
		if err != nil {
			return err
		}
		w.position = next
	}
	grown, err := s.grownLargeGroups(ctx, u)
	if err != nil {
		return err
	}
	return s.refreshRows(ctx, u, grown, nil)
}

// refreshAll refreshes the conversations above the watermark's id.
func (s *Service) refreshAll(ctx context.Context, u id.User, w watermark) error {
	for w.above != allRefreshed {
		list, err := s.deps.Conversations.MembershipsAfter(ctx, u, id.Conversation(w.above), refreshBatch)
		if err != nil {
			return err
		}
		w.above = allRefreshed
		if len(list) == refreshBatch {
			w.above = int64(list[len(list)-1].Conversation)
		}
		if err := s.refreshRows(ctx, u, list, &w); err != nil {
			return err
		}
	}
	return nil
}

var errStreamGap = errors.New("the stream lacks entries after the watermark")

// refreshFromStream refreshes the conversations that the next entries of the stream name, and returns the new watermark.
func (s *Service) refreshFromStream(ctx context.Context, u id.User, at message.Position) (message.Position, error) {
	changed := map[id.Conversation]bool{}
	for read := 0; read < refreshBatch; {
		entries, err := s.deps.Log.Read(ctx, streamKey(u), uint64(at), readBatch) // in small batches: events may be large
		if errors.Is(err, timeline.ErrCorrupt) {
			return 0, errStreamGap
		}
		if err != nil {
			return 0, err
		}
		if len(entries) == 0 && read == 0 || len(entries) > 0 && entries[0].Prev > uint64(at) {
			return 0, errStreamGap // the next entry was trimmed
		}
		for i := range entries {
			c, seq, _, err := message.DecodeInbox(entries[i].Payload)
			if err != nil {
				return 0, errStreamGap
			}
			if seq != 0 {
				changed[c] = true
			}
			at = message.Position(entries[i].Seq)
		}
		if read += len(entries); len(entries) < readBatch {
			break
		}
	}
	ids := make([]id.Conversation, 0, len(changed))
	for c := range changed {
		ids = append(ids, c)
	}
	slices.Sort(ids)
	list, err := s.deps.Conversations.MembershipsIn(ctx, u, ids)
	if err != nil {
		return 0, err
	}
	return at, s.refreshRows(ctx, u, list, &watermark{position: at, above: allRefreshed})
}

// grownLargeGroups returns the large groups of a user with entries that the rows lack.
func (s *Service) grownLargeGroups(ctx context.Context, u id.User) ([]Membership, error) {
	of, err := s.LargeGroups(ctx, []id.User{u})
	if err != nil || len(of[0]) == 0 {
		return nil, err
	}
	large := of[0]
	tails, err := s.LargeTails(ctx, large)
	if err != nil {
		return nil, err
	}
	seen := make(map[id.Conversation]uint64, len(large))
	for batch := range slices.Chunk(large, maxIDsPerQuery) {
		marks, args := sqldb.Placeholders(2, batch, func(c id.Conversation) int64 { return int64(c) })
		if err := s.readSeenSeqs(ctx, seen, `SELECT conversation, seen_seq FROM views WHERE owner = $1 AND conversation IN (`+marks+`)`, append([]any{int64(u)}, args...)); err != nil {
			return nil, err
		}
	}
	var grown []id.Conversation
	for i, c := range large {
		if tails[i] > seen[c] {
			grown = append(grown, c)
		}
	}
	return s.deps.Conversations.MembershipsIn(ctx, u, grown)
}

func (s *Service) readSeenSeqs(ctx context.Context, readSeenSeqs map[id.Conversation]uint64, query string, args []any) error {
	rows, err := s.deps.DB.Read().QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var c id.Conversation
		var seq uint64
		if err := rows.Scan(&c, &seq); err != nil {
			return err
		}
		readSeenSeqs[c] = seq
	}
	return rows.Err()
}

// refreshRows loads conversations and writes their rows, with the watermark if there is one.
func (s *Service) refreshRows(ctx context.Context, u id.User, list []Membership, w *watermark) error {
	rows, err := s.loadRows(ctx, u, list)
	if err != nil {
		return err
	}
	return s.saveRows(ctx, u, rows, w)
}

// saveRows writes rows. It keeps a row that another call loaded later.
func (s *Service) saveRows(ctx context.Context, u id.User, rows []*row, w *watermark) error {
	if len(rows) == 0 && w == nil {
		return nil
	}
	active := make([]Activity, 0, len(rows))
	for _, r := range rows {
		if r.lastMs > r.ActiveMs {
			active = append(active, Activity{Conversation: r.Conversation, Ms: r.lastMs})
		}
	}
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if err := s.deps.Conversations.RecordActivity(ctx, tx, u, active); err != nil {
			return err
		}
		for _, r := range rows {
			if err := saveUnread(ctx, tx, u, r); err != nil {
				return err
			}
			if !r.Deleted || r.Leave != 0 || r.tail.Counted <= r.ClearedCounted {
				continue
			}
			if err := s.deps.Conversations.Restore(ctx, tx, u, r.Conversation, r.tail.Counted); err != nil {
				return err
			}
		}
		if w == nil {
			return nil
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO listed (owner, position, above) VALUES ($1, $2, $3) ON CONFLICT (owner) DO UPDATE SET position = $2, above = $3`,
			int64(u), int64(w.position), w.above)
		return err
	})
}

func saveUnread(ctx context.Context, tx *sql.Tx, u id.User, r *row) error {
	var unreadMs int64
	if r.unread > 0 && r.Leave == 0 {
		unreadMs = max(r.lastMs, r.ActiveMs, 1)
	}
	if unreadMs == 0 && !r.Large { // an absent row means the same
		_, err := tx.ExecContext(ctx, `UPDATE views SET unread_ms = 0, seen_seq = $3 WHERE owner = $1 AND conversation = $2 AND seen_seq <= $3 AND unread_ms > 0`,
			int64(u), int64(r.Conversation), int64(r.tail.Seq))
		return err
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO views (owner, conversation, unread_ms, seen_seq) VALUES ($1, $2, $3, $4)
		ON CONFLICT (owner, conversation) DO UPDATE SET unread_ms = $3, seen_seq = $4 WHERE views.seen_seq <= $4`, int64(u), int64(r.Conversation), unreadMs, int64(r.tail.Seq))
	return err
}
