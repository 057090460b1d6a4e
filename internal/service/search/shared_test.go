package search_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/searchindex/blevesearch"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/service/search"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
)

// servers have a shared index, as those of OpenSearch do. (The suite of the real ones is in package opensearch.)
type servers struct {
	t   *testing.T
	dir string

	mu          sync.Mutex // guards what follows
	generations map[uint64]searchindex.Index
	answers     uint64
	term        uint64 // of the latest writer
	down        error  // of all calls
	made        int
}

func startServers(t *testing.T) *servers {
	s := &servers{t: t, dir: t.TempDir(), generations: map[uint64]searchindex.Index{}}
	t.Cleanup(func() {
		for _, index := range s.generations {
			must(t, index.Close())
		}
	})
	return s
}

func (s *servers) Place(context.Context) (string, error) { return "rialto in the cluster 1", s.fault() }

func (s *servers) fault() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down
}

func (s *servers) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = err
}

func (s *servers) Generations(context.Context) ([]uint64, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.generations)), s.answers, s.down
}

func (s *servers) Open(_ context.Context, n, term uint64, serving bool) (searchindex.Index, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != nil {
		return nil, s.down
	}
	if term < s.term {
		return nil, &searchindex.Superseded{Term: s.term}
	}
	s.term = term
	if s.generations[n] == nil {
		s.made++
		index, err := blevesearch.Open(filepath.Join(s.dir, fmt.Sprint(s.made)), slog.New(slog.DiscardHandler))
		if err != nil {
			return nil, err
		}
		s.generations[n] = index
	}
	if serving {
		s.answers = n
	}
	return &onServers{s, n}, nil
}

func (s *servers) Serve(_ context.Context, n uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.generations[n] == nil {
		return searchindex.ErrMissing
	}
	s.answers = n
	for other, index := range s.generations {
		if other != n {
			delete(s.generations, other)
			must(s.t, index.Close())
		}
	}
	return s.down
}

func (s *servers) Remove(_ context.Context, n uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if index := s.generations[n]; index != nil {
		delete(s.generations, n)
		must(s.t, index.Close())
	}
	if s.answers == n {
		s.answers = 0
	}
	return s.down
}

func (s *servers) Serving() searchindex.Index { return &onServers{s, 0} }
func (s *servers) Close() error               { return nil }

// onServers is a generation, or with 0 the one that answers.
type onServers struct {
	*servers
	n uint64
}

func (o *onServers) use(do func(searchindex.Index) error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := o.n
	if n == 0 {
		n = o.answers
	}
	switch index := o.generations[n]; {
	case o.down != nil:
		return o.down
	case index == nil:
		return searchindex.ErrMissing
	default:
		return do(index)
	}
}

func (o *onServers) Apply(ctx context.Context, b *searchindex.Batch) error {
	return o.use(func(i searchindex.Index) error {
		if b.Term < o.term {
			return &searchindex.Superseded{}
		}
		return i.Apply(ctx, b)
	})
}

func (o *onServers) Search(ctx context.Context, q *searchindex.Query) (r searchindex.Result, err error) {
	err = o.use(func(i searchindex.Index) (err error) {
		r, err = i.Search(ctx, q)
		return err
	})
	return r, err
}

func (o *onServers) Missing(ctx context.Context, list []searchindex.Document) (missing []searchindex.ID, err error) {
	err = o.use(func(i searchindex.Index) (err error) {
		missing, err = i.Missing(ctx, list)
		return err
	})
	return missing, err
}

func (o *onServers) Checkpoints(ctx context.Context, names []string) (at []uint64, err error) {
	err = o.use(func(i searchindex.Index) (err error) {
		at, err = i.Checkpoints(ctx, names)
		return err
	})
	return at, err
}

// node is one of several that share an index.
type node struct {
	*search.Service
	dir  string
	f    *fixture
	stop func()
}

// start starts a node. Its error is that of New.
func (s *servers) start(f *fixture, dir string) (*node, error) {
	s.t.Helper()
	audit, err := auditlog.New(context.Background(), f.db, f.clock)
	must(s.t, err)
	made, err := search.New(context.Background(), search.Deps{Audit: audit, DB: f.db, Log: f.log, Chat: f.chat, Accounts: f.accounts, Posts: f.feed, Videos: f.videos, Dictionary: f.dictionary, Dir: dir, Secret: []byte("of pages"), Clock: f.clock,
		Shared: s, Logger: slog.New(slog.DiscardHandler)}, search.Config{})
	if err != nil {
		return nil, err
	}
	made.SetSizes(8)
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		if err := made.Run(ctx); err != nil {
			s.t.Error(err)
		}
	})
	n := &node{made, dir, f, sync.OnceFunc(func() { cancel(); group.Wait() })}
	s.t.Cleanup(n.stop)
	return n, nil
}

