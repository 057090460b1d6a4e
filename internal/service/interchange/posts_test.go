package interchange_test

import (
	"context"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/counter"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

func (d *deployment) ImportSettings(context.Context, id.User, *accountv1.Settings) error { return nil }

func (d *deployment) Exist(_ context.Context, users []id.User) error {
	if users[0] == 0 {
		return errs.New(errs.NotFound, "no_user", "there is no such user")
	}
	return nil
}

func (d *deployment) ListImports(context.Context, id.Conversation, int) ([]uint64, error) {
	return nil, nil
}

func (d *deployment) ImportVideo(context.Context, *operationv1.InterchangeVideo) (bool, error) {
	return false, errs.New(errs.Unavailable, "transcoding_off", "this server cannot process videos")
}

func (d *deployment) ExportVideos(context.Context, *operationv1.ExportVideosRequest) (*operationv1.ExportVideosResponse, error) {
	return &operationv1.ExportVideosResponse{}, nil
}

func (d *deployment) ImportedVideos(context.Context, []string) (map[string]uint64, error) {
	return map[string]uint64{"v": 5}, nil
}

func (d *deployment) ImportPost(_ context.Context, _ *operationv1.InterchangePost, video uint64) (bool, error) {
	if video != 5 {
		return false, errs.New(errs.Invalid, "bad_post", "no video")
	}
	return true, nil
}

func (d *deployment) ExportPosts(context.Context, *operationv1.ExportPostsRequest) (*operationv1.ExportPostsResponse, error) {
	return &operationv1.ExportPostsResponse{}, nil
}

func (d *deployment) PostKeys(context.Context, []uint64) (map[uint64]string, error) {
	return map[uint64]string{6: "p"}, nil
}

func (d *deployment) ImportedPosts(context.Context, []string) (map[string]uint64, error) {
	return map[string]uint64{"p": 6}, nil
}

func (d *deployment) ImportComment(_ context.Context, _ *operationv1.InterchangeComment, post, _ uint64) (bool, error) {
	if post != 6 {
		return false, errs.New(errs.Invalid, "bad_comment", "no post")
	}
	return false, nil
}

func (d *deployment) ExportComments(context.Context, *operationv1.ExportCommentsRequest, func(context.Context, []uint64) (map[uint64]string, error)) (*operationv1.ExportCommentsResponse, error) {
	return &operationv1.ExportCommentsResponse{}, nil
}

func (d *deployment) CommentKeys(context.Context, []uint64) (map[uint64]string, error) {
	return map[uint64]string{7: "c"}, nil
}

func (d *deployment) ImportedComments(context.Context, []string) (map[string]uint64, error) {
	return map[string]uint64{"c": 7}, nil
}

func (d *deployment) ImportLikes(_ context.Context, likes []counter.Change) error {
	for i := range likes {
		likes[i].Changed = i > 0 // the first was there
	}
	return nil
}

func (d *deployment) ExportLikes(context.Context, counter.Membership, int) ([]counter.Membership, error) {
	return []counter.Membership{{Kind: counter.PostLikes, Subject: 6, User: 1}, {Kind: counter.PostLikes, Subject: 66, User: 1}, {Kind: counter.CommentLikes, Subject: 7, User: 2}}, nil
}

func (d *deployment) CountLikes(context.Context) (uint64, error) { return 3, nil }

// TestWhatIsRefusedStopsNothing: each video, post, comment and like has a result of its own, in order, and what names nothing is refused by itself.
func TestWhatIsRefusedStopsNothing(t *testing.T) {
	a, c := open(t), id.Caller{Key: "olga"}
	check := func(what string, results []*operationv1.ImportedItem, err error, want ...string) {
		t.Helper()
		if err != nil || len(results) != len(want) {
			t.Fatalf("%s: %v, %v; want %q", what, results, err, want)
		}
		for i, r := range results {
			got := r.Reason
			if r.Duplicate {
				got = "duplicate"
			}
			if got != want[i] {
				t.Errorf("%s: result %d is %q, want %q", what, i, got, want[i])
			}
		}
	}
	late := a.clock.Now().UnixMilli() + 1
	videos, err := a.ImportVideos(t.Context(), c, &operationv1.ImportVideosRequest{Videos: []*operationv1.InterchangeVideo{{Key: "v"}, {Key: "v", TimeMs: late}}})
	check("videos", videos.GetResults(), err, "transcoding_off", "bad_time")
	posts, err := a.ImportPosts(t.Context(), c, &operationv1.ImportPostsRequest{Posts: []*operationv1.InterchangePost{{Key: "p", VideoKey: "v"}, {Key: "p", VideoKey: "w"}, {Key: "p"}, {}, {Key: strings.Repeat("k", 129)}}})
	check("posts", posts.GetResults(), err, "duplicate", "no_video", "bad_post", "bad_key", "bad_key")
	comments, err := a.ImportComments(t.Context(), c, &operationv1.ImportCommentsRequest{Comments: []*operationv1.InterchangeComment{{Key: "c", PostKey: "q"}, {Key: "c", PostKey: "p"}, {Key: "c", PostKey: "p", EditedMs: late}}})
	check("comments", comments.GetResults(), err, "no_post", "", "bad_time")
	likes, err := a.ImportLikes(t.Context(), c, &operationv1.ImportLikesRequest{Likes: []*operationv1.InterchangeLike{
		{Kind: 1, Key: "q", User: 1}, {Kind: 1, Key: "p", User: 1}, {Kind: 3, Key: "p", User: 1}, {Kind: 3, Key: "c", User: 1}, {Kind: 2, Key: "p"}, {Kind: 9, Key: "p", User: 1}}})
	check("likes", likes.GetResults(), err, "no_post", "duplicate", "no_comment", "", "no_user", "bad_engagement")

	page, err := a.ExportLikes(t.Context(), c, &operationv1.ExportLikesRequest{})
	if err != nil || page.Total != 3 || len(page.Likes) != 2 || page.Likes[1].Key != "c" || page.Next.GetAfterUser() != 2 {
		t.Errorf("the page of likes is %v, %v; want those of what is there", page, err)
	}
}
