// Package searchindextest is the test suite that every searchindex.Index passes. A driver's own test calls Run.
package searchindextest

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/searchindex"
)

// Run runs the suite. open opens the index in a directory, or makes an empty one.
func Run(t *testing.T, open func(t *testing.T, dir string) searchindex.Index) {
	for name, test := range map[string]func(t *testing.T, open func(dir string) searchindex.Index){"model": model, "dictionary": dictionary, "missing": missing, "pages": pages, "best": best, "durability": durability, "bounds": bounds} {
		t.Run(name, func(t *testing.T) {
			test(t, func(dir string) searchindex.Index { return open(t, dir) })
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// vocabulary of random texts.
var vocabulary = []string{"hello", "hallo", "help", "world", "word", "2026", "已添加为好友", "好友", "添加", "カナ", "かな", "안녕하세요", "Café", "cafe", "Straße", "iPhone手机", "QuarterlyReport.pdf", "report", "a", "ab", "abc", "https://example.com/x"}

func randomText(rng *rand.Rand) string {
	words := make([]string, 1+rng.IntN(5))
	for i := range words {
		words[i] = vocabulary[rng.IntN(len(vocabulary))]
	}
	return strings.Join(words, " ")
}

func access(n int) string { return "c" + strconv.Itoa(n) }

func label(n int) string { return "label" + strconv.Itoa(n) }

func randomDocument(rng *rand.Rand) searchindex.Document {
	d := searchindex.Document{ID: searchindex.ID{Kind: []searchindex.Kind{searchindex.Message, searchindex.Post}[rng.IntN(2)], Number: 1 + rng.Uint64N(30)}, Text: randomText(rng), Author: 1 + rng.Uint64N(4),
		TimeMs: 1_800_000_000_000 + rng.Int64N(100)*86_400_000, Popularity: rng.Uint64N(3) * rng.Uint64N(1000)}
	if d.ID.Kind == searchindex.Message {
		d.ID.Parent = 1 + rng.Uint64N(4)
		d.Access = []string{access(int(d.ID.Parent))}
	} else {
		d.Access = []string{access(rng.IntN(3)), access(10 + rng.IntN(3))}
	}
	d.Link = strings.Contains(d.Text, "://")
	if n := len([]rune(d.Text)); rng.IntN(3) == 0 { // some have a file, and of these some are found as nothing else
		d.Names = []searchindex.Range{{Start: rng.IntN(n), End: n}}
		if d.Kinds = []searchindex.Kind{searchindex.File}; rng.IntN(2) == 0 {
			d.Kinds = append(d.Kinds, d.ID.Kind)
		}
		d.Labels = []string{label(rng.IntN(3)), label(3)}
	}
	return d
}

func randomQuery(rng *rand.Rand) *searchindex.Query {
	q := &searchindex.Query{Kind: []searchindex.Kind{searchindex.Message, searchindex.Post, searchindex.File}[rng.IntN(3)], Limit: 1000, Ranking: searchindex.Ranking{NowMs: 1_810_000_000_000, RecencyWeight: 0.5, HalfLifeMs: 30 * 86_400_000, PopularityWeight: 0.1}}
	for n := range 14 {
		if rng.IntN(2) == 0 {
			q.Access = append(q.Access, access(n))
		}
	}
	if rng.IntN(3) == 0 {
		q.Spans = map[uint64]searchindex.Span{1: {From: 5, To: 20}, 2: {From: 25, To: math.MaxUint64}}
	}
	if rng.IntN(4) == 0 {
		q.Authors = []uint64{1, 2}
	}
	if rng.IntN(4) == 0 {
		q.ExceptAuthors = []uint64{2, 3}
	}
	if rng.IntN(4) == 0 {
		q.AfterMs, q.BeforeMs = 1_800_000_000_000+20*86_400_000, 1_800_000_000_000+70*86_400_000
	}
	q.Link = rng.IntN(6) == 0
	if rng.IntN(4) == 0 {
		q.Labels = []string{label(0), label(1)}
	}
	return q
}

// admits reports whether the filters of a query admit a document.
func admits(q *searchindex.Query, d *searchindex.Document) bool {
	span, limited := q.Spans[d.ID.Parent]
	kinds := d.Kinds
	if len(kinds) == 0 {
		kinds = []searchindex.Kind{d.ID.Kind}
	}
	labelled := len(q.Labels) == 0 || slices.ContainsFunc(d.Labels, func(l string) bool { return slices.Contains(q.Labels, l) })
	return slices.Contains(kinds, q.Kind) && labelled && slices.ContainsFunc(d.Access, func(a string) bool { return slices.Contains(q.Access, a) }) &&
		(!limited || d.ID.Number >= span.From && d.ID.Number <= span.To) && (len(q.Authors) == 0 || slices.Contains(q.Authors, d.Author)) && !slices.Contains(q.ExceptAuthors, d.Author) &&
		d.TimeMs >= q.AfterMs && (q.BeforeMs == 0 || d.TimeMs < q.BeforeMs) && (d.Link || !q.Link)
}

// Dictionary has some of the words of random texts, words that overlap, and one that is in none.
func Dictionary(t *testing.T) *searchindex.Dictionary {
	t.Helper()
	d, err := searchindex.ReadDictionary(strings.NewReader("添加 5 v\n好友\n友好\n添加为\n加为\n好友添加\n手机\n电脑\n"))
	must(t, err)
	return d
}

// model compares searches with a scan of all documents, over random histories.
func model(t *testing.T, open func(dir string) searchindex.Index) { compareHistories(t, nil, open) }

// dictionary does so with the words of a dictionary: the same is found.
func dictionary(t *testing.T, open func(dir string) searchindex.Index) {
	compareHistories(t, Dictionary(t), open)
}

func compareHistories(t *testing.T, by *searchindex.Dictionary, open func(dir string) searchindex.Index) {
	rng := rand.New(rand.NewPCG(1, 2))
	index := open(t.TempDir())
	defer func() { must(t, index.Close()) }()
	documents := map[searchindex.ID]searchindex.Document{}
	for range 25 {
		var b searchindex.Batch
		changed := map[searchindex.ID]bool{}
		for range rng.IntN(20) {
			d := randomDocument(rng)
			if changed[d.ID] {
				continue
			}
			if changed[d.ID] = true; rng.IntN(5) == 0 {
				b.Delete = append(b.Delete, d.ID)
				delete(documents, d.ID)
			} else {
				if by != nil {
					d.Words = by.Words(d.Text, d.Names...)
				}
				b.Put = append(b.Put, d)
				documents[d.ID] = d
			}
		}
		must(t, index.Apply(t.Context(), &b))
		for range 6 {
			q := randomQuery(rng)
			phrases := strings.Fields(randomText(rng))[:1]
			if rng.IntN(6) == 0 {
				phrases = nil
			} else if n := len([]rune(phrases[0])); n > 3 && rng.IntN(3) == 0 {
				phrases[0] = string([]rune(phrases[0])[:n-1])
			}
			compare(t, index, q, by, searchindex.NewPattern(phrases, rng.IntN(2) == 0), phrases, documents)
		}
	}
}

// Equal compares two indexes with the same random history: all searches find the same documents with the same scores, also those that Match does not accept. So both
// have the same words. by may be nil.
func Equal(t *testing.T, by *searchindex.Dictionary, one, other searchindex.Index) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 12 {
		var b searchindex.Batch
		for range 10 {
			d := randomDocument(rng)
			if slices.ContainsFunc(b.Put, func(o searchindex.Document) bool { return o.ID == d.ID }) || slices.Contains(b.Delete, d.ID) {
				continue
			}
			if by != nil {
				d.Words = by.Words(d.Text, d.Names...)
			}
			if rng.IntN(5) == 0 {
				b.Delete = append(b.Delete, d.ID)
			} else {
				b.Put = append(b.Put, d)
			}
		}
		must(t, one.Apply(t.Context(), &b))
		must(t, other.Apply(t.Context(), &b))
		for range 10 {
			q := randomQuery(rng)
			phrase := strings.Fields(randomText(rng))[0]
			q.Terms = by.Terms(searchindex.NewPattern([]string{phrase}, rng.IntN(2) == 0))
			first, err := one.Search(t.Context(), q)
			must(t, err)
			second, err := other.Search(t.Context(), q)
			must(t, err)
			if !equalHits(first.Hits, second.Hits) || first.More != second.More {
				t.Errorf("%q: one index finds %+v, the other one %+v", phrase, first.Hits, second.Hits)
			}
		}
	}
}

// equalHits compares hits. Their scores are computed by different machines, so that the last digits may differ.
func equalHits(a, b []searchindex.Hit) bool {
	if len(a) != len(b) {
		return false
	}
	scores := map[searchindex.ID]searchindex.Score{}
	for _, h := range b {
		scores[h.ID] = h.Score
	}
	for i, h := range a {
		s, ok := scores[h.ID]
		if !ok || math.Abs(h.Score.Total-b[i].Score.Total) > 1e-9 || math.Abs(h.Score.Text-s.Text)+math.Abs(h.Score.Recency-s.Recency)+math.Abs(h.Score.Popularity-s.Popularity) > 1e-9 {
			return false
		}
	}
	return true
}

// compare compares a search with a scan.
func compare(t *testing.T, index searchindex.Index, q *searchindex.Query, by *searchindex.Dictionary, p *searchindex.Pattern, phrases []string, documents map[searchindex.ID]searchindex.Document) {
	t.Helper()
	q.Terms = by.Terms(p)
	r, err := index.Search(t.Context(), q)
	must(t, err)
	if r.More {
		t.Fatalf("%d hits, and more", len(r.Hits))
	}
	got := map[searchindex.ID]bool{}
	for i, h := range r.Hits {
		d, ok := documents[h.ID]
		switch {
		case got[h.ID]:
			t.Errorf("%q found %v twice", phrases, h.ID)
		case !ok || !admits(q, &d):
			t.Errorf("%q found %v (%q), which its filters do not admit: %+v", phrases, h.ID, d.Text, q)
		case i > 0 && cmp.Or(cmp.Compare(h.Score.Total, r.Hits[i-1].Score.Total), -h.ID.Compare(r.Hits[i-1].ID)) >= 0:
			t.Errorf("%q: hit %d is not after the one before", phrases, i)
		}
		if s := h.Score; math.Abs(s.Total-s.Text*s.Recency*s.Popularity) > 1e-9 || s.Text <= 0 || s.Text > 1 || s.Recency <= 0 || s.Recency > 1 || s.Popularity < 1 {
			t.Errorf("%q: the score of %v is %+v", phrases, h.ID, s)
		}
		got[h.ID] = true
	}
	for name, d := range documents {
		if _, ok := p.Match(d.Text, d.Names...); ok && admits(q, &d) && !got[name] {
			t.Errorf("%q does not find %v (%q)", phrases, name, d.Text)
		}
	}
}

// pages: the pages of a search, one after the other, have each hit once, in the order of the whole. New documents and other ranks of old ones change nothing.
func pages(t *testing.T, open func(dir string) searchindex.Index) {
	index := open(t.TempDir())
	defer func() { must(t, index.Close()) }()
	rng := rand.New(rand.NewPCG(3, 4))
	var b searchindex.Batch
	for n := range uint64(60) {
		b.Put = append(b.Put, searchindex.Document{ID: searchindex.ID{Kind: searchindex.Post, Number: n + 1}, Text: "the same words", Access: []string{"x"}, TimeMs: 1_800_000_000_000 + rng.Int64N(10)*86_400_000, Popularity: rng.Uint64N(4)})
	}
	must(t, index.Apply(t.Context(), &b))
	q := &searchindex.Query{Kind: searchindex.Post, Terms: searchindex.NewPattern([]string{"same"}, false).Terms(), Access: []string{"x"}, Limit: 100, Ranking: searchindex.Ranking{NowMs: 1_801_000_000_000, RecencyWeight: 1, HalfLifeMs: 86_400_000, PopularityWeight: 0.2}}
	whole, err := index.Search(t.Context(), q)
	must(t, err)
	if len(whole.Hits) != 60 || whole.More {
		t.Fatalf("%d hits, more: %v", len(whole.Hits), whole.More)
	}
	var all []searchindex.Hit
	for q.Limit = 7; ; {
		r, err := index.Search(t.Context(), q)
		must(t, err)
		all = append(all, r.Hits...)
		if !r.More {
			break
		}
		last := r.Hits[len(r.Hits)-1]
		q.After = &searchindex.Cursor{Total: last.Score.Total, ID: last.ID}
		must(t, index.Apply(t.Context(), &searchindex.Batch{Put: []searchindex.Document{{ID: searchindex.ID{Kind: searchindex.Post, Number: 1000 + uint64(len(all))}, Text: "other words", Access: []string{"x"}}}}))
	}
	if !slices.Equal(all, whole.Hits) {
		t.Errorf("the pages have %d hits, and differ from the whole", len(all))
	}
}

// durability: a batch and its checkpoints are there after the index was opened again.
func durability(t *testing.T, open func(dir string) searchindex.Index) {
	dir := t.TempDir()
	index := open(dir)
	names := []string{"a", "b", "none", string([]byte{0, 1, 255})}
	for n := range uint64(5) {
		must(t, index.Apply(t.Context(), &searchindex.Batch{Put: []searchindex.Document{{ID: searchindex.ID{Kind: searchindex.User, Number: n}, Text: "word", Access: []string{"x"}}},
			Checkpoints: map[string]uint64{"a": n, "b": 100 + n, names[3]: math.MaxUint64}}))
	}
	must(t, index.Close())
	if err := index.Apply(t.Context(), &searchindex.Batch{Checkpoints: map[string]uint64{"a": 9}}); err == nil {
		t.Error("a closed index applies batches")
	}
	index = open(dir)
	defer func() { must(t, index.Close()) }()
	at, err := index.Checkpoints(t.Context(), names)
	must(t, err)
	if !slices.Equal(at, []uint64{4, 104, 0, math.MaxUint64}) {
		t.Errorf("the checkpoints are %v", at)
	}
	r, err := index.Search(t.Context(), &searchindex.Query{Kind: searchindex.User, Terms: []searchindex.Term{{Word: "word"}}, Access: []string{"x"}, Limit: 10})
	must(t, err)
	if len(r.Hits) != 5 {
		t.Errorf("%d of 5 documents are there", len(r.Hits))
	}
}

// bounds: a query without access finds nothing, and one whose context has ended fails.
func bounds(t *testing.T, open func(dir string) searchindex.Index) {
	index := open(t.TempDir())
	defer func() { must(t, index.Close()) }()
	must(t, index.Apply(t.Context(), &searchindex.Batch{Put: []searchindex.Document{{ID: searchindex.ID{Kind: searchindex.User, Number: 1}, Text: "word", Access: []string{"x"}}}}))
	q := &searchindex.Query{Kind: searchindex.User, Limit: 10}
	if r, err := index.Search(t.Context(), q); err != nil || len(r.Hits) > 0 {
		t.Errorf("without access: %v, %v", r.Hits, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q.Access = []string{"x"}
	if _, err := index.Search(ctx, q); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context: %v", err)
	}
	if err := index.Apply(ctx, &searchindex.Batch{Delete: []searchindex.ID{{Kind: searchindex.User, Number: 1}}}); !errors.Is(err, context.Canceled) {
		t.Errorf("a batch after the end of its context: %v", err)
	}
}

// best: few hits are the first of all, in batches whose documents are older and newer than those before, and the pages after them are the others.
func best(t *testing.T, open func(dir string) searchindex.Index) {
	index := open(t.TempDir())
	defer func() { must(t, index.Close()) }()
	rng := rand.New(rand.NewPCG(7, 8))
	for range 8 {
		var b searchindex.Batch
		for range 60 {
			d := searchindex.Document{ID: searchindex.ID{Kind: searchindex.Message, Parent: 1 + rng.Uint64N(4), Number: 1 + rng.Uint64N(100_000)}, Text: vocabulary[rng.IntN(3)] + " " + vocabulary[rng.IntN(3)], Access: []string{"x"}, TimeMs: 1_800_000_000_000 + rng.Int64N(60*86_400_000)}
			if rng.IntN(20) == 0 {
				d.Popularity = rng.Uint64N(50)
			}
			b.Put = append(b.Put, d)
		}
		must(t, index.Apply(t.Context(), &b))
	}
	for _, words := range [][]string{nil, {"hello"}, {"hello", "help"}} {
		for _, r := range []searchindex.Ranking{
			{NowMs: 1_805_000_000_000, RecencyWeight: 0.5, HalfLifeMs: 30 * 86_400_000, PopularityWeight: 0.05},
			{NowMs: 1_803_000_000_000, RecencyWeight: 1, HalfLifeMs: 86_400_000, PopularityWeight: 1},
			{NowMs: 1_805_000_000_000},
		} {
			q := &searchindex.Query{Kind: searchindex.Message, Terms: searchindex.NewPattern(words, false).Terms(), Access: []string{"x"}, Limit: 1000, Ranking: r}
			whole, err := index.Search(t.Context(), q)
			must(t, err)
			if len(whole.Hits) < 100 {
				t.Fatalf("%q: %d hits", words, len(whole.Hits))
			}
			q.Limit = 7
			first, err := index.Search(t.Context(), q)
			must(t, err)
			q.After = &searchindex.Cursor{Total: first.Hits[6].Score.Total, ID: first.Hits[6].ID}
			second, err := index.Search(t.Context(), q)
			must(t, err)
			if got := append(first.Hits, second.Hits...); !first.More || !slices.Equal(got, whole.Hits[:14]) {
				t.Errorf("%q, %+v: the first hits are %+v, of all %+v", words, r, got, whole.Hits[:14])
			}
		}
	}
}
