package terminal

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
)

// commentsPerPage is the number of top comments that /comments shows, and of the replies of each.
const commentsPerPage = 10

var (
	errNoCommentNumber = errorf("give the numbers of a post and of a comment, as /comments shows it for that post: /comment 2.1 TEXT")
	errNoMoreComments  = errorf("there are no more comments")
)

// comments are those that /comments showed last, in the order of their numbers.
type comments struct {
	post  uint64
	order commentv1.CommentOrder
	ids   []uint64
	older string // page of the older ones; empty: there are none
}

// commentOrders are the words by which /comments sorts.
var commentOrders = map[string]commentv1.CommentOrder{
	"": commentv1.CommentOrder_COMMENT_ORDER_NEWEST, "newest": commentv1.CommentOrder_COMMENT_ORDER_NEWEST, "oldest": commentv1.CommentOrder_COMMENT_ORDER_OLDEST, "likes": commentv1.CommentOrder_COMMENT_ORDER_LIKES,
}

// comments shows the comments of a listed post in an order, each with its replies, or those after them.
func (s *screen) comments(ctx context.Context, rest string) error {
	s.mu.Lock()
	l := s.commentIDs
	s.mu.Unlock()
	if rest == "more" {
		if l.older == "" {
			return errNoMoreComments
		}
	} else {
		number, sorted, _ := strings.Cut(rest, " ")
		post, err := s.postAt(number)
		if err != nil {
			return err
		}
		order, ok := commentOrders[strings.TrimSpace(sorted)]
		if !ok {
			return errorf("comments are sorted by newest, oldest or likes")
		}
		l = comments{post: post, order: order}
		s.openedPost(ctx, post)
	}
	tops, err := s.readComments(ctx, &l)
	if err != nil {
		return err
	}
	if len(tops) == 0 {
		s.say("No comments. Write one: /comment N TEXT")
	}
	return s.sayComments(ctx, l, tops)
}

// readComments reads the next page that has comments: a page may be empty although there are older ones.
func (s *screen) readComments(ctx context.Context, l *comments) ([]*commentv1.Comment, error) {
	for {
		r, err := call(ctx, s.client.Comment().ListComments, &commentv1.ListCommentsRequest{SubjectKind: commentv1.SubjectKind_SUBJECT_KIND_POST, Subject: l.post,
			Order: l.order, Page: l.older, Limit: commentsPerPage})
		if err != nil {
			return nil, err
		}
		if l.older = r.Next; len(r.Comments) > 0 || r.Next == "" {
			return r.Comments, nil
		}
	}
}

// sayComments shows comments with their numbers, and the first replies of each.
func (s *screen) sayComments(ctx context.Context, l comments, tops []*commentv1.Comment) error {
	threads := make([]*commentv1.ListRepliesResponse, len(tops))
	var users []uint64
	for i, c := range tops {
		users = append(users, c.Author)
		if c.Replies == 0 {
			continue
		}
		var err error
		if threads[i], err = call(ctx, s.client.Comment().ListReplies, &commentv1.ListRepliesRequest{Comment: c.Id, Limit: commentsPerPage}); err != nil {
			return err
		}
		for _, r := range threads[i].Replies {
			users = append(users, r.Author, r.ReplyToAuthor)
		}
	}
	if err := s.readNames(ctx, nonzero(users)); err != nil {
		return err
	}
	var lines []string
	say := func(c *commentv1.Comment, indent string) {
		l.ids = append(l.ids, c.Id)
		lines = append(lines, s.commentLines(ctx, c, len(l.ids), indent)...)
	}
	for i, c := range tops {
		say(c, "  ")
		for _, r := range threads[i].GetReplies() {
			say(r, "      ")
		}
		if threads[i].GetNext() != "" {
			lines = append(lines, phrase("      [more replies]"))
		}
	}
	s.mu.Lock()
	s.commentIDs = l
	s.mu.Unlock()
	if len(lines) > 0 {
		s.say("%s", strings.Join(lines, "\n"))
	}
	return nil
}

