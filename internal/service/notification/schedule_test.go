package notification_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/counter"
	notificationv1 "github.com/rialto-im/rialto/sdk/go/gen/notification/v1"
)

type pair [2]id.User

// operation is what somebody did that concerned somebody else, in the order in which it happened.
type operation struct {
	kind, subject string
	actor         id.User
	item          uint64
	there         func(n *naive) bool // whether it is still there
	after         int                 // the read cursor of the user at that time: how many operations
}

// naive derives all notifications from all operations.
type naive struct {
	operations map[id.User][]operation
	read       map[id.User]int
	likes      map[string]bool // by subject and user
	comments   map[uint64]naiveComment
	deleted    map[uint64]bool // posts
	follows    map[pair]bool
	blocks     map[pair]bool
	mutes      map[pair]bool
}

type naiveComment struct {
	post, top uint64
	author    id.User
	topAuthor id.User
	deleted   bool
}

func (n *naive) silenced(u, by id.User) bool {
	return n.mutes[pair{u, by}] || n.blocks[pair{u, by}] || n.blocks[pair{by, u}]
}

// add notes an operation, unless the same one was there before.
func (n *naive) add(u id.User, d operation) {
	if u == d.actor || d.kind != "like" && n.silenced(u, d.actor) {
		return
	}
	for _, other := range n.operations[u] {
		if other.kind == d.kind && other.subject == d.subject && other.actor == d.actor && other.item == d.item {
			return
		}
	}
	d.after = n.read[u]
	n.operations[u] = append(n.operations[u], d)
}

// seesComment reports whether a user sees a comment.
func (n *naive) seesComment(u id.User, authors map[uint64]id.User, c uint64) bool {
	is := n.comments[c]
	blocked := func(other id.User) bool { return n.blocks[pair{u, other}] || n.blocks[pair{other, u}] }
	return !is.deleted && !n.deleted[is.post] && !blocked(is.author) && !blocked(is.topAuthor) && !blocked(authors[is.post])
}

// list returns the notifications of a user, sorted.
func (n *naive) list(u id.User) (lines []string, unread int) {
	type group struct {
		operations []operation
		last       int
	}
	byTopic := map[string][]*group{}
	for i, d := range n.operations[u] {
		topic := d.kind + " " + d.subject
		groups := byTopic[topic]
		if len(groups) == 0 || groups[len(groups)-1].last < d.after {
			groups = append(groups, &group{})
			byTopic[topic] = groups
		}
		g := groups[len(groups)-1]
		g.operations, g.last = append(g.operations, d), i
	}
	for topic, groups := range byTopic {
		for _, g := range groups {
			actors, items := map[id.User]bool{}, 0
			for _, d := range g.operations {
				if n.silenced(u, d.actor) || !d.there(n) {
					continue
				}
				actors[d.actor] = true
				if d.item != 0 {
					items++
				}
			}
			if len(actors) == 0 {
				continue
			}
			mark := ""
			if g.last >= n.read[u] {
				mark = "*"
				unread++
			}
			lines = append(lines, fmt.Sprintf("%s %d actors %d items%s", topic, len(actors), items, mark))
		}
	}
	slices.Sort(lines)
	return lines, unread
}

// schedule is a random order of operations, lists and reads on some nodes and devices.
type schedule struct {
	*fixture
	random *rand.Rand
	people []id.User
	posts  []uint64
	naive  *naive
	// devices are what they listed last: a position, and how many operations there were.
	devices map[id.User][]listed
	steps   []string
	failed  bool
}

type listed struct {
	position   uint64
	operations int
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
	s.steps = append(s.steps, fmt.Sprintf(format, args...))
}
func (s *schedule) person() id.User  { return s.people[s.random.IntN(len(s.people))] }
func (s *schedule) on() *node        { return s.nodes[s.random.IntN(len(s.nodes))] }
func (s *schedule) somePost() uint64 { return s.posts[s.random.IntN(len(s.posts))] }

func (s *schedule) someComment() uint64 {
	ids := slices.Sorted(maps.Keys(s.naive.comments))
	if len(ids) == 0 {
		return 0
	}
	return ids[s.random.IntN(len(ids))]
}

func (s *schedule) one() {
	operations := []struct {
		weight int
		do     func()
	}{{14, s.likeOne}, {10, s.commentOne}, {3, s.deleteOne}, {5, s.followOne}, {3, s.silenceOne}, {1, s.deletePost}, {10, s.listOne}, {6, s.readOne}, {3, s.wait}}
	n := s.random.IntN(55)
	for _, o := range operations {
		if n -= o.weight; n < 0 {
			o.do()
			return
		}
	}
}

func (s *schedule) wait() { s.clock.Advance(time.Duration(s.random.IntN(1500)) * time.Millisecond) }

