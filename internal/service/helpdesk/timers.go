package helpdesk

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

const (
	// interval is the time between two rounds. A round that is requested comes at once.
	interval = time.Second
	// presenceInterval is the time between two looks at which agents are online.
	presenceInterval = 15 * time.Second
	// perRound bounds the rows of one step of a round.
	perRound = 100
)

// Run does what time brings, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	rounds := cluster.Periodic{IsCoordinator: s.deps.IsCoordinator, Interval: interval, Wake: s.wake, Round: s.Round, Failed: "help desks go on later", NotCoordinator: s.forgetPresence, Logger: s.deps.Logger}
	purges := cluster.Periodic{IsCoordinator: s.deps.IsCoordinator, Interval: purgeInterval, AtStart: true, Round: s.Purge, Failed: "old tickets are deleted later", Logger: s.deps.Logger}
	var group sync.WaitGroup
	group.Go(func() { rounds.Run(ctx) })
	group.Go(func() { purges.Run(ctx) })
	group.Wait()
	return nil
}

// forgetPresence makes the next look at presence begin anew, since this node is not the coordinator meanwhile.
func (s *Service) forgetPresence() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.presenceOld = true
}

// Round does once what Run does. A failure of one step does not keep the others from theirs.
func (s *Service) Round(ctx context.Context) error {
	return errors.Join(s.syncAll(ctx), s.confirmAll(ctx), s.checkPresence(ctx), s.checkSilence(ctx), s.assignAll(ctx))
}

// syncAll brings conversations up to date whose tickets changed on a node that did not finish. Each round goes on where the one before ended, so that
// tickets that fail again and again hold up no others.
func (s *Service) syncAll(ctx context.Context) error {
	return s.eachFrom(&s.syncedTo, func(after uint64) ([]*ticket, error) {
		return scanAll(s.deps.DB.Read().QueryContext(ctx, `SELECT `+columns+` FROM tickets WHERE synced < version AND id > $1 ORDER BY id LIMIT $2`, int64(after), perRound))
	}, func(t *ticket) error { return s.sync(ctx, t.id) })
}

// eachFrom calls do for a page of tickets after the place where the last round ended, and stores the next place. mu guards the place.
func (s *Service) eachFrom(place *uint64, page func(after uint64) ([]*ticket, error), do func(*ticket) error) error {
	s.mu.Lock()
	after := *place
	s.mu.Unlock()
	list, err := page(after)
	if after = 0; len(list) == perRound {
		after = list[perRound-1].id
	}
	s.mu.Lock()
	*place = after
	s.mu.Unlock()
	for _, t := range list {
		err = errors.Join(err, do(t))
	}
	return err
}

// assignAll assigns waiting tickets of the desks that do so automatically and are open.
func (s *Service) assignAll(ctx context.Context) error {
	desks, err := s.desksWaiting(ctx)
	for _, d := range desks {
		if open, _ := opening(d, s.deps.Clock.Now()); open && d.AutoAssign {
			err = errors.Join(err, s.assignDesk(ctx, d))
		}
	}
	return err
}

// desksWaiting returns the desks with a queue.
func (s *Service) desksWaiting(ctx context.Context) (list []*chatv1.HelpDesk, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id, settings FROM help_desks d WHERE EXISTS (SELECT 1 FROM tickets t WHERE t.desk = d.id AND t.status = 1) ORDER BY id LIMIT $1`, maxDesks)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var desk uint64
		var raw []byte
		if err := rows.Scan(&desk, &raw); err != nil {
			return err
		}
		d := &chatv1.HelpDesk{}
		if err := proto.Unmarshal(raw, d); err != nil {
			return err
		}
		d.Id = desk
		list = append(list, d)
		return nil
	})
	return list, err
}

// assignDesk assigns tickets while one waits and an agent has room for it.
func (s *Service) assignDesk(ctx context.Context, d *chatv1.HelpDesk) error {
	agents, err := s.agentsOf(ctx, s.deps.DB.Read(), d.Id)
	if err != nil || len(agents) == 0 {
		return err
	}
	online, err := s.deps.Online(ctx, usersOf(agents))
	if err != nil {
		return err
	}
	present := map[id.User]bool{}
	for i, u := range agents {
		present[id.User(u)] = online[i]
	}
	for range perRound {
		assigned, err := s.assignFirst(ctx, d, present)
		if err != nil || !assigned {
			return err
		}
	}
	return nil
}

// assignFirst assigns the first waiting ticket of a desk, if an agent has room for it.
func (s *Service) assignFirst(ctx context.Context, d *chatv1.HelpDesk, present map[id.User]bool) (assigned bool, err error) {
	var found uint64
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		assigned = false
		agents, err := s.withRoom(ctx, tx, d, present)
		if err != nil || len(agents) == 0 {
			return err
		}
		only := id.User(0) // who alone has room does not get the own ticket, which keeps no others waiting
		if len(agents) == 1 {
			only = agents[0]
		}
		if found, err = s.firstWaiting(ctx, tx, d.Id, only); err != nil || found == 0 {
			return err
		}
		t, err := s.ticket(ctx, tx, found)
		if err != nil {
			return err
		}
		agent := agents[0]
		if agent == t.customer {
			agent = agents[1]
		}
		if err := s.assign(ctx, tx, t, agent); err != nil {
			return err
		}
		assigned, t.actor = true, 0
		return s.store(ctx, tx, t, t.desk)
	})
	if err != nil || !assigned {
		return false, err
	}
	s.deps.Outbox.Wake()
	return true, s.sync(ctx, found)
}

// withRoom returns at most two present agents with fewer active tickets than the capacity: the one with the fewest, of several the one whose last
// assignment is the oldest, and the next one.
func (s *Service) withRoom(ctx context.Context, tx *sql.Tx, d *chatv1.HelpDesk, present map[id.User]bool) (list []id.User, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT a.agent, (SELECT COUNT(*) FROM tickets t WHERE t.desk = a.desk AND t.agent = a.agent AND t.status = 2) AS serving FROM help_desk_agents a WHERE a.desk = $1
		ORDER BY serving, a.assigned_ms, a.agent`, int64(d.Id))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() && len(list) < 2 {
		var u id.User
		var load uint32
		if err := rows.Scan(&u, &load); err != nil {
			return nil, err
		}
		if present[u] && load < d.Capacity {
			list = append(list, u)
		}
	}
	return list, rows.Err()
}

