package opensearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rialto-im/rialto/internal/engine/searchindex"
)

// answer of a search.
type answer struct {
	TimedOut *bool `json:"timed_out"`
	Shards   struct {
		Failed int `json:"failed"`
	} `json:"_shards"`
	Hits struct {
		Hits []found `json:"hits"`
	} `json:"hits"`
}

// found is a hit.
type found struct {
	Score  float64           `json:"_score"`
	Sort   []json.RawMessage `json:"sort"`
	Fields struct {
		Seconds    []int64 `json:"s"`
		Popularity []byte  `json:"g"`
	} `json:"fields"`
}

const searchPath = "/_search?allow_partial_search_results=false&filter_path=timed_out,_shards.failed,hits.hits._score,hits.hits.sort,hits.hits.fields"

// Search implements searchindex.Index.
func (i *Index) Search(ctx context.Context, q *searchindex.Query) (r searchindex.Result, err error) {
	i.use.RLock()
	defer i.use.RUnlock()
	if i.closed {
		return r, errClosed
	}
	if len(q.Access) == 0 || q.Limit <= 0 {
		return r, nil
	}
	if err := ctx.Err(); err != nil {
		return r, err
	}
	limit := min(q.Limit, maxHits-1)
	body, err := json.Marshal(searchBody(q, limit+1, i.cluster.remaining(ctx)))
	if err != nil {
		return r, err
	}
	var a answer
	if err := i.cluster.client.read(ctx, "POST", "/"+i.name+searchPath, body, &a); err != nil {
		return r, err
	}
	switch { // what a part of the servers found says nothing of the best hits
	case a.TimedOut == nil:
		return r, unavailable(errors.New("the answer is none of a search"))
	case *a.TimedOut:
		return r, unavailable(errors.New("OpenSearch did not end the search in time"))
	case a.Shards.Failed > 0:
		return r, unavailable(fmt.Errorf("%d shards failed", a.Shards.Failed))
	case len(a.Hits.Hits) > limit+1:
		return r, unavailable(fmt.Errorf("%d hits of at most %d", len(a.Hits.Hits), limit+1))
	}
	r.More = len(a.Hits.Hits) > limit
	for k := range a.Hits.Hits[:min(limit, len(a.Hits.Hits))] {
		h, err := a.Hits.Hits[k].hit(q)
		if err != nil {
			return searchindex.Result{}, unavailable(err)
		}
		r.Hits = append(r.Hits, h)
	}
	return r, nil
}

// remaining is how long a search may take: the servers end it then.
func (c *Cluster) remaining(ctx context.Context) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return min(c.config.Timeout, time.Until(end))
	}
	return c.config.Timeout
}

var errHit = errors.New("a hit lacks what was asked for")

// hit decodes a hit. Its total is the cluster's, by which hits are ordered.
func (f *found) hit(q *searchindex.Query) (h searchindex.Hit, err error) {
	var total float64
	var kind byte
	var parent, number int64
	if len(f.Sort) != 4 || len(f.Fields.Seconds) != 1 || len(f.Fields.Popularity) != 1 {
		return h, errHit
	}
	for k, to := range []any{&total, &kind, &parent, &number} {
		if json.Unmarshal(f.Sort[k], to) != nil {
			return h, errHit
		}
	}
	quality := 1.0
	if len(q.Terms) > 0 {
		quality = f.Score / float64(unit*len(q.Terms))
	}
	h.ID = searchindex.ID{Kind: searchindex.Kind(kind), Parent: unsigned(parent), Number: unsigned(number)}
	h.Score = q.Ranking.Score(quality, f.Fields.Seconds[0], f.Fields.Popularity[0])
	h.Score.Total = total
	return h, nil
}
