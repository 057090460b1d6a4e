package verify

import (
	"database/sql"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// feeds checks posts, counts of follows, and that the windows of home timelines have what they claim to have.
func (c *check) feeds() error {
	if some, err := c.hasTable("feed_posts"); err != nil || !some {
		return err
	}
	for _, check := range []func() error{c.feedAuthors, c.feedVersions, c.followCounts} {
		if err := check(); err != nil {
			return err
		}
	}
	return c.eachKey(timeline.Feed, "home timelines", func(k timeline.Key) error {
		c.report.Windows++
		return c.damaged(fmt.Sprintf("home timeline of user %d", k.ID), c.window(k))
	})
}

func (c *check) feedAuthors() error {
	return c.query(`SELECT p.author, max(p.id), sum(CASE WHEN p.deleted THEN 0 ELSE 1 END), coalesce(max(a.last_post), 0), coalesce(max(a.posts), 0) FROM feed_posts p
		LEFT JOIN feed_authors a ON a.author = p.author GROUP BY p.author`, func(r *sql.Rows) error {
		var author, newest, posts, last, counted int64
		if err := r.Scan(&author, &newest, &posts, &last, &counted); err != nil {
			return err
		}
		where := fmt.Sprintf("posts of user %d", author)
		if newest > last {
			c.report.violate("feed", where, "post %d is stored, but the last one is said to be %d", newest, last)
		}
		if posts != counted {
			c.report.violate("feed", where, "%d posts are stored, and %d counted", posts, counted)
		}
		return nil
	})
}

func (c *check) feedVersions() error {
	return c.query(`SELECT p.id, p.version FROM feed_posts p WHERE NOT p.deleted AND NOT EXISTS (SELECT 1 FROM feed_versions v WHERE v.post = p.id AND v.version = p.version AND v.content = p.content)`, func(r *sql.Rows) error {
		var post, version int64
		err := r.Scan(&post, &version)
		if err == nil {
			c.report.violate("feed", fmt.Sprintf("post %d", post), "its version %d is not among its versions", version)
		}
		return err
	})
}

func (c *check) followCounts() error {
	return c.query(`SELECT u.id, coalesce(f.following, 0), coalesce(f.followers, 0), (SELECT count(*) FROM relations r WHERE r.owner = u.id AND r.following), (SELECT count(*) FROM relations r WHERE r.other = u.id AND r.following)
		FROM users u LEFT JOIN follow_counts f ON f.owner = u.id`, func(r *sql.Rows) error {
		var user, following, followers, follows, followed int64
		if err := r.Scan(&user, &following, &followers, &follows, &followed); err != nil {
			return err
		}
		if following != follows || followers != followed {
			c.report.violate("feed", fmt.Sprintf("user %d", user), "follows %d and is followed by %d, and %d and %d are counted", follows, followed, following, followers)
		}
		return nil
	})
}

// window is a decoded window of a home timeline (docs/formats/feed.md).
type window struct {
	first, from, changes, floor uint64
	based                       bool
	pushed                      map[uint64]uint64 // seq of the newest push of each post
	posts                       map[uint64]bool   // of the base
}

// window checks that a window which a reader would use lacks no post.
func (c *check) window(k timeline.Key) error {
	where := fmt.Sprintf("home timeline of user %d", k.ID)
	w := window{pushed: map[uint64]uint64{}}
	for at := uint64(0); ; {
		entries, err := c.log.Read(c.ctx, k, at, page)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if w.first == 0 {
				w.first = e.Seq
			}
			if at = e.Seq; !w.add(e) {
				c.report.violate("feed", where, "entry %d cannot be read", e.Seq)
			}
		}
		if len(entries) < page {
			break
		}
	}
	if !w.based || w.first > w.from+1 {
		return nil // it is built before it is used
	}
	var changes uint64
	if err := c.query(`SELECT changes FROM follow_counts WHERE owner = $1`, func(r *sql.Rows) error { return r.Scan(&changes) }, int64(k.ID)); err != nil || changes != w.changes {
		return err
	}
	return c.query(`SELECT p.id FROM feed_posts p JOIN relations r ON r.owner = $1 AND r.other = p.author AND r.following LEFT JOIN feed_authors a ON a.author = p.author
		WHERE p.id >= $2 AND NOT p.pending AND NOT p.deleted AND NOT p.retired AND NOT coalesce(a.pulled, FALSE) AND coalesce(a.pushed_from, 0) <= $2`, func(r *sql.Rows) error {
		var post uint64
		if err := r.Scan(&post); err != nil {
			return err
		}
		if !w.posts[post] && w.pushed[post] <= w.from {
			c.report.violate("feed", where, "post %d is missing, and the window claims to be complete down to %d", post, w.floor)
		}
		return nil
	}, int64(k.ID), int64(w.floor))
}

// add decodes an entry, and reports whether that is possible.
func (w *window) add(e timeline.Entry) bool {
	if len(e.Payload) == 0 {
		return false
	}
	numbers, ok := uvarints(e.Payload[1:])
	switch kind := e.Payload[0]; {
	case !ok:
		return false
	case kind == 1:
		return len(numbers) == 0
	case kind == 2 && len(numbers) == 2:
		w.pushed[numbers[0]] = e.Seq
		return true
	case kind == 3 && len(numbers) >= 3 && len(numbers)%2 == 1:
		w.based, w.changes, w.from, w.floor, w.posts = true, numbers[0], numbers[1], numbers[2], map[uint64]bool{}
		post := uint64(math.MaxInt64)
		for i := 3; i < len(numbers); i += 2 {
			if numbers[i] > post {
				return false
			}
			post -= numbers[i]
			w.posts[post] = true
		}
		return true
	}
	return false
}

func uvarints(b []byte) (numbers []uint64, ok bool) {
	for len(b) > 0 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, false
		}
		numbers, b = append(numbers, v), b[n:]
	}
	return numbers, true
}
