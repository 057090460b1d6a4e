package ranking

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/clickmodel"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
)

// world is a simulation of authors who write about topics, and of readers who like some topics more than others. What a reader would open is known, so rankings can
// be judged offline.
type world struct {
	random *rand.Rand
	topics []float64 // how popular each is with everybody
	topic  map[id.User]int
	older  []*simulated // posts that readers have seen before
	last   uint64       // id of a post
}

// simulated is a post, with its quality, which nobody sees.
type simulated struct {
	facts
	post    uint64
	quality float64
}

// simulatedReader is a reader whose taste is known.
type simulatedReader struct {
	*taste
	world    *world
	favoured [2]int
}

const (
	worldAuthors, worldTopics = 400, 20
	worldPosts                = 1000 // candidates of a reader
	worldOlder                = 3000
	topicWords, commonWords   = 60, 40
	pageImpressions, pageOf   = 20, 60
	simulatedNowMs            = 1_800_000_000_000
)

func newWorld(seed uint64) *world {
	w := &world{random: rand.New(rand.NewPCG(seed, 11)), topic: map[id.User]int{}}
	for range worldTopics {
		w.topics = append(w.topics, w.random.NormFloat64()*0.7)
	}
	for u := range worldAuthors {
		w.topic[id.User(u+1)] = w.random.IntN(worldTopics)
	}
	w.older = w.posts(worldOlder, simulatedNowMs, 10*dayMs)
	return w
}

// posts makes posts of the last three days, or older ones. Their likes follow from their quality and the popularity of their topics, and their words from their topics.
func (w *world) posts(n int, nowMs, olderMs int64) (list []*simulated) {
	for range n {
		w.last++
		p := &simulated{post: w.last, quality: w.random.NormFloat64()}
		p.author, p.createdMs = id.User(1+w.random.IntN(worldAuthors)), nowMs-olderMs-w.random.Int64N(3*dayMs)
		p.likes = uint32(math.Exp(2 + 1.2*p.quality + w.topics[w.topic[p.author]] + 0.5*w.random.NormFloat64()))
		p.comments = p.likes / 4
		p.kind = []rankingv1.PostKind{rankingv1.PostKind_POST_KIND_TEXT, rankingv1.PostKind_POST_KIND_IMAGES, rankingv1.PostKind_POST_KIND_VIDEO}[w.random.IntN(3)]
		p.goods = w.random.IntN(4) == 0
		p.vector = vectorOf(p.author, &feedv1.PostContent{Text: w.text(w.topic[p.author])}, p.kind)
		list = append(list, p)
	}
	return list
}

// text has words of a topic, and some that are in texts of all topics.
func (w *world) text(topic int) string {
	words := make([]string, 0, 12)
	for range 7 {
		words = append(words, fmt.Sprintf("topic%dword%d", topic, w.random.IntN(topicWords)))
	}
	for range 5 {
		words = append(words, fmt.Sprintf("common%d", w.random.IntN(commonWords)))
	}
	return strings.Join(words, " ")
}

// reader returns a reader who favours two topics, with the taste that follows from 200 earlier likes and from following 40 authors.
func (w *world) reader(nowMs int64) *simulatedReader {
	r := &simulatedReader{world: w, favoured: [2]int{w.random.IntN(worldTopics), w.random.IntN(worldTopics)}}
	t := &taste{nowMs: nowMs, reader: 1 << 40, followed: map[id.User]bool{}, affinity: map[id.User]float64{}}
	r.taste = t
	liked := 0
	for _, p := range w.older {
		if liked < tasteLikes && w.random.Float64() < r.wants(p) {
			t.liked(&p.facts, 1)
			liked++
		}
	}
	t.likes = t.sum.scaled()
	for len(t.followed) < 40 {
		author := id.User(1 + w.random.IntN(worldAuthors))
		if topic := w.topic[author]; topic == r.favoured[0] || topic == r.favoured[1] || w.random.IntN(10) == 0 {
			t.followed[author] = true
		}
		if w.random.IntN(500) == 0 {
			break // few authors write about these topics
		}
	}
	return r
}

func (r *simulatedReader) favours(p *simulated) bool {
	topic := r.world.topic[p.author]
	return topic == r.favoured[0] || topic == r.favoured[1]
}

// wants returns the probability that the reader opens a post.
func (r *simulatedReader) wants(p *simulated) float64 {
	x := -3 + 0.8*p.quality + 0.3*r.world.topics[r.world.topic[p.author]]
	if r.favours(p) {
		x += 3
	}
	return 1 / (1 + math.Exp(-x))
}

// buys returns the probability that the reader buys goods of a post.
func (r *simulatedReader) buys(p *simulated) float64 {
	x := -4.5 + 0.5*p.quality
	if r.favours(p) {
		x += 2.5
	}
	return 1 / (1 + math.Exp(-x))
}

// example shows a post to the reader.
func (r *simulatedReader) example(list uint64, p *simulated) clickmodel.Example {
	v := r.featuresOf(p.post, &p.facts)
	e := clickmodel.Example{List: list, Post: p.post, Features: rowOf(&v, &p.facts), Goods: p.goods, Gain: r.wants(p)}
	e.Clicked = r.world.random.Float64() < e.Gain
	e.Converted = e.Goods && r.world.random.Float64() < r.buys(p)
	return e
}

// defaultWeights are the weights that nobody has set.
func defaultWeights() (w weights) {
	for i := range features {
		w[i] = float64(features[i].byDefault) / 100
	}
	return w
}

// sorted returns posts in the order of the default weights.
func (r *simulatedReader) sorted(posts []*simulated) []*simulated {
	by, score := &ranking{weights: defaultWeights()}, map[uint64]float64{}
	for _, p := range posts {
		v := r.featuresOf(p.post, &p.facts)
		score[p.post] = by.score(&v, &p.facts)
	}
	list := slices.Clone(posts)
	slices.SortFunc(list, func(a, b *simulated) int {
		return cmp.Or(cmp.Compare(score[b.post], score[a.post]), cmp.Compare(b.post, a.post))
	})
	return list
}

// Simulation is what simulated readers were shown, and did. The taste of each reader is known: Gain of the examples is the probability of a click.
type Simulation struct {
	// Impressions are of pages of 20 posts, ranked by the default weights out of 60 each: what training gets from a server.
	Impressions []clickmodel.Example
	// Candidates are 1,000 posts for each of other readers: what a model is judged by.
	Candidates []clickmodel.Example
}

// Simulate simulates readers, each with a number of pages, and judges, for whom 1,000 candidates each are ranked. The same numbers make the same simulation.
func Simulate(seed uint64, readers, pages, judges int) *Simulation {
	s, w := &Simulation{}, newWorld(seed)
	list := uint64(0)
	for range readers {
		r := w.reader(simulatedNowMs)
		for range pages {
			list++
			for _, p := range r.sorted(w.posts(pageOf, simulatedNowMs, 0))[:pageImpressions] {
				s.Impressions = append(s.Impressions, r.example(list, p))
			}
		}
	}
	for range judges {
		r := w.reader(simulatedNowMs)
		list++
		for _, p := range w.posts(worldPosts, simulatedNowMs, 0) {
			s.Candidates = append(s.Candidates, r.example(list, p))
		}
	}
	return s
}
