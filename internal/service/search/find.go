package search

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
	"google.golang.org/protobuf/proto"
)

const (
	searchTime     = 5 * time.Second
	maxLimit       = 50
	limitOfSeveral = 5
	limitOfOne     = 20
	// leastChecked is how many hits are read at once at least.
	leastChecked = 5
	// Memberships, friends and blocked users that are part of a query. Further ones are not found, or checked at each hit.
	maxMemberships   = 20_000
	membershipsAtOne = 1000
	maxFriends       = 5000
	maxBlocked       = 1000
)

var errOff = errs.New(errs.Unavailable, "search_off", "this server does not search: the setting search.off is true")

const (
	userKind         = searchv1.HitKind_HIT_KIND_USER
	conversationKind = searchv1.HitKind_HIT_KIND_CONVERSATION
	messageKind      = searchv1.HitKind_HIT_KIND_MESSAGE
	postKind         = searchv1.HitKind_HIT_KIND_POST
	videoKind        = searchv1.HitKind_HIT_KIND_VIDEO
	fileKind         = searchv1.HitKind_HIT_KIND_FILE
)

var kinds = map[searchv1.HitKind]searchindex.Kind{userKind: searchindex.User, conversationKind: searchindex.Conversation, messageKind: searchindex.Message, postKind: searchindex.Post,
	videoKind: searchindex.Video, fileKind: searchindex.File}

// request is a search in progress.
type request struct {
	service *Service
	reader  id.User
	query   *query
	pattern *searchindex.Pattern
	limit   int
	explain bool
	binding []byte
	page    *page // nil: the first
	nowMs   int64
	weights Weights
	blocked []uint64 // by the reader
	size    int      // of the hits so far

	membershipsRead bool
	access          []string // terms of the reader's conversations
	spans           map[uint64]searchindex.Span
	present         map[uint64]bool // conversations that the reader is in, and has on the list
}

// groupOf searches for a kind in the generation that answers, which is nil if there is none. If another takes over meanwhile, it searches that.
func (q *request) groupOf(ctx context.Context, kind searchv1.HitKind) (*generation, *searchv1.HitGroup, error) {
	for {
		g := q.service.serving()
		if g == nil {
			return nil, nil, nil
		}
		group, err := q.group(ctx, g.index, kind)
		if !errors.Is(err, searchindex.ErrClosed) || q.service.serving() == g {
			return g, group, err
		}
	}
}

// Search gives the best hits for a query, in a group for each kind.
func (s *Service) Search(ctx context.Context, reader id.User, r *searchv1.SearchRequest) (*searchv1.SearchResponse, error) {
	if !s.answers() {
		return nil, errOff
	}
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	q, wanted, err := s.newRequest(ctx, reader, r)
	if err != nil {
		return nil, err
	}
	out := &searchv1.SearchResponse{}
	for _, kind := range wanted {
		g, group, err := q.groupOf(ctx, kind)
		if g == nil {
			return &searchv1.SearchResponse{Incomplete: true}, nil
		}
		out.Incomplete = out.Incomplete || !g.complete.Load()
		switch {
		case errors.Is(err, searchindex.ErrMissing): // it was removed at this moment
			return &searchv1.SearchResponse{Incomplete: true}, nil
		case errors.Is(err, searchindex.ErrCorrupt):
			s.deps.Logger.Error("a search found the index damaged; it is built again", "generation", g.number, "error", err)
			g.damage(err)
			return &searchv1.SearchResponse{Incomplete: true}, nil
		case err != nil:
			return nil, err
		case len(group.Hits) > 0 || group.Next != "":
			out.Groups = append(out.Groups, group)
		}
	}
	if err := q.prefer(ctx, out.Groups); err != nil {
		return nil, err
	}
	best := func(g *searchv1.HitGroup) float64 {
		if len(g.Hits) == 0 {
			return 0
		}
		return g.Hits[0].Score.Total
	}
	slices.SortStableFunc(out.Groups, func(a, b *searchv1.HitGroup) int { return cmp.Compare(best(b), best(a)) })
	if !q.explain {
		for _, g := range out.Groups {
			for _, h := range g.Hits {
				h.Score = nil
			}
		}
	}
	return out, nil
}

// prefer adds to the scores of posts and videos what the reader likes of them, and puts the hits of each page in the order of the scores. What the reader likes is read once for an answer.
func (q *request) prefer(ctx context.Context, groups []*searchv1.HitGroup) error {
	var posts []uint64
	for _, g := range groups {
		for _, h := range g.Hits {
			if h.Post != nil {
				posts = append(posts, h.Post.Id)
			}
		}
	}
	if q.service.deps.Preferences == nil || q.weights.Preference == 0 || len(posts) == 0 {
		return nil
	}
	var liked map[uint64]float64
	err := q.service.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) (err error) {
		liked, err = q.service.deps.Preferences(ctx, tx, q.reader, posts)
		return err
	})
	if err != nil {
		return err
	}
	for _, g := range groups {
		for _, h := range g.Hits {
			if h.Post != nil {
				h.Score.Preference = 1 + q.weights.Preference*liked[h.Post.Id]
				h.Score.Total *= h.Score.Preference
			}
		}
		slices.SortStableFunc(g.Hits, func(a, b *searchv1.Hit) int { return cmp.Compare(b.Score.Total, a.Score.Total) })
	}
	return nil
}

