package ranking_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
)

// schedule is a random order of what authors, readers and moderators do, between the pages of orders. It knows who may see what.
type schedule struct {
	*fixture
	random  *rand.Rand
	people  []id.User
	posts   map[uint64]*modelPost
	ids     []uint64
	follows map[[2]id.User]bool
	muted   map[[2]id.User]bool
	blocked map[[2]id.User]bool
	less    map[[2]id.User]time.Time // since when
	orders  map[id.User]*order
	steps   []string
	// What was seen in all, so that no schedule passes because nothing happens.
	pages, shown, ended *int
}

type modelPost struct {
	author          id.User
	chosen          id.User // the only reader; 0: everyone
	hidden, deleted bool
}

// order of a reader.
type order struct {
	next  string
	limit uint32
	shown map[uint64]bool
	// due are posts of followed authors that could be shown at each page so far.
	due map[uint64]bool
}

// TestRandomSchedules: no page has a post that its reader may not see, or of an author who is muted, blocked or to be shown less; no order has a post twice, and none ends
// without a post of a followed author that could be shown all the time; and no author has too many posts of a page.
func TestRandomSchedules(t *testing.T) {
	schedules := 2
	if n, err := strconv.Atoi(os.Getenv("RANKING_SCHEDULES")); err == nil {
		schedules = n
	}
	var pages, shown, ended int
	for seed := range schedules {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := &schedule{fixture: open(t), random: rand.New(rand.NewPCG(uint64(seed), 3)), posts: map[uint64]*modelPost{}, follows: map[[2]id.User]bool{}, muted: map[[2]id.User]bool{},
				blocked: map[[2]id.User]bool{}, less: map[[2]id.User]time.Time{}, orders: map[id.User]*order{}, pages: &pages, shown: &shown, ended: &ended}
			for range 5 {
				s.people = append(s.people, s.user())
			}
			for range 200 {
				s.one()
				if t.Failed() {
					for _, step := range s.steps {
						t.Log(step)
					}
					return
				}
			}
		})
	}
	if pages < 40*schedules || shown < 60*schedules || ended < 8*schedules {
		t.Errorf("%d pages with %d posts, and %d orders that ended: too few", pages, shown, ended)
	}
}

func (s *schedule) note(format string, args ...any) {
	s.steps = append(s.steps, fmt.Sprintf(format, args...))
}

func (s *schedule) person() id.User { return s.people[s.random.IntN(len(s.people))] }

// two returns two different people.
func (s *schedule) two() [2]id.User {
	i := s.random.IntN(len(s.people))
	return [2]id.User{s.people[i], s.people[(i+1+s.random.IntN(len(s.people)-1))%len(s.people)]}
}

// one does a random operation.
func (s *schedule) one() {
	ctx := s.t.Context()
	switch n := s.random.IntN(100); {
	case n < 22:
		s.publishOne()
	case n < 27 && len(s.ids) > 0:
		n := s.ids[s.random.IntN(len(s.ids))]
		s.note("delete %d", n)
		if p := s.posts[n]; !p.deleted {
			must(s.t, s.feed.DeletePost(ctx, p.author, n))
			p.deleted = true
		}
	case n < 32 && len(s.ids) > 0:
		n := s.ids[s.random.IntN(len(s.ids))]
		if p := s.posts[n]; !p.deleted {
			p.hidden = !p.hidden
			s.note("hide %d: %v", n, p.hidden)
			must(s.t, s.feed.HidePost(ctx, &feedv1.HidePostRequest{Post: n, Show: !p.hidden}))
		}
	case n < 40 && len(s.ids) > 0:
		s.likeOne()
	case n < 62:
		s.relateOne()
	case n < 64:
		must(s.t, s.engaged.Rank(ctx))
	case n < 66:
		s.clock.Advance(time.Duration(s.random.IntN(20*24)) * time.Hour)
	default:
		s.readOne()
	}
}

func (s *schedule) publishOne() {
	pair := s.two()
	p := &modelPost{author: pair[0]}
	c := &feedv1.PostContent{Text: "a post", Video: uint64(s.random.IntN(2))}
	if s.random.IntN(4) == 0 {
		p.chosen = pair[1]
		c.Audience, c.Users = feedv1.Audience_AUDIENCE_CHOSEN, []uint64{uint64(p.chosen)}
	}
	n := s.publish(p.author, c)
	s.posts[n], s.ids = p, append(s.ids, n)
	s.note("%d publishes %d for %d", p.author, n, p.chosen)
}

func (s *schedule) likeOne() {
	u, n := s.person(), s.ids[s.random.IntN(len(s.ids))]
	if s.maySee(u, n) {
		s.note("%d likes %d", u, n)
		s.like(n, u)
	}
}

