package search

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/filecopy"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
)

// The folder of the indexes has one for each generation, named by its number. Of several, the highest complete one answers; a higher one is being built. When
// that is complete, it takes over at once, and the earlier ones are removed. RebuildFile requests a new generation, and stays until it is complete, so
// a rebuild goes on after a crash.

// RebuildFile in the folder of the indexes requests that the index be built again.
const RebuildFile = "REBUILD"

// manageInterval is how often the folder is looked at.
const manageInterval = time.Second

// generation is an index with what keeps it.
type generation struct {
	number   uint64
	dir      string
	index    searchindex.Index
	indexer  *indexer
	complete atomic.Bool

	stop    context.CancelFunc
	stopped chan error // has what ended the indexer
}

// numbers returns the generations in a folder, ascending.
func numbers(dir string) (list []uint64, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if n, err := strconv.ParseUint(e.Name(), 10, 64); err == nil && e.IsDir() {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list, err
}

// open opens a generation, which is empty if it is not there.
func (s *Service) open(ctx context.Context, n uint64) (*generation, error) {
	g := &generation{number: n, dir: filepath.Join(s.deps.Dir, strconv.FormatUint(n, 10))}
	var err error
	if g.index, err = s.deps.Open(ctx, g.dir); err != nil {
		return nil, err
	}
	return s.newGeneration(ctx, g)
}

// newGeneration completes a generation whose index is open.
func (s *Service) newGeneration(ctx context.Context, g *generation) (*generation, error) {
	g.stopped = make(chan error, 1)
	at, err := g.index.Checkpoints(ctx, []string{completePoint, changesPoint, dictionaryPoint})
	if sum := s.deps.Dictionary.Sum(); err == nil && at[2] != sum {
		if at[1] == 0 { // nothing is in it yet
			err = g.index.Apply(ctx, &searchindex.Batch{Checkpoints: map[string]uint64{dictionaryPoint: sum}})
		} else {
			err = &otherDictionary{g.number}
		}
	}
	if err != nil {
		return nil, errors.Join(err, g.index.Close())
	}
	g.complete.Store(at[0] == 1)
	g.indexer = newIndexer(s, g)
	return g, nil
}

// otherDictionary is the error of an index that was built with another search.dictionary. It is built again.
type otherDictionary struct{ generation uint64 }

func (o *otherDictionary) Error() string {
	return fmt.Sprintf("generation %d of the search index was built with another search.dictionary", o.generation)
}

func (o *otherDictionary) Unwrap() error { return searchindex.ErrFormat }

// openAll opens the generation that answers, or a new one, and the one that is being built, if there is one. It removes all others.
func (s *Service) openAll(ctx context.Context) (list []*generation, err error) {
	if err := os.MkdirAll(s.deps.Dir, 0o700); err != nil {
		return nil, err
	}
	found, err := numbers(s.deps.Dir)
	if err != nil {
		return nil, err
	}
	for _, n := range slices.Backward(found) {
		g, err := s.open(ctx, n)
		switch {
		case errors.Is(err, searchindex.ErrCorrupt):
			if errors.Is(err, searchindex.ErrFormat) {
				s.deps.Logger.Warn("the search index is of another version of Rialto, or has the words of another search.dictionary; it is built again from the stores, and answers say that they are incomplete until it is done", "cause", err)
			} else {
				s.deps.Logger.Error("the search index is damaged; it is removed and built again from the stores, and answers say that they are incomplete until it is done", "error", err)
			}
			if err := os.RemoveAll(filepath.Join(s.deps.Dir, strconv.FormatUint(n, 10))); err != nil {
				return list, err
			}
		case err != nil:
			return list, err
		case len(list) == 0 || !list[0].complete.Load() && len(list) == 1:
			list = append(list, g)
		default:
			if err := errors.Join(g.index.Close(), os.RemoveAll(g.dir)); err != nil {
				return list, err
			}
		}
	}
	slices.SortFunc(list, func(a, b *generation) int { return cmp.Compare(a.number, b.number) })
	if len(list) == 2 && !list[0].complete.Load() { // both are incomplete: the newer one is enough
		first := list[0]
		list = list[1:]
		if err := errors.Join(first.index.Close(), os.RemoveAll(first.dir)); err != nil {
			return list, err
		}
	}
	if len(list) == 0 {
		next := uint64(1)
		if len(found) > 0 {
			next = found[len(found)-1] + 1
		}
		g, err := s.open(ctx, next)
		if err != nil {
			return nil, err
		}
		s.deps.Logger.Info("the search index is built from the stores; answers say that they are incomplete until it is done", "generation", next)
		list = append(list, g)
	}
	return list, nil
}

// setGenerations replaces the list that others see.
func (s *Service) setGenerations(list []*generation) {
	s.mu.Lock()
	s.generations = slices.Clone(list)
	s.mu.Unlock()
}

// current returns the generations that are open, which the caller must not change.
func (s *Service) current() []*generation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.generations
}

// serving returns the generation that answers; nil: none is open.
func (s *Service) serving() *generation {
	if s.deps.Shared != nil {
		return s.writer.answering.Load()
	}
	if list := s.current(); len(list) > 0 {
		return list[0]
	}
	return nil
}

