package engagement

import (
	"context"
	"database/sql"
	"math"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/counter"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
)

var (
	errKind = badEngagement("this server has likes of posts and of comments only")
	// They are the same for what does not exist and for what the caller may not see, and those that reads return.
	errNoPost    = errs.New(errs.NotFound, "no_post", "there is no such post, or it is not for you")
	errLikesOff  = errs.New(errs.Denied, "likes_off", "the operator has switched likes and favourites off for the moment; try again later")
	errNoComment = errs.New(errs.NotFound, "no_comment", "there is no such comment, or it is not for you")
)

func badEngagement(what string) error { return errs.New(errs.Invalid, "bad_engagement", what) }

// subject of a set: a post or a comment.
type subject struct {
	kind engagementv1.LikeKind
	id   uint64
}

// set returns the kind of the set of those who like a subject.
func (o subject) set() (counter.Kind, error) {
	switch o.kind {
	case engagementv1.LikeKind_LIKE_KIND_POST:
		return counter.PostLikes, nil
	case engagementv1.LikeKind_LIKE_KIND_COMMENT:
		return counter.CommentLikes, nil
	}
	return 0, errKind
}

func post(n uint64) subject { return subject{engagementv1.LikeKind_LIKE_KIND_POST, n} }

// isID reports whether a number can be the id of a subject.
func (o subject) isID() bool { return o.id > 0 && o.id <= math.MaxInt64 }

// checkVisible fails with no_post or no_comment unless a reader may see a subject, as of a transaction.
func (s *Service) checkVisible(ctx context.Context, tx *sql.Tx, reader id.User, o subject) error {
	missing := errNoPost
	if o.kind == engagementv1.LikeKind_LIKE_KIND_COMMENT {
		missing = errNoComment
	}
	if !o.isID() {
		return missing
	}
	if o.kind == engagementv1.LikeKind_LIKE_KIND_COMMENT {
		err := s.deps.Comments.CheckVisible(ctx, tx, reader, o.id)
		if errs.Is(err, errs.NotFound) {
			err = missing
		}
		return err
	}
	found, err := s.deps.Posts.VisibleAuthors(ctx, tx, reader, []uint64{o.id})
	if _, ok := found[o.id]; err == nil && !ok {
		err = missing
	}
	return err
}

// checkMaySee is checkVisible as of a moment during the call.
func (s *Service) checkMaySee(ctx context.Context, by id.User, o subject) error {
	if o.kind != engagementv1.LikeKind_LIKE_KIND_POST || !o.isID() {
		return s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error { return s.checkVisible(ctx, tx, by, o) })
	}
	sees, err := s.checks.maySee(ctx, by, o.id)
	if err == nil && !sees {
		err = errNoPost
	}
	return err
}

// add adds a user to a set of a subject that the user may see.
func (s *Service) add(ctx context.Context, by id.User, set counter.Kind, o subject) error {
	if s.deps.LikesOff != nil && s.deps.LikesOff() {
		return errLikesOff
	}
	if err := s.checkMaySee(ctx, by, o); err != nil {
		return err
	}
	_, err := s.deps.Counters.Add(ctx, set, o.id, by)
	return err
}

// remove removes a user from a set of a subject, whether or not the user may see it, so that it tells nothing.
func (s *Service) remove(ctx context.Context, by id.User, set counter.Kind, o subject) error {
	if !o.isID() {
		return nil
	}
	_, err := s.deps.Counters.Remove(ctx, set, o.id, by)
	return err
}

// Like adds a user to those who like a post or comment.
func (s *Service) Like(ctx context.Context, by id.User, r *engagementv1.LikeRequest) error {
	o := subject{r.Kind, r.Subject}
	set, err := o.set()
	if err != nil {
		return err
	}
	return s.add(ctx, by, set, o)
}

// Unlike removes a user from those who like a post or comment.
func (s *Service) Unlike(ctx context.Context, by id.User, r *engagementv1.UnlikeRequest) error {
	o := subject{r.Kind, r.Subject}
	set, err := o.set()
	if err != nil {
		return err
	}
	return s.remove(ctx, by, set, o)
}

// Favourite adds a post to a user's favourites.
func (s *Service) Favourite(ctx context.Context, by id.User, n uint64) error {
	return s.add(ctx, by, counter.PostFavourites, post(n))
}

// Unfavourite removes a post from a user's favourites.
func (s *Service) Unfavourite(ctx context.Context, by id.User, n uint64) error {
	return s.remove(ctx, by, counter.PostFavourites, post(n))
}
