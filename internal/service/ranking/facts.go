package ranking

import (
	"context"
	"database/sql"
	"slices"

	"github.com/maypok86/otter/v2"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/cache"
	"github.com/rialto-im/rialto/internal/platform/counter"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
)

const (
	// factLifetimeMs is how old the facts of a post may be. They decide on its place, never on who sees it.
	factLifetimeMs = 30_000
	maxFacts       = 50_000 // posts in memory: about 18 MiB
	factsAtOnce    = 500    // posts of one statement
)

// facts are what all readers share of a post.
type facts struct {
	author          id.User // 0: the post is deleted or hidden
	createdMs       int64
	kind            rankingv1.PostKind
	goods           bool
	vector          *vector
	likes, comments uint32
	readMs          int64
}

// factCache has the facts of posts.
type factCache struct {
	cache    *otter.Cache[uint64, *facts] // what it has is never changed, only replaced
	posts    Posts
	comments Comments
	counters *counter.Service
	near     *neighbours
	reads    *cache.Reads
	clock    clock.Clock
}

func newFactCache(deps *Deps, near *neighbours) (*factCache, error) {
	copies, err := otter.New(&otter.Options[uint64, *facts]{MaximumSize: maxFacts})
	return &factCache{cache: copies, reads: deps.FactReads, posts: deps.Posts, comments: deps.Comments, counters: deps.Counters, near: near, clock: deps.Clock}, err
}

// get returns the facts of those of some posts that are neither deleted nor hidden. They are as of the transaction or at most factLifetimeMs older.
func (c *factCache) get(ctx context.Context, tx *sql.Tx, list []uint64) (map[uint64]*facts, error) {
	now := c.clock.Now().UnixMilli()
	found, missing := make(map[uint64]*facts, len(list)), []uint64(nil)
	for _, n := range list {
		f, ok := c.cache.GetIfPresent(n)
		if !ok || now-f.readMs >= factLifetimeMs || now < f.readMs {
			missing = append(missing, n)
		} else if f.author != 0 {
			found[n] = f
		}
	}
	c.reads.Count(len(list)-len(missing), len(missing))
	slices.Sort(missing)
	for some := range slices.Chunk(slices.Compact(missing), factsAtOnce) {
		if err := c.read(ctx, tx, some, now, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// read reads the facts of posts.
func (c *factCache) read(ctx context.Context, tx *sql.Tx, list []uint64, nowMs int64, found map[uint64]*facts) error {
	posts, err := c.posts.ToIndex(ctx, tx, list)
	if err != nil {
		return err
	}
	likes, err := c.counters.In(tx).Counts(ctx, counter.PostLikes, list)
	if err != nil {
		return err
	}
	comments, err := c.comments.CountOfPosts(ctx, tx, list)
	if err != nil {
		return err
	}
	read := make(map[uint64]*facts, len(list))
	for _, p := range posts {
		f := factsOf(p)
		read[p.Id], found[p.Id] = f, f
		near := f.vector
		if !isForEveryone(p) {
			near = nil
		}
		if err := c.near.put(p.Id, false, p.EditedMs, near); err != nil {
			return err
		}
	}
	for i, n := range list {
		f := read[n]
		if f == nil {
			f = &facts{}
			if err := c.near.put(n, false, 0, nil); err != nil {
				return err
			}
		}
		f.likes, f.comments, f.readMs = uint32(min(likes[i], 1<<31)), comments[n], nowMs
		c.cache.Set(n, f)
	}
	return nil
}

// factsOf returns the facts of a post that follow from itself.
func factsOf(p *feedv1.Post) *facts {
	f := &facts{author: id.User(p.Author), createdMs: p.CreatedMs, kind: kindOf(p.Content), goods: len(p.Content.GetGoods()) > 0}
	f.vector = vectorOf(f.author, p.Content, f.kind)
	return f
}

// kindOf returns what a post mainly is.
func kindOf(c *feedv1.PostContent) rankingv1.PostKind {
	switch {
	case c.GetRepostOf() != 0:
		return rankingv1.PostKind_POST_KIND_REPOST
	case c.GetVideo() != 0:
		return rankingv1.PostKind_POST_KIND_VIDEO
	case len(c.GetGoods()) > 0:
		return rankingv1.PostKind_POST_KIND_GOODS
	case c.GetCover() != nil || len(c.GetImages()) > 0:
		return rankingv1.PostKind_POST_KIND_IMAGES
	case c.GetLink() != "":
		return rankingv1.PostKind_POST_KIND_LINK
	}
	return rankingv1.PostKind_POST_KIND_TEXT
}
