package blevesearch

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/searchindex/indexsegment"
)

const (
	// maxWords is how many words of a segment are examined for a term: anybody may have written them. Beyond, the words of the reader's documents are.
	maxWords = 50_000
	// checkEvery is how many words or documents are examined between two checks of the context.
	checkEvery = 1024
)

// Search implements searchindex.Index.
func (i *Index) Search(ctx context.Context, q *searchindex.Query) (r searchindex.Result, err error) {
	if len(q.Access) == 0 || q.Limit <= 0 {
		return r, nil
	}
	s := &search{ctx: ctx, index: i, q: q, best: best{limit: q.Limit + 1}, automata: map[string]segment.Automaton{}}
	err = i.eachSegment(ctx, func(of *scorch.SegmentSnapshot, part *indexsegment.Segment) error {
		return s.segment(part, of.Deleted())
	})
	if err != nil {
		return r, err
	}
	r.Hits = s.best.sorted()
	if r.More = len(r.Hits) > q.Limit; r.More {
		r.Hits = r.Hits[:q.Limit]
	}
	return r, nil
}

// search is a search in progress.
type search struct {
	ctx   context.Context
	index *Index
	q     *searchindex.Query
	best  best
	steps int
	// automata of typos, by words.
	automata map[string]segment.Automaton
	// A document without popularity that is older than oldest, in seconds, has a score below total, the lowest of the best hits.
	oldest int64
	total  float64
}

// step counts work, and fails once the context has ended.
func (s *search) step() error {
	if s.steps++; s.steps%checkEvery == 0 {
		return s.ctx.Err()
	}
	return nil
}

// segment adds the hits of a segment, of which some documents are deleted (nil: none). It begins with the last one: that is the newest of a conversation, and once the newest are among the best, nearly all others are
// recognised by their time alone.
func (s *search) segment(part *indexsegment.Segment, deleted *roaring.Bitmap) error {
	terms, found, err := s.matching(part, deleted)
	if err != nil || found == nil || found.IsEmpty() {
		return err
	}
	values := part.Values(valueField)
	for documents := found.ReverseIterator(); documents.HasNext(); {
		if err := s.step(); err != nil {
			return err
		}
		n := documents.Next()
		value, err := values.Of(uint64(n))
		if err != nil {
			return err
		}
		if len(value) != valueLen {
			continue
		}
		seconds, quarters := decodeValue(value)
		if quarters == 0 && seconds < s.oldest || s.q.AfterMs != 0 && seconds*1000+999 < s.q.AfterMs || s.q.BeforeMs != 0 && seconds*1000 >= s.q.BeforeMs {
			continue
		}
		score := s.q.Ranking.Score(textQuality(terms, n), seconds, quarters)
		if s.best.isBelow(score.Total) || s.q.After != nil && score.Total > s.q.After.Total {
			continue
		}
		raw, err := part.DocID(uint64(n))
		if err != nil {
			return err
		}
		if id, ok := unpackID(raw); ok && s.admits(id, score.Total) {
			s.add(searchindex.Hit{ID: id, Score: score})
		}
	}
	return nil
}

// add adds a hit, if it is among the best.
func (s *search) add(h searchindex.Hit) {
	s.best.add(h)
	if least, full := s.best.least(); full && least > s.total {
		s.total, s.oldest = least, s.q.Ranking.Oldest(least)
	}
}

// admits reports whether a document is in the spans, and after the page before.
func (s *search) admits(id searchindex.ID, total float64) bool {
	if span, ok := s.q.Spans[id.Parent]; ok && (id.Number < span.From || id.Number > span.To) {
		return false
	}
	after := s.q.After
	return after == nil || total < after.Total || id.Compare(after.ID) > 0
}

// textQuality returns how well the terms match a document; 1 without terms.
func textQuality(terms []termSets, n uint32) (quality float64) {
	if len(terms) == 0 {
		return 1
	}
	for k := range terms {
		quality += terms[k].quality(n)
	}
	return quality / float64(len(terms))
}

// best keeps the best hits of a search, as a heap whose first is the worst.
type best struct {
	limit int
	hits  []searchindex.Hit
}

func compareHits(a, b searchindex.Hit) int {
	return cmp.Or(cmp.Compare(b.Score.Total, a.Score.Total), a.ID.Compare(b.ID))
}

// isBelow reports whether a score is too low to be kept.
func (b *best) isBelow(total float64) bool {
	least, full := b.least()
	return full && total < least
}

// least returns the lowest score. full: no further hits are kept but in place of others.
func (b *best) least() (total float64, full bool) {
	if len(b.hits) < b.limit {
		return 0, false
	}
	return b.hits[0].Score.Total, true
}

