package presence

import (
	"context"
	"sync"
	"time"
)

// What a node asks of homes while there is nothing to tell them: one question to each node, of all the partitions that it has.

// told is the register at a home that was told all there is.
type told struct {
	to   string
	life uint64 // 0: there is none
	at   time.Time
}

// lasts so long it is taken for granted that a home knows what it was told. Where nothing comes of the questions, each partition's
// home is told anew that this node is there.
const lasts = 3 * announceEvery

// quiet tells whether the home knows all, and said so lately. For the announcing goroutine.
func (e *edge) quiet() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.told.life == e.life && e.told.to == e.to && len(e.due) == 0 && !e.recheck && time.Since(e.told.at) < lasts
}

// asking asks homes, until ctx ends.
func (s *Service) asking(ctx context.Context) {
	tick := time.NewTicker(announceEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.askStill(ctx)
		}
	}
}

// askStill asks each node, side by side, whether it still knows what it was told as a home.
func (s *Service) askStill(ctx context.Context) {
	of := map[string][]*part{}
	for _, p := range s.parts {
		home := s.deps.Cluster.Holder(p.number)
		p.edge.mu.Lock()
		if p.edge.told.life != 0 && p.edge.told.to == home {
			of[home] = append(of[home], p)
		}
		p.edge.mu.Unlock()
	}
	var group sync.WaitGroup
	for home, parts := range of {
		group.Go(func() { s.askNode(ctx, home, parts) })
	}
	group.Wait()
}

func (s *Service) askNode(ctx context.Context, home string, parts []*part) {
	q := still{node: s.deps.Node}
	at := time.Now()
	for _, p := range parts {
		p.edge.mu.Lock()
		q.list = append(q.list, stillPart{uint64(p.number), p.edge.told.life})
		p.edge.mu.Unlock()
	}
	ctx, cancel := context.WithTimeout(ctx, announceTime)
	defer cancel()
	b, err := s.deps.Cluster.Bus.Request(ctx, homeSubject(home), q.append(nil))
	codes, bad := readStillAnswer(b)
	if err == nil && (bad != nil || len(codes) != len(parts)) {
		err = errWire
	}
	if err != nil {
		s.deps.Logger.Debug("a node did not say whether it knows what it was told", "node", home, "error", err)
		return
	}
	for i, p := range parts {
		e := &p.edge
		e.mu.Lock()
		same := e.told.to == home && e.told.life == q.list[i].life
		switch {
		case same && codes[i] == answerTaken:
			e.told.at = at
		case same: // it is told again who this node is
			e.told = told{}
			poke(e.wake)
		}
		e.mu.Unlock()
	}
}

// knows answers whether a register is there, and notes that its node was heard of.
func (s *Service) knows(node string, q stillPart) byte {
	if q.part >= uint64(len(s.parts)) {
		return answerNotMine
	}
	h := &s.parts[q.part].home
	h.mu.Lock()
	defer h.mu.Unlock()
	switch r := h.registers[node]; {
	case h.life == 0:
		return answerNotMine
	case r == nil || r.life != q.life:
		return answerStale
	default:
		r.heard = s.now()
		return answerTaken
	}
}
