package comment_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/comment"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

const onVideo = commentv1.SubjectKind_SUBJECT_KIND_VIDEO

func timed(post, video uint64, timeMs uint32, text string) *commentv1.CreateCommentRequest {
	return &commentv1.CreateCommentRequest{ClientCommentId: fmt.Sprint(text, timeMs), SubjectKind: onVideo, Subject: post, Video: video, TimeMs: timeMs, Content: &commentv1.CommentContent{Text: text}}
}

func (f *fixture) createTimed(by id.User, post, video uint64, timeMs uint32, text string) uint64 {
	f.t.Helper()
	c, err := f.CreateComment(f.t.Context(), by, timed(post, video, timeMs, text))
	must(f.t, err)
	if c.Video != video || c.TimeMs != timeMs || c.Content.Text != text {
		f.t.Errorf("the comment is %v", c)
	}
	return c.Id
}

// window returns the comments of a window, as "time text", or the reason of a refusal.
func (f *fixture) window(reader id.User, post, video uint64, from, to uint32) (list []string) {
	f.t.Helper()
	r, err := f.ListTimedComments(f.t.Context(), reader, &commentv1.ListTimedCommentsRequest{Post: post, Video: video, FromMs: from, ToMs: to})
	if err != nil {
		return []string{reason(err)}
	}
	for _, c := range r.Comments {
		list = append(list, fmt.Sprint(c.TimeMs, " ", c.Content.Text))
	}
	return list
}

func (f *fixture) expectWindow(reader id.User, post, video uint64, from, to uint32, want ...string) {
	f.t.Helper()
	if got := f.window(reader, post, video, from, to); !slices.Equal(got, want) {
		f.t.Errorf("the window is %q, want %q", got, want)
	}
}

// TestTimedComments: comments on a video are read by windows of its time, by those who may see the video, without those of blocked users.
func TestTimedComments(t *testing.T) {
	f := open(t, 1)
	ann, ben, cam := f.user(), f.user(), f.user()
	post, other := f.post(ann), f.post(ann, uint64(ben))
	f.videos[post], f.videos[other] = comment.Video{ID: 7, Duration: time.Minute}, comment.Video{ID: 8, Duration: time.Minute}
	f.createTimed(ben, post, 7, 12_000, "b")
	f.createTimed(cam, post, 7, 9_999, "c")
	f.createTimed(ann, post, 7, 12_000, "a")
	f.createTimed(ben, post, 7, 60_000, "end")
	first := f.createTimed(ben, other, 8, 0, "other")
	f.create(ben, post, 0, "no time")
	f.expectWindow(ann, post, 7, 0, 60_000, "9999 c", "12000 b", "12000 a")
	f.expectWindow(ann, post, 7, 9_999, 12_000, "9999 c")
	f.expectWindow(ann, post, 7, 12_000, 12_001, "12000 b", "12000 a")
	f.expectWindow(ann, post, 7, 59_000, 61_000, "60000 end")
	f.expectWindow(ben, other, 8, 0, 1, "0 other")
	f.expectWindow(cam, other, 8, 0, 1, "no_subject")
	f.expectWindow(cam, post, 8, 0, 1, "no_subject")
	f.expectWindow(ann, post, 7, 0, 60_001, "bad_window")
	f.expectWindow(ann, post, 7, 5, 5, "bad_window")
	if got := f.texts(ann, post, 0, 0, 10); !slices.Equal(got, []string{"no time"}) || f.count(ann, post) != 1 {
		t.Errorf("the comments on the post are %q", got)
	}
	f.block(cam, ben, true)
	f.expectWindow(ben, post, 7, 0, 60_000, "12000 b", "12000 a")
	f.expectWindow(cam, post, 7, 0, 60_000, "9999 c", "12000 a")
	must(t, f.feed.HidePost(t.Context(), &feedv1.HidePostRequest{Post: other}))
	f.expectWindow(ben, other, 8, 0, 1, "no_subject")
	if _, err := f.GetComment(t.Context(), ben, first); reason(err) != "no_comment" {
		t.Errorf("a comment on a hidden video is answered with %v", err)
	}
	f.videos[post] = comment.Video{} // deleted
	f.expectWindow(ann, post, 7, 0, 60_000, "no_subject")
	f.checkCounts()
}

