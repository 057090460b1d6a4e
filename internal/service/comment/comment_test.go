package comment_test

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/service/comment"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	"google.golang.org/protobuf/proto"
)

const (
	newest = commentv1.CommentOrder_COMMENT_ORDER_NEWEST
	oldest = commentv1.CommentOrder_COMMENT_ORDER_OLDEST
)

var ctx = context.Background()

// TestThreads: a reply to a reply is in the thread of the same top comment, and names whom it answers.
func TestThreads(t *testing.T) {
	f := open(t, 1)
	ann, ben, cat := f.user(), f.user(), f.user()
	post := f.post(ann)
	one, two := f.create(ann, post, 0, "one"), f.create(ben, post, 0, "two")
	reply := f.create(ben, post, one, "reply")
	other := f.create(cat, post, two, "other")
	again, err := f.CreateComment(ctx, cat, request("again", post, reply, "again"))
	must(t, err)
	want := &commentv1.Comment{Id: again.Id, SubjectKind: onPost, Subject: post, Author: uint64(cat), Content: &commentv1.CommentContent{Text: "again"}, Top: one, ReplyTo: reply, ReplyToAuthor: uint64(ben), CreatedMs: f.clock.Now().UnixMilli()}
	if !proto.Equal(again, want) {
		t.Errorf("got %v, want %v", again, want)
	}
	for _, c := range []struct {
		top   uint64
		order commentv1.CommentOrder
		want  string
	}{{0, newest, "two one"}, {0, oldest, "one two"}, {0, 0, "two one"}, {one, 0, "reply again"}, {two, 0, "other"}} {
		for limit := uint32(1); limit <= 3; limit++ {
			if got := strings.Join(f.texts(ann, post, c.top, c.order, limit), " "); got != c.want {
				t.Errorf("the list of %d in order %d has %s, want %s", c.top, c.order, got, c.want)
			}
		}
	}
	if top, err := f.GetComment(ctx, ann, one); err != nil || top.Replies != 2 || top.Top != 0 || top.ReplyTo != 0 {
		t.Errorf("the top comment is %v, %v", top, err)
	}
	if n := f.count(cat, post); n != 5 {
		t.Errorf("%d comments are counted", n)
	}
	if _, _, err := f.page(ann, post, reply, 0, "", 1); reason(err) != "no_comment" {
		t.Errorf("the replies of a reply are answered with %v", err)
	}
	// A comment of another post cannot be answered.
	for n, c := range map[string]*commentv1.CreateCommentRequest{"other": request("x", f.post(ann), other, "x"), "none": request("y", post, 77, "y"), "high": request("z", post, math.MaxUint64, "z")} {
		if _, err := f.CreateComment(ctx, ben, c); reason(err) != "no_comment" {
			t.Errorf("%s: error %v, want the reason no_comment", n, err)
		}
	}
}

// TestAReplyIsBehindWhatItAnswers: also where the clock of its node is behind.
func TestAReplyIsBehindWhatItAnswers(t *testing.T) {
	f := open(t, 1)
	ann := f.user()
	post := f.post(ann)
	f.ids.next = []uint64{1 << 50}
	top := f.create(ann, post, 0, "top")
	f.ids.next = []uint64{1<<50 - 2, 1<<50 - 1, 1 << 50, 1<<50 + 1}
	if n := f.create(ann, post, top, "reply"); n != 1<<50+1 {
		t.Errorf("the reply to %d is %d", top, n)
	}
}

