package directory

import "github.com/rialto-im/rialto/internal/base/id"

// Metrics of what this node owns. A single node owns everything, and nothing moves.

// Takeovers counts how often this node became the owner of a partition.
func (s *Service) Takeovers() uint64 { return s.takeovers.Load() }

// FullSyncs counts how often a node reported everything to this owner: after a takeover, and after the two lost each other.
func (s *Service) FullSyncs() uint64 { return s.fullSyncs.Load() }

// OwnedUsers returns the number of users who are online or in their grace, and whose owner is this node. It iterates over all users of the
// node.
func (s *Service) OwnedUsers() (n int) {
	owned := s.ownedHere()
	for i := range s.shards[:shardCount] {
		sh := &s.shards[i]
		sh.mu.RLock()
		for u := range sh.users {
			if owned(uint64(u)) {
				n++
			}
		}
		sh.mu.RUnlock()
	}
	return n
}

// OwnedFollowed returns the number of large conversations that are followed on any node, and whose owner is this node. It iterates over the
// conversations followed on this node.
func (s *Service) OwnedFollowed() (n int) {
	owned := s.ownedHere()
	for _, p := range s.partitions {
		p.owner.mu.RLock()
		n += len(p.owner.followedBy)
		p.owner.mu.RUnlock()
	}
	s.followed.RLock()
	local := make([]uint64, 0, len(s.follows))
	for c := range s.follows {
		local = append(local, uint64(c))
	}
	s.followed.RUnlock()
	for _, c := range local {
		if owned(c) && !s.followedRemotely(c) {
			n++
		}
	}
	return n
}

// ownedHere returns a function that reports whether this node is the owner of a user or a conversation.
func (s *Service) ownedHere() func(of uint64) bool {
	if s.partitions == nil {
		return func(uint64) bool { return true }
	}
	here := make([]bool, len(s.partitions))
	for i, p := range s.partitions {
		here[i] = p.owner.current() != 0
	}
	return func(of uint64) bool { return here[s.deps.Cluster.Partition(of)] }
}

func (s *Service) followedRemotely(c uint64) bool {
	if s.partitions == nil {
		return false
	}
	o := &s.partitionOf(c).owner
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.followedBy[id.Conversation(c)] != nil
}