func (b *best) add(h searchindex.Hit) {
	if len(b.hits) < b.limit {
		heap.Push(b, h)
	} else if compareHits(h, b.hits[0]) < 0 {
		b.hits[0] = h
		heap.Fix(b, 0)
	}
}

func (b *best) sorted() []searchindex.Hit {
	slices.SortFunc(b.hits, compareHits)
	return b.hits
}

func (b *best) Len() int           { return len(b.hits) }
func (b *best) Less(i, j int) bool { return compareHits(b.hits[i], b.hits[j]) > 0 }
func (b *best) Swap(i, j int)      { b.hits[i], b.hits[j] = b.hits[j], b.hits[i] }
func (b *best) Push(h any)         { b.hits = append(b.hits, h.(searchindex.Hit)) }
func (b *best) Pop() any {
	last := b.hits[len(b.hits)-1]
	b.hits = b.hits[:len(b.hits)-1]
	return last
}

// termSets are the documents of a segment that a term matches, by how well.
type termSets struct{ exact, prefix, fuzzy, all *roaring.Bitmap }

func (t *termSets) quality(n uint32) float64 {
	switch {
	case t.exact.Contains(n):
		return searchindex.ExactMatch
	case t.prefix != nil && t.prefix.Contains(n):
		return searchindex.PrefixMatch
	}
	return searchindex.FuzzyMatch
}

// matching returns the documents of a segment that all filters and terms admit; nil: none.
func (s *search) matching(part *indexsegment.Segment, deleted *roaring.Bitmap) (terms []termSets, found *roaring.Bitmap, err error) {
	if found, err = s.filtered(part.Terms(filterField)); err != nil || found.IsEmpty() {
		return nil, nil, err
	}
	if deleted != nil {
		found.AndNot(deleted)
	}
	if len(s.q.Terms) == 0 {
		return nil, found, nil
	}
	for _, t := range s.q.Terms {
		if err := s.ctx.Err(); err != nil {
			return nil, nil, err
		}
		name := textField
		if searchindex.IsDense(t.Word) {
			name = denseField
		}
		sets, err := s.term(part, part.Terms(name), t, found)
		if err != nil {
			return nil, nil, err
		}
		if found.And(sets.all); found.IsEmpty() {
			return nil, nil, nil
		}
		terms = append(terms, sets)
	}
	return terms, found, nil
}

// filtered returns the documents that the filters admit.
func (s *search) filtered(filters indexsegment.Terms) (*roaring.Bitmap, error) {
	q := s.q
	access := make([]string, len(q.Access))
	for k, a := range q.Access {
		access[k] = accessTerm(q.Kind, a)
	}
	found, err := s.anyOf(filters, access)
	if err != nil || found.IsEmpty() {
		return found, err
	}
	if len(q.Authors) > 0 {
		wrote, err := s.anyOf(filters, authorTerms(q.Kind, q.Authors))
		if err != nil {
			return nil, err
		}
		found.And(wrote)
	}
	if len(q.ExceptAuthors) > 0 {
		wrote, err := s.anyOf(filters, authorTerms(q.Kind, q.ExceptAuthors))
		if err != nil {
			return nil, err
		}
		found.AndNot(wrote)
	}
	if q.Link {
		linked, err := s.anyOf(filters, []string{linkTerm(q.Kind)})
		if err != nil {
			return nil, err
		}
		found.And(linked)
	}
	if len(q.Labels) > 0 {
		labels := make([]string, len(q.Labels))
		for k, l := range q.Labels {
			labels[k] = labelTerm(q.Kind, l)
		}
		labelled, err := s.anyOf(filters, labels)
		if err != nil {
			return nil, err
		}
		found.And(labelled)
	}
	return found, nil
}

func authorTerms(kind searchindex.Kind, authors []uint64) []string {
	list := make([]string, len(authors))
	for k, a := range authors {
		list[k] = authorTerm(kind, a)
	}
	return list
}

