//go:build cluster

package opensearch_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/searchindex/blevesearch"
	"github.com/rialto-im/rialto/internal/engine/searchindex/opensearch"
	"github.com/rialto-im/rialto/internal/engine/searchindex/opensearch/opensearchtest"
	"github.com/rialto-im/rialto/internal/engine/searchindex/searchindextest"
)

// server is shared by all tests of the package; each test uses its own names.
var server *opensearchtest.Server

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var err error
	if server, err = opensearchtest.Start(ctx, os.Stdout); err != nil {
		fmt.Println(err)
		return 1
	}
	code := m.Run()
	if code != 0 {
		fmt.Println(server.Log())
	}
	if err := server.Stop(); err != nil {
		fmt.Println(err)
		return 1
	}
	return code
}

// named returns the cluster with the index of a name.
func named(t *testing.T, name, deployment string) *opensearch.Cluster {
	t.Helper()
	c, err := opensearch.New(opensearch.Config{URLs: []string{server.URL}, Name: name, Shards: 3, Deployment: deployment, Timeout: 2 * time.Minute})
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	return c
}

// nameOf makes a name of an index of a text.
func nameOf(text string) string {
	sum := fnv.New64a()
	sum.Write([]byte(text))
	return fmt.Sprintf("t%x", sum.Sum64())
}

func TestRealSuite(t *testing.T) {
	searchindextest.Run(t, func(t *testing.T, dir string) searchindex.Index {
		index, err := named(t, nameOf(dir), "d").Open(t.Context(), 1, 0, true)
		must(t, err)
		return index
	})
}

// Both engines divide texts into the same words, and score alike.
func TestRealEqualsTheEmbeddedIndex(t *testing.T) {
	embedded, err := blevesearch.Open(t.TempDir(), slog.New(slog.DiscardHandler))
	must(t, err)
	defer func() { must(t, embedded.Close()) }()
	index, err := named(t, nameOf(t.Name()), "d").Open(t.Context(), 1, 0, true)
	must(t, err)
	searchindextest.Equal(t, nil, embedded, index)
	searchindextest.Equal(t, searchindextest.Dictionary(t), embedded, index)
}

// Through the alias, a search finds what the generation that answers has, and nothing else.
func TestRealGenerations(t *testing.T) {
	c := named(t, nameOf(t.Name()), "d")
	serving := c.Serving()
	if _, err := serving.Search(t.Context(), query("word")); !errors.Is(err, searchindex.ErrMissing) {
		t.Errorf("without an index: %v", err)
	}
	if _, err := serving.Checkpoints(t.Context(), []string{"a"}); !errors.Is(err, searchindex.ErrMissing) {
		t.Errorf("checkpoints without an index: %v", err)
	}
	generations(t, c, nil, 0)
	first, err := c.Open(t.Context(), 1, 0, true)
	must(t, err)
	must(t, first.Apply(t.Context(), &searchindex.Batch{Put: []searchindex.Document{user(1, "word")}, Checkpoints: map[string]uint64{"a": 7}}))
	second, err := c.Open(t.Context(), 2, 0, false)
	must(t, err)
	must(t, second.Apply(t.Context(), &searchindex.Batch{Put: []searchindex.Document{user(2, "word")}, Checkpoints: map[string]uint64{"a": 8}}))
	generations(t, c, []uint64{1, 2}, 1)
	hits(t, serving, query("word"), 1)
	must(t, c.Serve(t.Context(), 2))
	must(t, c.Serve(t.Context(), 2)) // repeated
	generations(t, c, []uint64{2}, 2)
	hits(t, serving, query("word"), 2)
	if at, err := serving.Checkpoints(t.Context(), []string{"a"}); err != nil || at[0] != 8 {
		t.Errorf("the checkpoint is %d, %v", at, err)
	}
	// A write of the one that was removed makes no index.
	if err := first.Apply(t.Context(), &searchindex.Batch{Put: []searchindex.Document{user(3, "word")}}); !errors.Is(err, searchindex.ErrMissing) {
		t.Errorf("a batch of a generation that is removed: %v", err)
	}
	generations(t, c, []uint64{2}, 2)
	must(t, c.Remove(t.Context(), 2))
	must(t, c.Remove(t.Context(), 2))
	generations(t, c, nil, 0)
}

func generations(t *testing.T, c *opensearch.Cluster, want []uint64, serving uint64) {
	t.Helper()
	list, answers, err := c.Generations(t.Context())
	if err != nil || !slices.Equal(list, want) || answers != serving {
		t.Errorf("generations %v, %d answers, %v; want %v and %d", list, answers, err, want, serving)
	}
}

