package verify_test

import (
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/tool/verify"
)

// Each damage of the counts of reposts and of the ranks of comments is found, and nothing else. Comment 10 has one like and comment 11 none; comment 12 is
// marked. Post 5 has a repost, and one that is deleted.
func TestEngagementViolations(t *testing.T) {
	for _, d := range []struct {
		statements, where []string
	}{
		{},
		{[]string{`UPDATE feed_repost_counts SET n = 3 WHERE n = 2`, `UPDATE comment_ranks SET level = 2 WHERE comment = 10 AND since = 2`, `INSERT INTO comment_ranks VALUES (11, 1, 2, 9223372036854775807)`, `DELETE FROM engagement_marks`},
			[]string{"comment 10", "comment 11", "comment 12", "post 5"}},
		{[]string{`DELETE FROM feed_repost_counts`, `DELETE FROM comment_ranks WHERE comment = 10`}, []string{"comment 10", "post 5"}},
		{[]string{`UPDATE feed_posts SET deleted = TRUE`, `UPDATE comment_ranks SET until = 9223372036854775807`}, []string{"comment 10", "post 5"}},
	} {
		dir := healthy(t)
		for _, statement := range []string{
			`CREATE TABLE feed_posts (id BIGINT, author BIGINT, repost_of BIGINT, content BLOB, version BIGINT, deleted BOOLEAN, pending BOOLEAN, retired BOOLEAN DEFAULT FALSE)`,
			`INSERT INTO feed_posts VALUES (8, 2, 5, '', 1, FALSE, FALSE, FALSE), (9, 2, 5, '', 1, TRUE, FALSE, FALSE)`,
			`ALTER TABLE feed_posts ADD COLUMN audience BIGINT NOT NULL DEFAULT 1`,
			`CREATE TABLE feed_repost_counts (post BIGINT, bucket BIGINT, n BIGINT)`, `INSERT INTO feed_repost_counts VALUES (5, 0, 2), (5, 1, -1), (6, 0, 0)`,
			`CREATE TABLE feed_authors (author BIGINT, last_post BIGINT, posts BIGINT, pulled BOOLEAN, pushed_from BIGINT)`,
			`CREATE TABLE feed_versions (post BIGINT, version BIGINT, content BLOB)`,
			`CREATE TABLE users (id BIGINT)`, `CREATE TABLE relations (owner BIGINT, other BIGINT, following BOOLEAN)`, `CREATE TABLE follow_counts (owner BIGINT, followers BIGINT, following BIGINT, changes BIGINT)`,
			`CREATE TABLE comments (id BIGINT, kind BIGINT, subject BIGINT, top BIGINT, top_author BIGINT, reply_to BIGINT, reply_to_author BIGINT, author BIGINT, deleted BOOLEAN)`,
			`INSERT INTO comments VALUES (10, 1, 5, 0, 0, 0, 0, 1, TRUE), (11, 1, 5, 0, 0, 0, 0, 2, TRUE), (12, 1, 5, 0, 0, 0, 0, 2, TRUE)`,
			`ALTER TABLE comments ADD COLUMN limited BOOLEAN NOT NULL DEFAULT FALSE`,
			`CREATE TABLE comment_counts (kind BIGINT, subject BIGINT, bucket BIGINT, n BIGINT)`, `CREATE TABLE comment_reply_counts (top BIGINT, bucket BIGINT, n BIGINT)`,
			`CREATE TABLE comment_ranks (comment BIGINT, level BIGINT, since BIGINT, until BIGINT)`, `INSERT INTO comment_ranks VALUES (10, 17, 1, 2), (10, 1, 2, 9223372036854775807)`,
			`CREATE TABLE engagement_marks (kind BIGINT, subject BIGINT, bucket BIGINT, n BIGINT)`, `INSERT INTO engagement_marks VALUES (2, 12, 0, 1)`,
			`DELETE FROM counter_members`, `DELETE FROM counter_counts`,
			`INSERT INTO counter_members (kind, subject, member, present) VALUES (3, 10, 1, TRUE), (3, 12, 1, TRUE)`,
			`INSERT INTO counter_counts (kind, subject, bucket, n) VALUES (3, 10, 0, 2), (3, 10, 1, -1), (3, 12, 0, 1)`,
		} {
			execute(t, dir, statement)
		}
		for _, statement := range d.statements {
			execute(t, dir, statement)
		}
		r, err := verify.Run(t.Context(), dir, t.Logf)
		if err != nil {
			t.Fatal(err)
		}
		var where []string
		for _, v := range r.Violations {
			if v.Rule == "engagement" {
				where = append(where, v.Where)
			}
		}
		if slices.Sort(where); !slices.Equal(where, d.where) {
			t.Errorf("%q: violations %v, want %q", d.statements, r.Violations, d.where)
		}
	}
}
