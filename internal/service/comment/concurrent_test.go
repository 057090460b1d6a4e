package comment_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/synclist"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
)

// TestCommentersOnManyNodes: what many users write at the same time on three nodes, each twice, is stored once, counted once, and in rows of each node.
func TestCommentersOnManyNodes(t *testing.T) {
	f := open(t, 3)
	ann := f.user()
	post := f.post(ann)
	top := f.create(ann, post, 0, "top")
	for n, node := range f.nodes {
		_, err := node.CreateComment(ctx, ann, request(fmt.Sprint("node ", n), post, top, fmt.Sprint("node ", n)))
		must(t, err)
	}
	const each = 20
	users := []id.User{f.user(), f.user(), f.user(), f.user()}
	var group sync.WaitGroup
	var ids synclist.List[string]
	for n, by := range users {
		for k := range 2 { // the same requests on two nodes
			group.Go(func() {
				for i := range each {
					replyTo := uint64(0)
					if i%2 == 1 {
						replyTo = top
					}
					text := fmt.Sprintf("%d-%d", n, i)
					c, err := f.nodes[(n+k)%3].CreateComment(ctx, by, request(text, post, replyTo, text))
					if err != nil {
						t.Error(err)
						return
					}
					ids.Add(fmt.Sprint(text, " ", c.Id))
				}
			})
		}
	}
	group.Wait()
	all := ids.All()
	slices.Sort(all)
	if len(all) != 2*each*len(users) || len(slices.Compact(slices.Clone(all))) != each*len(users) {
		t.Errorf("%d answers, with %d ids", len(all), len(slices.Compact(all)))
	}
	for list, want := range map[uint64]int{0: each*len(users)/2 + 1, top: each*len(users)/2 + 3} {
		got := f.texts(ann, post, list, oldest, 7)
		if slices.Sort(got); len(got) != want || len(slices.Compact(got)) != want {
			t.Errorf("the list of %d has %d comments, want %d", list, len(got), want)
		}
	}
	if c, err := f.GetComment(ctx, ann, top); err != nil || int(c.Replies) != each*len(users)/2+3 {
		t.Errorf("the top comment is %v, %v", c, err)
	}
	if n := f.count(ann, post); int(n) != each*len(users)+4 {
		t.Errorf("%d comments are counted", n)
	}
	var buckets, replyBuckets int
	must(t, f.dbs[0].Read().QueryRow(`SELECT count(*) FROM comment_counts WHERE subject = $1`, int64(post)).Scan(&buckets))
	must(t, f.dbs[0].Read().QueryRow(`SELECT count(*) FROM comment_reply_counts WHERE top = $1`, int64(top)).Scan(&replyBuckets))
	if buckets != 3 || replyBuckets != 3 {
		t.Errorf("the counts have %d and %d rows, want one for each node", buckets, replyBuckets)
	}
	f.checkCounts()
}

// TestDeletionsRace: a comment that its author and the author of the post delete at the same time, on all nodes, while it is answered and edited, is deleted and
// uncounted once. A reply that was answered is in its thread.
func TestDeletionsRace(t *testing.T) {
	f := open(t, 3)
	ann, ben, cat := f.user(), f.user(), f.user()
	post := f.post(ann)
	for round := range 25 {
		top := f.create(ben, post, 0, fmt.Sprint("top ", round))
		var group sync.WaitGroup
		var replies synclist.List[string]
		for n, node := range f.nodes {
			for _, by := range []id.User{ann, ben} {
				group.Go(func() {
					if err := node.DeleteComment(ctx, by, top); err != nil {
						t.Error(err)
					}
				})
			}
			group.Go(func() {
				text := fmt.Sprintf("reply %d-%d", round, n)
				if _, err := node.CreateComment(ctx, cat, request(text, post, top, text)); err == nil {
					replies.Add(text)
				} else if reason(err) != "no_comment" {
					t.Errorf("error %v, want the reason no_comment", err)
				}
			})
			group.Go(func() {
				_, err := node.EditComment(ctx, ben, &commentv1.EditCommentRequest{Comment: top, Content: &commentv1.CommentContent{Text: fmt.Sprint("edit ", n)}})
				if reason(err) != "" && reason(err) != "no_comment" {
					t.Errorf("error %v, want none or no_comment", err)
				}
			})
		}
		group.Wait()
		want := replies.All()
		slices.Sort(want)
		var got []string
		if len(want) > 0 {
			got = f.texts(ann, post, top, 0, 2)
			slices.Sort(got)
		}
		c, err := f.GetComment(ctx, ann, top)
		if strings.Join(got, ",") != strings.Join(want, ",") || len(want) == 0 && reason(err) != "no_comment" || len(want) > 0 && (!c.Deleted || int(c.Replies) != len(want) || c.Content != nil) {
			t.Errorf("round %d: the thread has %q, want %q; its top is %v, %v", round, got, want, c, err)
		}
	}
	f.checkCounts()
}

// BenchmarkPage reads a page in the middle of a list. Its cost does not depend on the number of comments.
func BenchmarkPage(b *testing.B) {
	for _, comments := range []int{100, 100_000} {
		b.Run(fmt.Sprint(comments), func(b *testing.B) {
			f := open(b, 1)
			ann := f.user()
			post := f.post(ann)
			first := f.create(ann, post, 0, "first")
			f.repeat(first, comments)
			for b.Loop() {
				r, err := f.ListComments(ctx, ann, &commentv1.ListCommentsRequest{SubjectKind: onPost, Subject: post, Page: fmt.Sprint(first + uint64(comments)/2)})
				if err != nil || len(r.Comments) != 20 {
					b.Fatalf("%d comments, want 20; error %v", len(r.GetComments()), err)
				}
			}
		})
	}
}