// checkPresence puts the tickets of agents back into the queue who have been offline for too long. It counts the time between its looks, and
// none of it twice as long as planned, so that a clock that jumps makes nobody absent.
func (s *Service) checkPresence(ctx context.Context) error {
	now := s.deps.Clock.Now()
	s.mu.Lock()
	elapsed := now.Sub(s.presenceAt)
	if !s.presenceOld && elapsed >= 0 && elapsed < presenceInterval {
		s.mu.Unlock()
		return nil
	}
	if s.presenceOld {
		clear(s.offline)
		elapsed = 0
	}
	s.presenceAt, s.presenceOld = now, false
	s.mu.Unlock()
	elapsed = min(max(elapsed, 0), 2*presenceInterval)
	serving, err := s.serving(ctx)
	if err != nil {
		return err
	}
	offline := map[agentKey]time.Duration{}
	for desk, agents := range serving {
		online, err := s.deps.Online(ctx, agents)
		if err != nil {
			return err
		}
		for i, u := range agents {
			if key := (agentKey{desk, u}); !online[i] {
				offline[key] = s.offlineFor(key) + elapsed
			}
		}
	}
	s.mu.Lock()
	s.offline = offline
	s.mu.Unlock()
	for key, d := range offline {
		err = errors.Join(err, s.releaseAbsent(ctx, key, d))
	}
	return err
}

func (s *Service) offlineFor(key agentKey) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.offline[key]
}

// serving returns the agents who have active tickets, of each desk: at most maxAgents of maxDesks.
func (s *Service) serving(ctx context.Context) (map[uint64][]id.User, error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT a.desk, a.agent FROM help_desk_agents a WHERE EXISTS (SELECT 1 FROM tickets t WHERE t.desk = a.desk AND t.agent = a.agent AND t.status = 2) ORDER BY a.desk, a.agent`)
	found := map[uint64][]id.User{}
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var desk uint64
		var u id.User
		if err := rows.Scan(&desk, &u); err != nil {
			return err
		}
		found[desk] = append(found[desk], u)
		return nil
	})
	return found, err
}

// releaseAbsent puts the tickets of an agent who has been offline for d back into the queue, if that is too long.
func (s *Service) releaseAbsent(ctx context.Context, key agentKey, d time.Duration) error {
	desk, err := s.desk(ctx, s.deps.DB.Read(), key.desk)
	if err != nil || d < time.Duration(desk.AbsentSeconds)*time.Second {
		return err
	}
	return s.releaseAll(ctx, key)
}

// perRelease bounds the tickets of one transaction, each of which has an event for all agents.
const perRelease = 20

// releaseAll puts all tickets of an agent back into the queue, of which the one that was taken first becomes the first.
func (s *Service) releaseAll(ctx context.Context, key agentKey) error {
	for {
		var list []*ticket
		err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
			var err error
			if list, err = s.newestOf(ctx, tx, key.desk, key.agent, perRelease); err != nil {
				return err
			}
			for _, t := range list {
				if err := s.requeue(ctx, tx, t); err != nil {
					return err
				}
			}
			return nil
		})
		s.deps.Outbox.Wake()
		for _, t := range list {
			err = errors.Join(err, s.sync(ctx, t.id))
		}
		if err != nil || len(list) < perRelease {
			return err
		}
	}
}
