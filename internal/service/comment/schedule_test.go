package comment_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

var errDied = errors.New("the process died")

// naiveComment is a comment of the naive list, which filters and sorts all comments at each read.
type naiveComment struct {
	id, post, top, replyTo uint64
	author                 id.User
	text                   string
	deleted                bool
}

type pair [2]id.User

// naive has all comments, posts and blocks.
type naive struct {
	comments map[uint64]naiveComment
	owners   map[uint64]id.User // of posts
	hidden   map[uint64]bool    // posts
	blocks   map[pair]bool
}

func (n *naive) clone() *naive {
	return &naive{maps.Clone(n.comments), maps.Clone(n.owners), maps.Clone(n.hidden), maps.Clone(n.blocks)}
}

func (n *naive) blocked(a, b id.User) bool { return n.blocks[pair{a, b}] || n.blocks[pair{b, a}] }

func (n *naive) seesPost(reader id.User, post uint64) bool {
	return n.owners[post] != 0 && !n.hidden[post] && !n.blocked(reader, n.owners[post])
}

func (n *naive) replies(top uint64) (count int) {
	for _, c := range n.comments {
		if c.top == top && !c.deleted {
			count++
		}
	}
	return count
}

func (n *naive) sees(reader id.User, c naiveComment) bool {
	if c.id == 0 || !n.seesPost(reader, c.post) || n.blocked(reader, c.author) || c.top != 0 && n.blocked(reader, n.comments[c.top].author) {
		return false
	}
	return !c.deleted || c.top == 0 && n.replies(c.id) > 0
}

// list returns what a reader sees of a thread, or of the top comments of a post, as lines, with their ids.
func (n *naive) list(reader id.User, post, top uint64, newestFirst bool) (lines []string, ids []uint64) {
	for _, i := range slices.Sorted(maps.Keys(n.comments)) {
		if c := n.comments[i]; c.post == post && c.top == top && n.sees(reader, c) {
			lines, ids = append(lines, n.line(reader, c)), append(ids, i)
		}
	}
	if newestFirst {
		slices.Reverse(lines)
		slices.Reverse(ids)
	}
	return lines, ids
}

func (n *naive) line(reader id.User, c naiveComment) string {
	author, to := c.author, n.comments[c.replyTo].author
	if c.deleted {
		author, c.text = 0, ""
	}
	if n.blocked(reader, to) {
		to = 0
	}
	replies := 0
	if c.top == 0 {
		replies = n.replies(c.id)
	}
	return fmt.Sprintf("%d by %d in %d to %d by %d: %q %v, %d replies", c.id, author, c.top, c.replyTo, to, c.text, c.deleted, replies)
}

func lineOf(c *commentv1.Comment) string {
	return fmt.Sprintf("%d by %d in %d to %d by %d: %q %v, %d replies", c.Id, c.Author, c.Top, c.ReplyTo, c.ReplyToAuthor, c.GetContent().GetText(), c.Deleted, c.Replies)
}

// schedule is a random order of operations, which are also done between the steps of others. Each page is compared with the naive list as of the moment at
// which its snapshot began.
type schedule struct {
	*fixture
	random *rand.Rand
	people []id.User
	posts  []uint64
	naive  *naive
	seen   *naive // as of the snapshot that is being read; nil: it has not begun
	depth  int    // of operations within others
	steps  []string
	tokens int
	failed bool
	points map[string]int
	// creating is what is being created; it is in the naive list as soon as it is stored.
	creating naiveComment
}

func (s *schedule) fail(format string, args ...any) {
	s.t.Helper()
	if !s.failed {
		s.t.Errorf(format, args...)
		for _, step := range s.steps {
			s.t.Log(step)
		}
	}
	s.failed = true
}

func (s *schedule) note(format string, args ...any) {
	s.steps = append(s.steps, fmt.Sprintf("%*s", 2*s.depth, "")+fmt.Sprintf(format, args...))
}

// between is called between two steps of an operation. It does others where no transaction that writes is open, and sometimes the process dies there.
func (s *schedule) between(point string) error {
	s.points[point]++
	s.settle()
	writing := point == "create-stored" || point == "delete-stored"
	if point == "subject-seen" && s.seen == nil {
		s.seen = s.naive.clone()
	}
	if !writing && s.depth == 0 && s.random.IntN(3) == 0 {
		seen, creating := s.seen, s.creating
		s.depth++
		for range 1 + s.random.IntN(2) {
			s.seen = nil
			s.one()
		}
		s.depth--
		s.seen, s.creating = seen, creating
	}
	if point != "subject-seen" && s.random.IntN(10) == 0 {
		s.note("died at %s", point)
		return errDied
	}
	return nil
}

