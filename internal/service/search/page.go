package search

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
	"google.golang.org/protobuf/proto"
)

// A page names the last document that was examined, which its reader may not know of. So it is encrypted.

// page is a place in a group.
type page struct {
	nowMs   int64   // of the first page: scores depend on it,
	weights Weights // and on these
	depth   uint32
	after   searchindex.Cursor
}

// ofKind is the binding of a page of one group.
func ofKind(binding []byte, k searchv1.HitKind) []byte {
	return binary.BigEndian.AppendUint32(slices.Clone(binding), uint32(k))
}

// maxDepth is how many pages a query has at most.
const maxDepth = 50

const pageLen = 8 + 3*8 + 4 + 8 + 17

// bind returns what a page belongs to: the reader, and the query without its page, limit and kinds. A page of one group belongs to its kind, too, whether the query
// that found it was for all kinds or for that one.
func bind(reader id.User, r *searchv1.SearchRequest) ([]byte, error) {
	q := proto.CloneOf(r)
	q.Page, q.Limit, q.Explain, q.Kinds = "", 0, false, nil
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(q)
	sum := sha256.Sum256(raw)
	return binary.BigEndian.AppendUint64(sum[:], uint64(reader)), err
}

func encodePage(s pagetoken.Sealer, p *page, to []byte) string {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, pageLen), uint64(p.nowMs))
	for _, w := range []float64{p.weights.Recency, p.weights.Popularity, p.weights.Preference} {
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(w))
	}
	b = binary.BigEndian.AppendUint32(b, p.depth)
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(p.after.Total))
	return s.Seal(p.after.ID.Append(b), to)
}

func decodePage(s pagetoken.Sealer, text string, to []byte) (*page, error) {
	bad := badQuery("the page is not one of this query: search again without a page")
	b, ok := s.Open(text, to)
	if !ok || len(b) != pageLen {
		return nil, bad
	}
	p := &page{nowMs: int64(binary.BigEndian.Uint64(b))}
	for k, w := range []*float64{&p.weights.Recency, &p.weights.Popularity, &p.weights.Preference} {
		*w = math.Float64frombits(binary.BigEndian.Uint64(b[8+8*k:]))
	}
	b = b[8+3*8:]
	p.depth, p.after.Total = binary.BigEndian.Uint32(b), math.Float64frombits(binary.BigEndian.Uint64(b[4:]))
	if p.after.ID, ok = searchindex.DecodeID(b[12:]); !ok {
		return nil, bad
	}
	return p, nil
}
