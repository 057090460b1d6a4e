package verify

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/timeline"
	"google.golang.org/protobuf/proto"
)

// each calls do for each row of a query. A table that a fresh directory has not yet is empty; where there are conversations
// there are all tables.
func (c *check) each(query string, do func(*sql.Rows) error) error {
	err := c.query(query, do)
	if err == nil || !strings.Contains(err.Error(), "no such table") {
		return err
	}
	if len(c.conversations) > 0 {
		c.report.violate("records", "the records' file", "%d conversations are stored, and there is %v", len(c.conversations), err)
	}
	return nil
}

// query calls do for each row of a query.
func (c *check) query(query string, do func(*sql.Rows) error) error {
	rows, err := c.db.QueryContext(c.ctx, query)
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

// file has SQLite look for damage. Its pages have no checksums: a changed letter of a name is not found.
func (c *check) file() error {
	return c.each(`PRAGMA integrity_check(20)`, func(r *sql.Rows) error {
		var found string
		if err := r.Scan(&found); err != nil {
			return err
		}
		if found != "ok" {
			c.report.violate("records", "the records' file", "%s", found)
		}
		return nil
	})
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
		case v == nil && applied > 0:
			c.report.violate("members", fmt.Sprintf("conversation %d", n), "the rows are of control entry %d, and there is no log", applied)
		case v != nil && applied > v.access:
			c.report.violate("members", v.where(), "the rows are of control entry %d, and the last is %d", applied, v.access)
		case v != nil && applied == v.access:
			current[n] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	counts := map[uint64]int{}
	err = c.each(`SELECT conversation, member, join_seq, leave_seq FROM members`, func(r *sql.Rows) error {
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

// cursors are never ahead of what they count, and events that wait can be read.
func (c *check) cursors() error {
	var list []cursor
	err := c.each(`SELECT owner, conversation, read_seq, read_counted, delivered_seq FROM views`, func(r *sql.Rows) error {
		var u, n, read, counted, delivered uint64
		if err := r.Scan(&u, &n, &read, &counted, &delivered); err != nil {
			return err
		}
		where := fmt.Sprintf("user %d in conversation %d", u, n)
		v := c.conversations[n]
		if v == nil || read > v.tail || delivered > v.tail {
			c.report.violate("cursors", where, "read %d and delivered %d are past the conversation's end", read, delivered)
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
			c.report.violate("records", fmt.Sprintf("user %d", u), "the waiting event %d cannot be read", n)
		}
		return nil
	})
}

// aside has the places of entries that fan-out could not carry. A release before this one had no table of them. It is the last step:
// PostgreSQL answers nothing more in a transaction in which a table was missing.
func (c *check) aside() error {
	err := c.query(`SELECT conversation, seq, why FROM set_aside`, func(r *sql.Rows) error {
		var n, seq uint64
		var why string
		if err := r.Scan(&n, &seq, &why); err != nil {
			return err
		}
		c.report.violate("damaged", fmt.Sprintf("conversation %d", n), "entry %d was set aside, and not carried to its members: %s", seq, why)
		return nil
	})
	if undefined := new(pgconn.PgError); err != nil && (strings.Contains(err.Error(), "no such table") || errors.As(err, &undefined) && undefined.Code == "42P01") {
		return nil
	}
	return err
}