func (s *schedule) one() {
	operations := []struct {
		weight int
		do     func()
	}{{20, s.createOne}, {4, s.editOne}, {8, s.deleteOne}, {4, s.blockOne}, {3, s.hideOne}, {16, s.readOne}}
	n := s.random.IntN(55)
	for _, o := range operations {
		if n -= o.weight; n < 0 {
			o.do()
			return
		}
	}
}

func (s *schedule) person() id.User  { return s.people[s.random.IntN(len(s.people))] }
func (s *schedule) somePost() uint64 { return s.posts[s.random.IntN(len(s.posts))] }

// comment chooses a comment; an empty one if there is none.
func (s *schedule) comment() naiveComment {
	ids := slices.Sorted(maps.Keys(s.naive.comments))
	if len(ids) == 0 {
		return naiveComment{}
	}
	return s.naive.comments[ids[s.random.IntN(len(ids))]]
}

// createOne creates a comment, and repeats that until it is answered. What happens meanwhile may be before or behind it, so what was allowed or refused is
// checked only if nothing did.
func (s *schedule) createOne() {
	by, post, answered := s.person(), s.somePost(), naiveComment{}
	if s.random.IntN(3) > 0 {
		if answered = s.comment(); answered.id != 0 {
			post = answered.post
		}
	}
	s.tokens++
	text := fmt.Sprint("t", s.tokens)
	before := s.naive.clone()
	steps := len(s.steps)
	s.creating = naiveComment{post: post, author: by, text: text, replyTo: answered.id, top: answered.top}
	if answered.id != 0 && answered.top == 0 {
		s.creating.top = answered.id
	}
	var got *commentv1.Comment
	err := errDied
	for errors.Is(err, errDied) {
		s.seen = nil
		got, err = s.CreateComment(ctx, by, request(text, post, answered.id, text))
	}
	quiet := len(s.steps) == steps
	s.note("%d comments on %d, to %d: %d %s", by, post, answered.id, got.GetId(), reason(err))
	want := ""
	if answered.id != 0 && (!before.sees(by, answered) || answered.deleted) {
		want = "no_comment"
	} else if !before.seesPost(by, post) {
		want = "no_subject"
	}
	if quiet && reason(err) != want {
		s.fail("a comment is answered with %v, want %q", err, want)
	}
	if s.settle(); err == nil && s.naive.comments[got.Id].author != by {
		s.fail("the comment %d is not stored", got.Id)
	}
	s.creating = naiveComment{}
}

// settle adds what is being created to the naive list, once it is stored, also where its author got no answer.
func (s *schedule) settle() {
	c := s.creating
	if c.author == 0 {
		return
	}
	must(s.t, s.dbs[0].Read().QueryRow(`SELECT coalesce(max(id), 0) FROM comments WHERE author = $1 AND token = $2`, int64(c.author), c.text).Scan(&c.id))
	if c.id != 0 {
		s.naive.comments[c.id] = c
		s.creating = naiveComment{}
	}
}

func (s *schedule) editOne() {
	c := s.comment()
	if c.id == 0 {
		return
	}
	s.tokens++
	text := fmt.Sprint("e", s.tokens)
	s.depth++ // nothing happens between its steps, which are in one transaction
	defer func() { s.depth-- }()
	_, err := s.EditComment(ctx, c.author, &commentv1.EditCommentRequest{Comment: c.id, Content: &commentv1.CommentContent{Text: text}})
	if s.note("edit %d to %s: %s", c.id, text, reason(err)); (err == nil) != (s.naive.sees(c.author, c) && !c.deleted) {
		s.fail("editing is answered with %v", err)
	}
	if err == nil {
		c.text = text
		s.naive.comments[c.id] = c
	}
}

func (s *schedule) deleteOne() {
	c, by := s.comment(), s.person()
	if c.id == 0 {
		return
	}
	if s.random.IntN(2) == 0 {
		by = c.author
	}
	s.depth++
	defer func() { s.depth-- }()
	err := errDied
	for errors.Is(err, errDied) {
		err = s.DeleteComment(ctx, by, c.id)
	}
	may := by == c.author || s.naive.owners[c.post] == by && !s.naive.hidden[c.post]
	if s.note("%d deletes %d: %s", by, c.id, reason(err)); (err == nil) != may {
		s.fail("deleting is answered with %v", err)
	}
	if err == nil {
		c.deleted = true
		s.naive.comments[c.id] = c
	}
}

func (s *schedule) blockOne() {
	a, b := s.person(), s.person()
	if a == b {
		return
	}
	at := pair{a, b}
	s.naive.blocks[at] = !s.naive.blocks[at]
	s.note("%d blocks %d: %v", a, b, s.naive.blocks[at])
	s.block(a, b, s.naive.blocks[at])
}

func (s *schedule) hideOne() {
	post := s.somePost()
	s.naive.hidden[post] = !s.naive.hidden[post]
	s.note("hide %d: %v", post, s.naive.hidden[post])
	must(s.t, s.feed.HidePost(ctx, &feedv1.HidePostRequest{Post: post, Show: !s.naive.hidden[post]}))
}