// relateOne changes a relation of two people.
func (s *schedule) relateOne() {
	ctx, pair := s.t.Context(), s.two()
	a, b := pair[0], pair[1]
	var err error
	switch s.random.IntN(6) {
	case 0, 1, 2:
		if s.isBlocked(a, b) {
			return // it is refused
		}
		s.follows[pair] = !s.follows[pair]
		s.note("%d follows %d: %v", a, b, s.follows[pair])
		_, err = s.accounts.SetFollow(ctx, a, b, s.follows[pair])
	case 3:
		s.muted[pair] = !s.muted[pair]
		s.note("%d mutes %d: %v", a, b, s.muted[pair])
		_, err = s.accounts.SetMute(ctx, a, b, s.muted[pair])
	case 4:
		s.blocked[pair] = !s.blocked[pair]
		s.note("%d blocks %d: %v", a, b, s.blocked[pair])
		_, err = s.accounts.SetBlock(ctx, a, b, s.blocked[pair])
		s.readFollows(pair)
	default:
		if _, ok := s.less[pair]; ok {
			delete(s.less, pair)
			s.note("%d wants %d again", a, b)
			err = s.ShowAgain(ctx, a, &rankingv1.ShowAgainRequest{Author: uint64(b)})
			break
		}
		s.less[pair] = s.clock.Now()
		s.note("%d wants less of %d", a, b)
		err = s.ShowLess(ctx, a, &rankingv1.ShowLessRequest{Author: uint64(b)})
	}
	must(s.t, err)
}

// readFollows reads what a block has made of the relations of two people.
func (s *schedule) readFollows(pair [2]id.User) {
	for _, p := range [][2]id.User{pair, {pair[1], pair[0]}} {
		r, err := s.accounts.Relation(s.t.Context(), p[0], p[1])
		must(s.t, err)
		s.follows[p] = r.Following
	}
}

func (s *schedule) isBlocked(a, b id.User) bool {
	return s.blocked[[2]id.User{a, b}] || s.blocked[[2]id.User{b, a}]
}

func (s *schedule) maySee(u id.User, n uint64) bool {
	p := s.posts[n]
	return !p.deleted && !p.hidden && (u == p.author || !s.isBlocked(u, p.author) && (p.chosen == 0 || p.chosen == u))
}

// isWanted reports whether ForYou may show a post to a reader.
func (s *schedule) isWanted(reader id.User, n uint64) bool {
	author := s.posts[n].author
	since, less := s.less[[2]id.User{reader, author}]
	return s.maySee(reader, n) && author != reader && !s.muted[[2]id.User{reader, author}] && !(less && s.clock.Now().Sub(since) < 30*24*time.Hour)
}

// readOne reads the first page of an order or the next one.
func (s *schedule) readOne() {
	reader := s.person()
	now := s.orders[reader]
	if now == nil {
		s.clock.Advance(time.Minute) // facts are read again
		now = &order{limit: uint32(1 + s.random.IntN(12)), shown: map[uint64]bool{}, due: map[uint64]bool{}}
		s.orders[reader] = now
		for _, n := range s.ids {
			now.due[n] = s.follows[[2]id.User{reader, s.posts[n].author}]
		}
	}
	for n := range now.due {
		now.due[n] = now.due[n] && s.isWanted(reader, n)
	}
	r := s.read(reader, now.next, now.limit)
	s.note("%d reads %d of a page of %d, next %t", reader, idsOf(r.Posts), now.limit, r.Next != "")
	*s.pages++
	for _, p := range r.Posts {
		*s.shown++
		if n := p.Post.Id; now.shown[n] || !s.isWanted(reader, n) {
			s.t.Errorf("%d gets post %d: again %v, wanted %v", reader, n, now.shown[n], s.isWanted(reader, n))
		}
		now.shown[p.Post.Id] = true
	}
	s.checkAuthors(reader, r, max(1, int(now.limit)/10))
	if now.next = r.Next; now.next != "" {
		return
	}
	*s.ended++
	delete(s.orders, reader)
	for n, due := range now.due {
		if due && !now.shown[n] {
			s.t.Errorf("the order of %d ended without post %d", reader, n)
		}
	}
}

// checkAuthors checks that an author has more posts on a page than is right only if no others are left.
func (s *schedule) checkAuthors(reader id.User, r *rankingv1.ForYouResponse, most int) {
	on := map[uint64]int{}
	for _, p := range r.Posts {
		on[p.Post.Author]++
	}
	if len(on) == 0 || r.Next == "" {
		return
	}
	frequent := slices.MaxFunc(r.Posts, func(a, b *rankingv1.RankedPost) int { return cmp.Compare(on[a.Post.Author], on[b.Post.Author]) })
	if on[frequent.Post.Author] <= most {
		return
	}
	for _, p := range s.all(reader, r.Next, 50) {
		if on[p.Post.Author] < most {
			s.t.Errorf("%d posts of a page are of %d, and post %d of %d waits", on[frequent.Post.Author], frequent.Post.Author, p.Post.Id, p.Post.Author)
		}
	}
}
