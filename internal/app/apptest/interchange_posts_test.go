package apptest_test

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"testing"

	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/platform/transcode/transcodetest"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/comment/v1/commentv1connect"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/engagement/v1/engagementv1connect"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	notificationv1 "github.com/rialto-im/rialto/sdk/go/gen/notification/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/notification/v1/notificationv1connect"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/video/v1/videov1connect"
)

// picture is a small PNG.
func picture(t *testing.T, width int) string {
	t.Helper()
	var b bytes.Buffer
	must(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, width, 10))))
	return b.String()
}

// livePosts are posts of each kind, with comments, likes and favourites, and a profile with all that it can have.
func livePosts(t *testing.T, s *apptest.Server) (gina, hugo *apptest.Person) {
	t.Helper()
	ctx := t.Context()
	gina, hugo = s.Register(t, "gina"), s.Register(t, "hugo")
	bio, avatar := "writes\nmuch", upload(t, gina, picture(t, 11))
	_, err := s.Accounts().UpdateProfile(ctx, apptest.As(gina, &accountv1.UpdateProfileRequest{Bio: &bio, Avatar: &avatar}))
	must(t, err)
	_, err = s.Accounts().UpdateSettings(ctx, apptest.As(gina, &accountv1.UpdateSettingsRequest{Settings: &accountv1.Settings{Locale: "zh", Theme: "dark", HideRead: true,
		WhoMayAdd: accountv1.WhoMayAdd_WHO_MAY_ADD_FRIENDS, WhoMaySeePresence: accountv1.WhoMaySee_WHO_MAY_SEE_NOBODY, Availability: presencev1.Availability_AVAILABILITY_DO_NOT_DISTURB,
		CustomStatus: &presencev1.CustomStatus{Emoji: "🎉", Text: "at sea"}, NoLinkPreviews: true, NoPersonalization: true}}))
	must(t, err)

	movie, err := os.ReadFile(transcodetest.File(t, "a.mkv", "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=10", "-t", "1", "-c:v", "mpeg4"))
	must(t, err)
	videos := videov1connect.NewVideoServiceClient(s.HTTP, s.URL)
	v, err := videos.CreateVideo(ctx, apptest.As(gina, &videov1.CreateVideoRequest{Upload: upload(t, gina, string(movie))}))
	must(t, err)
	eventually.True(t, "the video is inspected", func() bool {
		got, err := videos.GetVideo(ctx, apptest.As(gina, &videov1.GetVideoRequest{Video: v.Msg.Id}))
		must(t, err)
		return got.Msg.DurationMs > 0
	})
	_, err = videos.SetSubtitles(ctx, apptest.As(gina, &videov1.SetSubtitlesRequest{Video: v.Msg.Id, Language: "en", Label: "English", Default: true,
		File: "WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n"}))
	must(t, err)

	publish := func(p *apptest.Person, token string, c *feedv1.PostContent) uint64 {
		r, err := s.Feed().Publish(ctx, apptest.As(p, &feedv1.PublishRequest{ClientPostId: token, Content: c}))
		must(t, err)
		return r.Msg.Id
	}
	img := func(width int) *chatv1.Media {
		return &chatv1.Media{Upload: upload(t, gina, picture(t, width)), Name: "p.png", MimeType: "image/png", Width: uint32(width), Height: 10}
	}
	first := publish(gina, "1", &feedv1.PostContent{Title: "Title", Text: "hello @hugo", Mentions: []*chatv1.Mention{{Start: 6, Length: 5, User: hugo.User}}, Images: []*chatv1.Media{img(12), img(13)}, Cover: img(14),
		Link: "https://example.com/", Goods: []*feedv1.Goods{{Name: "Boat", PriceMinor: 100, Currency: "EUR", Link: "https://example.com/boat", Picture: img(15)}}, Video: v.Msg.Id})
	for _, text := range []string{"second version", "third version"} {
		_, err = s.Feed().EditPost(ctx, apptest.As(gina, &feedv1.EditPostRequest{Post: first, Content: &feedv1.PostContent{Text: text, Video: v.Msg.Id}}))
		must(t, err)
	}
	publish(hugo, "1", &feedv1.PostContent{RepostOf: first})
	publish(hugo, "2", &feedv1.PostContent{RepostOf: first, Text: "look"})
	publish(gina, "2", &feedv1.PostContent{Text: "friends", Audience: feedv1.Audience_AUDIENCE_FRIENDS})
	publish(gina, "3", &feedv1.PostContent{Text: "you", Audience: feedv1.Audience_AUDIENCE_CHOSEN, Users: []uint64{hugo.User}})
	publish(gina, "4", &feedv1.PostContent{Text: "not you", Audience: feedv1.Audience_AUDIENCE_EXCEPT, Users: []uint64{hugo.User}})
	gone := publish(gina, "5", &feedv1.PostContent{Text: "a secret that is deleted"})
	_, err = s.Feed().DeletePost(ctx, apptest.As(gina, &feedv1.DeletePostRequest{Post: gone}))
	must(t, err)
	liveComments(t, s, gina, hugo, first, v.Msg.Id)
	return gina, hugo
}

