package push

import (
	"context"
	"database/sql"
	"slices"
	"strconv"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/job"
)

// everybody, among those whom a message mentions, stands for all members.
const everybody = id.User(0)

// membersAtOnce are the members of a group whom a job examines.
const membersAtOnce = 500

// mentioned is a job that has those pushed whom a message of a large group mentions. Of all members it has the next ones after a user, and inserts the next
// job in its transaction.
type mentioned struct {
	Conversation id.Conversation `json:"conversation"`
	Seq          uint64          `json:"seq"`
	Users        []id.User       `json:"users,omitempty"` // absent: all members
	After        id.User         `json:"after,omitempty"`
}

// Kind of the job.
func (mentioned) Kind() string { return "push_mention" }

// Mentioned is called in the transaction that stores whom a message of a large group mentions, at least once for each.
func (s *Service) Mentioned(ctx context.Context, tx *sql.Tx, c id.Conversation, seq uint64, users []id.User) error {
	if s.config.Off || len(users) == 0 {
		return nil
	}
	var some bool
	if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM push_users)`).Scan(&some); err != nil || !some {
		return err
	}
	j := mentioned{Conversation: c, Seq: seq, Users: users}
	if slices.Contains(users, everybody) {
		j.Users = nil
	}
	_, err := s.deps.Jobs.InsertTx(ctx, tx, j, job.Options{Queue: Queue, Unique: strconv.FormatUint(uint64(c), 10) + ":" + strconv.FormatUint(seq, 10)})
	return err // the next poll finds the job
}

// mention queues the pushes of those whom a message mentions. It does not check who is active: delivery does, when it is known.
func (s *Service) mention(ctx context.Context, j mentioned) error {
	users, next := j.Users, id.User(0)
	if len(users) == 0 {
		var err error
		if users, next, err = s.deps.Chat.AudiencePage(ctx, j.Conversation, j.Seq, j.After, membersAtOnce); err != nil {
			return err
		}
	}
	var subscribed []id.User
	for some := range slices.Chunk(users, usersAtOnce) {
		positions, err := s.positionsOf(ctx, some)
		if err != nil {
			return err
		}
		for _, u := range some {
			if _, is := positions[u]; is {
				subscribed = append(subscribed, u)
			}
		}
	}
	if len(subscribed) == 0 && next == 0 {
		return nil
	}
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		for _, u := range subscribed {
			if _, err := s.queue(ctx, tx, u, map[id.Conversation]uint64{j.Conversation: j.Seq}); err != nil {
				return err
			}
		}
		if next == 0 {
			return nil
		}
		_, err := s.deps.Jobs.InsertTx(ctx, tx, mentioned{Conversation: j.Conversation, Seq: j.Seq, After: next}, job.Options{Queue: Queue})
		return err
	})
	if err == nil {
		s.deps.Jobs.Wake()
	}
	return err
}
