package feed

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// visiblePosts returns those of some posts that a reader may see, as of the transaction. Whether a post was deleted or hidden is checked here, in
// each read, and nowhere else.
func (s *Service) visiblePosts(ctx context.Context, tx *sql.Tx, reader id.User, list []uint64) (map[uint64]*post, error) {
	if len(list) == 0 {
		return nil, nil
	}
	posts, err := s.posts(ctx, tx, list)
	if err != nil {
		return nil, err
	}
	authors, choosing := map[id.User]bool{}, []uint64{}
	for n, p := range posts {
		switch {
		case p.deleted, p.hidden:
			delete(posts, n)
			continue
		case p.author == reader:
			continue
		case p.audience == feedv1.Audience_AUDIENCE_CHOSEN, p.audience == feedv1.Audience_AUDIENCE_EXCEPT:
			choosing = append(choosing, n)
		}
		authors[p.author] = true
	}
	if len(authors) == 0 {
		return posts, nil
	}
	friends, blocked, err := s.deps.Graph.FriendsAndBlocks(ctx, tx, reader, slices.Sorted(maps.Keys(authors)))
	if err != nil {
		return nil, err
	}
	var names map[uint64]bool
	if len(choosing) > 0 {
		if names, err = named(ctx, tx, reader, choosing); err != nil {
			return nil, err
		}
	}
	maps.DeleteFunc(posts, func(n uint64, p *post) bool {
		return p.author != reader && (blocked[p.author] || !isFor(p, friends[p.author], names[n]))
	})
	return posts, nil
}

// isFor reports whether a post is for a reader who is or is not a friend of its author, and whom its audience names or not.
func isFor(p *post, friend, named bool) bool {
	switch p.audience {
	case feedv1.Audience_AUDIENCE_EVERYONE:
		return true
	case feedv1.Audience_AUDIENCE_FRIENDS:
		return friend
	case feedv1.Audience_AUDIENCE_CHOSEN:
		return named
	case feedv1.Audience_AUDIENCE_EXCEPT:
		return !named
	}
	return false
}

// visiblePost returns a post that a reader may see, or errNoPost.
func (s *Service) visiblePost(ctx context.Context, tx *sql.Tx, reader id.User, n uint64) (*post, error) {
	found, err := s.visiblePosts(ctx, tx, reader, []uint64{n})
	if err != nil {
		return nil, err
	}
	if found[n] == nil {
		return nil, errNoPost
	}
	return found[n], nil
}

// VisibleAuthors returns the authors of those of some posts that a reader may see, as of a transaction.
func (s *Service) VisibleAuthors(ctx context.Context, tx *sql.Tx, reader id.User, list []uint64) (map[uint64]id.User, error) {
	found, err := s.visiblePosts(ctx, tx, reader, list)
	authors := make(map[uint64]id.User, len(found))
	for n, p := range found {
		authors[n] = p.author
	}
	return authors, err
}

// VisiblePosts returns those of some posts that a reader may see, as the reader sees them, as of a transaction.
func (s *Service) VisiblePosts(ctx context.Context, tx *sql.Tx, reader id.User, list []uint64) (map[uint64]*feedv1.Post, error) {
	found, err := s.visiblePosts(ctx, tx, reader, list)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	ids := slices.Sorted(maps.Keys(found))
	posts := make([]*post, len(ids))
	for i, n := range ids {
		posts[i] = found[n]
	}
	views, err := s.views(ctx, tx, reader, posts)
	if err != nil {
		return nil, err
	}
	byID := make(map[uint64]*feedv1.Post, len(views))
	for _, v := range views {
		byID[v.Id] = v
	}
	return byID, nil
}

// views returns posts as a reader sees them, with the posts that they show.
func (s *Service) views(ctx context.Context, tx *sql.Tx, reader id.User, list []*post) ([]*feedv1.Post, error) {
	var originals []uint64
	for _, p := range list {
		if p.repostOf != 0 {
			originals = append(originals, p.repostOf)
		}
	}
	shown, err := s.visiblePosts(ctx, tx, reader, originals)
	if err != nil {
		return nil, err
	}
	views := make([]*feedv1.Post, len(list))
	for i, p := range list {
		if views[i], err = p.view(reader); err != nil {
			return nil, err
		}
		if original := shown[p.repostOf]; original != nil {
			if views[i].Reposted, err = original.view(reader); err != nil {
				return nil, err
			}
		}
	}
	return views, nil
}

// view returns a post as a reader sees it. Only the author sees whom its audience names.
func (p *post) view(reader id.User) (*feedv1.Post, error) {
	c, err := contentOf(p.content)
	if err != nil {
		return nil, err
	}
	if p.author != reader {
		c.Users = nil
	}
	return &feedv1.Post{Id: p.id, Author: uint64(p.author), Content: c, CreatedMs: p.created, EditedMs: p.edited, Version: p.version}, nil
}
