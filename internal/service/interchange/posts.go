package interchange

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/platform/counter"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

// Subjects of entries of the audit log.
const (
	videos   = "videos"
	posts    = "posts"
	comments = "comments"
	likes    = "likes"
)

const (
	maxItems = 100 // of a call
	maxKey   = 128 // bytes
)

var (
	errTooManyItems = errs.New(errs.Invalid, "bad_count", "import 1 to 100 things at once")
	errKey          = errs.New(errs.Invalid, "bad_key", "a key in the source has 1 to 128 bytes of valid UTF-8")
	errTime         = errs.New(errs.Invalid, "bad_time", "what is imported has a time from 1970 to now")
	errNoVideo      = errs.New(errs.NotFound, "no_video", "no video was imported with this key")
	errNoPost       = errs.New(errs.NotFound, "no_post", "no post was imported with this key")
	errNoComment    = errs.New(errs.NotFound, "no_comment", "no comment was imported with this key")
	errLikeKind     = errs.New(errs.Invalid, "bad_engagement", "give the kind: a like of a post, a like of a comment, or a favourite")
)

// check checks the key and the times of something imported.
func (s *Service) check(key string, times ...int64) error {
	if key == "" || len(key) > maxKey || !utf8.ValidString(key) || strings.ContainsRune(key, 0) {
		return errKey
	}
	for _, ms := range times {
		if ms < 0 || ms > s.deps.Clock.Now().UnixMilli() {
			return errTime
		}
	}
	return nil
}

// each records a call, and imports its items one after the other. An item that is refused has a reason; an error of a store ends the call.
func each[T any](ctx context.Context, s *Service, c id.Caller, subject string, list []T, one func(T) (duplicate bool, err error)) ([]*operationv1.ImportedItem, error) {
	if len(list) == 0 || len(list) > maxItems {
		return nil, errTooManyItems
	}
	if err := s.record(ctx, c, importing, subject); err != nil {
		return nil, err
	}
	results := make([]*operationv1.ImportedItem, len(list))
	for i, item := range list {
		results[i] = &operationv1.ImportedItem{}
		duplicate, err := one(item)
		switch {
		case errs.IsRefusal(err) || err != nil && errs.Of(err).Reason == "transcoding_off": // it would be off at each repetition
			e := errs.Of(err)
			results[i].Reason, results[i].Message = e.Reason, e.Message
		case err != nil:
			return nil, err
		default:
			results[i].Duplicate = duplicate
		}
	}
	return results, nil
}

// ImportVideos makes videos from uploads.
func (s *Service) ImportVideos(ctx context.Context, c id.Caller, r *operationv1.ImportVideosRequest) (*operationv1.ImportVideosResponse, error) {
	results, err := each(ctx, s, c, videos, r.Videos, func(v *operationv1.InterchangeVideo) (bool, error) {
		if err := s.check(v.Key, v.TimeMs); err != nil {
			return false, err
		}
		return s.deps.Videos.ImportVideo(ctx, v)
	})
	return &operationv1.ImportVideosResponse{Results: results}, err
}

// ExportVideos returns a page of all videos.
func (s *Service) ExportVideos(ctx context.Context, c id.Caller, r *operationv1.ExportVideosRequest) (*operationv1.ExportVideosResponse, error) {
	if err := s.record(ctx, c, exporting, videos); err != nil {
		return nil, err
	}
	return s.deps.Videos.ExportVideos(ctx, r)
}

// video returns an imported video by its key; 0 for no key.
func (s *Service) video(ctx context.Context, key string) (uint64, error) {
	if key == "" {
		return 0, nil
	}
	found, err := s.deps.Videos.ImportedVideos(ctx, []string{key})
	if err == nil && found[key] == 0 {
		err = errNoVideo
	}
	return found[key], err
}

// ImportPosts publishes posts, and stores their later versions.
func (s *Service) ImportPosts(ctx context.Context, c id.Caller, r *operationv1.ImportPostsRequest) (*operationv1.ImportPostsResponse, error) {
	results, err := each(ctx, s, c, posts, r.Posts, func(p *operationv1.InterchangePost) (bool, error) {
		if err := s.check(p.Key, p.TimeMs); err != nil {
			return false, err
		}
		video, err := s.video(ctx, p.VideoKey)
		if err != nil {
			return false, err
		}
		return s.deps.Feed.ImportPost(ctx, p, video)
	})
	return &operationv1.ImportPostsResponse{Results: results}, err
}

// ExportPosts returns a page of the versions of all posts.
func (s *Service) ExportPosts(ctx context.Context, c id.Caller, r *operationv1.ExportPostsRequest) (*operationv1.ExportPostsResponse, error) {
	if err := s.record(ctx, c, exporting, posts); err != nil {
		return nil, err
	}
	return s.deps.Feed.ExportPosts(ctx, r)
}