// commentLines shows a comment. Every line of its text is indented, so that it cannot look like another comment.
func (s *screen) commentLines(ctx context.Context, c *commentv1.Comment, n int, indent string) []string {
	if c.Deleted {
		return []string{phrasef("%s%d. [deleted]", indent, n)}
	}
	to, edited := "", ""
	if c.ReplyTo != c.Top && c.ReplyToAuthor != 0 {
		to = phrasef(" to %s", s.name(ctx, c.ReplyToAuthor))
	}
	if c.EditedMs > 0 {
		edited = phrase(", edited")
	}
	likes := ""
	if c.Likes > 0 {
		likes = ", " + countedWithOwn(c.Likes, c.Liked, "like")
	}
	lines := []string{fmt.Sprintf("%s%d. %s%s, %s%s%s", indent, n, s.name(ctx, c.Author), to, dated(time.UnixMilli(c.CreatedMs), "2 January 15:04"), edited, likes)}
	indent += "    "
	if text := c.GetContent().GetText(); text != "" {
		lines = append(lines, indent+strings.ReplaceAll(plain(text), "\n", "\n"+indent))
	}
	if c.GetContent().GetImage() != nil {
		lines = append(lines, indent+phrase("[image]"))
	}
	return lines
}

// comment writes a comment on a listed post, or as N.M a reply to a listed comment.
func (s *screen) comment(ctx context.Context, rest string) error {
	place, text, _ := strings.Cut(rest, " ")
	if text = strings.TrimSpace(text); text == "" {
		return errorf("give a post and a text: /comment N TEXT, or to reply /comment N.M TEXT")
	}
	at, answered, isReply := strings.Cut(place, ".")
	post, err := s.postAt(at)
	if err != nil {
		return err
	}
	// A new id for each command: only the user repeats it.
	r := &commentv1.CreateCommentRequest{ClientCommentId: "comment-" + strconv.FormatInt(time.Now().UnixNano(), 36), SubjectKind: commentv1.SubjectKind_SUBJECT_KIND_POST, Subject: post,
		Content: &commentv1.CommentContent{Text: text}}
	if r.Content.Mentions, err = s.postMentions(ctx, text); err != nil {
		return err
	}
	if isReply {
		if r.ReplyTo, err = s.commentAt(post, answered); err != nil {
			return err
		}
	}
	_, err = call(ctx, s.client.Comment().CreateComment, r)
	return s.done(err)
}

// listedComment finds a listed comment by N.M: the number of its post, and its own.
func (s *screen) listedComment(place string) (uint64, error) {
	at, number, ok := strings.Cut(strings.TrimSpace(place), ".")
	if !ok {
		return 0, errNoCommentNumber
	}
	post, err := s.postAt(at)
	if err != nil {
		return 0, err
	}
	return s.commentAt(post, number)
}

// editComment replaces the text of a comment of one's own. Its image stays.
func (s *screen) editComment(ctx context.Context, rest string) error {
	place, text, _ := strings.Cut(rest, " ")
	comment, err := s.listedComment(place)
	if err != nil {
		return err
	}
	if text = strings.TrimSpace(text); text == "" {
		return errorf("give the new text: /editcomment N.M TEXT; /deletecomment N.M deletes the comment")
	}
	c, err := call(ctx, s.client.Comment().GetComment, &commentv1.GetCommentRequest{Comment: comment})
	if err != nil {
		return err
	}
	content := &commentv1.CommentContent{Text: text, Image: c.GetContent().GetImage()}
	if content.Mentions, err = s.postMentions(ctx, text); err != nil {
		return err
	}
	_, err = call(ctx, s.client.Comment().EditComment, &commentv1.EditCommentRequest{Comment: comment, Content: content})
	return s.done(err)
}

// deleteComment deletes a comment of one's own, or one on a post of one's own.
func (s *screen) deleteComment(ctx context.Context, rest string) error {
	comment, err := s.listedComment(rest)
	if err != nil {
		return err
	}
	_, err = call(ctx, s.client.Comment().DeleteComment, &commentv1.DeleteCommentRequest{Comment: comment})
	return s.done(err)
}

// commentAt returns a comment on a post by its number among those that were listed last.
func (s *screen) commentAt(post uint64, number string) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(s.commentIDs.ids) || s.commentIDs.post != post {
		return 0, errNoCommentNumber
	}
	return s.commentIDs.ids[n-1], nil
}

func nonzero(users []uint64) (list []uint64) {
	for _, u := range users {
		if u != 0 {
			list = append(list, u)
		}
	}
	return list
}