// TestRetriesAreHarmless: a token names one comment of its author, also if it is deleted or its thread is.
func TestRetriesAreHarmless(t *testing.T) {
	f := open(t, 1)
	ann, ben := f.user(), f.user()
	post := f.post(ann)
	top := f.create(ann, post, 0, "top")
	first := f.create(ben, post, top, "reply")
	if again := f.create(ben, post, top, "reply"); again != first {
		t.Errorf("a retry gives %d, want %d", again, first)
	}
	for name, other := range map[string]*commentv1.CreateCommentRequest{"text": request("reply", post, top, "else"), "thread": request("reply", post, 0, "reply"), "post": request("reply", f.post(ann), 0, "reply")} {
		if _, err := f.CreateComment(ctx, ben, other); reason(err) != "id_reuse" {
			t.Errorf("the token with another %s is answered with %v", name, err)
		}
	}
	if n := f.create(ann, post, top, "reply"); n == first {
		t.Error("two authors share a token")
	}
	must(t, f.DeleteComment(ctx, ann, top))
	if again := f.create(ben, post, top, "reply"); again != first {
		t.Errorf("a retry gives %d after the top comment was deleted, want %d", again, first)
	}
	must(t, f.DeleteComment(ctx, ben, first))
	must(t, f.DeleteComment(ctx, ben, first))
	if _, err := f.CreateComment(ctx, ben, request("reply", post, top, "reply")); reason(err) != "no_comment" {
		t.Errorf("a retry for a deleted comment is answered with %v", err)
	}
	if n := f.count(ann, post); n != 1 {
		t.Errorf("%d comments are counted, want 1", n)
	}
	f.checkCounts()
}

// TestDeletion: by the author, also where the author no longer sees the post, or by the author of the post. A top comment with replies leaves its place.
func TestDeletion(t *testing.T) {
	f := open(t, 1)
	ann, ben, cat := f.user(), f.user(), f.user()
	post := f.post(ann)
	top, bare := f.create(ben, post, 0, "top"), f.create(ben, post, 0, "bare")
	reply := f.create(cat, post, top, "reply")
	for _, n := range []uint64{top, bare, reply, 77} {
		if err := f.DeleteComment(ctx, f.user(), n); reason(err) != "no_comment" {
			t.Errorf("somebody deletes %d: %v", n, err)
		}
	}
	if err := f.DeleteComment(ctx, ben, reply); reason(err) != "no_comment" {
		t.Errorf("the author of the thread deletes a reply: %v", err)
	}
	f.block(ann, ben, true)
	must(t, f.DeleteComment(ctx, ben, bare)) // who is blocked by the author of the post
	f.block(ann, ben, false)
	must(t, f.DeleteComment(ctx, ann, top))
	place, err := f.GetComment(ctx, cat, top)
	must(t, err)
	if want := (&commentv1.Comment{Id: top, SubjectKind: onPost, Subject: post, Replies: 1, CreatedMs: f.clock.Now().UnixMilli(), Deleted: true}); !proto.Equal(place, want) {
		t.Errorf("the place is %v, want %v", place, want)
	}
	if got := f.texts(cat, post, 0, oldest, 5); !slices.Equal(got, []string{"-"}) {
		t.Errorf("the list has %q", got)
	}
	for name, err := range map[string]error{"answering": second(f.CreateComment(ctx, cat, request("x", post, top, "x"))), "editing": second(f.EditComment(ctx, ben, &commentv1.EditCommentRequest{Comment: top, Content: &commentv1.CommentContent{Text: "x"}}))} {
		if reason(err) != "no_comment" {
			t.Errorf("%s a deleted comment: %v", name, err)
		}
	}
	later := f.create(ben, post, reply, "later") // the thread goes on
	if got := f.texts(ann, post, top, 0, 5); !slices.Equal(got, []string{"reply", "later"}) {
		t.Errorf("the thread has %q", got)
	}
	must(t, f.DeleteComment(ctx, cat, reply))
	if got := f.texts(ann, post, top, 0, 5); !slices.Equal(got, []string{"later"}) || f.count(ann, post) != 1 {
		t.Errorf("the thread has %q", got)
	}
	must(t, f.DeleteComment(ctx, ben, later))
	if _, err := f.GetComment(ctx, cat, top); reason(err) != "no_comment" {
		t.Errorf("a place without replies: %v", err)
	}
	if got := f.texts(cat, post, 0, newest, 5); len(got) != 0 || f.count(cat, post) != 0 {
		t.Errorf("the list has %q", got)
	}
	var kept int
	must(t, f.dbs[0].Read().QueryRow(`SELECT coalesce(sum(length(content)), 0) FROM comments WHERE deleted`).Scan(&kept))
	if kept != 0 {
		t.Errorf("%d bytes of deleted comments are stored", kept)
	}
	f.checkCounts()
}

func second[T any](_ T, err error) error { return err }

