package ranking

import (
	"context"
	"database/sql"
	"encoding/binary"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
	"google.golang.org/protobuf/proto"
)

const (
	// maxPageBytes of posts end a page. It has at least one post. An answer of so many is never truncated: only this package can make the token of its next page.
	maxPageBytes = 128 << 10
	// readExtra is how many more posts are read than a page lacks, in case some are not for the reader.
	readExtra = 5
	// laterRound is how many posts are read at least when the first ones did not fill the page, so that a page takes at most four rounds.
	laterRound = (orderPosts + 2) / 3
	// A token has a version, and for each post that was not shown yet its id and two reasons of four bits.
	tokenVersion = 1
	entryBytes   = 8 + 1
	maxReasons   = 2
)

// entry is a post of an order that was not shown yet.
type entry struct {
	post    uint64
	reasons byte
}

// packReasons packs at most two reasons. Both fit as long as their numbers are below 16.
func packReasons(list []rankingv1.RankReason) (b byte) {
	for i, r := range list[:min(len(list), maxReasons)] {
		b |= byte(r) & 0xf << (4 * i)
	}
	return b
}

func (e entry) reasonList() (list []rankingv1.RankReason) {
	for b := e.reasons; b != 0; b >>= 4 {
		list = append(list, rankingv1.RankReason(b&0xf))
	}
	return list
}

// encodeRest encodes what a token has (docs/formats/ranking.md).
func encodeRest(rest []entry) []byte {
	b := append(make([]byte, 0, 1+len(rest)*entryBytes), tokenVersion)
	for _, e := range rest {
		b = append(binary.BigEndian.AppendUint64(b, e.post), e.reasons)
	}
	return b
}

func decodeRest(b []byte) (rest []entry, ok bool) {
	if len(b) < 1 || b[0] != tokenVersion || (len(b)-1)%entryBytes != 0 || len(b) > 1+orderPosts*entryBytes {
		return nil, false
	}
	for b = b[1:]; len(b) > 0; b = b[entryBytes:] {
		rest = append(rest, entry{binary.BigEndian.Uint64(b), b[8]})
	}
	return rest, true
}

// tokenOf returns the token of the rest of an order of a reader; empty if nothing is left.
func (s *Service) tokenOf(reader id.User, rest []entry) string {
	if len(rest) == 0 {
		return ""
	}
	return s.pages.Seal(encodeRest(rest), bindTo(reader))
}

// restOf returns the rest of the order of a token.
func (s *Service) restOf(reader id.User, token string) (rest []entry, err error) {
	b, ok := s.pages.Open(token, bindTo(reader))
	if ok {
		rest, ok = decodeRest(b)
	}
	if !ok {
		return nil, pagetoken.ErrBad
	}
	return rest, nil
}

// bindTo is what a token belongs to.
func bindTo(reader id.User) []byte {
	return binary.BigEndian.AppendUint64([]byte("for you "), uint64(reader))
}

// ForYou returns a page of the posts that are ranked for a reader.
func (s *Service) ForYou(ctx context.Context, reader id.User, r *rankingv1.ForYouRequest) (out *rankingv1.ForYouResponse, err error) {
	var rest []entry
	if r.Page != "" {
		if rest, err = s.restOf(reader, r.Page); err != nil {
			return nil, err
		}
	}
	var ranked *ranking
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		order := rest
		if r.Page == "" || r.Explain {
			if ranked, err = s.read(ctx, tx, reader, s.nowMs(), postsOf(rest)...); err != nil {
				return err
			}
		}
		if r.Page == "" {
			order = ranked.order()
		}
		p := &page{service: s, tx: tx, reader: reader, limit: outputlimit.SmallPageSize(r.Limit), nowMs: s.nowMs(), perAuthor: map[id.User]int{}}
		if err := p.fill(ctx, order); err != nil {
			return err
		}
		out = &rankingv1.ForYouResponse{Posts: p.posts, Next: s.tokenOf(reader, p.rest)}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if ranked != nil {
		ranked.done(ctx)
	}
	switch {
	case r.Explain:
		ranked.explain(out.Posts)
	case r.Page == "":
		if !ranked.notPersonal {
			s.impressions.add(ranked.impressionPage(out.Posts))
		}
	}
	return out, nil
}

