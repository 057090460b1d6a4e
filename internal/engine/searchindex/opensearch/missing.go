package opensearch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rialto-im/rialto/internal/engine/searchindex"
)

const missingPath = "/_msearch?filter_path=responses.timed_out,responses._shards.failed,responses.hits.hits._id,responses.error.type,responses.status"

// Missing implements searchindex.Index. A request has a small search for each of some documents, by its id.
func (i *Index) Missing(ctx context.Context, list []searchindex.Document) (missing []searchindex.ID, err error) {
	i.use.RLock()
	defer i.use.RUnlock()
	if i.closed {
		return nil, errClosed
	}
	for len(list) > 0 {
		var body bytes.Buffer
		n := 0
		for n < len(list) && (n == 0 || body.Len() < bulkBytes/2) {
			query, err := json.Marshal(object{"size": 1, "track_total_hits": false, "_source": false, "query": object{"bool": object{"filter": mustHave(&list[n])}}})
			if err != nil {
				return nil, err
			}
			body.WriteString("{}\n")
			body.Write(append(query, '\n'))
			n++
		}
		found, err := i.findEach(ctx, body.Bytes(), n)
		if err != nil {
			return nil, err
		}
		for k, ok := range found {
			if !ok {
				missing = append(missing, list[k].ID)
			}
		}
		list = list[n:]
	}
	return missing, nil
}

// mustHave are the clauses of all that a document must be found by.
func mustHave(d *searchindex.Document) []object {
	clauses := []object{{"ids": object{"values": []string{documentID(d.ID)}}}, {"term": object{secondsField: searchindex.Seconds(d.TimeMs)}}}
	kinds := d.Kinds
	if len(kinds) == 0 {
		kinds = []searchindex.Kind{d.ID.Kind}
	}
	for _, kind := range kinds {
		for _, a := range d.Access {
			clauses = append(clauses, object{"term": object{filterField: accessTerm(kind, a)}})
		}
		if d.Author != 0 {
			clauses = append(clauses, object{"term": object{filterField: authorTerm(kind, d.Author)}})
		}
	}
	words := searchindex.WordsOf(d)
	for _, w := range words[:min(len(words), searchindex.MaxTerms)] {
		clauses = append(clauses, object{"term": object{wordField: w}})
	}
	return clauses
}

// findEach reports of each of some searches whether it has a hit.
func (i *Index) findEach(ctx context.Context, body []byte, n int) ([]bool, error) {
	var a struct {
		Responses []struct {
			answer
			Status int `json:"status"`
			Error  struct {
				Type string `json:"type"`
			} `json:"error"`
		} `json:"responses"`
	}
	if err := i.cluster.client.read(ctx, "POST", "/"+i.name+missingPath, body, &a); err != nil {
		return nil, err
	}
	if len(a.Responses) != n {
		return nil, unavailable(fmt.Errorf("OpenSearch answered %d of %d searches", len(a.Responses), n))
	}
	found := make([]bool, n)
	for k := range a.Responses {
		r := &a.Responses[k]
		switch {
		case r.Error.Type != "":
			return nil, missing(&failure{r.Status, r.Error.Type})
		case r.TimedOut == nil || *r.TimedOut || r.Shards.Failed > 0:
			return nil, unavailable(errors.New("OpenSearch did not end the searches for documents"))
		}
		found[k] = len(r.Hits.Hits) > 0
	}
	return found, nil
}