// TestTimedCommentsAreChecked: a comment on a video has a short text and a time within the video that its post shows.
func TestTimedCommentsAreChecked(t *testing.T) {
	f := open(t, 1)
	ann, ben := f.user(), f.user()
	post := f.post(ann)
	f.videos[post] = comment.Video{ID: 7, Duration: time.Minute}
	plain := f.create(ben, post, 0, "plain")
	for name, c := range map[string]struct {
		change func(r *commentv1.CreateCommentRequest)
		want   string
	}{
		"another video":      {func(r *commentv1.CreateCommentRequest) { r.Video = 8 }, "no_subject"},
		"no video":           {func(r *commentv1.CreateCommentRequest) { r.Video = 0 }, "bad_comment"},
		"behind the end":     {func(r *commentv1.CreateCommentRequest) { r.TimeMs = 60_001 }, "bad_comment"},
		"a reply":            {func(r *commentv1.CreateCommentRequest) { r.ReplyTo = plain }, "bad_comment"},
		"a long text":        {func(r *commentv1.CreateCommentRequest) { r.Content.Text = strings.Repeat("é", 101) }, "bad_comment"},
		"two lines":          {func(r *commentv1.CreateCommentRequest) { r.Content.Text = "a\nb" }, "bad_comment"},
		"an image":           {func(r *commentv1.CreateCommentRequest) { r.Content.Image = &chatv1.Media{Upload: 1, Name: "a"} }, "bad_comment"},
		"a post's":           {func(r *commentv1.CreateCommentRequest) { r.SubjectKind = onPost }, "bad_comment"},
		"another post":       {func(r *commentv1.CreateCommentRequest) { r.Subject = post + 1000 }, "no_subject"},
		"100 characters":     {func(r *commentv1.CreateCommentRequest) { r.Content.Text = strings.Repeat("é", 100) }, ""},
		"its very last time": {func(r *commentv1.CreateCommentRequest) { r.TimeMs = 60_000 }, ""},
	} {
		r := timed(post, 7, 1000, name)
		c.change(r)
		if _, err := f.CreateComment(t.Context(), ben, r); reason(err) != c.want {
			t.Errorf("%s is answered with %v", name, err)
		}
	}
	n := f.createTimed(ben, post, 7, 5, "hello")
	if again, err := f.CreateComment(t.Context(), ben, timed(post, 7, 5, "hello")); err != nil || again.Id != n {
		t.Errorf("a retry returns %v, %v", again, err)
	}
	if _, err := f.EditComment(t.Context(), ben, &commentv1.EditCommentRequest{Comment: n, Content: &commentv1.CommentContent{Text: "edited"}}); reason(err) != "bad_comment" {
		t.Errorf("an edit of a timed comment is answered with %v, want bad_comment", err)
	}
}

// TestTimedCommentsAreDeleted: by their author, and by the author of the video.
func TestTimedCommentsAreDeleted(t *testing.T) {
	f := open(t, 1)
	ann, ben, cam := f.user(), f.user(), f.user()
	post := f.post(ann)
	f.videos[post] = comment.Video{ID: 7, Duration: time.Minute}
	one, two := f.createTimed(ben, post, 7, 1, "one"), f.createTimed(ben, post, 7, 2, "two")
	if err := f.DeleteComment(t.Context(), cam, one); reason(err) != "no_comment" {
		t.Errorf("a third user is answered with %v", err)
	}
	must(t, f.DeleteComment(t.Context(), ben, one))
	f.videos[post] = comment.Video{ID: 8, Duration: time.Minute} // also after an edit of the post
	must(t, f.DeleteComment(t.Context(), ann, two))
	f.videos[post] = comment.Video{ID: 7, Duration: time.Minute}
	f.expectWindow(ann, post, 7, 0, 10)
	f.checkCounts()
}

