package opensearch_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/searchindex/opensearch"
)

// Many documents are asked for by one request. What was not answered, or only in part, is an error, and no document counts as missing because of it. (The suite compares what is found, with a real server.)
func TestMissingFails(t *testing.T) {
	f := startFake(t, httptest.NewServer)
	index := open(t, opensearch.Config{}, f)
	const asking = "POST /rialto-1/_msearch"
	there, gone := `{"timed_out":false,"_shards":{"failed":0},"hits":{"hits":[{"_id":"x"}]}}`, `{"timed_out":false,"_shards":{"failed":0}}`
	for name, c := range map[string]struct {
		answer string
		want   []uint64 // nil: an error
	}{
		"one of two":     {`{"responses":[` + there + `,` + gone + `]}`, []uint64{2}},
		"only one":       {`{"responses":[` + there + `]}`, nil},
		"not in time":    {`{"responses":[` + there + `,` + strings.Replace(gone, "false", "true", 1) + `]}`, nil},
		"a shard failed": {`{"responses":[` + there + `,` + strings.Replace(gone, "0", "1", 1) + `]}`, nil},
		"no index":       {`{"responses":[{"error":{"type":"index_not_found_exception"},"status":404},{"error":{"type":"index_not_found_exception"},"status":404}]}`, nil},
		"nothing":        {`{}`, nil},
	} {
		f.on(asking, says(http.StatusOK, c.answer))
		list, err := index.Missing(t.Context(), []searchindex.Document{user(1, "some words"), user(2, "other words")})
		var got []uint64
		for _, d := range list {
			got = append(got, d.Number)
		}
		if (err != nil) != (c.want == nil) || !slices.Equal(got, c.want) || errors.Is(err, searchindex.ErrMissing) != (name == "no index") {
			t.Errorf("%s: missing %v, want %v; error %v", name, got, c.want, err)
		}
	}
	before, _ := f.said()
	var docs []searchindex.Document
	for n := range uint64(200) {
		docs = append(docs, user(n+1, "some words"))
	}
	f.on(asking, says(http.StatusOK, `{"responses":[`+strings.TrimSuffix(strings.Repeat(there+",", len(docs)), ",")+`]}`))
	if list, err := index.Missing(t.Context(), docs); err != nil || len(list) != 0 {
		t.Errorf("of 200 documents %v are missing (%v)", list, err)
	}
	requests, bodies := f.said()
	if len(requests) != len(before)+1 || strings.Count(bodies[len(bodies)-1], "\n") != 400 {
		t.Errorf("after %d requests there are %d, the last of %d lines", len(before), len(requests), strings.Count(bodies[len(bodies)-1], "\n"))
	}
}
