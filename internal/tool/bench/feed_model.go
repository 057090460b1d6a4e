package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"

	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// moment is nanoseconds since the start of a load.
type moment int64

// never is later than all that happens.
const never = moment(math.MaxInt64)

// span has the moment at which a change was stored: after from, when it was first sent, and before to, when it was answered.
type span struct{ from, to moment }

// feedModel is the naive feed: all posts, deletions and follows that the load has made. A page must be what the naive feed shows at one moment between the
// call and its answer.
type feedModel struct {
	corpus corpus

	mu      sync.Mutex // guards all below
	authors []*feedAuthor
	ids     map[uint64]*feedPost
	follows []map[int][]followChange // by reader and author
}

// feedAuthor has the posts in the order in which they were published, one after the other.
type feedAuthor struct {
	user  uint64
	posts []*feedPost
}

// feedPost is a post that the load has sent.
type feedPost struct {
	author, n          int
	id                 uint64 // 0: not known yet
	published, deleted span   // both are never where that did not happen
}

type followChange struct {
	follows bool
	at      span
}

func newFeedModel(c corpus, authors []uint64, readers int) *feedModel {
	m := &feedModel{corpus: c, ids: map[uint64]*feedPost{}, follows: make([]map[int][]followChange, readers)}
	for _, u := range authors {
		m.authors = append(m.authors, &feedAuthor{user: u})
	}
	for i := range m.follows {
		m.follows[i] = map[int][]followChange{}
	}
	return m
}

// publishing adds the next post of an author, which is about to be sent.
func (m *feedModel) publishing(author int, at moment) *feedPost {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.authors[author]
	p := &feedPost{author: author, n: len(a.posts), published: span{at, never}, deleted: span{never, never}}
	a.posts = append(a.posts, p)
	return p
}

// published stores the answer to a post. It is false if a reader got the post with another id.
func (m *feedModel) published(p *feedPost, id uint64, at moment) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.appeared(p, id, at)
}

// appeared stores that a post was there at a moment. The caller holds mu.
func (m *feedModel) appeared(p *feedPost, id uint64, at moment) bool {
	if p.id == 0 {
		p.id = id
		m.ids[id] = p
	}
	p.published.to = min(p.published.to, at)
	return p.id == id
}

// refused removes the last post of an author, which the server did not accept.
func (m *feedModel) refused(p *feedPost) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.authors[p.author]
	a.posts = a.posts[:p.n]
}

// deleting and deleted store the call that deletes a post, and its answer.
func (m *feedModel) deleting(p *feedPost, at moment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p.deleted.from = at
}

func (m *feedModel) deleted(p *feedPost, at moment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p.deleted.to = at
}

// following stores a call by which a reader begins or ceases to follow an author, and followed its answer.
func (m *feedModel) following(reader, author int, follows bool, at moment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.follows[reader][author] = append(m.follows[reader][author], followChange{follows, span{at, never}})
}

func (m *feedModel) followed(reader, author int, at moment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.follows[reader][author]
	list[len(list)-1].at.to = at
}

// follow reports whether a reader follows an author, as of the last call.
func (m *feedModel) isFollowing(reader, author int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.follows[reader][author]
	return len(list) > 0 && list[len(list)-1].follows
}

// sentAt returns when a post was sent.
func (m *feedModel) sentAt(id uint64) (moment, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.ids[id]
	if p == nil {
		return 0, false
	}
	return p.published.from, true
}

// feedPage is a page that a reader got.
type feedPage struct {
	reader       int
	asked, got   moment
	before, next uint64
	limit        int
	posts        []*feedv1.Post
}

// feedFaults of pages. Wrong pages are those that the naive feed shows at no moment, with those that repeat or lack a post.
type feedFaults struct {
	Wrong   uint64 `json:"wrong_pages"`
	Repeats uint64 `json:"repeats"`
	Gaps    uint64 `json:"gaps"`
}

func (f *feedFaults) add(o feedFaults) {
	f.Wrong += o.Wrong
	f.Repeats += o.Repeats
	f.Gaps += o.Gaps
}