// ImportComments creates comments on posts that were imported.
func (s *Service) ImportComments(ctx context.Context, c id.Caller, r *operationv1.ImportCommentsRequest) (*operationv1.ImportCommentsResponse, error) {
	results, err := each(ctx, s, c, comments, r.Comments, func(m *operationv1.InterchangeComment) (bool, error) {
		if err := s.check(m.Key, m.TimeMs, m.EditedMs); err != nil {
			return false, err
		}
		post, err := s.deps.Feed.ImportedPosts(ctx, []string{m.PostKey})
		if err == nil && post[m.PostKey] == 0 {
			err = errNoPost
		}
		if err != nil {
			return false, err
		}
		video, err := s.video(ctx, m.VideoKey)
		if err != nil {
			return false, err
		}
		return s.deps.Comments.ImportComment(ctx, m, post[m.PostKey], video)
	})
	return &operationv1.ImportCommentsResponse{Results: results}, err
}

// ExportComments returns a page of all comments.
func (s *Service) ExportComments(ctx context.Context, c id.Caller, r *operationv1.ExportCommentsRequest) (*operationv1.ExportCommentsResponse, error) {
	if err := s.record(ctx, c, exporting, comments); err != nil {
		return nil, err
	}
	return s.deps.Comments.ExportComments(ctx, r, s.deps.Feed.PostKeys)
}

// ImportLikes stores likes and favourites of posts and comments that were imported. Those of a call are one change.
func (s *Service) ImportLikes(ctx context.Context, c id.Caller, r *operationv1.ImportLikesRequest) (*operationv1.ImportLikesResponse, error) {
	var ofPosts, ofComments []string
	for _, l := range r.Likes[:min(len(r.Likes), maxItems)] {
		if l.Kind == operationv1.InterchangeLikeKind_INTERCHANGE_LIKE_KIND_COMMENT {
			ofComments = append(ofComments, l.Key)
		} else {
			ofPosts = append(ofPosts, l.Key)
		}
	}
	postsByKey, err := s.deps.Feed.ImportedPosts(ctx, ofPosts)
	if err != nil {
		return nil, err
	}
	commentsByKey, err := s.deps.Comments.ImportedComments(ctx, ofComments)
	if err != nil {
		return nil, err
	}
	var changes []counter.Change
	results, err := each(ctx, s, c, likes, r.Likes, func(l *operationv1.InterchangeLike) (bool, error) {
		if err := s.check(l.Key, l.TimeMs); err != nil {
			return false, err
		}
		subject, missing := postsByKey[l.Key], errNoPost
		switch l.Kind {
		case operationv1.InterchangeLikeKind_INTERCHANGE_LIKE_KIND_POST, operationv1.InterchangeLikeKind_INTERCHANGE_LIKE_KIND_FAVOURITE:
		case operationv1.InterchangeLikeKind_INTERCHANGE_LIKE_KIND_COMMENT:
			subject, missing = commentsByKey[l.Key], errNoComment
		default:
			return false, errLikeKind
		}
		if subject == 0 {
			return false, missing
		}
		if err := s.deps.Accounts.Exist(ctx, []id.User{id.User(l.User)}); err != nil {
			return false, err
		}
		changes = append(changes, counter.Change{Kind: counter.Kind(l.Kind), Subject: subject, User: id.User(l.User), AtMs: l.TimeMs})
		return false, nil
	})
	if err != nil {
		return nil, err
	}
	if err := s.deps.Engagement.ImportLikes(ctx, changes); err != nil {
		return nil, err
	}
	made := 0
	for _, result := range results {
		if result.Reason == "" {
			result.Duplicate = !changes[made].Changed
			made++
		}
	}
	return &operationv1.ImportLikesResponse{Results: results}, nil
}

// ExportLikes returns a page of the likes and favourites of posts and comments that were not deleted.
func (s *Service) ExportLikes(ctx context.Context, c id.Caller, r *operationv1.ExportLikesRequest) (*operationv1.ExportLikesResponse, error) {
	if err := s.record(ctx, c, exporting, likes); err != nil {
		return nil, err
	}
	limit := outputlimit.LargePageSize(r.Limit)
	out := &operationv1.ExportLikesResponse{}
	var err error
	if r.AfterKind == 0 {
		if out.Total, err = s.deps.Engagement.CountLikes(ctx); err != nil {
			return nil, err
		}
	}
	list, err := s.deps.Engagement.ExportLikes(ctx, counter.Membership{Kind: counter.Kind(r.AfterKind), Subject: r.AfterSubject, User: id.User(r.AfterUser)}, limit)
	if err != nil || len(list) == 0 {
		return out, err
	}
	var ofPosts, ofComments []uint64
	for _, m := range list {
		if m.Kind == counter.CommentLikes {
			ofComments = append(ofComments, m.Subject)
		} else {
			ofPosts = append(ofPosts, m.Subject)
		}
	}
	postKeys, err := s.deps.Feed.PostKeys(ctx, ofPosts)
	if err != nil {
		return nil, err
	}
	commentKeys, err := s.deps.Comments.CommentKeys(ctx, ofComments)
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		kind, key := operationv1.InterchangeLikeKind(m.Kind), postKeys[m.Subject]
		if m.Kind == counter.CommentLikes {
			key = commentKeys[m.Subject]
		}
		out.Next = &operationv1.ExportLikesRequest{AfterKind: kind, AfterSubject: m.Subject, AfterUser: uint64(m.User)}
		if key != "" {
			out.Likes = append(out.Likes, &operationv1.InterchangeLike{Kind: kind, Key: key, User: uint64(m.User), TimeMs: m.AtMs, Subject: m.Subject})
		}
	}
	return out, nil
}