func (s *servers) mustStart(f *fixture) *node {
	s.t.Helper()
	n, err := s.start(f, filepath.Join(s.t.TempDir(), "search"))
	must(s.t, err)
	return n
}

// grant makes a node the writer until end is called.
func (n *node) grant(term uint64) (g cluster.Grant, end func()) {
	ctx, end := context.WithCancel(context.Background())
	n.f.t.Cleanup(end)
	g = cluster.NewGrant(ctx, 0, term)
	n.Assigned(g)
	return g, end
}

// found returns how many messages a user finds for a word on a node, -1 while the answer is incomplete or fails.
func (n *node) found(u id.User, word string) int {
	r, err := n.Search(context.Background(), u, &searchv1.SearchRequest{Query: word, Kinds: []searchv1.HitKind{searchv1.HitKind_HIT_KIND_MESSAGE}})
	switch {
	case err != nil || r.Incomplete:
		return -1
	case len(r.Groups) == 0:
		return 0
	}
	return len(r.Groups[0].Hits)
}

// Of several nodes one writes the shared index, and all search it. Its successor goes on, and a writer that was paused changes nothing more.
func TestOneNodeWritesASharedIndex(t *testing.T) {
	f, s := open(t, 2), startServers(t)
	c := f.group(f.users[0], "group", f.users[1])
	f.send(c, f.users[0], "heron")
	first, second := s.mustStart(f), s.mustStart(f)
	if n := first.found(f.users[1], "heron"); n != -1 || !first.State().Incomplete {
		t.Errorf("without an index, the answer has %d hits", n)
	}
	grant, _ := first.grant(3)
	onBoth := func(word string, want int) {
		t.Helper()
		for _, n := range []*node{first, second} {
			eventually.True(t, word+" is found on both nodes", func() bool { return n.found(f.users[1], word) == want })
		}
	}
	onBoth("heron", 1)
	f.told.Store(first.Service)
	f.send(c, f.users[0], "heron and egret")
	onBoth("egret", 1)
	if a, b := first.State().Indexed, second.State().Indexed; a == 0 || b != 0 {
		t.Errorf("the nodes have indexed %d and %d documents", a, b)
	}
	// The first one still believes in its grant.
	second.grant(4)
	f.told.Store(second.Service)
	f.send(c, f.users[0], "egret and stork")
	onBoth("stork", 1)
	first.Committed([]timeline.Commit{{Entries: []timeline.CommittedEntry{{Key: timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}}}}})
	eventually.True(t, "the first writer has been told of its successor", func() bool { return grant.Latest() == 4 })
	before := first.State().Indexed
	f.send(c, f.users[0], "stork again")
	onBoth("stork", 2)
	if after := first.State().Indexed; after != before {
		t.Errorf("the first writer has indexed %d documents after its successor began", after-before)
	}
	if list, answers, _ := s.Generations(t.Context()); len(list) != 1 || answers != 1 {
		t.Errorf("there are the generations %v, of which %d answers", list, answers)
	}
}

// A node that loses the grant ends its work, and begins again with the next one.
func TestTheGrantOfASharedIndexEnds(t *testing.T) {
	f, s := open(t, 2), startServers(t)
	c := f.group(f.users[0], "group", f.users[1])
	n := s.mustStart(f)
	_, end := n.grant(1)
	eventually.True(t, "the index is complete", func() bool { return n.found(f.users[1], "heron") == 0 })
	end()
	eventually.True(t, "nothing is written any more", func() bool { return !n.Writes() })
	f.told.Store(n.Service)
	f.send(c, f.users[0], "heron")
	n.grant(2)
	eventually.True(t, "the message is found", func() bool { return n.found(f.users[1], "heron") == 1 })
}