// newRequest checks a request and resolves its names. wanted are the kinds that it may find.
func (s *Service) newRequest(ctx context.Context, reader id.User, r *searchv1.SearchRequest) (q *request, wanted []searchv1.HitKind, err error) {
	parsed, err := parse(r)
	if err != nil {
		return nil, nil, err
	}
	q = &request{service: s, reader: reader, query: parsed, pattern: searchindex.NewPattern(parsed.phrases, r.Typing), explain: r.Explain, nowMs: s.nowMs(), weights: s.weights()}
	switch {
	case len(q.terms()) > searchindex.MaxTerms:
		return nil, nil, badQuery("the words of the query are too long")
	case q.pattern.IsEmpty() && len(parsed.phrases) > 0:
		return nil, nil, badQuery("write letters or digits to search for")
	case q.pattern.IsEmpty() && !parsed.isFiltered():
		return nil, nil, badQuery("write what to search for")
	}
	wanted = parsed.wanted()
	if q.limit = int(r.Limit); q.limit == 0 {
		if q.limit = limitOfSeveral; len(wanted) == 1 {
			q.limit = limitOfOne
		}
	}
	q.limit = min(q.limit, maxLimit)
	if q.binding, err = bind(reader, r); err != nil {
		return nil, nil, err
	}
	if r.Page != "" {
		if len(wanted) != 1 {
			return nil, nil, badQuery("with a page, give the kind of its group")
		}
		if q.page, err = decodePage(s.seal, r.Page, ofKind(q.binding, wanted[0])); err != nil {
			return nil, nil, err
		}
		q.nowMs, q.weights = q.page.nowMs, q.page.weights
	}
	if err := q.resolve(ctx); err != nil {
		return nil, nil, err
	}
	blocked, err := s.deps.Accounts.BlockedIDs(ctx, reader, maxBlocked)
	for _, u := range blocked {
		q.blocked = append(q.blocked, uint64(u))
	}
	return q, wanted, err
}

// terms are what the index is asked for.
func (q *request) terms() []searchindex.Term { return q.service.deps.Dictionary.Terms(q.pattern) }

// isFiltered reports whether a query has a filter, so that it needs no words.
func (q *query) isFiltered() bool {
	return len(q.from) > 0 || len(q.fromHandles) > 0 || q.in != 0 || q.inHandle != "" || q.after != 0 || q.until != 0 || q.link || len(q.types) > 0
}

// wanted returns the kinds to search for: those that were asked for, and to which the filters apply.
func (q *query) wanted() (list []searchv1.HitKind) {
	in := q.in != 0 || q.inHandle != ""
	for _, k := range []searchv1.HitKind{userKind, conversationKind, messageKind, postKind, videoKind, fileKind} {
		switch {
		case len(q.kinds) > 0 && !slices.Contains(q.kinds, k), q.isFiltered() && (k == userKind || k == conversationKind), in && k != messageKind && k != fileKind, len(q.types) > 0 && k != fileKind:
			continue
		}
		list = append(list, k)
	}
	return list
}

// resolve replaces the handles of a query by ids. A handle that nobody has finds nothing.
func (q *request) resolve(ctx context.Context) error {
	p := q.query
	handles := slices.DeleteFunc(slices.Clone(p.fromHandles), func(h string) bool { return h == "me" })
	if len(handles) < len(p.fromHandles) {
		p.from = append(p.from, uint64(q.reader))
	}
	if p.inHandle != "" {
		handles = append(handles, p.inHandle)
	}
	if len(handles) == 0 {
		return nil
	}
	users, err := q.service.deps.Accounts.GetUsers(ctx, &accountv1.GetUsersRequest{Handles: handles})
	if err != nil {
		return err
	}
	find := func(handle string) uint64 {
		for _, u := range users {
			if foldHandle(handle) == u.Handle {
				return u.Id
			}
		}
		return nobody
	}
	for _, h := range p.fromHandles {
		if h != "me" {
			p.from = append(p.from, find(h))
		}
	}
	if p.inHandle != "" {
		c, err := q.service.deps.Chat.DirectWith(ctx, q.reader, id.User(find(p.inHandle)))
		if err != nil {
			return err
		}
		if p.in = uint64(c); c == 0 {
			p.in = nobody
		}
	}
	return nil
}

// nobody is the id of no user and of no conversation.
const nobody = 1<<63 - 1