// check compares a page with the naive feed. seen has the posts of earlier pages of the same scroll. It also says what is wrong with the page.
func (m *feedModel) check(p *feedPage, seen map[uint64]bool) (f feedFaults, what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fault := func(format string, args ...any) {
		if f.Wrong = 1; what == "" {
			what = fmt.Sprintf(format, args...)
		}
	}
	if len(p.posts) > p.limit || p.next != 0 && p.before != 0 && p.next >= p.before {
		fault("it has %d posts of %d, and the next page begins at %d, this one at %d", len(p.posts), p.limit, p.next, p.before)
	}
	var impossible []span // moments at which the naive feed does not show this page
	last, here := p.before, map[uint64]bool{}
	for _, view := range p.posts {
		if here[view.Id] = true; seen[view.Id] {
			f.Repeats++
			fault("post %d came before", view.Id)
			continue
		}
		seen[view.Id] = true
		if last != 0 && view.Id >= last || view.Id < p.next {
			fault("post %d is not where it belongs: below %d, and not below %d", view.Id, last, p.next)
		}
		last = view.Id
		post, problem := m.postOf(view, p.got)
		if post == nil {
			fault("post %d %s", view.Id, problem)
			continue
		}
		hidden := m.hiddenTimes(p.reader, post)
		if covers(hidden, p.asked, p.got) {
			fault("the reader must not get post %d of author %d: it is deleted, or not followed, or was not sent", post.id, post.author)
		}
		impossible = append(impossible, hidden...)
	}
	for author := range m.follows[p.reader] {
		for _, post := range m.between(author, p.next, p.before) {
			if here[post.id] {
				continue
			}
			shown := m.shownTimes(p.reader, post)
			if covers(shown, p.asked, p.got) {
				f.Gaps++
				fault("post %d of author %d is missing", post.id, post.author)
			}
			impossible = append(impossible, shown...)
		}
	}
	if what == "" && covers(impossible, p.asked, p.got) {
		fault("its posts are those of the timeline at different moments")
	}
	return f, what
}

// postOf returns the post of the load that a reader got until a moment, or says what is wrong with it. The caller holds mu.
func (m *feedModel) postOf(view *feedv1.Post, got moment) (*feedPost, string) {
	author, n, _, ok := m.corpus.parse([]byte(view.Content.GetText()))
	if !ok || int(author) >= len(m.authors) || int(n) >= len(m.authors[author].posts) {
		return nil, "has a text that was not sent"
	}
	a := m.authors[author]
	if a.user != view.Author {
		return nil, "names another author than the one who wrote it"
	}
	if p := a.posts[n]; m.appeared(p, view.Id, got) {
		return p, ""
	}
	return nil, "is stored twice, with two ids"
}

// between returns the posts of an author with known ids from low on, and below high; 0 is no limit. The caller holds mu.
func (m *feedModel) between(author int, low, high uint64) []*feedPost {
	list := m.authors[author].posts
	for len(list) > 0 && list[len(list)-1].id == 0 {
		list = list[:len(list)-1]
	}
	at := func(id uint64) int {
		return sort.Search(len(list), func(i int) bool { return list[i].id >= id })
	}
	if high == 0 {
		return list[at(low):]
	}
	return list[at(low):max(at(high), at(low))]
}

// hiddenTimes returns when a reader certainly does not see a post. The caller holds mu.
func (m *feedModel) hiddenTimes(reader int, p *feedPost) []span {
	times := []span{{-1, p.published.from}, {p.deleted.to, never}}
	from := moment(-1) // of a time in which the reader does not follow the author
	for _, c := range m.follows[reader][p.author] {
		if c.follows {
			times = append(times, span{from, c.at.from})
			from = never
		} else {
			from = c.at.to
		}
	}
	return append(times, span{from, never})
}

// shownTimes returns when a reader certainly sees a post. The caller holds mu.
func (m *feedModel) shownTimes(reader int, p *feedPost) (times []span) {
	add := func(from, to moment) {
		if from, to = max(from, p.published.to), min(to, p.deleted.from); from < to {
			times = append(times, span{from, to})
		}
	}
	from := never
	for _, c := range m.follows[reader][p.author] {
		if c.follows {
			from = c.at.to
		} else {
			add(from, c.at.from)
			from = never
		}
	}
	add(from, never)
	return times
}

// covers reports whether each moment from begin to end is within one of some times, without their ends.
func covers(times []span, begin, end moment) bool {
	slices.SortFunc(times, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for _, t := range times {
		if t.from >= begin {
			return false // begin is in none
		}
		if begin = max(begin, t.to); begin > end {
			return true
		}
	}
	return false
}
