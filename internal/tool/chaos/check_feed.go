package chaos

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// published is a post that was acknowledged.
type published struct {
	text     string
	author   uint64
	stored   time.Duration // when the first call was acknowledged
	deleting time.Duration // when its deletion began, or never
	deleted  time.Duration // when that was acknowledged, or never
}

// posts returns the acknowledged posts by their ids. A retry that is answered with another id is a violation.
func (m *analysis) posts(v *Verdict) map[uint64]*published {
	all, ids := map[uint64]*published{}, map[string]uint64{}
	for _, o := range m.ops {
		if o.F != FPublish || o.how != Ok {
			continue
		}
		if was := ids[o.Text]; was != 0 && was != o.Other {
			v.violate("%q is post %d, and after a retry post %d", o.Text, was, o.Other)
		}
		ids[o.Text] = o.Other
		if p := all[o.Other]; p == nil {
			all[o.Other] = &published{o.Text, o.User, o.end, never, never}
		} else {
			p.stored = min(p.stored, o.end)
		}
	}
	for _, o := range m.ops {
		if p := all[o.Other]; o.F == FDelete && p != nil {
			p.deleting = min(p.deleting, o.begin)
			if o.how == Ok {
				p.deleted = min(p.deleted, o.end)
			}
		}
	}
	return all
}

// checkEffects is INV14, INV19 and INV20: a post is published once, pages of home timelines have exactly the posts of some moment of their call, and at
// the end the likes of a post are those that its users were told of.
func checkEffects(m *analysis) *Verdict {
	v := verdict("INV14", "posts and likes have their effect once")
	posts, pages := m.posts(v), 0
	ids := slices.Sorted(maps.Keys(posts))
	for _, o := range m.ops {
		if o.F == FPage && o.how == Ok {
			pages++
			checkPage(v, o, posts, ids)
		}
	}
	counts := m.checkLikes(v, posts)
	v.What = fmt.Sprintf("%d posts, %d pages of home timelines, the likes of %d posts at the end", len(posts), pages, counts)
	if len(posts) == 0 || pages == 0 || counts == 0 {
		v.State = Unknown
	}
	return v
}

// checkPage compares the first page of a home timeline with the posts of the others: a reader's own may be in it.
func checkPage(v *Verdict, page operation, posts map[uint64]*published, ids []uint64) {
	seen, last := map[uint64]bool{}, uint64(0)
	for i, id := range page.Users {
		if seen[id] || i > 0 && id > last {
			v.violate("a page of %s by %s at %s has post %d after post %d", page.Proc, page.Node, at(page.begin), id, last)
		}
		seen[id], last = true, id
		if p := posts[id]; p != nil && p.deleted < page.begin {
			v.violate("a page of %s by %s at %s has post %d (%q), whose deletion was acknowledged at %s", page.Proc, page.Node, at(page.begin), id, p.text, at(p.deleted))
		}
	}
	for _, id := range ids {
		p := posts[id]
		if id >= page.N && !seen[id] && p.author != page.User && p.stored < page.begin && p.deleting > page.end {
			v.violate("a page of %s by %s at %s lacks post %d (%q), which was acknowledged at %s", page.Proc, page.Node, at(page.begin), id, p.text, at(p.stored))
		}
	}
}

// checkLikes compares what was read of posts at the end with the answers to their likers. A call without an answer may have taken effect at any time.
func (m *analysis) checkLikes(v *Verdict, posts map[uint64]*published) (counts int) {
	type key struct{ user, post uint64 }
	likes, unknown := map[key]bool{}, map[key]bool{}
	for _, o := range m.ops {
		if o.F != FLike && o.F != FUnlike {
			continue
		}
		switch k := (key{o.User, o.Other}); o.how {
		case Ok:
			likes[k] = o.F == FLike // a user makes one call after the other
		case Info:
			unknown[k] = true
		}
	}
	for _, e := range m.events {
		if e.F != FLikers {
			continue
		}
		counts++
		if e.N != uint64(len(e.Users)) {
			v.violate("post %d has %d likes on %s, and the list has %d users", e.Other, e.N, e.Node, len(e.Users))
		}
		for k, likes := range likes {
			if has := slices.Contains(e.Users, k.user); k.post == e.Other && !unknown[k] && has != likes {
				v.violate("the list of who likes post %d on %s has user %d: %v; the last answer says: %v", e.Other, e.Node, k.user, has, likes)
			}
		}
		for _, u := range e.Users {
			if k := (key{u, e.Other}); !likes[k] && !unknown[k] {
				v.violate("user %d likes post %d on %s, and never said so", u, e.Other, e.Node)
			}
		}
	}
	return counts
}