// readOne reads some pages, and checks that those of one list have no repeats and no gaps.
func (s *schedule) readOne() {
	reader, limit, order, top := s.person(), uint32(1+s.random.IntN(3)), []commentv1.CommentOrder{newest, oldest}[s.random.IntN(2)], uint64(0)
	post := s.somePost()
	if c := s.comment(); c.id != 0 && s.random.IntN(2) == 0 {
		if top, post, order = c.id, c.post, oldest; c.top != 0 {
			top = c.top
		}
	}
	seen := s.seen
	defer func() { s.seen = seen }()
	for page, pages := "", 1+s.random.IntN(6); pages > 0; pages-- {
		s.seen = nil
		list, next, err := s.page(reader, post, top, order, page, limit)
		as := s.seen // as of the snapshot
		if as == nil {
			as = s.naive // it was refused at its beginning
		}
		s.note("%d reads %d of %d in %d, order %d, page %q: %d, next %q, %s", reader, limit, post, top, order, page, len(list), next, reason(err))
		allowed := as.seesPost(reader, post) && (top == 0 || as.sees(reader, as.comments[top]))
		if (err == nil) != allowed {
			s.fail("a page is answered with %v", err)
		}
		if err != nil {
			return
		}
		s.compare(as, reader, post, top, order == newest, page, next, list, int(limit))
		if page = next; page == "" {
			return
		}
		if s.random.IntN(3) == 0 && s.depth == 0 {
			s.one()
		}
	}
}

// compare compares a page with what the naive list has from where the page begins to where the next one does. A page is short only at the end.
func (s *schedule) compare(as *naive, reader id.User, post, top uint64, newestFirst bool, page, next string, list []*commentv1.Comment, limit int) {
	s.t.Helper()
	number := func(token string) uint64 {
		n, _ := strconv.ParseUint(token, 10, 64) // "" is 0
		return n
	}
	from, to := number(page), number(next)
	behind := func(n, place uint64) bool { return n > place != newestFirst && n != place }
	lines, ids := as.list(reader, post, top, newestFirst)
	var got, want []string
	for _, c := range list {
		got = append(got, lineOf(c))
	}
	for i, n := range ids {
		if (from == 0 || behind(n, from)) && (to == 0 || !behind(n, to)) {
			want = append(want, lines[i])
		}
	}
	if !slices.Equal(got, want) {
		s.fail("the page is\n%q, the naive list has\n%q", got, want)
	}
	if len(list) > limit || len(list) < limit && next != "" || from != 0 && to != 0 && !behind(to, from) {
		s.fail("the page behind %d has %d comments of %d, and the next is behind %d", from, len(list), limit, to)
	}
}

// TestRandomSchedulesEqualTheNaiveList: each page of random schedules is that of the naive list at one moment, and counts are those of the rows.
func TestRandomSchedulesEqualTheNaiveList(t *testing.T) {
	f := open(t, 1)
	points := map[string]int{}
	first, err := strconv.ParseUint(os.Getenv("COMMENT_SEED"), 10, 64)
	if err != nil {
		first = 1
	}
	for seed := first; seed < first+uint64(sqltest.Schedules(t, "COMMENT_SCHEDULES", 150)) && !t.Failed(); seed++ {
		s := &schedule{fixture: f, random: rand.New(rand.NewPCG(seed, 0)), tokens: int(seed) * 10_000, points: points,
			naive: &naive{map[uint64]naiveComment{}, map[uint64]id.User{}, map[uint64]bool{}, map[pair]bool{}}}
		for range 3 {
			s.people = append(s.people, f.user())
		}
		for i := range 2 {
			post := f.post(s.people[i])
			s.posts, s.naive.owners[post] = append(s.posts, post), s.people[i]
		}
		f.Interrupt(s.between)
		for range 60 {
			if s.one(); s.failed {
				t.Fatalf("the schedule of COMMENT_SEED=%d failed", seed)
			}
		}
		f.Interrupt(nil)
		for post, owner := range s.naive.owners {
			want := 0
			for _, c := range s.naive.comments {
				if c.post == post && !c.deleted {
					want++
				}
			}
			if !s.naive.hidden[post] && int(f.count(owner, post)) != want {
				t.Errorf("COMMENT_SEED=%d: %d comments are counted, want %d", seed, f.count(owner, post), want)
			}
		}
	}
	f.checkCounts()
	t.Log(points)
	for _, point := range []string{"subject-seen", "create-prepared", "create-stored", "create-committed", "delete-stored", "delete-committed"} {
		if points[point] < sqltest.Schedules(t, "COMMENT_SCHEDULES", 150) {
			t.Errorf("the schedules came to %s %d times: they test little", point, points[point])
		}
	}
}