// TestBlocksHideThreads: neither of two users sees the other's comments nor the threads below, whoever blocked; and nobody is told whom a blocked user is.
func TestBlocksHideThreads(t *testing.T) {
	for _, reverse := range []bool{false, true} {
		f := open(t, 1)
		ann, ben, cat := f.user(), f.user(), f.user()
		post := f.post(cat)
		top := f.create(ben, post, 0, "top")
		reply := f.create(cat, post, top, "below")
		mine := f.create(cat, post, 0, "mine")
		answer := f.create(ben, post, mine, "answer")
		to := f.create(cat, post, answer, "to ben")
		if a, b := ann, ben; reverse {
			f.block(b, a, true)
		} else {
			f.block(a, b, true)
		}
		if got := strings.Join(append(f.texts(ann, post, 0, oldest, 1), f.texts(ann, post, mine, 0, 1)...), " "); got != "mine to ben" {
			t.Errorf("who has a block sees %s", got)
		}
		if got := strings.Join(append(f.texts(cat, post, 0, oldest, 1), f.texts(cat, post, mine, 0, 1)...), " "); got != "top mine answer to ben" {
			t.Errorf("who has none sees %s", got)
		}
		for _, n := range []uint64{top, reply, answer} {
			if _, err := f.GetComment(ctx, ann, n); reason(err) != "no_comment" {
				t.Errorf("%d is answered with %v", n, err)
			}
			if _, err := f.CreateComment(ctx, ann, request(fmt.Sprint(n), post, n, "x")); reason(err) != "no_comment" {
				t.Errorf("a reply to %d is answered with %v", n, err)
			}
		}
		if _, _, err := f.page(ann, post, top, 0, "", 1); reason(err) != "no_comment" {
			t.Errorf("the thread is answered with %v", err)
		}
		if c, err := f.GetComment(ctx, ann, to); err != nil || c.ReplyToAuthor != 0 || c.ReplyTo != answer {
			t.Errorf("a reply to a blocked user is %v, %v", c, err)
		}
		if f.count(ann, post) != 5 {
			t.Error("counts depend on the reader")
		}
	}
}

// TestWhoeverDoesNotSeeThePostFindsNoComment: an audience, a block, hiding and deleting the post hide its comments from all calls.
func TestWhoeverDoesNotSeeThePostFindsNoComment(t *testing.T) {
	f := open(t, 1)
	ann, ben, out := f.user(), f.user(), f.user()
	post := f.post(ann, uint64(ben))
	top := f.create(ben, post, 0, "top")
	check := func(what string, reader id.User, sees bool) {
		t.Helper()
		noSubject, noComment := "no_subject", "no_comment"
		if sees {
			noSubject, noComment = "", ""
		}
		counts, err := f.CountComments(ctx, reader, &commentv1.CountCommentsRequest{SubjectKind: onPost, Subjects: []uint64{post, 77, post}})
		must(t, err)
		if (len(counts.Counts) == 1) != sees {
			t.Errorf("%s: the counts are %v", what, counts)
		}
		for call, c := range map[string]struct {
			err  error
			want string
		}{
			"Create":      {second(f.CreateComment(ctx, reader, request(what, post, 0, what))), noSubject},
			"reply":       {second(f.CreateComment(ctx, reader, request(what+"r", post, top, what))), noComment},
			"Get":         {second(f.GetComment(ctx, reader, top)), noComment},
			"List":        {second(f.ListComments(ctx, reader, &commentv1.ListCommentsRequest{SubjectKind: onPost, Subject: post})), noSubject},
			"ListReplies": {second(f.ListReplies(ctx, reader, &commentv1.ListRepliesRequest{Comment: top})), noComment},
			"NamesFile":   {second(f.NamesFile(ctx, reader, top, 1)), noComment},
		} {
			if reason(c.err) != c.want {
				t.Errorf("%s: %s is answered with %v, want %q", what, call, c.err, c.want)
			}
		}
		if _, err := f.EditComment(ctx, ben, &commentv1.EditCommentRequest{Comment: top, Content: &commentv1.CommentContent{Text: what}}); reader == ben && reason(err) != noComment {
			t.Errorf("%s: editing is answered with %v", what, err)
		}
	}
	check("outside the audience", out, false)
	check("in the audience", ben, true)
	must(t, f.feed.HidePost(ctx, &feedv1.HidePostRequest{Post: post}))
	check("hidden", ben, false)
	check("hidden from its author", ann, false)
	must(t, f.feed.HidePost(ctx, &feedv1.HidePostRequest{Post: post, Show: true}))
	check("shown again", ben, true)
	f.block(ann, ben, true)
	check("blocked", ben, false)
	f.block(ann, ben, false)
	f.block(ben, ann, true)
	check("blocking", ben, false)
	f.block(ben, ann, false)
	must(t, f.feed.DeletePost(ctx, ann, post))
	check("deleted", ben, false)
	f.checkCounts()
}