// TestTimedCommentsAreOfTheirVideo: they are gone while their post shows another video, and are in no list of comments. Nobody is told of their likes.
func TestTimedCommentsAreOfTheirVideo(t *testing.T) {
	f := open(t, 1)
	ctx := t.Context()
	ann, ben := f.user(), f.user()
	post := f.post(ann)
	f.videos[post] = comment.Video{ID: 7, Duration: time.Minute}
	n := f.createTimed(ben, post, 7, 1, "one")
	if c, err := f.GetComment(ctx, ann, n); err != nil || c.TimeMs != 1 {
		t.Errorf("the comment is %v, %v", c, err)
	}
	if _, err := f.ListComments(ctx, ann, &commentv1.ListCommentsRequest{SubjectKind: onVideo, Subject: post}); reason(err) != "bad_comment" {
		t.Errorf("a list of comments on a video is answered with %v", err)
	}
	if _, err := f.CountComments(ctx, ann, &commentv1.CountCommentsRequest{SubjectKind: onVideo, Subjects: []uint64{post}}); reason(err) != "bad_comment" {
		t.Errorf("a count of comments on a video is answered with %v", err)
	}
	must(t, f.dbs[0].ReadSnapshot(ctx, func(tx *sql.Tx) error {
		if authors, err := f.Authors(ctx, tx, []uint64{n}); err != nil || len(authors) > 0 {
			t.Errorf("its author would be told of likes: %v, %v", authors, err)
		}
		return nil
	}))
	f.videos[post] = comment.Video{ID: 8, Duration: time.Minute}
	if _, err := f.GetComment(ctx, ann, n); reason(err) != "no_comment" {
		t.Errorf("while the post shows another video: %v", err)
	}
}

// TestTimedCommentsAreBounded: a window has the newest 100 of each ten seconds. Neither one author nor users with a block displace others.
func TestTimedCommentsAreBounded(t *testing.T) {
	f := open(t, 1)
	ann, ben := f.user(), f.user()
	post := f.post(f.user())
	f.videos[post] = comment.Video{ID: 7, Duration: time.Minute}
	n := f.createTimed(ann, post, 7, 1, "old")
	f.repeat(n, 120)
	must(t, f.dbs[0].Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `UPDATE comments SET video = 7, time_ms = id - $1 WHERE kind = 2`, int64(n))
		return err
	}))
	if got := f.window(ben, post, 7, 0, 60_000); len(got) != 20 || got[0] != "101 old" || got[19] != "120 old" {
		t.Errorf("%d comments of one author are read: %q", len(got), got)
	}
	byMany := func(beforeMs int) {
		must(t, f.dbs[0].Write(t.Context(), func(tx *sql.Tx) error {
			_, err := tx.ExecContext(t.Context(), `UPDATE comments SET author = $1 + time_ms WHERE kind = 2 AND time_ms < $2`, int64(1)<<40, beforeMs)
			return err
		}))
	}
	byMany(21)
	if got := f.window(ben, post, 7, 0, 60_000); len(got) != 40 || got[19] != "20 old" || got[20] != "101 old" {
		t.Errorf("%d comments are read behind those of one author: %q", len(got), got)
	}
	f.block(ann, ben, true)
	if got := f.window(ben, post, 7, 0, 60_000); len(got) != 20 || got[19] != "20 old" {
		t.Errorf("a user with a block leaves room for %d comments: %q", len(got), got)
	}
	byMany(1000)
	if got := f.window(ben, post, 7, 0, 60_000); len(got) != 100 || got[0] != "21 old" || got[99] != "120 old" {
		t.Errorf("%d comments are read, from %q", len(got), got)
	}
}
