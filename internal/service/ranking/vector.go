package ranking

import (
	"hash/fnv"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/vectorindex"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
)

const (
	// dimensions of vectors: the bits of a hash.
	dimensions = 64
	maxTerms   = 200 // words of a post that count
	// How much the parts of a post weigh in its vector.
	textPart, tagPart, authorPart, kindPart = 1.0, 0.7, 0.5, 0.25
	// fullWord is from how many letters on a word counts fully: short words are frequent, and say little.
	fullWord = 7
)

// vector says what a post is about, or what a reader likes: similar ones have a high product. Each term adds or subtracts its weight in each dimension, by the bits of its
// hash (a random projection), so no terms are learnt or stored, and all nodes make the same vectors.
type vector [dimensions]float32

// add adds a term.
func (v *vector) add(hash uint64, weight float64) {
	w := float32(weight)
	for i := range v {
		v[i] += w * float32(int(hash>>i&1)*2-1) // without branches, which would be guessed wrong half of the time
	}
}

// scaled returns the vector with the length 1, or without any.
func (v *vector) scaled() *vector {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	out := &vector{}
	if sum > 0 {
		for i, x := range v {
			out[i] = float32(float64(x) / math.Sqrt(sum))
		}
	}
	return out
}

// likeness returns how similar two vectors of length 1 are, from 0 to 1.
func (v *vector) likeness(other *vector) float64 {
	if v == nil || other == nil {
		return 0
	}
	return max(0, min(1, float64(vectorindex.Product(v[:], other[:]))))
}

// termHash returns the hash of a term of a kind, such as w for a word.
func termHash(kind byte, term string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte{kind})
	_, _ = h.Write([]byte(term)) // it never fails
	return id.Hash(h.Sum64())
}

// vectorOf returns the vector of a post, with the length 1.
func vectorOf(author id.User, c *feedv1.PostContent, kind rankingv1.PostKind) *vector {
	v := &vector{}
	text := c.GetTitle() + "\n" + c.GetText()
	for _, g := range c.GetGoods() {
		text += "\n" + g.Name
	}
	words := searchindex.Words(text)
	v.addAll('w', words[:min(len(words), maxTerms)], textPart)
	v.addAll('t', tagsOf(text), tagPart)
	v.add(id.Hash(uint64(author)), authorPart)
	v.add(id.Hash(uint64(kind)+1<<40), kindPart)
	return v.scaled()
}

// addAll adds terms that weigh as much as one of a part together.
func (v *vector) addAll(kind byte, terms []string, part float64) {
	sum := 0.0
	for _, t := range terms {
		sum += weightOf(t) * weightOf(t)
	}
	for _, t := range terms {
		v.add(termHash(kind, t), part*weightOf(t)/math.Sqrt(sum))
	}
}

func weightOf(term string) float64 {
	if searchindex.IsDense(term) {
		return 1
	}
	return min(1, float64(utf8.RuneCountInString(term))/fullWord)
}

// tagsOf returns the words behind a number sign.
func tagsOf(text string) (list []string) {
	for _, field := range strings.Fields(text) {
		if tag, ok := strings.CutPrefix(field, "#"); ok && len(list) < maxTerms {
			list = append(list, searchindex.Words(tag)...)
		}
	}
	return list
}