// TestEdits: only the author edits, and sees when. An edit to the same content changes nothing.
func TestEdits(t *testing.T) {
	f := open(t, 1)
	ann, ben := f.user(), f.user()
	post := f.post(ann)
	n := f.create(ben, post, 0, "first")
	edit := func(by id.User, text string) (*commentv1.Comment, error) {
		return f.EditComment(ctx, by, &commentv1.EditCommentRequest{Comment: n, Content: &commentv1.CommentContent{Text: text}})
	}
	f.clock.Advance(5 * time.Second)
	if c, err := edit(ben, "first"); err != nil || c.EditedMs != 0 {
		t.Errorf("the same content: %v, %v", c, err)
	}
	if c, err := edit(ben, "second"); err != nil || c.EditedMs != c.CreatedMs+5000 || c.Content.Text != "second" {
		t.Errorf("an edit gives %v, %v", c, err)
	}
	if _, err := edit(ann, "x"); reason(err) != "no_comment" {
		t.Errorf("another user edits: %v", err)
	}
	// A retry of the creation after an edit gives the comment as it is.
	if c, err := f.CreateComment(ctx, ben, request("first", post, 0, "first")); err != nil || c.Content.Text != "second" || c.Id != n {
		t.Errorf("a retry gives %v, %v", c, err)
	}
}

// TestBadInput: texts, images, tokens, pages and kinds.
func TestBadInput(t *testing.T) {
	f := open(t, 1)
	ann := f.user()
	post := f.post(ann)
	f.pictures[5] = ann
	image := func(m *chatv1.Media) *commentv1.CommentContent { return &commentv1.CommentContent{Image: m} }
	for i, c := range []struct {
		content *commentv1.CommentContent
		want    string
	}{
		{nil, "bad_comment"}, {&commentv1.CommentContent{}, "bad_comment"}, {&commentv1.CommentContent{Text: " \n"}, "bad_comment"}, {&commentv1.CommentContent{Text: "\u200b"}, "bad_comment"},
		{&commentv1.CommentContent{Text: "a\x00"}, "bad_comment"}, {&commentv1.CommentContent{Text: "a\u202e"}, "bad_comment"},
		{&commentv1.CommentContent{Text: strings.Repeat("语", 2001)}, "bad_comment"}, {&commentv1.CommentContent{Text: strings.Repeat("语", 2000)}, ""}, {&commentv1.CommentContent{Text: "a\nb"}, ""},
		{image(&chatv1.Media{}), "bad_comment"}, {image(&chatv1.Media{Upload: 5, Caption: "x"}), "bad_comment"}, {image(&chatv1.Media{Upload: 5, Name: "a\nb"}), "bad_comment"},
		{image(&chatv1.Media{Upload: 5, MimeType: "\u202e"}), "bad_comment"}, {image(&chatv1.Media{Upload: 6, Name: "x"}), "no_upload"}, {image(&chatv1.Media{Upload: 5, Name: "x.png"}), ""},
	} {
		r := request(fmt.Sprint(i), post, 0, "")
		r.Content = c.content
		if _, err := f.CreateComment(ctx, ann, r); reason(err) != c.want {
			t.Errorf("%d: %v is answered with %v", i, c.content, err)
		}
	}
	n := f.create(ann, post, 0, "good")
	for name, err := range map[string]error{
		"no token":   second(f.CreateComment(ctx, ann, request("", post, 0, "x"))),
		"long token": second(f.CreateComment(ctx, ann, request(strings.Repeat("x", 65), post, 0, "x"))),
		"odd token":  second(f.CreateComment(ctx, ann, request("é", post, 0, "x"))),
		"no kind":    second(f.CreateComment(ctx, ann, &commentv1.CreateCommentRequest{ClientCommentId: "k", Subject: post, Content: &commentv1.CommentContent{Text: "x"}})),
		"edit":       second(f.EditComment(ctx, ann, &commentv1.EditCommentRequest{Comment: n})),
		"kind":       second(f.ListComments(ctx, ann, &commentv1.ListCommentsRequest{SubjectKind: 99, Subject: post})),
		"order":      second(f.ListComments(ctx, ann, &commentv1.ListCommentsRequest{SubjectKind: onPost, Subject: post, Order: 99})),
		"counts":     second(f.CountComments(ctx, ann, &commentv1.CountCommentsRequest{SubjectKind: onPost, Subjects: make([]uint64, 101)})),
		"count kind": second(f.CountComments(ctx, ann, &commentv1.CountCommentsRequest{Subjects: []uint64{post}})),
	} {
		if reason(err) != "bad_comment" {
			t.Errorf("%s is answered with %v", name, err)
		}
	}
	for _, page := range []string{"x", "0", "-1", "9223372036854775808", " 1", "1;2"} {
		if _, _, err := f.page(ann, post, 0, newest, page, 1); reason(err) != "bad_page" {
			t.Errorf("the page %q is answered with %v", page, err)
		}
		if _, _, err := f.page(ann, post, n, 0, page, 1); reason(err) != "bad_page" {
			t.Errorf("the page %q of replies is answered with %v", page, err)
		}
	}
	if _, err := f.GetComment(ctx, ann, math.MaxUint64); reason(err) != "no_comment" {
		t.Errorf("error %v, want the reason no_comment", err)
	}
	if n := f.count(ann, post); n != 4 {
		t.Errorf("%d comments are stored", n)
	}
	f.checkCounts()
}

