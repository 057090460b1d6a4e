package apptest_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/tool/bench"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
	"google.golang.org/protobuf/proto"
)

// benchedSearch is a part of the result of rialto bench search.
type benchedSearch struct {
	Messages, Probes, Queries, Changes uint64
	Wrong                              uint64  `json:"wrong_hits"`
	Missing                            uint64  `json:"missing_hits"`
	Indexed                            float64 `json:"indexed_per_s"`
}

// benchSearch searches among few messages at an address.
func benchSearch(t *testing.T, address, key string) (r benchedSearch, code int, text string) {
	t.Helper()
	var out, errOut bytes.Buffer
	code = bench.Main([]string{"search", "--json", "--url", address, "--api-key", key, "--messages", "100", "--users", "4", "--groups", "4", "--group-size", "2", "--rate", "20", "--probes", "4",
		"--lag-for", "1s", "--queries", "80", "--changes", "50"}, &out, &errOut)
	text = out.String() + errOut.String()
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatalf("the result of rialto bench is not JSON: %v\n%s", err, text)
		}
	}
	return r, code, text
}

// The bench finds nothing wrong in a right server's answers, and finds the hits that a wrong one drops, repeats, or takes from elsewhere.
func TestBenchOfASearch(t *testing.T) {
	t.Parallel()
	s, key := openWithKey(t)
	answers := func(change func(g *searchv1.HitGroup)) string {
		return changedAnswers(t, s.URL, "/Search", func(m *searchv1.SearchResponse) bool {
			for _, g := range m.Groups {
				if len(g.Hits) > 1 {
					change(g)
					return true
				}
			}
			return false
		})
	}
	for name, c := range map[string]struct {
		address string
		wrong   func(r benchedSearch) bool
	}{
		"right":    {s.URL, func(r benchedSearch) bool { return r.Wrong+r.Missing > 0 }},
		"dropped":  {answers(func(g *searchv1.HitGroup) { g.Hits = g.Hits[1:] }), func(r benchedSearch) bool { return r.Missing == 0 || r.Wrong > 0 }},
		"repeated": {answers(func(g *searchv1.HitGroup) { g.Hits = append(g.Hits, g.Hits[0]) }), func(r benchedSearch) bool { return r.Wrong == 0 || r.Missing > 0 }},
		"elsewhere": {answers(func(g *searchv1.HitGroup) {
			h := proto.CloneOf(g.Hits[0])
			h.Message.Seq += 1000
			g.Hits = append(g.Hits, h)
		}), func(r benchedSearch) bool { return r.Wrong == 0 || r.Missing > 0 }},
	} {
		r, code, text := benchSearch(t, c.address, key)
		if c.wrong(r) || r.Messages != 128 || r.Probes != 4 || r.Queries != 80 || r.Changes == 0 || r.Indexed == 0 || (code == 0) != (name == "right") {
			t.Errorf("%s: exit code %d\n%s", name, code, text)
		}
		if name != "right" && !strings.Contains(text, " are wrong and ") {
			t.Errorf("%s: no faulty answer is described\n%s", name, text)
		}
	}
}
