package ranking

import (
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
)

const (
	orderPosts = 200 // of all pages
	// If there are others, at most postsPerAuthor of authorWindow consecutive posts are of one author, and at most kindRun in a row are of one kind.
	authorWindow   = 20
	postsPerAuthor = 2
	kindRun        = 2
	// The first diversePosts of an order have different topics, as far as the diversePool best candidates do.
	diversePosts = 60
	diversePool  = 300
)

// arrange returns the first posts of a list, so that authors and kinds alternate. Each position gets the best remaining post that varies both author and kind; if there is none, the best that
// varies the author; else the best. For the first posts, the best is the one with the highest score minus a penalty for similarity with an earlier post (maximal marginal
// relevance).
func arrange(list []*candidate, diversity float64) []*candidate {
	out := make([]*candidate, 0, min(len(list), orderPosts))
	left := slices.Clone(list)
	kinds := map[rankingv1.PostKind]int{} // of left
	for _, c := range left {
		kinds[c.kind]++
	}
	recent := map[id.User]int{} // of the last authorWindow-1 posts
	for len(out) < orderPosts && len(left) > 0 {
		avoid := lastKind(out)
		if kinds[avoid] == len(left) {
			avoid = rankingv1.PostKind_POST_KIND_UNSPECIFIED // no others are left to be searched for
		}
		next := -1
		if len(out) < diversePosts {
			next = pickDiverse(left[:min(len(left), diversePool-len(out))], recent, avoid, diversity)
		}
		if next < 0 {
			next = pick(left, recent, avoid)
		}
		c := left[next]
		left = slices.Delete(left, next, next+1)
		out = append(out, c)
		kinds[c.kind]--
		if len(out) < diversePosts {
			for _, other := range left[:min(len(left), diversePool-len(out))] {
				other.alike = max(other.alike, other.vector.likeness(c.vector))
			}
		}
		recent[c.author]++
		if gone := len(out) - authorWindow; gone >= 0 {
			recent[out[gone].author]--
		}
	}
	return out
}

// pick returns the place of the post that comes next.
func pick(left []*candidate, recent map[id.User]int, avoid rankingv1.PostKind) int {
	varied := -1 // the best one whose author is not too frequent
	for i, c := range left {
		if recent[c.author] >= postsPerAuthor {
			continue
		}
		if c.kind != avoid {
			return i
		}
		if varied < 0 {
			varied = i
		}
	}
	return max(0, varied)
}

// pickDiverse returns the place of the post that varies author and kind, and has the highest score less its likeness with earlier ones; -1 if none varies both.
func pickDiverse(pool []*candidate, recent map[id.User]int, avoid rankingv1.PostKind, diversity float64) int {
	best, most := -1, 0.0
	for i, c := range pool {
		if recent[c.author] >= postsPerAuthor || c.kind == avoid {
			continue
		}
		if value := c.score + diversity*c.alike; best < 0 || value > most {
			best, most = i, value
		}
	}
	return best
}

// lastKind returns the kind of the last posts, if all kindRun of them have the same; else none.
func lastKind(out []*candidate) rankingv1.PostKind {
	if len(out) < kindRun {
		return rankingv1.PostKind_POST_KIND_UNSPECIFIED
	}
	kind := out[len(out)-1].kind
	for _, c := range out[len(out)-kindRun:] {
		if c.kind != kind {
			return rankingv1.PostKind_POST_KIND_UNSPECIFIED
		}
	}
	return kind
}
