package engagement_test

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/counter"
	"github.com/rialto-im/rialto/internal/service/engagement"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
)

// model is what lists must be: when a user put a post into a list, and which posts are seen.
type model struct {
	*fixture
	reader  id.User
	authors []id.User
	posts   []uint64
	by      map[uint64]id.User
	hidden  map[uint64]bool
	deleted map[uint64]bool
	blocked map[id.User]bool
	at      map[list]map[uint64]int64
}

func newModel(t *testing.T, posts int) *model {
	m := &model{fixture: open(t), by: map[uint64]id.User{}, hidden: map[uint64]bool{}, deleted: map[uint64]bool{}, blocked: map[id.User]bool{}, at: map[list]map[uint64]int64{likes: {}, favourites: {}, views: {}}}
	m.reader = m.user()
	for range 3 {
		m.authors = append(m.authors, m.user())
	}
	for i := range posts {
		u := m.authors[i%3]
		n := m.post(u)
		m.posts, m.by[n] = append(m.posts, n), u
	}
	return m
}

func (m *model) isSeen(n uint64) bool { return !m.hidden[n] && !m.deleted[n] && !m.blocked[m.by[n]] }

// want is the naive list: everything, sorted and filtered.
func (m *model) want(of list) (posts []uint64) {
	for n := range m.at[of] {
		if m.isSeen(n) {
			posts = append(posts, n)
		}
	}
	slices.SortFunc(posts, func(a, b uint64) int {
		if d := m.at[of][b] - m.at[of][a]; d != 0 {
			return int(d)
		}
		return int(int64(b) - int64(a))
	})
	return posts
}

// step does something, and the model does the same.
func (m *model) step(r *rand.Rand) {
	m.t.Helper()
	ctx := context.Background()
	if r.IntN(3) > 0 {
		m.clock.Advance(time.Millisecond)
	}
	n, now := m.posts[r.IntN(len(m.posts))], m.clock.Now().UnixMilli()
	put := func(of list) {
		if _, known := m.at[of][n]; !known {
			m.at[of][n] = now
		}
	}
	switch k := r.IntN(40); {
	case k < 18 && !m.isSeen(n):
		if err := m.Like(ctx, m.reader, &engagementv1.LikeRequest{Kind: ofPost, Subject: n}); reason(err) != "no_post" {
			m.t.Errorf("a like of an unseen post is answered %v", err)
		}
	case k < 12:
		m.like(m.reader, ofPost, n)
		put(likes)
	case k < 18:
		must(m.t, m.Favourite(ctx, m.reader, n))
		put(favourites)
	case k < 22:
		m.unlike(m.reader, ofPost, n)
		delete(m.at[likes], n)
	case k < 24:
		must(m.t, m.Unfavourite(ctx, m.reader, n))
		delete(m.at[favourites], n)
	case k < 32:
		var some []uint64
		for range 1 + r.IntN(4) {
			some = append(some, m.posts[r.IntN(len(m.posts))])
		}
		must(m.t, m.RecordViews(ctx, m.reader, &engagementv1.RecordViewsRequest{Posts: append(some, some[0], 0, 1<<63)}))
		for _, n := range some {
			if m.isSeen(n) {
				m.at[views][n] = now
			}
		}
	case k < 35 && !m.deleted[n]:
		m.hidden[n] = !m.hidden[n]
		m.hide(n, m.hidden[n])
	case k < 36:
		must(m.t, m.feed.DeletePost(ctx, m.by[n], n))
		m.deleted[n] = true
	case k < 38:
		u := m.by[n]
		m.blocked[u] = !m.blocked[u]
		m.block(m.reader, u, m.blocked[u])
	case k == 38 && r.IntN(5) == 0:
		must(m.t, m.ClearViews(ctx, m.reader))
		clear(m.at[views])
	}
}

// TestListsEqualNaiveOnes: pages of any size give the list that filters and sorts everything at each read.
func TestListsEqualNaiveOnes(t *testing.T) {
	m := newModel(t, 30)
	r := rand.New(rand.NewPCG(1, 2))
	for step := range 300 {
		m.step(r)
		if step%10 != 9 {
			continue
		}
		for _, of := range []list{likes, favourites, views} {
			if got, want := m.all(m.reader, of, uint32(1+r.IntN(8)), nil), m.want(of); !slices.Equal(got, want) {
				t.Fatalf("after step %d, the %s are %d, want %d", step, of, got, want)
			}
		}
	}
}