func (s *schedule) likeOne() {
	by, subject, kind, likes := s.person(), s.somePost(), counter.PostLikes, s.random.IntN(4) > 0
	visible := func(n *naive) bool { return !n.deleted[subject] }
	if c := s.someComment(); c != 0 && s.random.IntN(3) == 0 {
		subject, kind = c, counter.CommentLikes
		visible = func(n *naive) bool { return n.seesComment(s.authorOf(c), s.authors, c) }
	}
	s.note("%d likes %s %d: %v", by, kind, subject, likes)
	must(s.t, s.on().counters.Apply(context.Background(), []counter.Change{{Kind: kind, Subject: subject, User: by, Remove: !likes}}))
	key := fmt.Sprint(kind, subject, by)
	was := s.naive.likes[key]
	if s.naive.likes[key] = likes; likes && !was {
		s.naive.add(s.authorOf(subject), operation{kind: "like", subject: fmt.Sprint(subject), actor: by, there: func(n *naive) bool { return visible(n) && n.likes[key] }})
	}
}

func (s *schedule) commentOne() {
	by, post, replyTo := s.person(), s.somePost(), uint64(0)
	if c := s.someComment(); c != 0 && s.random.IntN(2) == 0 {
		post, replyTo = s.naive.comments[c].post, c
	}
	var mentioned []id.User
	if s.random.IntN(4) == 0 {
		mentioned = append(mentioned, s.person())
	}
	c, err := s.tryComment(s.on(), by, post, replyTo, mentioned...)
	s.note("%d comments %d on %d, replies to %d, mentions %v: %v", by, c, post, replyTo, mentioned, err)
	if err != nil {
		if r := reason(err); r != "no_subject" && r != "no_comment" {
			s.fail("a comment is answered with %v", err)
		}
		return
	}
	is := naiveComment{post: post, author: by, topAuthor: by}
	if replyTo != 0 {
		top := s.naive.comments[replyTo]
		if is.top, is.topAuthor = top.top, top.topAuthor; is.top == 0 {
			is.top, is.topAuthor = replyTo, top.author
		}
	}
	s.naive.comments[c] = is
	notified := map[id.User]bool{}
	add := func(u id.User, kind string, subject uint64) {
		if !notified[u] {
			s.naive.add(u, operation{kind: kind, subject: fmt.Sprint(subject), actor: by, item: c, there: func(n *naive) bool { return n.seesComment(u, s.authors, c) }})
		}
		notified[u] = true
	}
	for _, u := range mentioned {
		add(u, "mention", c)
	}
	if replyTo != 0 {
		add(s.authorOf(replyTo), "reply", replyTo)
	}
	add(s.authorOf(post), "comment", post)
}

func (s *schedule) deleteOne() {
	c := s.someComment()
	if c == 0 {
		return
	}
	s.note("comment %d is deleted", c)
	must(s.t, s.on().comments.DeleteComment(context.Background(), s.authorOf(c), c))
	is := s.naive.comments[c]
	is.deleted = true
	s.naive.comments[c] = is
}

func (s *schedule) deletePost() {
	if post := s.somePost(); s.random.IntN(3) == 0 {
		s.note("post %d is deleted", post)
		must(s.t, s.on().feed.DeletePost(context.Background(), s.authorOf(post), post))
		s.naive.deleted[post] = true
	}
}

func (s *schedule) followOne() {
	a, b, follows := s.person(), s.person(), s.random.IntN(3) > 0
	if a == b {
		return
	}
	_, err := s.on().accounts.SetFollow(context.Background(), a, b, follows)
	s.note("%d follows %d: %v %v", a, b, follows, err)
	if err != nil {
		return // blocked
	}
	was := s.naive.follows[pair{a, b}]
	if s.naive.follows[pair{a, b}] = follows; follows && !was {
		s.naive.add(b, operation{kind: "follow", subject: "0", actor: a, there: func(n *naive) bool { return n.follows[pair{a, b}] }})
	}
}

func (s *schedule) silenceOne() {
	a, b, on, accounts := s.person(), s.person(), s.random.IntN(2) == 0, s.on().accounts
	if a == b {
		return
	}
	if s.random.IntN(2) == 0 {
		s.note("%d mutes %d: %v", a, b, on)
		_, err := accounts.SetMute(context.Background(), a, b, on)
		must(s.t, err)
		s.naive.mutes[pair{a, b}] = on
		return
	}
	s.note("%d blocks %d: %v", a, b, on)
	_, err := accounts.SetBlock(context.Background(), a, b, on)
	must(s.t, err)
	if s.naive.blocks[pair{a, b}] = on; on {
		s.naive.follows[pair{b, a}] = false
	}
}