// runGenerations keeps the indexes until ctx ends.
func (s *Service) runGenerations(ctx context.Context) (err error) {
	var list []*generation
	defer func() {
		s.setGenerations(nil)
		for _, g := range list {
			err = errors.Join(err, g.close())
		}
	}()
	tick := time.NewTicker(manageInterval)
	defer tick.Stop()
	for {
		if err := s.manage(ctx, &list); err != nil && ctx.Err() == nil {
			s.deps.Logger.Error("the search index could not be opened, built or replaced; trying again", "dir", s.deps.Dir, "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// start runs the indexer.
func (g *generation) start(ctx context.Context) {
	ctx, g.stop = context.WithCancel(ctx)
	go func() { g.stopped <- g.indexer.run(ctx) }() // close waits for it
}

// close stops the indexer and closes the index.
func (g *generation) close() error {
	g.stop()
	<-g.stopped
	return g.index.Close()
}

// remove closes a generation and removes its files.
func (g *generation) remove() error { return errors.Join(g.close(), os.RemoveAll(g.dir)) }

// manage does what is due: opens, replaces what is damaged, begins a rebuild, and lets what is complete take over.
func (s *Service) manage(ctx context.Context, list *[]*generation) error {
	if len(*list) == 0 {
		opened, err := s.openAll(ctx)
		if err != nil {
			for _, g := range opened {
				err = errors.Join(err, g.index.Close())
			}
			return err
		}
		for _, g := range opened {
			g.start(ctx)
		}
		*list = opened
		s.setGenerations(opened)
	}
	for i, g := range *list {
		if err, ended := g.ended(); ended {
			if err == nil {
				return nil // ctx has ended
			}
			s.deps.Logger.Error("the search index is damaged; it is removed and built again from the stores, and answers say that they are incomplete until it is done", "generation", g.number, "error", err)
			*list = slices.Delete(slices.Clone(*list), i, i+1)
			s.setGenerations(*list)
			return g.remove()
		}
	}
	newest := (*list)[len(*list)-1]
	if len(*list) == 2 && newest.complete.Load() {
		first := (*list)[0]
		*list = []*generation{newest}
		s.setGenerations(*list)
		if err := first.remove(); err != nil {
			return err
		}
		s.deps.Logger.Info("the search index that was built again answers from now on", "generation", newest.number)
		return s.rebuilt()
	}
	if len(*list) == 1 && newest.complete.Load() {
		return s.beginRebuild(ctx, list)
	}
	return nil
}

func (s *Service) rebuildFile() string { return filepath.Join(s.deps.Dir, RebuildFile) }

// rebuildRequest returns the request on this node that the index be built again, nil if there is none.
func (s *Service) rebuildRequest() (*RebuildRequest, error) {
	text, err := os.ReadFile(s.rebuildFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	by := &RebuildRequest{}
	if json.Unmarshal(text, by) != nil || by.Who == "" { // the file was made by hand, or by an earlier build
		by.Who = "unknown"
	}
	return by, nil
}

// entry is the request in the audit log.
func (r *RebuildRequest) entry(index, before, after string) auditlog.Entry {
	return auditlog.Entry{Who: r.Who, Reason: r.Reason, Action: "search.rebuild", Subject: index, Before: before, After: after}
}

// beginRebuild begins a new generation beside the only one, if that is requested, and records who requested it.
func (s *Service) beginRebuild(ctx context.Context, list *[]*generation) error {
	by, err := s.rebuildRequest()
	if by == nil || err != nil {
		return err
	}
	present := (*list)[0]
	g, err := s.open(ctx, present.number+1)
	if err != nil {
		return err
	}
	if err := s.deps.Audit.Record(ctx, by.entry(strings.TrimSpace("search index "+s.deps.Node), fmt.Sprint("generation ", present.number), fmt.Sprint("generation ", g.number))); err != nil {
		return errors.Join(err, g.index.Close(), os.RemoveAll(g.dir))
	}
	s.deps.Logger.Info("the search index is built again", "generation", g.number)
	g.start(ctx)
	*list = []*generation{present, g}
	s.setGenerations(*list)
	return nil
}

// rebuilt withdraws the request.
func (s *Service) rebuilt() error {
	err := os.Remove(s.rebuildFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// RebuildRequest says who requests that an index be built again, and why. RebuildFile has it as JSON, and the server puts it into the audit log when it begins.
type RebuildRequest struct {
	Who    string `json:"who"`
	Reason string `json:"reason,omitempty"`
}

// RequestRebuild makes the server that uses a folder build its index again, now or when it starts. A server makes the folder at its first start.
func RequestRebuild(dir string, by RebuildRequest) error {
	text, err := json.Marshal(by)
	if err != nil {
		return err
	}
	err = filecopy.Replace(filepath.Join(dir, RebuildFile), text) // a server may be reading it
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s does not exist: no server has run with this data directory", dir)
	}
	return err
}

// State of the index of this node, for metrics.
type State struct {
	Incomplete, Rebuilding bool
	// Writing: this node writes an index, its own or the shared one.
	Writing bool
	Lag     time.Duration
	Waiting int
	Indexed uint64
}

// State returns the state of the index.
func (s *Service) State() (v State) {
	list := s.current()
	v.Indexed = s.indexed.Load()
	if serving := s.serving(); s.answers() {
		v.Incomplete = serving == nil || !serving.complete.Load()
	}
	if len(list) == 0 {
		return v
	}
	v.Rebuilding, v.Writing = len(list) > 1, true
	v.Lag, v.Waiting = list[0].indexer.lag()
	return v
}

// ended returns what ended the indexer of a generation, if it has.
func (g *generation) ended() (cause error, ended bool) {
	select {
	case cause = <-g.stopped:
		g.stopped <- nil // for close
		return cause, true
	default:
		return nil, false
	}
}

// damage stops the indexer of a damaged index, so that it is built again.
func (g *generation) damage(cause error) {
	if g.indexer != nil { // a shared index is written elsewhere
		g.indexer.fail(cause)
	}
}
