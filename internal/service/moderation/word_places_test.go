package moderation_test

import (
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
	"google.golang.org/protobuf/proto"
)

// Words refuse the texts of all places, or put them into the queue: messages, posts, comments, profiles, and titles and announcements of groups; also edits, and in the other Chinese
// characters than those that are listed.
func TestWordsAreFoundInAllPlaces(t *testing.T) {
	f := open(t, 1)
	alice, bob := f.user(), f.user()
	g := f.group(alice, bob)
	post := f.post(alice, "a post")
	top := f.comment(alice, post, 0, "a comment")
	ctx := t.Context()
	places := map[string]func(text string) error{
		"message": func(text string) error { return f.trySend(alice, g, f.token(), text) },
		"post":    func(text string) error { _, err := f.tryPost(alice, f.token(), text); return err },
		"title of a post": func(text string) error {
			_, err := f.feed.Publish(ctx, alice, &feedv1.PublishRequest{ClientPostId: f.token(), Content: &feedv1.PostContent{Title: text}})
			return err
		},
		"edit of a post": func(text string) error {
			_, err := f.feed.EditPost(ctx, alice, &feedv1.EditPostRequest{Post: post, Content: &feedv1.PostContent{Text: text}})
			return err
		},
		"comment": func(text string) error { return f.tryComment(alice, post, f.token(), text) },
		"edit of a comment": func(text string) error {
			_, err := f.comments.EditComment(ctx, alice, &commentv1.EditCommentRequest{Comment: top, Content: &commentv1.CommentContent{Text: text}})
			return err
		},
		"name": func(text string) error {
			_, err := f.accounts.UpdateProfile(ctx, id.Caller{User: alice}, &accountv1.UpdateProfileRequest{DisplayName: &text})
			return err
		},
		"bio": func(text string) error {
			_, err := f.accounts.UpdateProfile(ctx, id.Caller{User: alice}, &accountv1.UpdateProfileRequest{Bio: &text})
			return err
		},
		"title of a new group": func(text string) error {
			_, err := f.chat.CreateGroup(ctx, alice, &chatv1.CreateGroupRequest{Title: text})
			return err
		},
		"title of a group": func(text string) error {
			_, err := f.chat.UpdateGroup(ctx, g, alice, &chatv1.UpdateGroupRequest{Title: proto.String(text)})
			return err
		},
		"announcement": func(text string) error {
			_, err := f.chat.UpdateGroup(ctx, g, alice, &chatv1.UpdateGroupRequest{Announcement: proto.String(text)})
			return err
		},
	}
	if _, err := f.put("words", 0, slices.Concat(listed(refuse, "casino", "赌博"), listed(queue, "lottery", "彩票"))...); err != nil {
		t.Fatal(err)
	}
	for name, write := range places {
		for _, text := range []string{"a CASINO here", "來賭博吧"} {
			if err := write(text); reason(err) != "refused_by_rules" {
				t.Errorf("%s: %q is answered with %v", name, text, err)
			}
		}
		for _, text := range []string{"l.o.t.t.e.r.y", "买彩票"} {
			if err := write(text); err != nil {
				t.Errorf("%s: %q is answered with %v", name, text, err)
			}
		}
	}
	kinds := map[moderationv1.ReportedKind]int{}
	eventually.True(t, "all that is flagged is in the queue", func() bool {
		clear(kinds)
		for _, c := range f.cases(&moderationv1.ListCasesRequest{}) {
			kinds[c.Subject.Kind]++
		}
		return len(kinds) == 5 && kinds[ofMessage] == 2 && kinds[ofPost] == 5 && kinds[ofComment] == 3 && kinds[ofUser] == 1 && kinds[ofGroup] == 3
	})
}
