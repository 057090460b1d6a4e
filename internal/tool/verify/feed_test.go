package verify_test

import (
	"encoding/binary"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/pebblelog"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
	"github.com/rialto-im/rialto/internal/tool/verify"
)

// base is the entry of docs/formats/feed.md, of posts of user 2.
func base(changes, from, floor uint64, posts ...uint64) []byte {
	b := []byte{3}
	for _, v := range []uint64{changes, from, floor} {
		b = binary.AppendUvarint(b, v)
	}
	last := uint64(math.MaxInt64)
	for _, p := range posts {
		b = binary.AppendUvarint(binary.AppendUvarint(b, last-p), 2)
		last = p
	}
	return b
}

// withFeed is a healthy directory with posts. User 1 follows 2, and 3, whose posts are pulled. Of 2 there are the posts 9, which is deleted, 10, 11, and 12,
// which is pending; of 3 there is 13. The window of user 1 has a base with 10, and a push of 11.
func withFeed(t *testing.T) string {
	t.Helper()
	dir := healthy(t)
	for _, statement := range []string{
		`CREATE TABLE users (id BIGINT)`, `INSERT INTO users VALUES (1), (2), (3)`,
		`CREATE TABLE relations (owner BIGINT, other BIGINT, following BOOLEAN)`, `INSERT INTO relations VALUES (1, 2, TRUE), (1, 3, TRUE), (2, 1, FALSE)`,
		`CREATE TABLE follow_counts (owner BIGINT, followers BIGINT, following BIGINT, changes BIGINT)`, `INSERT INTO follow_counts VALUES (1, 0, 2, 2), (2, 1, 0, 0), (3, 1, 0, 0)`,
		`CREATE TABLE feed_authors (author BIGINT, last_post BIGINT, posts BIGINT, pulled BOOLEAN, pushed_from BIGINT)`, `INSERT INTO feed_authors VALUES (2, 12, 3, FALSE, 0), (3, 13, 1, TRUE, 0)`,
		`CREATE TABLE feed_posts (id BIGINT, author BIGINT, content BLOB, version BIGINT, deleted BOOLEAN, pending BOOLEAN, retired BOOLEAN DEFAULT FALSE)`,
		`INSERT INTO feed_posts VALUES (9, 2, '', 1, TRUE, FALSE, FALSE), (10, 2, 'a', 2, FALSE, FALSE, FALSE), (11, 2, 'b', 1, FALSE, FALSE, FALSE), (12, 2, 'c', 1, FALSE, TRUE, FALSE), (13, 3, 'd', 1, FALSE, FALSE, FALSE)`,
		`CREATE TABLE feed_versions (post BIGINT, version BIGINT, content BLOB)`, `INSERT INTO feed_versions VALUES (10, 1, 'x'), (10, 2, 'a'), (11, 1, 'b'), (12, 1, 'c'), (13, 1, 'd')`,
	} {
		execute(t, dir, statement)
	}
	appendWindow(t, dir, []byte{1}, base(2, 1, 5, 10), []byte{2, 11, 2})
	return dir
}

// appendWindow appends entries to the window of user 1.
func appendWindow(t *testing.T, dir string, payloads ...[]byte) {
	t.Helper()
	log, err := pebblelog.Open(filepath.Join(dir, "timeline"), pebblelog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range payloads {
		if a := timelinetest.Append(log, &timeline.AppendRequest{Key: timeline.Key{Kind: timeline.Feed, ID: 1}, Payload: p}); a.Err != nil {
			t.Error(a.Err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// Each damage of posts, counts and windows is found, and nothing else.
func TestFeedViolations(t *testing.T) {
	const user1 = "home timeline of user 1"
	for _, d := range []struct {
		statement string
		entry     []byte // of the window
		where     []string
	}{
		{},
		{statement: `UPDATE feed_authors SET last_post = 11 WHERE author = 2`, where: []string{"posts of user 2"}},
		{statement: `UPDATE feed_authors SET posts = 4 WHERE author = 2`, where: []string{"posts of user 2"}},
		{statement: `DELETE FROM feed_authors WHERE author = 3`, where: []string{"posts of user 3", "posts of user 3", user1}}, // it is not known that they are pulled
		{statement: `DELETE FROM feed_versions WHERE post = 10 AND version = 2`, where: []string{"post 10"}},
		{statement: `UPDATE feed_posts SET content = 'y' WHERE id = 11`, where: []string{"post 11"}},
		{statement: `UPDATE follow_counts SET followers = 2 WHERE owner = 3`, where: []string{"user 3"}},
		{statement: `DELETE FROM follow_counts WHERE owner = 2`, where: []string{"user 2"}},
		{statement: `UPDATE feed_posts SET pending = FALSE WHERE id = 12`, where: []string{user1}},
		{statement: `UPDATE feed_authors SET pulled = FALSE WHERE author = 3`, where: []string{user1}},
		{statement: `UPDATE feed_authors SET pulled = FALSE, pushed_from = 14 WHERE author = 3`},
		{entry: base(2, 2, 5, 10)},
		{entry: base(2, 3, 5, 10), where: []string{user1}},     // after the push
		{entry: base(2, 3, 11, 11)},                            // 10 is below the floor
		{entry: base(1, 3, 5)},                                 // built before the reader followed another one
		{entry: []byte{}, where: []string{user1}},              // cannot be read
		{entry: []byte{2, 0x80}, where: []string{user1}},       // likewise
		{entry: []byte{3, 2, 1, 5, 1}, where: []string{user1}}, // a post without an author
	} {
		dir := withFeed(t)
		if d.statement != "" {
			execute(t, dir, d.statement)
		}
		if d.entry != nil {
			appendWindow(t, dir, d.entry)
		}
		r, err := verify.Run(t.Context(), dir, t.Logf)
		if err != nil {
			t.Fatal(err)
		}
		var where []string
		for _, v := range r.Violations {
			if where = append(where, v.Where); v.Rule != "feed" {
				t.Errorf("%s %x violates %s: %s", d.statement, d.entry, v.Rule, v.What)
			}
		}
		if slices.Sort(where); !slices.Equal(where, d.where) && !slices.Equal(where, slices.Sorted(slices.Values(d.where))) || r.Windows != 1 {
			t.Errorf("%s %x: %d windows, violations %v, want %q", d.statement, d.entry, r.Windows, r.Violations, d.where)
		}
	}
}
