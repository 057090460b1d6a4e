package search

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/platform/cluster"
)

// All nodes search a shared index (Deps.Shared), and one node at a time writes it: the owner of SharedWork, by a grant of package cluster. So each message
// is indexed once, and not once for each node. The grant's term is with all that is written, so that an owner that was paused replaces nothing that its successor has written.
//
// Its generations are those of the index, not folders. The first one answers from its beginning; later ones take over in one act when they are complete.
// A row of the database has where the index is: one that is missing there is not silently made again, because that may be a mistake in an address, until a rebuild is requested.

// SharedWork is the kind of cluster.Work, of one part, whose owner writes a shared index.
const SharedWork = "search"

// sharedRetryMax is the longest delay after an error of a shared index.
const sharedRetryMax = 30 * time.Second

// writer is what a node knows of the shared index. The zero value is that of a node that does not write it.
type writer struct {
	answering atomic.Pointer[generation] // the one that nodes search; nil: there is none

	mu    sync.Mutex // guards grant
	grant cluster.Grant
	wake  chan struct{} // signals a new grant
}

// Assigned makes this node write the shared index, by a grant of SharedWork. It does not block.
func (s *Service) Assigned(g cluster.Grant) {
	s.writer.mu.Lock()
	s.writer.grant = g
	s.writer.mu.Unlock()
	wakeup.Signal(s.writer.wake)
}

func (w *writer) granted() cluster.Grant {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.grant
}

// errSharedMissing wraps the error of a shared index that is not where it was.
var errSharedMissing = errors.New("the shared search index is missing")

// missingAt says what to do about a shared index that is missing.
func missingAt(place string) error {
	return fmt.Errorf("%w, which was %s: check opensearch.urls and opensearch.index; to build the index again from the stores, run rialto search rebuild on a node", errSharedMissing, place)
}

// checkShared fails if the shared index is another deployment's, or is missing. A cluster that cannot be reached is no error: only search is affected.
func (s *Service) checkShared(ctx context.Context) error {
	place, rebuild, err := s.sharedState(ctx)
	if err != nil {
		return err
	}
	_, serving, err := s.deps.Shared.Generations(ctx)
	switch {
	case errors.Is(err, searchindex.ErrForeign):
		return err
	case err != nil:
		s.deps.Logger.Warn("the shared search index cannot be reached; searches fail until it can", "error", err)
	case serving == 0 && place != "" && !rebuild:
		if by, err := s.rebuildRequest(); by == nil || err != nil {
			return cmp.Or(err, missingAt(place))
		}
	}
	return nil
}

