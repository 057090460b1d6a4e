package ranking

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
)

// world is a simulation of authors who write about topics, and of readers who like some topics more than others. What a reader would like is known, so rankings can
// be judged offline.
type world struct {
	random *rand.Rand
	topics []float64 // how popular each is with everybody
	topic  map[id.User]int
}

// simulated is a post, and the probability that one reader would like it.
type simulated struct {
	facts
	post    uint64
	quality float64
	wanted  float64
}

const worldAuthors, worldTopics = 400, 20

func newWorld(seed uint64) *world {
	w := &world{random: rand.New(rand.NewPCG(seed, 11)), topic: map[id.User]int{}}
	for range worldTopics {
		w.topics = append(w.topics, w.random.NormFloat64()*0.7)
	}
	for u := range worldAuthors {
		w.topic[id.User(u+1)] = w.random.IntN(worldTopics)
	}
	return w
}

// posts makes posts of the last three days, or older ones. Their likes follow from their quality and the popularity of their topics.
func (w *world) posts(n int, nowMs, olderMs int64) (list []*simulated) {
	for i := range n {
		p := &simulated{post: uint64(olderMs) + uint64(i) + 1, quality: w.random.NormFloat64()}
		p.author, p.createdMs = id.User(1+w.random.IntN(worldAuthors)), nowMs-olderMs-w.random.Int64N(3*dayMs)
		p.likes = uint32(math.Exp(2 + 1.2*p.quality + w.topics[w.topic[p.author]] + 0.5*w.random.NormFloat64()))
		p.comments = p.likes / 4
		list = append(list, p)
	}
	return list
}

// reader returns a reader who favours two topics, with the taste that follows from 200 earlier likes and from following 40 authors, and sets what the reader wants of posts.
func (w *world) reader(nowMs int64, candidates []*simulated) *taste {
	favoured := [2]int{w.random.IntN(worldTopics), w.random.IntN(worldTopics)}
	wanted := func(p *simulated) float64 {
		x := -3 + 0.8*p.quality + 0.3*w.topics[w.topic[p.author]]
		if topic := w.topic[p.author]; topic == favoured[0] || topic == favoured[1] {
			x += 3
		}
		return 1 / (1 + math.Exp(-x))
	}
	t := &taste{nowMs: nowMs, reader: 1 << 40, followed: map[id.User]bool{}, affinity: map[id.User]float64{}}
	liked := 0
	for _, p := range w.posts(3000, nowMs, 10*dayMs) {
		if liked < tasteLikes && w.random.Float64() < wanted(p) {
			t.affinity[p.author]++
			liked++
		}
	}
	for len(t.followed) < 40 {
		author := id.User(1 + w.random.IntN(worldAuthors))
		if topic := w.topic[author]; topic == favoured[0] || topic == favoured[1] || w.random.IntN(10) == 0 {
			t.followed[author] = true
		}
		if w.random.IntN(500) == 0 {
			break // few authors write about these topics
		}
	}
	for _, p := range candidates {
		p.wanted = wanted(p)
	}
	return t
}

// ndcg returns the discounted gain of the first 20 of a ranking, compared with the best possible one.
func ndcg(list []*simulated) float64 {
	gain := func(list []*simulated) (sum float64) {
		for i, p := range list[:20] {
			sum += p.wanted / math.Log2(float64(i)+2)
		}
		return sum
	}
	best := slices.Clone(list)
	slices.SortFunc(best, func(a, b *simulated) int { return cmp.Compare(b.wanted, a.wanted) })
	return gain(list) / gain(best)
}

// TestRanksBeatPopularity judges the default weights offline: for simulated readers, the first 20 of 1,000 posts are at least 1.2 times as good as those with the most likes.
func TestRanksBeatPopularity(t *testing.T) {
	var w weights
	for i := range features {
		w[i] = float64(features[i].byDefault) / 100
	}
	const nowMs = 1_800_000_000_000
	var ranked, popular float64
	for seed := range uint64(20) {
		world := newWorld(seed)
		posts := world.posts(1000, nowMs, 0)
		reader := world.reader(nowMs, posts)
		score := map[uint64]float64{}
		for _, p := range posts {
			v := reader.featuresOf(p.post, &p.facts)
			score[p.post] = w.score(&v)
		}
		slices.SortFunc(posts, func(a, b *simulated) int { return cmp.Compare(score[b.post], score[a.post]) })
		ranked += ndcg(posts)
		slices.SortFunc(posts, func(a, b *simulated) int { return cmp.Compare(b.likes, a.likes) })
		popular += ndcg(posts)
	}
	t.Logf("NDCG@20 %.3f, by likes %.3f, %.2f times as good", ranked/20, popular/20, ranked/popular)
	if ranked < 1.2*popular {
		t.Errorf("NDCG@20 is %.3f, and %.3f by likes", ranked/20, popular/20)
	}
}
