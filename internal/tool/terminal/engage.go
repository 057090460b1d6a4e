package terminal

import (
	"context"
	"strings"

	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
)

// likersShown is the number of users that /likers shows, the latest.
const likersShown = 50

// likedAt finds what a number names: a listed post, or as N.M a listed comment on it.
func (s *screen) likedAt(place string) (kind engagementv1.LikeKind, subject uint64, err error) {
	if strings.Contains(place, ".") {
		subject, err = s.listedComment(place)
		return engagementv1.LikeKind_LIKE_KIND_COMMENT, subject, err
	}
	subject, err = s.postAt(place)
	return engagementv1.LikeKind_LIKE_KIND_POST, subject, err
}

func (s *screen) like(ctx context.Context, rest string) error {
	kind, subject, err := s.likedAt(rest)
	if err != nil {
		return err
	}
	_, err = call(ctx, s.client.Engagement().Like, &engagementv1.LikeRequest{Kind: kind, Subject: subject})
	return s.done(err)
}

func (s *screen) unlike(ctx context.Context, rest string) error {
	kind, subject, err := s.likedAt(rest)
	if err != nil {
		return err
	}
	_, err = call(ctx, s.client.Engagement().Unlike, &engagementv1.UnlikeRequest{Kind: kind, Subject: subject})
	return s.done(err)
}

func (s *screen) favourite(ctx context.Context, rest string) error {
	post, err := s.postAt(rest)
	if err != nil {
		return err
	}
	_, err = call(ctx, s.client.Engagement().Favourite, &engagementv1.FavouriteRequest{Post: post})
	return s.done(err)
}

func (s *screen) unfavourite(ctx context.Context, rest string) error {
	post, err := s.postAt(rest)
	if err != nil {
		return err
	}
	_, err = call(ctx, s.client.Engagement().Unfavourite, &engagementv1.UnfavouriteRequest{Post: post})
	return s.done(err)
}

// likers shows who likes a post or a comment, the latest first.
func (s *screen) likers(ctx context.Context, rest string) error {
	kind, subject, err := s.likedAt(rest)
	if err != nil {
		return err
	}
	var users []uint64
	r := &engagementv1.ListLikersResponse{}
	for first := true; first || len(users) == 0 && r.Next != ""; first = false { // a page may be empty although there is a next one
		if r, err = call(ctx, s.client.Engagement().ListLikers, &engagementv1.ListLikersRequest{Kind: kind, Subject: subject, Page: r.Next, Limit: likersShown}); err != nil {
			return err
		}
		for _, l := range r.Likers {
			users = append(users, l.User)
		}
	}
	if err := s.readNames(ctx, users); err != nil {
		return err
	}
	if len(users) == 0 {
		s.say("Nobody yet.")
	}
	for _, u := range users {
		s.say("  @%s  %s", s.handle(u), s.name(ctx, u))
	}
	if r.Next != "" {
		s.say("  … and others before them")
	}
	return nil
}