func liveComments(t *testing.T, s *apptest.Server, gina, hugo *apptest.Person, post, video uint64) {
	t.Helper()
	ctx, comments, likes := t.Context(), commentv1connect.NewCommentServiceClient(s.HTTP, s.URL), engagementv1connect.NewEngagementServiceClient(s.HTTP, s.URL)
	create := func(p *apptest.Person, token string, r *commentv1.CreateCommentRequest) uint64 {
		r.ClientCommentId, r.Subject = token, post
		if r.SubjectKind == 0 {
			r.SubjectKind = commentv1.SubjectKind_SUBJECT_KIND_POST
		}
		made, err := comments.CreateComment(ctx, apptest.As(p, r))
		must(t, err)
		return made.Msg.Id
	}
	text := func(text string) *commentv1.CommentContent { return &commentv1.CommentContent{Text: text} }
	top := create(hugo, "1", &commentv1.CreateCommentRequest{Content: text("well")})
	reply := create(gina, "1", &commentv1.CreateCommentRequest{Content: &commentv1.CommentContent{Text: "so", Image: &chatv1.Media{Upload: upload(t, gina, picture(t, 16)), Name: "c.png"}}, ReplyTo: top})
	create(hugo, "2", &commentv1.CreateCommentRequest{Content: text("@gina yes"), ReplyTo: reply})
	alone := create(hugo, "3", &commentv1.CreateCommentRequest{Content: text("a secret that is deleted")})
	create(hugo, "4", &commentv1.CreateCommentRequest{SubjectKind: commentv1.SubjectKind_SUBJECT_KIND_VIDEO, Video: video, TimeMs: 0, Content: text("there")})
	_, err := comments.EditComment(ctx, apptest.As(gina, &commentv1.EditCommentRequest{Comment: reply, Content: text("so, edited")}))
	must(t, err)
	for _, n := range []uint64{alone, top} { // nobody has answered the first: it is in no export, and the place of the other is
		_, err = comments.DeleteComment(ctx, apptest.As(hugo, &commentv1.DeleteCommentRequest{Comment: n}))
		must(t, err)
	}
	for _, p := range []*apptest.Person{gina, hugo} {
		_, err = likes.Like(ctx, apptest.As(p, &engagementv1.LikeRequest{Kind: engagementv1.LikeKind_LIKE_KIND_POST, Subject: post}))
		must(t, err)
	}
	_, err = likes.Like(ctx, apptest.As(hugo, &engagementv1.LikeRequest{Kind: engagementv1.LikeKind_LIKE_KIND_COMMENT, Subject: reply}))
	must(t, err)
	_, err = likes.Favourite(ctx, apptest.As(hugo, &engagementv1.FavouriteRequest{Post: post}))
	must(t, err)
}

// checkPosts checks what a user sees of the posts, in a server into which they were imported.
func checkPosts(t *testing.T, s *interchangeServer, hugo *apptest.Person, gina uint64) {
	t.Helper()
	list, err := s.Feed().ListPosts(t.Context(), apptest.As(hugo, &feedv1.ListPostsRequest{User: gina}))
	must(t, err)
	if len(list.Msg.Posts) != 2 || list.Msg.Posts[0].Content.Text != "you" { // not those for friends, and for all but hugo
		t.Fatalf("hugo sees %v", list.Msg.Posts)
	}
	p := list.Msg.Posts[1]
	if p.Version != 3 || p.Content.Text != "third version" || p.Content.Video == 0 || p.Likes != 2 || p.Favourites != 1 || p.Comments != 2 || p.Reposts != 2 || !p.Liked || !p.Favourited {
		t.Errorf("the post is %v", p)
	}
}

// checkNoImportedNotifications checks that a user's only notification is of a like that comes after an import.
func checkNoImportedNotifications(t *testing.T, s *interchangeServer, author, by *apptest.Person) {
	t.Helper()
	list, err := s.Feed().ListPosts(t.Context(), apptest.As(by, &feedv1.ListPostsRequest{User: author.User}))
	must(t, err)
	_, err = engagementv1connect.NewEngagementServiceClient(s.HTTP, s.URL).Like(t.Context(), apptest.As(by, &engagementv1.LikeRequest{Kind: engagementv1.LikeKind_LIKE_KIND_POST, Subject: list.Msg.Posts[0].Id}))
	must(t, err)
	var noted []*notificationv1.Notification
	eventually.True(t, "the author is notified of the like", func() bool {
		r, err := notificationv1connect.NewNotificationServiceClient(s.HTTP, s.URL).ListNotifications(t.Context(), apptest.As(author, &notificationv1.ListNotificationsRequest{}))
		must(t, err)
		noted = r.Msg.Notifications
		return len(noted) > 0
	})
	if len(noted) != 1 || noted[0].Subject != list.Msg.Posts[0].Id {
		t.Errorf("an import notifies: %v", noted)
	}
}
