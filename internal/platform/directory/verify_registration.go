package directory

import (
	"time"

	"github.com/rialto-im/rialto/internal/base/wakeup"
)

// While there is nothing to report, a node verifies its registrations: with each probe it asks the probed node about those in partitions
// which that one owns.

// confirmation says which registration was last confirmed to be complete.
type confirmation struct {
	node string
	term uint64 // 0: there is none
	at   time.Time
}

// freshFor is how long a confirmation is trusted. After that, an announcement is sent for each partition.
const freshFor = 3 * announceInterval

// fresh reports whether the owner knows all, and has confirmed it lately. Only runReporter's goroutine may call it.
func (r *reporter) fresh() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.confirmed.term == r.term && r.confirmed.node == r.owner && len(r.pending) == 0 && !r.recheck && time.Since(r.confirmed.at) < freshFor
}

// Ask returns a node's question about its registrations to the owner of partitions, and a function for the answer; nil if that node owns no
// partition with which this one has registered. It is the Ask of a topic of cluster.Prober.
func (s *Service) Ask(owner string) (question []byte, answered func(answer []byte)) {
	q := verification{node: s.deps.Node, process: s.process}
	var asked []*partition
	for _, p := range s.partitions {
		p.reporter.mu.Lock()
		if c := p.reporter.confirmed; c.term != 0 && c.node == owner {
			asked = append(asked, p)
			q.partitions = append(q.partitions, verifiedPartition{uint64(p.number), c.term})
		}
		p.reporter.mu.Unlock()
	}
	if len(asked) == 0 {
		return nil, nil
	}
	at := time.Now()
	return q.append(nil), func(answer []byte) {
		codes, err := readVerificationAnswer(answer)
		if err != nil || len(codes) != len(asked) {
			s.deps.Logger.Error("a node's answer about registrations cannot be decoded", "node", owner)
			return
		}
		for i, p := range asked {
			p.reporter.verified(confirmation{owner, q.partitions[i].term, at}, codes[i])
		}
	}
}

// verified applies an owner's answer about the registration of a confirmation.
func (r *reporter) verified(of confirmation, code byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.confirmed.node != of.node || r.confirmed.term != of.term: // it has registered elsewhere meanwhile
	case code == answerAccepted:
		r.confirmed.at = of.at
	default: // an announcement finds out what the owner needs
		r.confirmed = confirmation{}
		wakeup.Signal(r.wake)
	}
}

// Answer answers another node's Ask.
func (s *Service) Answer(question []byte) []byte {
	q, err := readVerification(question)
	if err != nil {
		s.deps.Logger.Error("a query of another node about registrations cannot be decoded", "error", err)
		return nil
	}
	codes := make([]byte, len(q.partitions))
	for i, p := range q.partitions {
		codes[i] = s.checkRegistration(&q, p)
	}
	return appendVerificationAnswer(nil, codes)
}

// checkRegistration answers whether a registration exists, and records that its node is alive.
func (s *Service) checkRegistration(q *verification, p verifiedPartition) byte {
	if p.number >= uint64(len(s.partitions)) {
		return answerNotOwner
	}
	o := &s.partitions[p.number].owner
	o.mu.Lock()
	defer o.mu.Unlock()
	switch r := o.registrations[q.node]; {
	case o.term == 0:
		return answerNotOwner
	case r == nil || r.process != q.process || o.term != p.term:
		return answerUnregistered
	default:
		r.lastHeard = s.now()
		return answerAccepted
	}
}
