package helpdesk

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

const (
	maxDesks    = 100
	maxAgents   = 100
	maxRanges   = 50
	maxHolidays = 100
	maxText     = 1000 // characters of a greeting, an away message, a comment
)

var (
	errTooMany = errs.New(errs.Exhausted, "too_many_help_desks", "there are 100 help desks, which is the most: change one of them")
)

// PutHelpDesk creates the desk with a key, or replaces its settings. Active tickets of users who are no longer agents go back to the queue.
func (s *Service) PutHelpDesk(ctx context.Context, q *chatv1.HelpDesk) (*chatv1.HelpDesk, error) {
	d, err := checkDesk(q)
	if err != nil {
		return nil, err
	}
	agents := d.Agents
	if err := s.deps.Accounts.Exist(ctx, usersOf(agents)); err != nil {
		return nil, err
	}
	next, err := s.deps.IDs.Next(ctx)
	if err != nil {
		return nil, err
	}
	d.Agents = nil // they have rows
	raw, err := proto.Marshal(d)
	if err != nil {
		return nil, err
	}
	var former []uint64
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if err := s.storeDesk(ctx, tx, d, int64(next), raw); err != nil {
			return err
		}
		former, err = s.replaceAgents(ctx, tx, d, agents)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, u := range former { // those that a crash leaves are released when they are checked
		if err := s.releaseAll(ctx, agentKey{d.Id, id.User(u)}); err != nil {
			return nil, err
		}
	}
	s.requestAssignment()
	d.Agents = agents
	d.IsOpen, d.OpensAtMs = opening(d, s.deps.Clock.Now())
	return d, nil
}

// storeDesk writes a desk's row, and sets its id.
func (s *Service) storeDesk(ctx context.Context, tx *sql.Tx, d *chatv1.HelpDesk, next int64, raw []byte) error {
	err := tx.QueryRowContext(ctx, `SELECT id FROM help_desks WHERE desk_key = $1`, d.Key).Scan(&d.Id)
	if err == nil {
		_, err = tx.ExecContext(ctx, `UPDATE help_desks SET settings = $2 WHERE id = $1`, int64(d.Id), raw)
		return err
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	n := 0
	if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM help_desks`).Scan(&n); err != nil {
		return err
	}
	if n >= maxDesks {
		return errTooMany
	}
	d.Id = uint64(next)
	_, err = tx.ExecContext(ctx, `INSERT INTO help_desks (id, desk_key, settings) VALUES ($1, $2, $3)`, next, d.Key, raw)
	return err
}

// replaceAgents gives a desk its agents, and returns those whom it had before.
func (s *Service) replaceAgents(ctx context.Context, tx *sql.Tx, d *chatv1.HelpDesk, agents []uint64) (former []uint64, err error) {
	before, err := s.agentsOf(ctx, tx, d.Id)
	if err != nil {
		return nil, err
	}
	for _, u := range agents {
		if _, err := tx.ExecContext(ctx, `INSERT INTO help_desk_agents (desk, agent) VALUES ($1, $2) ON CONFLICT DO NOTHING`, int64(d.Id), int64(u)); err != nil {
			return nil, err
		}
	}
	for _, u := range before {
		if slices.Contains(agents, u) {
			continue
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM help_desk_agents WHERE desk = $1 AND agent = $2`, int64(d.Id), int64(u)); err != nil {
			return nil, err
		}
		former = append(former, u)
	}
	return former, nil
}

// checkDesk returns a copy of a desk's settings with their defaults, without what the server knows.
func checkDesk(q *chatv1.HelpDesk) (*chatv1.HelpDesk, error) {
	d := proto.CloneOf(q)
	if d == nil {
		return nil, badDesk("give a help desk")
	}
	d.Name = strings.TrimSpace(d.Name)
	d.Id, d.IsOpen, d.OpensAtMs, d.IsAgent = 0, false, 0, false
	slices.Sort(d.Agents)
	d.Agents = slices.Compact(d.Agents)
	if d.Capacity == 0 {
		d.Capacity = 5
	}
	if d.AbsentSeconds == 0 {
		d.AbsentSeconds = 300
	}
	silence := d.SilenceSeconds
	switch {
	case !isKey(d.Key):
		return nil, badDesk("the key of a help desk has 1 to 64 of a-z, 0-9, - and _")
	case !message.IsName(d.Name), utf8.RuneCountInString(d.Name) > 100:
		return nil, badDesk("the name of a help desk has 1 to 100 characters in one line, without control or text-direction characters")
	case !isParagraph(d.Greeting, maxText):
		return nil, badDesk("the greeting of a help desk has at most 1,000 characters, without control or text-direction characters")
	case !isParagraph(d.AwayMessage, maxText):
		return nil, badDesk("the away message of a help desk has at most 1,000 characters, without control or text-direction characters")
	case len(d.Agents) > maxAgents:
		return nil, badDesk("a help desk has at most 100 agents")
	case d.Capacity > 100:
		return nil, badDesk("the capacity of a help desk is 1 to 100, or 0 for 5")
	case d.AbsentSeconds < 60, d.AbsentSeconds > 86_400:
		return nil, badDesk("absentSeconds of a help desk is 60 to 86,400, or 0 for 300")
	case silence != 0 && (silence < 3600 || silence > 2_592_000):
		return nil, badDesk("silenceSeconds of a help desk is 3,600 to 2,592,000, or 0 for never")
	}
	return d, checkHours(d)
}