var kindNames = map[notificationv1.NotificationKind]string{notificationv1.NotificationKind_NOTIFICATION_KIND_LIKE: "like", notificationv1.NotificationKind_NOTIFICATION_KIND_COMMENT: "comment",
	notificationv1.NotificationKind_NOTIFICATION_KIND_REPLY: "reply", notificationv1.NotificationKind_NOTIFICATION_KIND_MENTION: "mention", notificationv1.NotificationKind_NOTIFICATION_KIND_FOLLOW: "follow"}

// listOne lists all on a device, compares that with the naive list, and checks the count.
func (s *schedule) listOne() {
	u, on := s.person(), s.on()
	operations := len(s.naive.operations[u])
	list, position := s.list(on, u, uint32(1+s.random.IntN(4)))
	var got []string
	last := uint64(1 << 63)
	for _, n := range list {
		mark := ""
		if !n.Read {
			mark = "*"
		}
		got = append(got, fmt.Sprintf("%s %d %d actors %d items%s", kindNames[n.Kind], n.Subject, n.ActorCount, n.ItemCount, mark))
		if n.Position >= last {
			s.fail("a list has position %d after %d", n.Position, last)
		}
		last = n.Position
	}
	slices.Sort(got)
	want, unread := s.naive.list(u)
	s.note("%d lists up to %d: %q", u, position, got)
	if !slices.Equal(got, want) {
		s.fail("the list of %d is\n%q, want\n%q", u, got, want)
	}
	if n := s.unread(on, u); int(n) != unread {
		s.fail("%d has %d unread notifications, want %d", u, n, unread)
	}
	s.devices[u][s.random.IntN(len(s.devices[u]))] = listed{position, operations}
}

// readOne marks as read what a device listed, perhaps long ago. The process may die after the commit.
func (s *schedule) readOne() {
	u, on := s.person(), s.on()
	to := s.devices[u][s.random.IntN(len(s.devices[u]))]
	s.note("%d reads up to %d, %d operations", u, to.position, to.operations)
	died := errors.New("the process died")
	if s.random.IntN(4) == 0 {
		on.Interrupt(func(string) error { return died })
	}
	_, err := on.ReadNotifications(context.Background(), u, &notificationv1.ReadNotificationsRequest{Position: to.position})
	on.Interrupt(nil)
	if err != nil && !errors.Is(err, died) {
		s.fail("a read is answered with %v", err)
	}
	s.naive.read[u] = max(s.naive.read[u], to.operations)
}

// TestRandomSchedules compares lists and counts with a list that derives everything from all operations.
func TestRandomSchedules(t *testing.T) {
	const steps = 120
	for seed := range uint64(sqltest.Schedules(t, "NOTIFICATION_SCHEDULES", 6)) {
		nodes := 1 + int(seed%2)*2
		f := open(t, nodes)
		s := &schedule{fixture: f, random: rand.New(rand.NewPCG(seed, 1)), devices: map[id.User][]listed{},
			naive: &naive{operations: map[id.User][]operation{}, read: map[id.User]int{}, likes: map[string]bool{}, comments: map[uint64]naiveComment{}, deleted: map[uint64]bool{}, follows: map[pair]bool{}, blocks: map[pair]bool{}, mutes: map[pair]bool{}}}
		for range 4 {
			u := f.user()
			s.people = append(s.people, u)
			s.posts = append(s.posts, f.post(u))
			s.devices[u] = make([]listed, 2)
		}
		for _, n := range f.nodes {
			n.UseSmallSizes()
		}
		for range steps {
			if s.one(); s.failed {
				t.Fatalf("seed %d", seed)
			}
		}
	}
}

// TestNodesThatLikeAtOnce: each like of many users on several nodes is counted once, in one notification.
func TestNodesThatLikeAtOnce(t *testing.T) {
	f := open(t, 3)
	ana := f.user()
	post := f.post(ana)
	const users, each = 4, 5
	var group sync.WaitGroup
	for n := range f.nodes {
		for u := range users {
			group.Go(func() {
				for i := range each {
					liker := id.User(1 + (n*users+u)*each + i)
					if _, err := f.nodes[n].counters.Add(context.Background(), counter.PostLikes, post, liker); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	group.Wait()
	list, _ := f.list(f.node, ana, 0)
	if len(list) != 1 || int(list[0].ActorCount) != len(f.nodes)*users*each || list[0].MoreActors {
		t.Errorf("the notifications are %v, want one of %d users", list, len(f.nodes)*users*each)
	}
	var stored, causes int
	must(t, f.db.Read().QueryRowContext(context.Background(), `SELECT (SELECT count(*) FROM notification_causes), (SELECT causes FROM notifications)`).Scan(&stored, &causes))
	if stored != causes || stored != len(f.nodes)*users*each {
		t.Errorf("%d causes are stored, %d counted", stored, causes)
	}
}
