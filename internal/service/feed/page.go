package feed

import (
	"context"
	"database/sql"
	"math"

	"github.com/rialto-im/rialto/internal/base/id"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

const (
	// maxExamined bounds the posts that one call reads. A page for which so many are not enough is short, and has a next one.
	maxExamined = 500
	// maxPageBytes of contents end a page. It has at least one post.
	maxPageBytes = 512 << 10
	// sliceExtra is how many more posts are read than a page lacks, in case some are not for the reader.
	sliceExtra = 5
)

// startOf returns the id below which a page begins. Any number may be asked for.
func startOf(before uint64) uint64 {
	if before == 0 {
		return math.MaxInt64
	}
	return min(before, math.MaxInt64)
}

// source returns posts below an id, in descending order: all those that are at or above next. If next is 0, there are no more. It returns n of them, or
// fewer where that is cheaper.
type source func(ctx context.Context, before uint64, n int) (list []uint64, next uint64, err error)

// page collects the posts of a page that its reader may see.
type page struct {
	service *Service
	tx      *sql.Tx
	reader  id.User
	limit   int
}

// fill reads a source until the page is full, and returns the posts and where the next page begins.
func (p *page) fill(ctx context.Context, before uint64, from source) (views []*feedv1.Post, next uint64, err error) {
	var posts []*post
	next = before
	size := 0
	for examined := 0; examined < maxExamined && size <= maxPageBytes && len(posts) < p.limit && next != 0; {
		list, end, err := from(ctx, next, p.limit-len(posts)+sliceExtra)
		if err != nil {
			return nil, 0, err
		}
		visible, err := p.service.visiblePosts(ctx, p.tx, p.reader, list)
		if err != nil {
			return nil, 0, err
		}
		next = end
		for i, n := range list {
			if visible[n] == nil {
				continue
			}
			posts = append(posts, visible[n])
			if size += len(visible[n].content); len(posts) == p.limit || size > maxPageBytes {
				if i < len(list)-1 {
					next = n
				}
				break
			}
		}
		examined += max(len(list), 1)
	}
	views, err = p.service.views(ctx, p.tx, p.reader, posts)
	return views, next, err
}