// A writer that was paused replaces nothing that a later one wrote, and does not move its checkpoints.
func TestRealTerms(t *testing.T) {
	c := named(t, nameOf(t.Name()), "d")
	earlier, err := c.Open(t.Context(), 1, 3, true)
	must(t, err)
	must(t, earlier.Apply(t.Context(), &searchindex.Batch{Term: 3, Put: []searchindex.Document{user(1, "before"), user(2, "before")}, Checkpoints: map[string]uint64{"a": 5}}))
	later, err := c.Open(t.Context(), 1, 4, false)
	must(t, err)
	must(t, later.Apply(t.Context(), &searchindex.Batch{Term: 4, Put: []searchindex.Document{user(1, "after")}, Delete: []searchindex.ID{user(2, "").ID}, Checkpoints: map[string]uint64{"a": 6}}))
	var superseded *searchindex.Superseded
	for _, b := range []searchindex.Batch{
		{Term: 3, Put: []searchindex.Document{user(1, "before")}},
		{Term: 3, Put: []searchindex.Document{user(2, "before")}},
		{Term: 3, Delete: []searchindex.ID{user(1, "").ID}},
		{Term: 3, Checkpoints: map[string]uint64{"a": 4}},
	} {
		if err := earlier.Apply(t.Context(), &b); !errors.As(err, &superseded) {
			t.Errorf("the earlier writer's batch %+v has the error %v, want that it is superseded", b, err)
		}
	}
	hits(t, c.Serving(), query("after"), 1)
	hits(t, c.Serving(), query("before"))
	if at, err := later.Checkpoints(t.Context(), []string{"a"}); err != nil || at[0] != 6 {
		t.Errorf("the checkpoint is %d, %v", at, err)
	}
	if _, err := c.Open(t.Context(), 1, 3, false); !errors.As(err, &superseded) || superseded.Term != 4 {
		t.Errorf("an earlier writer opens the index: %v", err)
	}
}

// An index of another deployment, or of another program, is refused and not touched.
func TestRealForeign(t *testing.T) {
	name := nameOf(t.Name())
	mine := named(t, name, "mine")
	_, err := mine.Open(t.Context(), 1, 0, true)
	must(t, err)
	other := named(t, name, "other")
	if _, _, err := other.Generations(t.Context()); !errors.Is(err, searchindex.ErrForeign) {
		t.Errorf("generations of another deployment: %v", err)
	}
	if _, err := other.Open(t.Context(), 1, 0, false); !errors.Is(err, searchindex.ErrForeign) {
		t.Errorf("another deployment opens the index: %v", err)
	}
	if err := other.Serve(t.Context(), 1); !errors.Is(err, searchindex.ErrForeign) {
		t.Errorf("another deployment changes which generation answers: %v", err)
	}
	here, err := mine.Place(t.Context())
	must(t, err)
	there, err := named(t, name+"x", "mine").Place(t.Context())
	if err != nil || !strings.HasPrefix(here, name+" in the cluster ") || here == there {
		t.Errorf("the places are %q and %q, %v", here, there, err)
	}
}

// However many words begin like a word, or have a typo, none is left out, and the search does not fail.
func TestRealManyWords(t *testing.T) {
	c := named(t, nameOf(t.Name()), "d")
	index, err := c.Open(t.Context(), 1, 0, true)
	must(t, err)
	b := &searchindex.Batch{}
	const others = 1100 // more than a query may have clauses
	for n := range others {
		letter := string(rune(0xa000 + n)) // of the script of the Yi
		b.Put = append(b.Put, searchindex.Document{ID: searchindex.ID{Kind: searchindex.User, Number: 1000 + uint64(n)}, Access: []string{"attacker"},
			Text: "invo" + letter + "ce invoice" + letter + letter})
	}
	b.Put = append(b.Put, user(1, "invoice"), user(2, "invoices"), user(3, "invoixe"), user(4, "unrelated"))
	must(t, index.Apply(t.Context(), b))
	q := query("invoice")
	q.Terms = searchindex.NewPattern([]string{"invoice"}, true).Terms()
	hits(t, index, q, 1, 2, 3)
}

// A user who joined very many groups late searches as others do.
func TestRealManySpans(t *testing.T) {
	c := named(t, nameOf(t.Name()), "d")
	index, err := c.Open(t.Context(), 1, 0, true)
	must(t, err)
	q := &searchindex.Query{Kind: searchindex.Message, Terms: []searchindex.Term{{Word: "word"}}, Spans: map[uint64]searchindex.Span{}, Limit: 10}
	b := &searchindex.Batch{}
	for _, n := range []uint64{1, 5, 9} {
		b.Put = append(b.Put, searchindex.Document{ID: searchindex.ID{Kind: searchindex.Message, Parent: 1 << 63, Number: n}, Text: "word", Access: []string{"c"}})
	}
	must(t, index.Apply(t.Context(), b))
	for n := range uint64(20_000) {
		q.Access = append(q.Access, fmt.Sprint("c", n))
		q.Spans[n] = searchindex.Span{From: 2, To: 3}
	}
	q.Access, q.Spans[1<<63] = append(q.Access, "c"), searchindex.Span{From: 5, To: 8}
	r, err := index.Search(t.Context(), q)
	must(t, err)
	if len(r.Hits) != 1 || r.Hits[0].ID.Number != 5 || r.Hits[0].ID.Parent != 1<<63 {
		t.Errorf("found %+v", r.Hits)
	}
}

// A search of a server that hangs ends with its context.
func TestRealHang(t *testing.T) {
	c := named(t, nameOf(t.Name()), "d")
	index, err := c.Open(t.Context(), 1, 0, true)
	must(t, err)
	must(t, server.Pause())
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = index.Search(ctx, query("word"))
	must(t, server.Resume())
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a search of a server that hangs: %v", err)
	}
	hits(t, index, query("word"))
}
