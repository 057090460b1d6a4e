package verify

import (
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// each calls do for each row of a query. A table that does not exist counts as empty, because a new directory lacks some; where there are
// conversations, all tables must exist.
func (c *check) each(query string, do func(*sql.Rows) error) error {
	err := c.query(query, do)
	if err == nil || !strings.Contains(err.Error(), "no such table") {
		return err
	}
	if len(c.conversations) > 0 {
		c.report.violate("records", "the SQL database", "%d conversations are stored, but: %v", len(c.conversations), err)
	}
	return nil
}

var fromTable = regexp.MustCompile(` FROM (\w+)`)

// query calls do for each row of a query.
func (c *check) query(query string, do func(*sql.Rows) error, args ...any) (err error) {
	defer func() {
		if m := fromTable.FindStringSubmatch(query); err != nil && m != nil {
			err = fmt.Errorf("table %s: %w", m[1], err)
		}
	}()
	rows, err := c.db.QueryContext(c.ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := do(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// file checks the pages of the database file.
func (c *check) file() error {
	if meta, err := sqldb.ReadMeta(c.ctx, c.files); err == nil && !meta.Checksums {
		c.report.Notes = append(c.report.Notes, "the pages of the database file have no checksums, because an earlier build created it: a changed byte within a value is not found")
	}
	found, err := sqldb.CheckPages(c.ctx, c.files, true)
	for _, text := range found {
		c.report.violate("records", "the SQL database", "%s", text)
	}
	return err
}

// members compares the rows with the log, for conversations whose rows are up to date.
func (c *check) members() error {
	current := map[uint64]bool{}
	err := c.each(`SELECT id, applied FROM conversations`, func(r *sql.Rows) error {
		var n, applied uint64
		if err := r.Scan(&n, &applied); err != nil {
			return err
		}
		v := c.conversations[n]
		switch {
		case v != nil && v.unreadable:
		case v == nil && applied > 0:
			c.report.violate("members", fmt.Sprintf("conversation %d", n), "the rows are at control entry %d, but there is no log", applied)
		case v != nil && applied > v.access:
			c.report.violate("members", v.where(), "the rows are at control entry %d, but the last one is %d", applied, v.access)
		case v != nil && applied == v.access:
			current[n] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	counts := map[uint64]int{}
	err = c.each(`SELECT conversation, member, join_seq, CASE WHEN follower THEN former_leave_seq ELSE leave_seq END FROM members WHERE NOT follower OR former_leave_seq > 0`, func(r *sql.Rows) error {
		var n, u, join, leave uint64
		if err := r.Scan(&n, &u, &join, &leave); err != nil {
			return err
		}
		if !current[n] {
			return nil
		}
		counts[n]++
		list := c.conversations[n].members[u]
		if len(list) == 0 || list[len(list)-1] != (interval{join, leave}) {
			c.report.violate("members", c.conversations[n].where(), "the rows say that user %d was a member from %d to %d; the log says %v", u, join, leave, list)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for n := range current {
		if v := c.conversations[n]; counts[n] != len(v.members) {
			c.report.violate("members", v.where(), "the rows have %d members, the log has %d", counts[n], len(v.members))
		}
	}
	return nil
}

// cursors checks that no cursor is beyond its conversation's end, and that outbox events can be decoded.
func (c *check) cursors() error {
	var list []cursor
	err := c.each(`SELECT owner, conversation, read_seq, read_counted, delivered_seq FROM views`, func(r *sql.Rows) error {
		var u, n, read, counted, delivered uint64
		if err := r.Scan(&u, &n, &read, &counted, &delivered); err != nil {
			return err
		}
		where := fmt.Sprintf("user %d in conversation %d", u, n)
		v := c.conversations[n]
		if v != nil && v.unreadable {
			return nil
		}
		if v == nil || read > v.tail || delivered > v.tail {
			c.report.violate("cursors", where, "the cursors read %d and delivered %d are beyond the conversation's end", read, delivered)
			return nil
		}
		if read == 0 {
			return nil
		}
		if read < v.head && counted <= read {
			return nil // it may have expired
		}
		at := timeline.Ref{Key: timeline.Key{Kind: timeline.Conversation, ID: n}, From: read, To: read}
		if list = append(list, cursor{where, at, counted}); len(list) < atOnce {
			return nil
		}
		err := c.checkCursors(list)
		list = list[:0]
		return err
	})
	if err == nil {
		err = c.checkCursors(list)
	}
	if err != nil {
		return err
	}
	return c.each(`SELECT n, owner, body FROM outbox`, func(r *sql.Rows) error {
		var n, u uint64
		var body []byte
		if err := r.Scan(&n, &u, &body); err != nil {
			return err
		}
		var e chatv1.Event
		if proto.Unmarshal(body, &e) != nil || e.Body == nil {
			c.report.violate("records", fmt.Sprintf("user %d", u), "outbox event %d cannot be decoded", n)
		}
		return nil
	})
}

// quarantine reports the quarantined entries. An earlier release had no table for them. It is the last step: PostgreSQL rejects further
// statements in a transaction after an error.
func (c *check) quarantine() error {
	err := c.query(`SELECT conversation, seq, why FROM quarantine`, func(r *sql.Rows) error {
		var n, seq uint64
		var why string
		if err := r.Scan(&n, &seq, &why); err != nil {
			return err
		}
		c.report.violate("damaged", fmt.Sprintf("conversation %d", n), "entry %d is in quarantine, and was not fanned out to its members: %s", seq, why)
		return nil
	})
	if undefined := new(pgconn.PgError); err != nil && (strings.Contains(err.Error(), "no such table") || errors.As(err, &undefined) && undefined.Code == "42P01") {
		return nil
	}
	return err
}