func badDesk(why string) error { return errs.New(errs.Invalid, "bad_help_desk", why) }

func checkHours(d *chatv1.HelpDesk) error {
	if _, err := time.LoadLocation(d.TimeZone); err != nil || d.TimeZone == "Local" {
		return badHours("the time zone of business hours is not known; give one such as Europe/Berlin")
	}
	switch {
	case len(d.Hours) > maxRanges:
		return badHours("business hours have at most 50 ranges")
	case len(d.Holidays) > maxHolidays:
		return badHours("business hours have at most 100 holidays")
	}
	for i, h := range d.Hours {
		switch {
		case h == nil, h.Weekday < 1, h.Weekday > 7:
			return badHours(fmt.Sprintf("range %d of the business hours has no weekday of 1 to 7", i+1))
		case h.FromMinute >= h.ToMinute, h.ToMinute > 24*60:
			return badHours(fmt.Sprintf("range %d of the business hours has minutes that are not in order, or not of 0 to 1,440", i+1))
		}
	}
	for i, day := range d.Holidays {
		if _, err := time.Parse(time.DateOnly, day); err != nil {
			return badHours(fmt.Sprintf("holiday %d is no date such as 2026-12-25", i+1))
		}
	}
	return nil
}

func badHours(why string) error { return errs.New(errs.Invalid, "bad_hours", why) }

func isKey(s string) bool {
	return len(s) >= 1 && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// isParagraph reports whether a text has at most some characters, none of which changes how other texts are shown.
func isParagraph(s string, most int) bool {
	return utf8.RuneCountInString(s) <= most && message.IsParagraph(s)
}

func usersOf(list []uint64) []id.User {
	users := make([]id.User, len(list))
	for i, u := range list {
		users[i] = id.User(u)
	}
	return users
}

// desk returns the settings of a desk.
func (s *Service) desk(ctx context.Context, from sqldb.Querier, desk uint64) (*chatv1.HelpDesk, error) {
	var raw []byte
	err := from.QueryRowContext(ctx, `SELECT settings FROM help_desks WHERE id = $1`, int64(desk)).Scan(&raw)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errNoDesk
	}
	if err != nil {
		return nil, err
	}
	d := &chatv1.HelpDesk{}
	err = proto.Unmarshal(raw, d)
	d.Id = desk
	return d, err
}

// agentsOf returns the agents of a desk, ascending.
func (s *Service) agentsOf(ctx context.Context, from sqldb.Querier, desk uint64) ([]uint64, error) {
	rows, err := from.QueryContext(ctx, `SELECT agent FROM help_desk_agents WHERE desk = $1 ORDER BY agent`, int64(desk))
	return sqldb.Column[uint64](rows, err)
}

func (s *Service) isAgent(ctx context.Context, from sqldb.Querier, desk uint64, u id.User) (is bool, err error) {
	err = from.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM help_desk_agents WHERE desk = $1 AND agent = $2)`, int64(desk), int64(u)).Scan(&is)
	return is, err
}

// requireAgent fails unless a caller is an agent of a desk, or an API key.
func (s *Service) requireAgent(ctx context.Context, from sqldb.Querier, desk uint64, c id.Caller) error {
	is, err := s.isAgent(ctx, from, desk, c.User)
	switch {
	case err != nil:
		return err
	case c.Server:
		_, err := s.desk(ctx, from, desk)
		return err
	case !is:
		return errNoDesk
	}
	return nil
}

// ListHelpDesks returns the desks by id. Their agents are for agents of the desk, and for API keys.
func (s *Service) ListHelpDesks(ctx context.Context, c id.Caller) (*chatv1.ListHelpDesksResponse, error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT d.id, d.settings, EXISTS (SELECT 1 FROM help_desk_agents a WHERE a.desk = d.id AND a.agent = $1) FROM help_desks d ORDER BY d.id LIMIT $2`, int64(c.User), maxDesks)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out, now := &chatv1.ListHelpDesksResponse{}, s.deps.Clock.Now()
	for rows.Next() {
		var desk uint64
		var raw []byte
		var is bool
		if err := rows.Scan(&desk, &raw, &is); err != nil {
			return nil, err
		}
		d := &chatv1.HelpDesk{}
		if err := proto.Unmarshal(raw, d); err != nil {
			return nil, err
		}
		d.Id, d.IsAgent = desk, is
		d.IsOpen, d.OpensAtMs = opening(d, now)
		out.Desks = append(out.Desks, d)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for _, d := range out.Desks {
		if !d.IsAgent && !c.Server {
			continue
		}
		if d.Agents, err = s.agentsOf(ctx, s.deps.DB.Read(), d.Id); err != nil {
			return nil, err
		}
	}
	return out, nil
}