// sharedState returns where the shared index is, "" if there was none, and whether it is to be built again.
func (s *Service) sharedState(ctx context.Context) (place string, rebuild bool, err error) {
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT place, rebuild FROM search_shared WHERE one = 1`).Scan(&place, &rebuild)
	return place, rebuild, err
}

func (s *Service) setShared(ctx context.Context, statement string, args ...any) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, statement, args...)
		return err
	})
}

// writing is the work of the writer, by a grant.
type writing struct {
	term uint64
	ctx  context.Context // ends with the grant
	end  func()          // nil: this node does not write
	list []*generation
}

// runShared follows the shared index until ctx ends, and writes it while this node has the grant.
func (s *Service) runShared(ctx context.Context) error {
	retry := backoff.New(s.sizes.manage, sharedRetryMax)
	var w writing
	defer func() { s.endWriting(&w) }()
	for ctx.Err() == nil {
		pause := s.sizes.manage
		s.follow(ctx)
		if err := s.write(ctx, &w); err == nil {
			retry.Reset()
		} else if ctx.Err() == nil {
			pause = retry.Next()
			s.deps.Logger.Error("the shared search index could not be opened, built or replaced; trying again", "error", err, "after", pause)
		}
		_ = backoff.SleepOrWake(ctx, pause, s.writer.wake) // the loop sees the context's end
	}
	return nil
}

// write does what is due of the writer's work, if this node has the grant.
func (s *Service) write(ctx context.Context, w *writing) error {
	g := s.writer.granted()
	if w.end != nil && (g.Term != w.term || !g.Held()) {
		s.endWriting(w)
	}
	if !g.Held() {
		return nil
	}
	if w.end == nil {
		w.term = g.Term
		w.ctx, w.end = g.During(ctx)
	}
	err := s.manageShared(w.ctx, g, &w.list)
	if !g.Held() {
		return nil // the grant ended in between
	}
	return err
}

// endWriting ends the writer's work. The index remains.
func (s *Service) endWriting(w *writing) {
	if w.end != nil {
		w.end()
	}
	s.closeShared(&w.list)
	*w = writing{}
}

// closeShared closes generations.
func (s *Service) closeShared(list *[]*generation) {
	s.setGenerations(nil)
	for _, g := range *list {
		if err := g.close(); err != nil {
			s.deps.Logger.Error("the shared search index could not be closed", "generation", g.number, "error", err)
		}
	}
	*list = nil
}

// follow reads which generation answers, and passes on the request for a rebuild that was made on this node.
func (s *Service) follow(ctx context.Context) {
	at, err := s.serve.Checkpoints(ctx, []string{completePoint, dictionaryPoint})
	// A node with another dictionary than the writer searches by words that the index may not have.
	complete := err == nil && at[0] == 1 && at[1] == s.deps.Dictionary.Sum()
	current := s.writer.answering.Load()
	switch {
	case errors.Is(err, searchindex.ErrMissing):
		s.writer.answering.Store(nil)
	case current == nil: // if it cannot be reached, searches say so
		current = &generation{index: s.serve}
		current.complete.Store(complete)
		s.writer.answering.Store(current)
	case err == nil:
		current.complete.Store(complete)
	}
	if err = s.passOnRequest(ctx); err != nil && ctx.Err() == nil {
		s.deps.Logger.Warn("the request to rebuild the search index could not be passed on; trying again", "error", err)
	}
}

// passOnRequest puts a request of this node for a rebuild into the row that all nodes read, and into the audit log.
func (s *Service) passOnRequest(ctx context.Context) error {
	by, err := s.rebuildRequest()
	if by == nil || err != nil {
		return err
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `UPDATE search_shared SET rebuild = 1 WHERE one = 1`); err != nil {
			return err
		}
		return s.deps.Audit.Add(ctx, tx, by.entry("shared search index", "", "is built again"))
	})
	if err != nil {
		return err
	}
	return s.rebuilt()
}

// openGeneration opens a generation for writing.
func (s *Service) openGeneration(ctx context.Context, n, term uint64, serving bool) (*generation, error) {
	index, err := s.deps.Shared.Open(ctx, n, term, serving)
	if err != nil {
		return nil, err
	}
	return s.newGeneration(ctx, &generation{number: n, index: &termed{index, term}})
}

// termed is an index whose batches have a term.
type termed struct {
	searchindex.Index
	term uint64
}

func (t *termed) Apply(ctx context.Context, b *searchindex.Batch) error {
	b.Term = t.term
	return t.Index.Apply(ctx, b)
}

// openShared opens the generation that answers, or makes the first one, and the one that is being built. It removes all others.
func (s *Service) openShared(ctx context.Context, term uint64) (list []*generation, err error) {
	place, rebuild, err := s.sharedState(ctx)
	if err != nil {
		return nil, err
	}
	found, serving, err := s.deps.Shared.Generations(ctx)
	if err != nil {
		return nil, err
	}
	if serving == 0 && place != "" && !rebuild {
		return nil, missingAt(place)
	}
	here, err := s.deps.Shared.Place(ctx)
	if err != nil {
		return nil, err
	}
	if serving == 0 {
		list, err = s.makeShared(ctx, found, term)
	} else {
		list, err = s.openFound(ctx, found, serving, term)
	}
	switch {
	case err != nil:
		return list, err
	case serving == 0:
		s.deps.Logger.Info("the search index is built from the stores; answers say that they are incomplete until it is done", "index", here)
		return list, s.setShared(ctx, `UPDATE search_shared SET place = $1, rebuild = 0 WHERE one = 1`, here)
	case here != place:
		return list, s.setShared(ctx, `UPDATE search_shared SET place = $1 WHERE one = 1`, here)
	}
	return list, nil
}

// makeShared makes the first generation, which answers from its beginning. Those that are there answered nothing.
func (s *Service) makeShared(ctx context.Context, found []uint64, term uint64) ([]*generation, error) {
	next := uint64(1)
	for _, n := range found {
		if err := s.deps.Shared.Remove(ctx, n); err != nil {
			return nil, err
		}
		next = n + 1
	}
	g, err := s.openGeneration(ctx, next, term, true)
	if err != nil {
		return nil, err
	}
	return []*generation{g}, nil
}

// openFound opens the generation that answers, and a later one if the former is complete: that is a rebuild, which goes on.
func (s *Service) openFound(ctx context.Context, found []uint64, serving, term uint64) (list []*generation, err error) {
	g, err := s.openGeneration(ctx, serving, term, false)
	if err != nil {
		return nil, err
	}
	list = append(list, g)
	for k, n := range found {
		switch {
		case n == serving:
		case n > serving && k == len(found)-1 && g.complete.Load():
			next, err := s.openGeneration(ctx, n, term, false)
			if err != nil {
				return list, err
			}
			list = append(list, next)
		default:
			if err := s.deps.Shared.Remove(ctx, n); err != nil {
				return list, err
			}
		}
	}
	return list, nil
}

// manageShared does what is due while this node writes, as manage does for an index of its own.
func (s *Service) manageShared(ctx context.Context, grant cluster.Grant, list *[]*generation) error {
	if len(*list) == 0 {
		opened, err := s.openShared(ctx, grant.Term)
		if err != nil {
			for _, g := range opened {
				err = errors.Join(err, g.index.Close())
			}
			if other := (*otherDictionary)(nil); errors.As(err, &other) {
				return s.afterEnd(ctx, grant, list, other.generation, err)
			}
			return superseded(grant, err)
		}
		for _, g := range opened {
			g.start(ctx)
		}
		*list = opened
		s.setGenerations(opened)
	}
	for _, g := range *list {
		if cause, ended := g.ended(); ended {
			return s.afterEnd(ctx, grant, list, g.number, cause)
		}
	}
	newest := (*list)[len(*list)-1]
	switch _, rebuild, err := s.sharedState(ctx); {
	case err != nil:
		return err
	case len(*list) == 2 && newest.complete.Load():
		if err := s.deps.Shared.Serve(ctx, newest.number); err != nil {
			return err
		}
		first := (*list)[0]
		*list = []*generation{newest}
		s.setGenerations(*list)
		s.deps.Logger.Info("the search index that was built again answers from now on", "generation", newest.number)
		return errors.Join(first.close(), s.setShared(ctx, `UPDATE search_shared SET rebuild = 0 WHERE one = 1`))
	case len(*list) == 1 && newest.complete.Load() && rebuild:
		g, err := s.openGeneration(ctx, newest.number+1, grant.Term, false)
		if err != nil {
			return superseded(grant, err)
		}
		s.deps.Logger.Info("the search index is built again", "generation", g.number)
		g.start(ctx)
		*list = []*generation{newest, g}
		s.setGenerations(*list)
	}
	return nil
}

// afterEnd closes all, to open it again in the next round. What cannot be used is removed.
func (s *Service) afterEnd(ctx context.Context, grant cluster.Grant, list *[]*generation, number uint64, cause error) error {
	s.closeShared(list)
	if errors.Is(cause, errAhead) || errors.Is(cause, searchindex.ErrCorrupt) {
		s.deps.Logger.Error("the search index cannot be used; it is removed and built again from the stores, and answers say that they are incomplete until it is done", "generation", number, "error", cause)
		if err := s.setShared(ctx, `UPDATE search_shared SET rebuild = 1 WHERE one = 1`); err != nil {
			return err
		}
		return s.deps.Shared.Remove(ctx, number)
	}
	return superseded(grant, cause)
}

// superseded tells the cluster of a later writer, which an error names.
func superseded(grant cluster.Grant, err error) error {
	var later *searchindex.Superseded
	if errors.As(err, &later) && later.Term > 0 {
		grant.Superseded(later.Term)
	}
	return err
}