// TestListsWhileTheyChange: of a list that changes between its pages, no post is on two pages, and each that stays in it unchanged is on one.
func TestListsWhileTheyChange(t *testing.T) {
	m := newModel(t, 40)
	r := rand.New(rand.NewPCG(3, 4))
	for range 150 {
		m.step(r)
	}
	for range 12 {
		of := []list{likes, favourites, views}[r.IntN(3)]
		stayed := map[uint64]int64{}
		for _, n := range m.want(of) {
			stayed[n] = m.at[of][n]
		}
		got := m.all(m.reader, of, uint32(1+r.IntN(3)), func() {
			m.clock.Advance(time.Millisecond) // what is added now is newer than all pages
			m.step(r)
			for n, at := range stayed {
				if now, listed := m.at[of][n]; !listed || now != at || !m.isSeen(n) {
					delete(stayed, n)
				}
			}
		})
		counts := map[uint64]int{}
		for _, n := range got {
			if counts[n]++; counts[n] > 1 {
				t.Errorf("%d is twice in %d", n, got)
			}
		}
		for n := range stayed {
			if counts[n] == 0 {
				t.Errorf("the %s %d lack %d", of, got, n)
			}
		}
	}
}

// TestViewHistoryIsBounded: a view history has the latest posts, and only those that the user may see are recorded and counted.
func TestViewHistoryIsBounded(t *testing.T) {
	f := open(t)
	author, reader := f.user(), f.user()
	must(t, f.db.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.Exec(`INSERT INTO engagement_views (member, post, at_ms) WITH RECURSIVE numbers(n) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT n + 1 FROM numbers WHERE n < $2) SELECT $1, n, n FROM numbers`,
			int64(reader), engagement.MaxHistory)
		return err
	}))
	posts := []uint64{f.post(author), f.post(author), f.post(author)}
	secret := f.post(author, f.user())
	must(t, f.RecordViews(t.Context(), reader, &engagementv1.RecordViewsRequest{Posts: append(posts, secret)}))
	var n, least int64
	must(t, f.db.ReadSnapshot(t.Context(), func(tx *sql.Tx) error {
		return tx.QueryRow(`SELECT COUNT(*), MIN(post) FROM engagement_views WHERE member = $1`, int64(reader)).Scan(&n, &least)
	}))
	if n != engagement.MaxHistory || least != int64(len(posts)+1) {
		t.Errorf("the history has %d posts from %d on", n, least)
	}
	must(t, f.counters.FlushViews(t.Context()))
	figures, err := f.counters.Figures(t.Context(), 0, append(posts, secret), counter.Asked{Views: counter.PostViews})
	must(t, err)
	if viewed := (counter.Figures{Views: 1}); !slices.Equal(figures, []counter.Figures{viewed, viewed, viewed, {}}) {
		t.Errorf("the views are %v", figures)
	}
	if err := f.RecordViews(t.Context(), reader, &engagementv1.RecordViewsRequest{Posts: make([]uint64, 101)}); reason(err) != "bad_engagement" {
		t.Errorf("101 posts are answered %v", err)
	}
}

// TestLikersPagesNameNobody: the token of a page that ends behind a user with whom the reader has a block does not name the user, and the next page goes on there.
func TestLikersPagesNameNobody(t *testing.T) {
	f := open(t)
	author, reader := f.user(), f.user()
	post := f.post(author)
	const blocked = 600
	first := uint64(1 << 41)
	last := f.user()
	f.like(last, ofPost, post)
	f.clock.Advance(time.Minute)
	var likes []counter.Change
	for i := range uint64(blocked) {
		likes = append(likes, counter.Change{Kind: counter.PostLikes, Subject: post, User: id.User(first + i)})
	}
	must(t, f.counters.Apply(t.Context(), likes))
	must(t, f.db.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `INSERT INTO relations (owner, other, blocked) SELECT CAST($1 AS BIGINT), member, TRUE FROM counter_members WHERE subject = $2 AND member >= $3`, int64(reader), int64(post), int64(first))
		return err
	}))
	page := ""
	var found []uint64
	for reads := 0; ; reads++ {
		r, err := f.ListLikers(t.Context(), reader, &engagementv1.ListLikersRequest{Kind: ofPost, Subject: post, Page: page})
		must(t, err)
		for _, l := range r.Likers {
			found = append(found, l.User)
		}
		if page = r.Next; page == "" {
			if reads == 0 {
				t.Error("600 blocked users are read in one call")
			}
			break
		}
		decoded, err := base64.RawURLEncoding.DecodeString(page)
		must(t, err)
		for i := range len(decoded) - 7 {
			if u := binary.BigEndian.Uint64(decoded[i:]); u>>41 == 1 {
				t.Errorf("the token %q names user %d, with whom there is a block", page, u)
			}
		}
		if strings.Contains(page, fmt.Sprint(first)[:8]) {
			t.Errorf("the token %q names a user with whom there is a block", page)
		}
	}
	if !slices.Equal(found, []uint64{uint64(last)}) {
		t.Errorf("the likers are %d, want %d", found, last)
	}
	for _, page := range []string{"x", "1.2", "AAAAAAAAAAAAAAAAAAAAAA", strings.Repeat("A", 40)} {
		if _, err := f.ListLikers(t.Context(), reader, &engagementv1.ListLikersRequest{Kind: ofPost, Subject: post, Page: page}); reason(err) != "bad_page" {
			t.Errorf("page %q is answered with %v", page, err)
		}
	}
}
