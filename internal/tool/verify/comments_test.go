package verify_test

import (
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/tool/verify"
)

// withComments is a healthy directory with the comments 10 and 11 of users 1 and 2 on post 5, of which 11 is deleted; 12, a reply of user 2 to 10; 13, a deleted reply
// of user 1 to 12; and 14, a reply of user 2 to 13.
func withComments(t *testing.T) string {
	t.Helper()
	dir := healthy(t)
	for _, statement := range []string{
		`CREATE TABLE comments (id BIGINT, kind BIGINT, subject BIGINT, top BIGINT, top_author BIGINT, reply_to BIGINT, reply_to_author BIGINT, author BIGINT, deleted BOOLEAN)`,
		`INSERT INTO comments VALUES (10, 1, 5, 0, 0, 0, 0, 1, FALSE), (11, 1, 5, 0, 0, 0, 0, 2, TRUE), (12, 1, 5, 10, 1, 10, 1, 2, FALSE), (13, 1, 5, 10, 1, 12, 2, 1, TRUE), (14, 1, 5, 10, 1, 13, 1, 2, FALSE)`,
		`CREATE TABLE comment_counts (kind BIGINT, subject BIGINT, bucket BIGINT, n BIGINT)`, `INSERT INTO comment_counts VALUES (1, 5, 0, 4), (1, 5, 1, -1), (1, 6, 0, 0)`,
		`CREATE TABLE comment_reply_counts (top BIGINT, bucket BIGINT, n BIGINT)`, `INSERT INTO comment_reply_counts VALUES (10, 0, 1), (10, 1, 1)`,
		// A reply that only its author sees, which no count has.
		`ALTER TABLE comments ADD COLUMN limited BOOLEAN NOT NULL DEFAULT FALSE`, `INSERT INTO comments VALUES (15, 1, 5, 10, 1, 10, 1, 2, FALSE, TRUE)`,
	} {
		execute(t, dir, statement)
	}
	return dir
}

// Each damage of threads and counts is found, and nothing else.
func TestCommentViolations(t *testing.T) {
	const post, thread = "subject 5, kind 1", "thread of comment 10"
	for _, d := range []struct {
		statement string
		where     []string
	}{
		{statement: `SELECT 1`},
		{statement: `UPDATE comment_counts SET n = 5 WHERE n = 4`, where: []string{post}},
		{statement: `DELETE FROM comment_counts WHERE bucket = 1`, where: []string{post}},
		{statement: `UPDATE comment_counts SET n = 1 WHERE subject = 6`, where: []string{"subject 6, kind 1"}},
		{statement: `DELETE FROM comment_reply_counts WHERE bucket = 1`, where: []string{thread}},
		{statement: `UPDATE comments SET deleted = TRUE WHERE id = 12`, where: []string{post, thread}},
		{statement: `DELETE FROM comments WHERE id = 13`, where: []string{"comment 14"}},
		{statement: `DELETE FROM comments WHERE id = 11`},
		{statement: `UPDATE comments SET top = 12 WHERE id = 14`, where: []string{"comment 14", thread, "thread of comment 12"}},
		{statement: `UPDATE comments SET reply_to = 11 WHERE id = 14`, where: []string{"comment 14"}},
		{statement: `UPDATE comments SET reply_to = 14 WHERE id = 14`, where: []string{"comment 14"}},
		{statement: `UPDATE comments SET top = 0 WHERE id = 14`, where: []string{"comment 14", thread}},
		{statement: `UPDATE comments SET reply_to = 0 WHERE id = 12`, where: []string{"comment 12"}},
		{statement: `UPDATE comments SET top_author = 2 WHERE id = 12`, where: []string{"comment 12"}},
		{statement: `UPDATE comments SET reply_to_author = 1 WHERE id = 13`, where: []string{"comment 13"}},
		{statement: `UPDATE comments SET subject = 6 WHERE id = 14`, where: []string{"comment 14", post, "subject 6, kind 1"}},
	} {
		dir := withComments(t)
		execute(t, dir, d.statement)
		r, err := verify.Run(t.Context(), dir, t.Logf)
		if err != nil {
			t.Fatal(err)
		}
		var where []string
		for _, v := range r.Violations {
			if where = append(where, v.Where); v.Rule != "comments" {
				t.Errorf("%s violates %s: %s", d.statement, v.Rule, v.What)
			}
		}
		slices.Sort(where)
		if want := slices.Sorted(slices.Values(d.where)); !slices.Equal(where, want) {
			t.Errorf("%s: violations %v, want %q", d.statement, r.Violations, want)
		}
	}
}
