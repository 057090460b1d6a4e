package directory

import "github.com/rialto-im/rialto/internal/base/wakeup"

// TakeOver makes this node the owner of the directory of a partition, in the term of the node's grant. It is called once no other node
// can append to the users' streams any more: a connection that is registered from now on misses nothing that an earlier owner delivered.
func (s *Service) TakeOver(partition int, term uint64) {
	s.takeovers.Add(1)
	s.reset(partition, term)
}

// Release ends the ownership of a partition.
func (s *Service) Release(partition int) { s.reset(partition, 0) }

// reset forgets what other nodes reported in a partition.
func (s *Service) reset(partition int, term uint64) {
	if s.partitions == nil {
		return
	}
	o := &s.partitions[partition].owner
	o.mu.Lock()
	o.term, o.since, o.settled = term, s.now(), false
	clear(o.registrations)
	clear(o.heard)
	clear(o.watchedBy)
	clear(o.followedBy)
	clear(o.changed)
	for i := range s.shards {
		s.forgetRemote(&s.shards[i], partition)
	}
	o.mu.Unlock()
	wakeup.Signal(s.partitions[partition].reporter.ownerChanged)
}

// forgetRemote removes what other nodes reported from the users of a shard. The last activity of users in their grace is kept as a
// departure, because perhaps no other node knows it.
func (s *Service) forgetRemote(sh *shard, partition int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for u, p := range sh.users {
		if s.deps.Cluster.Partition(uint64(u)) != partition {
			continue
		}
		if p.expiring && p.disconnected() {
			s.departed = append(s.departed, Departure{User: u, LastActiveMs: s.wall(p.lastActive())})
		}
		p.remote, p.idle = nil, nil
		if p.disconnected() && !p.expiring {
			delete(sh.users, u)
		}
	}
}
