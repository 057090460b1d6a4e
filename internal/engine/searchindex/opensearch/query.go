package opensearch

import (
	"math"
	"strconv"
	"time"

	"github.com/rialto-im/rialto/internal/engine/searchindex"
)

// A term adds a whole number to the score of the engine, which is of 32 bits and exact for those: the tenfold of how well it matches.
const (
	unit        = 10
	exactBoost  = unit * searchindex.ExactMatch
	prefixBoost = unit * searchindex.PrefixMatch
	fuzzyBoost  = unit * searchindex.FuzzyMatch
)

// totalScript computes what searchindex.Ranking.Score does, for the order of hits. Values are parameters only, so the cluster compiles it once.
const totalScript = `double text = params.unit > 0 ? _score / params.unit : 1.0;
double recency = 1.0;
if (params.half > 0) { recency = 1.0 - params.weight + params.weight * Math.pow(2.0, -Math.max(0.0, (double) (params.now - doc['s'].value * 1000L)) / params.half); }
return text * recency * (1.0 + params.popularity * doc['g'].value / 4.0);`

// spanScript admits the numbers within the spans of parents. A user may have thousands of spans, more than a query may have clauses.
const spanScript = `def span = params.spans.get(Long.toString(doc['p'].value));
return span == null || (doc['n'].value >= span[0] && doc['n'].value <= span[1]);`

// maxHits is how many hits the cluster returns at once.
const maxHits = 10_000

// searchBody makes the JSON of a query. What users wrote is in values only.
func searchBody(q *searchindex.Query, most int, timeout time.Duration) object {
	r := &q.Ranking
	params := object{"unit": unit * len(q.Terms), "half": r.HalfLifeMs, "weight": r.RecencyWeight, "now": r.NowMs, "popularity": r.PopularityWeight}
	body := object{
		"size":             most,
		"timeout":          strconv.FormatInt(max(1, timeout.Milliseconds()), 10) + "ms",
		"track_total_hits": false,
		"track_scores":     true,
		"_source":          false,
		"stored_fields":    "_none_",
		"docvalue_fields":  []string{secondsField, popularityField},
		"query":            object{"bool": boolQuery(q)},
		"sort": []object{
			{"_script": object{"type": "number", "order": "desc", "script": object{"lang": "painless", "source": totalScript, "params": params}}},
			{kindField: "asc"}, {parentField: "desc"}, {numberField: "desc"}, // as searchindex.ID.Compare
		},
	}
	if a := q.After; a != nil {
		body["search_after"] = []any{a.Total, a.ID.Kind, signed(a.ID.Parent), signed(a.ID.Number)}
	}
	return body
}

// boolQuery has the filters, and the terms, which alone count for the score.
func boolQuery(q *searchindex.Query) object {
	anyOf := func(terms []string) object { return object{"terms": object{filterField: terms}} }
	access := make([]string, len(q.Access))
	for k, a := range q.Access {
		access[k] = accessTerm(q.Kind, a)
	}
	filters := []object{anyOf(access)}
	if len(q.Authors) > 0 {
		filters = append(filters, anyOf(authorTerms(q.Kind, q.Authors)))
	}
	if q.Link {
		filters = append(filters, anyOf([]string{linkTerm(q.Kind)}))
	}
	if len(q.Labels) > 0 {
		labels := make([]string, len(q.Labels))
		for k, l := range q.Labels {
			labels[k] = labelTerm(q.Kind, l)
		}
		filters = append(filters, anyOf(labels))
	}
	// Times are stored in seconds: of a second that a bound divides, all documents are found.
	if q.AfterMs > 0 {
		filters = append(filters, object{"range": object{secondsField: object{"gte": q.AfterMs / 1000}}})
	}
	if q.BeforeMs != 0 {
		filters = append(filters, object{"range": object{secondsField: object{"lt": (q.BeforeMs + 999) / 1000}}})
	}
	if len(q.Spans) > 0 {
		spans := make(map[string][2]int64, len(q.Spans))
		for parent, s := range q.Spans {
			spans[strconv.FormatInt(signed(parent), 10)] = [2]int64{signed(s.From), signed(s.To)}
		}
		filters = append(filters, object{"script": object{"script": object{"lang": "painless", "source": spanScript, "params": object{"spans": spans}}}})
	}
	query := object{"filter": filters}
	if len(q.ExceptAuthors) > 0 {
		query["must_not"] = []object{anyOf(authorTerms(q.Kind, q.ExceptAuthors))}
	}
	if len(q.Terms) > 0 {
		terms := make([]object, len(q.Terms))
		for k, t := range q.Terms {
			terms[k] = termQuery(t)
		}
		query["must"] = terms
	}
	return query
}

func authorTerms(kind searchindex.Kind, authors []uint64) []string {
	list := make([]string, len(authors))
	for k, a := range authors {
		list[k] = authorTerm(kind, a)
	}
	return list
}

// termQuery matches a term in the best way in which a word of the document does. All words that match count, however many there are: the rewriting by
// constant scores has no limit, which words of others could reach.
func termQuery(t searchindex.Term) object {
	scored := func(boost float64, query object) object {
		return object{"constant_score": object{"filter": query, "boost": math.Round(boost)}}
	}
	ways := []object{scored(exactBoost, object{"term": object{wordField: object{"value": t.Word}}})}
	if t.Prefix {
		ways = append(ways, scored(prefixBoost, object{"prefix": object{wordField: object{"value": t.Word, "rewrite": "constant_score"}}}))
	}
	if t.Fuzzy {
		ways = append(ways, scored(fuzzyBoost, object{"fuzzy": object{wordField: object{"value": t.Word, "fuzziness": 1, "prefix_length": 0, "transpositions": true, "rewrite": "constant_score"}}}))
	}
	if len(ways) == 1 {
		return ways[0]
	}
	return object{"dis_max": object{"queries": ways, "tie_breaker": 0}}
}