// TestAPageOfManyInvisibleCommentsIsShort: one call examines a bounded number of comments, and the next one goes on.
func TestAPageOfManyInvisibleCommentsIsShort(t *testing.T) {
	f := open(t, 1)
	ann, ben := f.user(), f.user()
	post := f.post(ann)
	f.create(ann, post, 0, "one")
	first := f.create(ben, post, 0, "many")
	f.repeat(first, 1200)
	f.ids.last += 2000
	f.create(ann, post, 0, "two")
	f.block(ann, ben, true)
	for _, order := range []commentv1.CommentOrder{newest, oldest} {
		want, pages := []string{"one", "two"}, 0
		if order == newest {
			slices.Reverse(want)
		}
		var got []string
		for page := ""; ; {
			list, next, err := f.page(ann, post, 0, order, page, 20)
			must(t, err)
			for _, c := range list {
				got = append(got, c.Content.Text)
			}
			pages++
			if page = next; page == "" {
				break
			}
		}
		if !slices.Equal(got, want) || pages < 3 || pages > 4 {
			t.Errorf("%d pages have %q, want %q", pages, got, want)
		}
	}
}

// TestPagesAreReadByAnIndex: the statement of a page begins at its place in an index, and sorts nothing.
func TestPagesAreReadByAnIndex(t *testing.T) {
	f := open(t, 1)
	explain, want := `EXPLAIN QUERY PLAN `, "SEARCH comments USING INDEX comments_threads (kind=? AND subject=? AND top=? AND id"
	if sqltest.OnPostgres() {
		explain, want = `EXPLAIN `, "using comments_threads"
	}
	for _, query := range []string{comment.NewestFirstQuery, comment.OldestFirstQuery} {
		var plan []string
		must(t, f.dbs[0].Write(ctx, func(tx *sql.Tx) error {
			if sqltest.OnPostgres() { // which reads so small a table without an index
				if _, err := tx.ExecContext(ctx, `SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off`); err != nil {
					return err
				}
			}
			rows, err := tx.QueryContext(ctx, explain+query, 1, 1, 0, 1, 10)
			return sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
				columns, err := rows.Columns()
				if err != nil {
					return err
				}
				var step string
				into := make([]any, len(columns))
				for i := range into {
					into[i] = new(any)
				}
				into[len(into)-1] = &step
				err = rows.Scan(into...)
				plan = append(plan, step)
				return err
			})
		}))
		if all := strings.Join(plan, "\n"); !strings.Contains(all, want) || strings.Contains(all, "Sort") || strings.Contains(all, "B-TREE") {
			t.Errorf("the plan is %q", plan)
		}
	}
}
