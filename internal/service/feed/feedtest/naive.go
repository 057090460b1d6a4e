// Package feedtest has the naive feed, the reference that tests compare timelines with: it filters and sorts all posts at each read.
package feedtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/base/id"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// Pair is a user, and another one whom the first follows, mutes or has blocked.
type Pair [2]id.User

// Naive has all posts and relations. One goroutine at a time may use it.
type Naive struct {
	Posts                           map[uint64]Post
	Follows, Mutes, Blocks, Friends map[Pair]bool // friends in both directions
}

// Post of the naive feed.
type Post struct {
	ID, RepostOf    uint64
	Author          id.User
	Text            string
	Version         uint32
	Audience        feedv1.Audience
	Users           []uint64
	Deleted, Hidden bool
}

// New returns a feed without posts.
func New() *Naive {
	return &Naive{Posts: map[uint64]Post{}, Follows: map[Pair]bool{}, Mutes: map[Pair]bool{}, Blocks: map[Pair]bool{}, Friends: map[Pair]bool{}}
}

// Clone returns a copy.
func (n *Naive) Clone() *Naive {
	return &Naive{Posts: maps.Clone(n.Posts), Follows: maps.Clone(n.Follows), Mutes: maps.Clone(n.Mutes), Blocks: maps.Clone(n.Blocks), Friends: maps.Clone(n.Friends)}
}

// Block makes a user block another one: they are no friends any more, and the other one no longer follows.
func (n *Naive) Block(of, other id.User) {
	n.Blocks[Pair{of, other}] = true
	delete(n.Friends, Pair{of, other})
	delete(n.Friends, Pair{other, of})
	delete(n.Follows, Pair{other, of})
}

// Sees reports whether a reader may see a post.
func (n *Naive) Sees(reader id.User, p Post) bool {
	switch {
	case p.ID == 0 || p.Deleted || p.Hidden:
		return false
	case p.Author == reader:
		return true
	case n.Blocks[Pair{reader, p.Author}] || n.Blocks[Pair{p.Author, reader}]:
		return false
	}
	switch p.Audience {
	case feedv1.Audience_AUDIENCE_FRIENDS:
		return n.Friends[Pair{p.Author, reader}]
	case feedv1.Audience_AUDIENCE_CHOSEN:
		return slices.Contains(p.Users, uint64(reader))
	case feedv1.Audience_AUDIENCE_EXCEPT:
		return !slices.Contains(p.Users, uint64(reader))
	}
	return true
}

// list returns the posts that a reader sees, the newest first, of those that a condition chooses.
func (n *Naive) list(reader id.User, chosen func(Post) bool) (lines []string, ids []uint64) {
	for _, i := range slices.Backward(slices.Sorted(maps.Keys(n.Posts))) {
		if p := n.Posts[i]; chosen(p) && n.Sees(reader, p) {
			lines, ids = append(lines, n.line(reader, p)), append(ids, i)
		}
	}
	return lines, ids
}

// Home returns a reader's home timeline, as lines and ids.
func (n *Naive) Home(reader id.User) (lines []string, ids []uint64) {
	return n.list(reader, func(p Post) bool {
		at := Pair{reader, p.Author}
		return p.Author == reader || n.Follows[at] && !n.Mutes[at]
	})
}

// Profile returns the posts of an author that a reader sees, as lines and ids.
func (n *Naive) Profile(reader, author id.User) (lines []string, ids []uint64) {
	return n.list(reader, func(p Post) bool { return p.Author == author })
}

// line is a post as a reader sees it.
func (n *Naive) line(reader id.User, p Post) string {
	original := n.Posts[p.RepostOf]
	shown := ""
	if n.Sees(reader, original) {
		shown = fmt.Sprintf(" of %d by %d: %s v%d", original.ID, original.Author, original.Text, original.Version)
	}
	return fmt.Sprintf("%d by %d: %s v%d%s", p.ID, p.Author, p.Text, p.Version, shown)
}

// Lines are posts of an answer, in the form of the naive feed.
func Lines(posts []*feedv1.Post) (lines []string) {
	for _, p := range posts {
		var b strings.Builder
		fmt.Fprintf(&b, "%d by %d: %s v%d", p.Id, p.Author, p.Content.Text, p.Version)
		if r := p.Reposted; r != nil {
			fmt.Fprintf(&b, " of %d by %d: %s v%d", r.Id, r.Author, r.Content.Text, r.Version)
		}
		lines = append(lines, b.String())
	}
	return lines
}

// Difference says how a page differs from what a timeline of the naive feed has from where the page begins to where the next one begins; "" if it does
// not. A page is short only at the end.
func Difference(posts []*feedv1.Post, before, next uint64, limit int, lines []string, ids []uint64) string {
	var want []string
	for i, n := range ids {
		if (before == 0 || n < before) && n >= next {
			want = append(want, lines[i])
		}
	}
	if have := Lines(posts); !slices.Equal(have, want) {
		return fmt.Sprintf("the page is\n%q, the naive feed has\n%q", have, want)
	}
	if len(posts) > limit || len(posts) < limit && next != 0 || next != 0 && before != 0 && next >= before {
		return fmt.Sprintf("the page below %d has %d posts of %d, and the next is at %d", before, len(posts), limit, next)
	}
	return ""
}
