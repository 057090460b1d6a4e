package opensearch_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/searchindex/opensearch"
)

// FuzzAnswers: whatever the servers answer, a call fails, or returns no more than was asked for; and no error has what they say, which may quote a document.
func FuzzAnswers(f *testing.F) {
	const begin, one, end = `{"timed_out":false,"_shards":{"failed":0},"hits":{"hits":[`, `{"_score":10,"sort":[0.5,117,-9223372036854775808,1],"fields":{"s":[1],"g":[0]}}`, `]}}`
	const hit = begin + one + end
	for _, answer := range []string{"", "null", "{}", "[]", nothing, hit, begin + strings.Repeat(one+",", 19) + one + end, nothing[:30], `{"timed_out":null}`, strings.Replace(hit, "117", "1e400", 1), strings.Replace(hit, "[0]", `"Canary 7"`, 1),
		`{"items":[{"index":{"status":200}}]}`, `{"items":[{}]}`, `{"items":[{"index":{"status":409,"error":{"type":"Canary 7"}}}]}`, `{"items":[null]}`, `{"docs":[{"found":true,"_source":{"p":"7"}}]}`,
		`{"docs":[{"found":false}]}`, `{"docs":[null]}`, `{"responses":[{"timed_out":false,"hits":{"hits":[{}]}}]}`, `{"responses":[{"error":{"type":"index_not_found_exception"}}]}`, `{"error":{"type":"Canary 7"}}`} {
		f.Add(uint16(http.StatusOK), answer)
		f.Add(uint16(http.StatusBadRequest), answer)
	}
	server := startFake(f, httptest.NewServer)
	calls := outgoing.NewWith(slog.New(slog.DiscardHandler), func(outgoing.Kind) outgoing.Policy { return outgoing.Policy{OpenFor: 1} }) // the answers open its circuit, and each call is a probe
	index := open(f, opensearch.Config{Calls: calls}, server)
	f.Fuzz(func(t *testing.T, code uint16, answer string) {
		status := 200 + int(code)%400
		server.forget()
		for _, request := range []string{searching, writing, refreshing, reading, "POST /rialto-1/_msearch"} {
			server.on(request, says(status, answer))
		}
		check := func(what string, err error) {
			if err != nil && strings.Contains(err.Error(), "Canary 7") || outgoing.IsRefused(err) {
				t.Errorf("%s: %d %q: %v", what, status, answer, err)
			}
		}
		q := query("word")
		r, err := index.Search(t.Context(), q)
		check("a search", err)
		if len(r.Hits) > q.Limit || err != nil && len(r.Hits) > 0 {
			t.Errorf("%d %q: a search of at most %d finds %d (%v)", status, answer, q.Limit, len(r.Hits), err)
		}
		err = index.Apply(t.Context(), &searchindex.Batch{Put: []searchindex.Document{user(1, "word")}})
		check("a write", err)
		if err == nil && !saysWritten(answer) {
			t.Errorf("%d %q: a write counts as made", status, answer)
		}
		at, err := index.Checkpoints(t.Context(), []string{"a"})
		check("the checkpoints", err)
		if err == nil && len(at) != 1 {
			t.Errorf("%d %q: %d checkpoints, want 1", status, answer, len(at))
		}
		missing, err := index.Missing(t.Context(), []searchindex.Document{user(1, "word")})
		check("what is missing", err)
		if len(missing) > 1 {
			t.Errorf("%d %q: %d of one document are missing", status, answer, len(missing))
		}
	})
}

// saysWritten reports whether an answer says of one write that it was made.
func saysWritten(answer string) bool {
	var a struct {
		Items []map[string]struct{ Status int }
	}
	if json.Unmarshal([]byte(answer), &a) != nil || len(a.Items) != 1 {
		return false
	}
	for _, r := range a.Items[0] {
		if r.Status == 0 {
			return false
		}
	}
	return len(a.Items[0]) == 1
}