// anyOf returns the documents that have one of some terms. The caller may change the set.
func (s *search) anyOf(dictionary indexsegment.Terms, terms []string) (*roaring.Bitmap, error) {
	found := roaring.New()
	for _, t := range terms {
		if err := s.step(); err != nil {
			return nil, err
		}
		if err := dictionary.AddDocuments(found, []byte(t)); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// term returns the documents that a term matches, at least those among the candidates.
func (s *search) term(part *indexsegment.Segment, words indexsegment.Terms, t searchindex.Term, candidates *roaring.Bitmap) (sets termSets, err error) {
	if sets.exact, err = s.anyOf(words, []string{t.Word}); err != nil {
		return sets, err
	}
	if err = s.expand(words, t, &sets); errors.Is(err, errManyWords) {
		err = s.examine(part, t, candidates, &sets)
	}
	if err != nil {
		return sets, err
	}
	sets.all = sets.exact
	for _, more := range []*roaring.Bitmap{sets.prefix, sets.fuzzy} {
		if more != nil {
			sets.all = roaring.Or(sets.all, more)
		}
	}
	return sets, nil
}

// expand finds the documents with words that begin like a term, or have a typo, by these words. It fails with errManyWords.
func (s *search) expand(words indexsegment.Terms, t searchindex.Term, sets *termSets) (err error) {
	limit := s.index.maxWords
	if searchindex.IsDense(t.Word) {
		limit = math.MaxInt // there are not more than characters
	}
	if t.Prefix {
		if sets.prefix, err = s.expanded(words, limit, nil, []byte(t.Word), endOfPrefix(t.Word)); err != nil {
			return err
		}
	}
	if t.Fuzzy {
		sets.fuzzy, err = s.mistyped(words, limit, t.Word)
	}
	return err
}

// mistyped returns the documents with one of the words that differ from one by a typo. They are looked up one by one, unless all words have so many characters that reading on from each word to the next that may be one is less work.
func (s *search) mistyped(words indexsegment.Terms, limit int, word string) (found *roaring.Bitmap, err error) {
	candidates, ok, err := words.Typos(word)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		automaton, err := s.automaton(word)
		if err != nil {
			return nil, err
		}
		return s.expanded(words, limit, automaton, nil, nil)
	case len(candidates) > limit:
		return nil, errManyWords
	}
	return s.anyOf(words, candidates)
}

// automaton returns what accepts a word with at most one typo. It is the same for all segments.
func (s *search) automaton(word string) (segment.Automaton, error) {
	if a := s.automata[word]; a != nil {
		return a, nil
	}
	a, err := s.index.typos.BuildDfa(word, 1)
	if err == nil {
		s.automata[word] = a
	}
	return a, err
}

// endOfPrefix returns the first word above all that begin with a prefix. UTF-8 has no byte 0xff.
func endOfPrefix(prefix string) []byte { return append([]byte(prefix), 0xff) }

// errManyWords is the error of expanded if more words match than may be examined.
var errManyWords = errors.New("blevesearch: many words match")

// expanded returns the documents with one of the words that an automaton accepts, between two words.
func (s *search) expanded(words indexsegment.Terms, limit int, automaton segment.Automaton, from, to []byte) (*roaring.Bitmap, error) {
	entries, err := words.Iterator(automaton, from, to)
	if err != nil {
		return nil, err
	}
	found := roaring.New()
	for n := 0; entries.Next(); n++ {
		if n == limit {
			return nil, errManyWords
		}
		if err := s.step(); err != nil {
			return nil, err
		}
		if err := entries.AddDocuments(found); err != nil {
			return nil, err
		}
	}
	return found, entries.Err()
}

// examine finds the same documents as expand, but only among the candidates, by their own words. So words of others decide how a search is done, and
// nothing that its result shows.
func (s *search) examine(part *indexsegment.Segment, t searchindex.Term, candidates *roaring.Bitmap, sets *termSets) error {
	sets.prefix, sets.fuzzy = roaring.New(), roaring.New()
	var typos segment.Automaton
	if t.Fuzzy {
		var err error
		if typos, err = s.automaton(t.Word); err != nil {
			return err
		}
	}
	word := []byte(t.Word)
	var ended error
	var n uint32
	compare := func(v []byte) {
		if err := s.step(); err != nil {
			ended = err
		}
		if t.Prefix && bytes.HasPrefix(v, word) {
			sets.prefix.Add(n)
		} else if typos != nil && accepts(typos, v) {
			sets.fuzzy.Add(n)
		}
	}
	for documents := candidates.Iterator(); documents.HasNext(); {
		if err := s.step(); err != nil { // there may be no words in it
			return err
		}
		n = documents.Next()
		packed, err := part.Stored(wordsField, uint64(n))
		if err != nil {
			return err
		}
		if visitWords(packed, compare); ended != nil {
			return ended
		}
	}
	return nil
}

// accepts reports whether an automaton accepts a word.
func accepts(a segment.Automaton, word []byte) bool {
	state := a.Start()
	for _, c := range word {
		if state = a.Accept(state, c); !a.CanMatch(state) {
			return false
		}
	}
	return a.IsMatch(state)
}