// A rebuild is requested on any node. Until it is complete, the earlier generation answers.
func TestASharedIndexIsBuiltAgain(t *testing.T) {
	f, s := open(t, 2), startServers(t)
	c := f.group(f.users[0], "group", f.users[1])
	for range 20 {
		f.send(c, f.users[0], "heron")
	}
	first, second := s.mustStart(f), s.mustStart(f)
	first.grant(1)
	eventually.True(t, "all is found", func() bool { return second.found(f.users[1], "heron") == 20 })
	must(t, search.RequestRebuild(second.dir, search.RebuildRequest{Who: "olga"}))
	eventually.True(t, "the index was built again", func() bool {
		if n := second.found(f.users[1], "heron"); n != 20 {
			t.Errorf("during the rebuild %d messages are found", n)
		}
		list, answers, _ := s.Generations(t.Context())
		return answers == 2 && slices.Equal(list, []uint64{2})
	})
	eventually.True(t, "the request is withdrawn", func() bool {
		requested, err := second.RebuildRequested()
		must(t, err)
		return !requested
	})
	var who string
	must(t, f.db.Read().QueryRowContext(t.Context(), `SELECT who FROM audit_entries WHERE action = 'search.rebuild' AND subject = 'shared search index'`).Scan(&who))
	if who != "olga" {
		t.Errorf("the audit log says that %q had the index built again", who)
	}
	// A writer that ended in the middle of a rebuild is followed by one that goes on.
	must(t, search.RequestRebuild(first.dir, search.RebuildRequest{Who: "olga"}))
	eventually.True(t, "the third one is begun", func() bool { list, _, _ := s.Generations(t.Context()); return slices.Contains(list, 3) })
	first.stop()
	second.grant(2)
	eventually.True(t, "the rebuild has gone on", func() bool { list, answers, _ := s.Generations(t.Context()); return answers == 3 && len(list) == 1 })
	if n := second.found(f.users[1], "heron"); n != 20 {
		t.Errorf("after the rebuild %d messages are found", n)
	}
}

// An index that is missing where one was, or is another deployment's, is not made: nodes refuse to start, until the operator requests a rebuild.
func TestASharedIndexIsMissing(t *testing.T) {
	f, s := open(t, 2), startServers(t)
	c := f.group(f.users[0], "group", f.users[1])
	f.send(c, f.users[0], "heron")
	n := s.mustStart(f)
	n.grant(1)
	eventually.True(t, "the message is found", func() bool { return n.found(f.users[1], "heron") == 1 })
	must(t, s.Remove(t.Context(), 1))
	f.told.Store(n.Service)
	f.send(c, f.users[0], "heron")
	eventually.True(t, "answers are incomplete", func() bool { return n.found(f.users[1], "heron") == -1 })
	eventually.True(t, "the writer has noticed", func() bool { return !n.Writes() })
	n.stop()
	if _, err := s.start(f, n.dir); err == nil || !strings.Contains(err.Error(), "rialto in the cluster 1") || !strings.Contains(err.Error(), "rialto search rebuild") {
		t.Fatalf("a node with an index that is missing: %v", err)
	}
	if list, _, _ := s.Generations(t.Context()); len(list) > 0 {
		t.Errorf("the generations %v were made", list)
	}
	must(t, search.RequestRebuild(n.dir, search.RebuildRequest{Who: "olga"}))
	n, err := s.start(f, n.dir)
	must(t, err)
	n.grant(2)
	eventually.True(t, "all is found again", func() bool { return n.found(f.users[1], "heron") == 2 })
	s.fail(fmt.Errorf("%w: rialto-1", searchindex.ErrForeign))
	if _, err := s.start(f, n.dir); !errors.Is(err, searchindex.ErrForeign) {
		t.Errorf("a node with another deployment's index: %v", err)
	}
}

// While the servers cannot be reached, nodes start and run, and searches say that they fail.
func TestSharedServersAreDown(t *testing.T) {
	f, s := open(t, 2), startServers(t)
	c := f.group(f.users[0], "group", f.users[1])
	down := errors.New("the servers are down")
	s.fail(down)
	n := s.mustStart(f)
	n.grant(1)
	ask := &searchv1.SearchRequest{Query: "heron"}
	eventually.True(t, "a search fails", func() bool { _, err := n.Search(t.Context(), f.users[1], ask); return errors.Is(err, down) })
	f.told.Store(n.Service)
	f.send(c, f.users[0], "heron")
	s.fail(nil)
	eventually.True(t, "the message is found", func() bool { return n.found(f.users[1], "heron") == 1 })
	s.fail(down)
	f.send(c, f.users[0], "heron")
	s.fail(nil)
	eventually.True(t, "both messages are found", func() bool { return n.found(f.users[1], "heron") == 2 })
}