// group finds the hits of a kind.
func (q *request) group(ctx context.Context, index searchindex.Index, kind searchv1.HitKind) (*searchv1.HitGroup, error) {
	group := &searchv1.HitGroup{Kind: kind}
	ask, err := q.indexQuery(ctx, kind)
	if err != nil || len(ask.Access) == 0 {
		return group, err
	}
	depth := uint32(0)
	if q.page != nil {
		depth, ask.After = q.page.depth, &q.page.after
	}
	for examined := 0; ; {
		ask.Limit = 2*(q.limit-len(group.Hits)) + 5
		found, err := index.Search(ctx, ask)
		if err != nil {
			return nil, err
		}
		for at := 0; at < len(found.Hits); {
			// Usually all that are found are hits, and those for which there is room are enough.
			some := found.Hits[at:min(len(found.Hits), at+max(q.limit-len(group.Hits), leastChecked))]
			checked, err := q.check(ctx, kind, some)
			if err != nil {
				return nil, err
			}
			for i, h := range checked {
				at++
				ask.After = &searchindex.Cursor{Total: some[i].Score.Total, ID: some[i].ID}
				if h == nil {
					continue
				}
				group.Hits = append(group.Hits, h)
				if q.size += proto.Size(h); (len(group.Hits) == q.limit || q.size > outputlimit.MaxPage) && (found.More || at < len(found.Hits)) {
					return q.withNext(group, depth, ask.After), nil
				}
			}
		}
		if examined += len(found.Hits); !found.More || len(group.Hits) == q.limit {
			return group, nil
		}
		if examined >= q.service.sizes.examined {
			return q.withNext(group, depth, ask.After), nil
		}
	}
}

// withNext gives a group its next page.
func (q *request) withNext(group *searchv1.HitGroup, depth uint32, after *searchindex.Cursor) *searchv1.HitGroup {
	if depth+1 < maxDepth {
		group.Next = encodePage(q.service.seal, &page{nowMs: q.nowMs, weights: q.weights, depth: depth + 1, after: *after}, ofKind(q.binding, group.Kind))
	}
	return group
}

// indexQuery makes the query of the index, with what the reader may read as a part.
func (q *request) indexQuery(ctx context.Context, kind searchv1.HitKind) (*searchindex.Query, error) {
	ask := &searchindex.Query{Kind: kinds[kind], Terms: q.terms(), Authors: q.query.from, AfterMs: q.query.after, BeforeMs: q.query.until, Link: q.query.link,
		Ranking: searchindex.Ranking{NowMs: q.nowMs, RecencyWeight: q.weights.Recency, HalfLifeMs: q.service.halfLife.Milliseconds(), PopularityWeight: q.weights.Popularity}}
	switch kind {
	case userKind:
		ask.Access = []string{everybody}
		ask.Ranking.RecencyWeight = 0
	case postKind, videoKind:
		friends, err := q.service.deps.Accounts.FriendIDs(ctx, q.reader, maxFriends)
		if err != nil {
			return nil, err
		}
		ask.Access, ask.ExceptAuthors = []string{everybody, userTerm(q.reader)}, q.blocked
		for _, f := range friends {
			ask.Access = append(ask.Access, friendsTerm(f))
		}
	case conversationKind, messageKind, fileKind:
		if err := q.readMemberships(ctx); err != nil {
			return nil, err
		}
		ask.Access = q.access
		if kind == conversationKind {
			ask.Ranking.RecencyWeight = 0
			break
		}
		ask.Spans, ask.ExceptAuthors = q.spans, q.blocked
		for _, t := range q.query.types {
			ask.Labels = append(ask.Labels, typeLabel(t))
		}
	}
	return ask, nil
}

// readMemberships reads the conversations of the reader, or of these the one that the query names.
func (q *request) readMemberships(ctx context.Context) error {
	if q.membershipsRead {
		return nil
	}
	q.membershipsRead, q.spans, q.present = true, map[uint64]searchindex.Span{}, map[uint64]bool{}
	for above := id.Conversation(0); len(q.access) < maxMemberships; {
		list, err := q.service.deps.Chat.MembershipsAfter(ctx, q.reader, above, membershipsAtOne)
		if err != nil {
			return err
		}
		for _, m := range list {
			above = m.Conversation
			if q.query.in != 0 && uint64(m.Conversation) != q.query.in {
				continue
			}
			q.access = append(q.access, conversationTerm(m.Conversation))
			q.present[uint64(m.Conversation)] = m.Leave == 0 && !m.Deleted
			span := searchindex.Span{From: m.Join, To: cmp.Or(m.Leave, 1<<63)}
			if m.Join > 1 || m.Leave != 0 {
				q.spans[uint64(m.Conversation)] = span
			}
		}
		if len(list) < membershipsAtOne {
			return nil
		}
	}
	return nil
}