func postsOf(list []entry) []uint64 {
	ids := make([]uint64, len(list))
	for i, e := range list {
		ids[i] = e.post
	}
	return ids
}

// order returns a new order.
func (r *ranking) order() []entry {
	var list []entry
	for _, c := range arrange(r.best(), r.diversity) {
		list = append(list, entry{c.post, packReasons(c.reasons(r))})
	}
	return list
}

// explain adds the scores of posts.
func (r *ranking) explain(posts []*rankingv1.RankedPost) {
	for _, p := range posts {
		if c := r.candidates[p.Post.Id]; c != nil {
			p.Score = r.message(c)
		}
	}
}

// page collects the posts of a page that its reader may see.
type page struct {
	service   *Service
	tx        *sql.Tx
	reader    id.User
	limit     int
	nowMs     int64
	less      less
	posts     []*rankingv1.RankedPost
	perAuthor map[id.User]int // posts of the page
	size      int
	deferred  []entry        // of authors who have enough on the page
	kept      []*feedv1.Post // the first of deferred: no others can come on the page
	keptSize  int
	rest      []entry // for later pages
}

// fill fills the page from an order. An author has a limited share of the page: further posts wait for the next page. They come on this one only if it is not full
// otherwise.
func (p *page) fill(ctx context.Context, order []entry) (err error) {
	if p.less, err = readLess(ctx, p.tx, p.reader); err != nil {
		return err
	}
	for want := p.limit + readExtra; len(order) > 0 && !p.isFull(); want = max(laterRound, p.limit-len(p.posts)+readExtra) {
		some := order[:min(len(order), want)]
		visible, err := p.visible(ctx, some)
		if err != nil {
			return err
		}
		taken := 0
		for _, e := range some {
			if p.isFull() {
				break
			}
			view := visible[e.post]
			switch {
			case view == nil:
			case p.perAuthor[id.User(view.Author)] >= max(1, p.limit*postsPerAuthor/authorWindow):
				p.postpone(e, view)
			default:
				p.add(e, view)
			}
			taken++
		}
		order = order[taken:]
	}
	p.addDeferred()
	p.rest = append(p.rest, order...)
	return nil
}

// postpone defers a post. Its view is kept as long as those before it do not fill the page.
func (p *page) postpone(e entry, view *feedv1.Post) {
	p.deferred = append(p.deferred, e)
	if len(p.posts)+len(p.kept) < p.limit && p.size+p.keptSize <= maxPageBytes {
		p.kept = append(p.kept, view)
		p.keptSize += proto.Size(view)
	}
}

// addDeferred fills the page with deferred posts, and leaves the others for later pages. A page that is not full has kept the views of all.
func (p *page) addDeferred() {
	for i, e := range p.deferred {
		if p.isFull() {
			p.rest = append(p.rest, e)
		} else {
			p.add(e, p.kept[i])
		}
	}
}

func (p *page) isFull() bool { return len(p.posts) >= p.limit || p.size > maxPageBytes }

func (p *page) add(e entry, view *feedv1.Post) {
	p.posts = append(p.posts, &rankingv1.RankedPost{Post: view, Reasons: e.reasonList(), Kind: kindOf(view.Content)})
	p.perAuthor[id.User(view.Author)]++
	p.size += proto.Size(view)
}

// visible returns those of some posts that the reader may see and wants to see, as of the transaction.
func (p *page) visible(ctx context.Context, list []entry) (map[uint64]*feedv1.Post, error) {
	views, err := p.service.deps.Posts.VisiblePosts(ctx, p.tx, p.reader, postsOf(list))
	if err != nil {
		return nil, err
	}
	authors := make([]id.User, 0, len(views))
	for _, v := range views {
		authors = append(authors, id.User(v.Author))
	}
	silenced, err := p.service.deps.Graph.MutedOrBlockedAmong(ctx, p.tx, p.reader, authors)
	if err != nil {
		return nil, err
	}
	for n, v := range views {
		if author := id.User(v.Author); author == p.reader || silenced[author] || p.less.hides(author, p.nowMs) {
			delete(views, n)
		}
	}
	return views, nil
}
