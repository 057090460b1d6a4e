package opensearch_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/base/outgoing/outgoingtest"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/searchindex/opensearch"
)

// fake is a server that answers requests as a test says, and notes them. (The suite runs against a real one, in cluster_test.go.)
type fake struct {
	*httptest.Server
	mu       sync.Mutex // guards what follows
	answers  map[string]func(w http.ResponseWriter, r *http.Request, body []byte)
	requests []string // method and path
	bodies   []string
	keys     []string // of authorization
}

func startFake(t testing.TB, start func(http.Handler) *httptest.Server) *fake {
	t.Helper()
	f := &fake{answers: map[string]func(http.ResponseWriter, *http.Request, []byte){}}
	f.Server = start(f)
	f.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that fail
	t.Cleanup(f.Close)
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the test's client has gone
	}
	f.mu.Lock()
	f.requests, f.bodies, f.keys = append(f.requests, r.Method+" "+r.URL.Path), append(f.bodies, string(body)), append(f.keys, r.Header.Get("Authorization"))
	answer := f.answers[r.Method+" "+r.URL.Path]
	f.mu.Unlock()
	if answer == nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	answer(w, r, body)
}

// on says how the server answers a request.
func (f *fake) on(request string, answer func(w http.ResponseWriter, r *http.Request, body []byte)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[request] = answer
}

// forget forgets the requests so far.
func (f *fake) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests, f.bodies, f.keys = nil, nil, nil
}

// says makes an answer of a status and a text.
func says(status int, text string) func(http.ResponseWriter, *http.Request, []byte) {
	return func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text) // the client may have gone
	}
}

// writes answers a bulk request as if each item had been written.
func writes(w http.ResponseWriter, r *http.Request, body []byte) {
	items := strings.Count(string(body), `{"index":`) + strings.Count(string(body), `{"delete":`)
	says(http.StatusOK, `{"items":[`+strings.TrimSuffix(strings.Repeat(`{"index":{"status":200}},`, items), ",")+`]}`)(w, r, body)
}

func (f *fake) said() (requests, bodies []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests), slices.Clone(f.bodies)
}

const (
	describing = "GET /rialto,rialto-*"
	described  = `{"rialto-1":{"aliases":{"rialto":{},"rialto-1-write":{}},"mappings":{"_meta":{"rialto":{"deployment":"d","format":1}}}}}`
	searching  = "POST /rialto-1/_search"
	writing    = "POST /rialto-1-write/_bulk"
	refreshing = "POST /rialto-1-write/_refresh"
	reading    = "POST /rialto-1/_mget"
	nothing    = `{"timed_out":false,"_shards":{"failed":0},"hits":{"hits":[]}}`
)

// open opens the generation of a fake server that has one.
func open(t testing.TB, config opensearch.Config, servers ...*fake) searchindex.Index {
	t.Helper()
	for _, f := range servers {
		f.on("PUT /rialto-1", says(http.StatusBadRequest, `{"error":{"type":"resource_already_exists_exception"},"status":400}`))
		f.on(describing, says(http.StatusOK, described))
		f.on(writing, writes)
		f.on(refreshing, says(http.StatusOK, `{}`))
		f.on(searching, says(http.StatusOK, nothing))
		config.URLs = append(config.URLs, f.URL)
	}
	config.Deployment = "d"
	c, err := opensearch.New(config)
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	index, err := c.Open(t.Context(), 1, 0, false)
	must(t, err)
	return index
}

// isUnavailable reports whether callers are told to try again.
func isUnavailable(err error) bool {
	e := errs.Of(err)
	return err != nil && e.Reason == "search_unavailable" && e.Kind == errs.Unavailable && e.Retry > 0
}

// A search fails, and does not find less, if the server refuses it, answers something else, or found only a part. Errors do not have what the server says, which may
// quote a document.
func TestSearchFails(t *testing.T) {
	f := startFake(t, httptest.NewServer)
	index := open(t, opensearch.Config{}, f)
	hit := func(sort string) string {
		return `{"timed_out":false,"_shards":{"failed":0},"hits":{"hits":[{"_score":10,"sort":` + sort + `,"fields":{"s":[1],"g":[0]}}]}}`
	}
	for name, c := range map[string]struct {
		status      int
		answer      string
		unavailable bool
	}{
		"refused":             {http.StatusBadRequest, `{"error":{"type":"query_shard_exception","reason":"canary"},"status":400}`, false},
		"no rights":           {http.StatusForbidden, `{"error":{"type":"security_exception","reason":"canary"},"status":403}`, false},
		"busy":                {http.StatusTooManyRequests, `{"error":{"type":"rejected_execution_exception","reason":"canary"},"status":429}`, true},
		"down":                {http.StatusServiceUnavailable, `{"error":{"type":"cluster_block_exception","reason":"canary"},"status":503}`, true},
		"not JSON":            {http.StatusOK, "canary", true},
		"truncated":           {http.StatusOK, nothing[:30], true},
		"another answer":      {http.StatusOK, `{"canary":1}`, true},
		"in time":             {http.StatusOK, strings.Replace(nothing, "false", "true", 1), true},
		"a shard failed":      {http.StatusOK, strings.Replace(nothing, `"failed":0`, `"failed":1`, 1), true},
		"no sort values":      {http.StatusOK, hit(`[]`), true},
		"other sort values":   {http.StatusOK, hit(`[1,"canary",1,1]`), true},
		"a number too large":  {http.StatusOK, hit(`[1,117,9223372036854775808,1]`), true},
		"more than asked for": {http.StatusOK, `{"timed_out":false,"_shards":{"failed":0},"hits":{"hits":[` + strings.Repeat(`{},`, 50) + `{}]}}`, true},
		"too long":            {http.StatusOK, `{"timed_out":false,` + strings.Repeat(" ", 9<<20) + `}`, true},
	} {
		f.on(searching, says(c.status, c.answer))
		r, err := index.Search(t.Context(), query("word"))
		if err == nil || len(r.Hits) > 0 || isUnavailable(err) != c.unavailable || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: result %v, error %v; want no hit, and an error without a password that is unavailable: %v", name, r, err, c.unavailable)
		}
		f.on(searching, says(http.StatusOK, hit(`[0.5,117,-9223372036854775808,-9223372036854775801]`)))
		if r, err := index.Search(t.Context(), query("word")); err != nil || len(r.Hits) != 1 || r.Hits[0].ID != user(7, "").ID || r.Hits[0].Score.Total != 0.5 || r.Hits[0].Score.Text != 1 {
			t.Fatalf("after %s: %+v, %v", name, r, err)
		}
	}
}

// While a server fails, the others are asked, and then it is left alone for a while. If none works, calls are refused at once.
func TestServersFail(t *testing.T) {
	calls := outgoingtest.New()
	first, second := startFake(t, httptest.NewServer), startFake(t, httptest.NewServer)
	index := open(t, opensearch.Config{Calls: calls}, first, second)
	first.on(searching, says(http.StatusInternalServerError, `{}`))
	for range 40 {
		hits(t, index, query("word"))
	}
	if outgoingtest.Refused(t, calls, outgoing.OpenSearch) == 0 {
		t.Error("a server that fails is asked again and again")
	}
	second.Close()
	before, _ := first.said()
	for range 40 {
		if _, err := index.Search(t.Context(), query("word")); !isUnavailable(err) {
			t.Fatalf("error %v, want one of the kind unavailable", err)
		}
	}
	_, err := index.Search(t.Context(), query("word"))
	if !outgoing.IsRefused(err) || !isUnavailable(err) {
		t.Errorf("without a server: %v", err)
	}
	if after, _ := first.said(); len(after) != len(before) {
		t.Errorf("%d requests to a server whose circuit is open", len(after)-len(before))
	}
}

// A slow server does not hold a search longer than its context.
func TestSlowAnswer(t *testing.T) {
	f := startFake(t, httptest.NewServer)
	index := open(t, opensearch.Config{}, f)
	ctx, cancel := context.WithCancel(t.Context())
	f.on(searching, func(_ http.ResponseWriter, r *http.Request, _ []byte) {
		cancel()
		<-r.Context().Done() // the client has gone
	})
	if _, err := index.Search(ctx, query("word")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

// The documents of a batch are written first, in requests of a bounded size, and its checkpoints last. If a document is not written, no checkpoint is.
func TestCheckpointsComeLast(t *testing.T) {
	f := startFake(t, httptest.NewServer)
	index := open(t, opensearch.Config{}, f)
	b := &searchindex.Batch{Delete: []searchindex.ID{{Kind: searchindex.User, Number: 1000}}, Checkpoints: map[string]uint64{"a": 1, "b": 18446744073709551615}, Term: 3}
	for n := range uint64(13) { // more than one request has
		b.Put = append(b.Put, user(n, longText()))
	}
	before, _ := f.said()
	must(t, index.Apply(t.Context(), b))
	requests, bodies := f.said()
	requests, bodies = requests[len(before):], bodies[len(before):]
	n := len(requests)
	if n < 4 || requests[n-1] != writing || requests[n-2] != refreshing || slices.Contains(requests[:n-2], refreshing) {
		t.Fatalf("the requests are %v", requests)
	}
	documents := 0
	for k, body := range bodies[:n-2] {
		if documents += strings.Count(body, `{"index":`); len(body) > 3<<20 || strings.Contains(body, `"c":"`) {
			t.Errorf("request %d has %d bytes", k, len(body))
		}
	}
	last := bodies[n-1]
	if documents != 13 || strings.Count(last, `"c":"`) != 2 || !strings.Contains(last, `"18446744073709551615"`) || !strings.Contains(bodies[0], `{"delete":`) {
		t.Errorf("%d documents are written, and then %s", documents, last)
	}
	if all := strings.Join(bodies, ""); strings.Count(all, `"version":3,"version_type":"external_gte"`) != 16 {
		t.Error("not all writes have the writer's term")
	}
	for name, item := range map[string]string{"refused": `{"status":400,"error":{"type":"strict_dynamic_mapping_exception"}}`, "busy": `{"status":429,"error":{"type":"rejected_execution_exception"}}`,
		"a later writer": `{"status":409,"error":{"type":"version_conflict_engine_exception"}}`, "no status": `{}`, "missing": `{"status":404,"error":{"type":"index_not_found_exception"}}`} {
		f.on(writing, says(http.StatusOK, `{"items":[{"delete":{"status":404}},{"index":`+item+`}]}`))
		before, _ := f.said()
		err := index.Apply(t.Context(), &searchindex.Batch{Delete: b.Delete, Put: b.Put[:1], Checkpoints: b.Checkpoints})
		var superseded *searchindex.Superseded
		if err == nil || errors.As(err, &superseded) != (name == "a later writer") || errors.Is(err, searchindex.ErrMissing) != (name == "missing") || isUnavailable(err) != (name == "busy") {
			t.Errorf("%s: the error is %v, which is of another kind", name, err)
		}
		if after, _ := f.said(); len(after) != len(before)+1 {
			t.Errorf("%s: %v follows", name, after[len(before)+1:])
		}
	}
	f.on(writing, says(http.StatusOK, `{"items":[]}`))
	if err := index.Apply(t.Context(), &searchindex.Batch{Checkpoints: b.Checkpoints}); err == nil {
		t.Error("an answer for none of the writes is accepted")
	}
}

// longText returns a text as long as one is analysed, in which no two characters follow each other twice.
func longText() string {
	var b strings.Builder
	for n := range searchindex.MaxText {
		b.WriteRune(rune(0x4e00 + n*7919%20_000))
	}
	return b.String()
}

// A write never makes an index: it goes by an alias, which must exist.
func TestWritesRequireTheAlias(t *testing.T) {
	f := startFake(t, httptest.NewServer)
	index := open(t, opensearch.Config{}, f)
	required := ""
	f.on(writing, func(w http.ResponseWriter, r *http.Request, body []byte) {
		required = r.URL.Query().Get("require_alias")
		writes(w, r, body)
	})
	must(t, index.Apply(t.Context(), &searchindex.Batch{Put: []searchindex.Document{user(1, "word")}}))
	if required != "true" {
		t.Errorf("require_alias=%q", required)
	}
	// The name by which searches find the generation that answers is not written.
	c, err := opensearch.New(opensearch.Config{URLs: []string{f.URL}})
	must(t, err)
	if err := c.Serving().Apply(t.Context(), &searchindex.Batch{Put: []searchindex.Document{user(1, "word")}}); err == nil {
		t.Error("the index that answers is written")
	}
}

// Checkpoints that cannot be read are an error, and not 0.
func TestCheckpointsFail(t *testing.T) {
	f := startFake(t, httptest.NewServer)
	index := open(t, opensearch.Config{}, f)
	for name, c := range map[string]struct {
		answer string
		want   []uint64 // nil: an error
	}{
		"there":        {`{"docs":[{"found":true,"_source":{"c":"7"}},{"found":false}]}`, []uint64{7, 0}},
		"one":          {`{"docs":[{"found":true,"_source":{"c":"7"}}]}`, nil},
		"no number":    {`{"docs":[{"found":true,"_source":{"c":"x"}},{"found":false}]}`, nil},
		"no value":     {`{"docs":[{"found":true},{"found":false}]}`, nil},
		"no index":     {`{"docs":[{"error":{"type":"index_not_found_exception"}},{"error":{"type":"index_not_found_exception"}}]}`, nil},
		"no documents": {`{}`, nil},
	} {
		f.on(reading, says(http.StatusOK, c.answer))
		got, err := index.Checkpoints(t.Context(), []string{"a", "b"})
		if (err != nil) != (c.want == nil) || !slices.Equal(got, c.want) || errors.Is(err, searchindex.ErrMissing) != (name == "no index") {
			t.Errorf("%s: checkpoints %v, want %v; error %v", name, got, c.want, err)
		}
	}
}

// What users wrote is in values of the query only, and scripts are the same for all queries.
func TestQueriesHaveValuesOnly(t *testing.T) {
	f := startFake(t, httptest.NewServer)
	index := open(t, opensearch.Config{}, f)
	scripts := map[string]bool{}
	for _, word := range []string{`word`, `"}},{"match_all":{}}`, `params.x;*?`} {
		q := query(word)
		q.Terms[0].Prefix, q.Terms[0].Fuzzy = true, true
		q.Access, q.Labels, q.Spans = []string{word}, []string{word}, map[uint64]searchindex.Span{7: {From: 1, To: 2}}
		hits(t, index, q)
		_, bodies := f.said()
		var body any
		must(t, json.Unmarshal([]byte(bodies[len(bodies)-1]), &body))
		values := 0
		walk(body, func(key string, value any) {
			switch {
			case key == "source":
				scripts[value.(string)] = true
			case key == "value" && value == word:
				values++
			}
		})
		if values != 3 {
			t.Errorf("%q is in %d values of %s", word, values, bodies[len(bodies)-1])
		}
	}
	if len(scripts) != 2 {
		t.Errorf("%d scripts", len(scripts))
	}
}

// walk visits all fields of JSON.
func walk(of any, visit func(key string, value any)) {
	switch v := of.(type) {
	case map[string]any:
		for key, value := range v {
			visit(key, value)
			walk(value, visit)
		}
	case []any:
		for _, value := range v {
			walk(value, visit)
		}
	}
}

// The servers' certificate is checked, by the authority that is configured. Credentials are sent.
func TestEncryption(t *testing.T) {
	f := startFake(t, httptest.NewTLSServer)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	must(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw}), 0o600))
	open(t, opensearch.Config{CA: ca, User: "rialto", Password: "of the cluster"}, f)
	open(t, opensearch.Config{CA: ca, APIKey: "key"}, f)
	if seen := map[string]bool{f.keys[0]: true, f.keys[len(f.keys)-1]: true}; !maps.Equal(seen, map[string]bool{"Basic cmlhbHRvOm9mIHRoZSBjbHVzdGVy": true, "ApiKey key": true}) {
		t.Errorf("the credentials are %v", seen)
	}
	c, err := opensearch.New(opensearch.Config{URLs: []string{f.URL}})
	must(t, err)
	if _, _, err := c.Generations(t.Context()); !isUnavailable(err) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a server whose certificate is not known: %v", err)
	}
	if _, err := opensearch.New(opensearch.Config{URLs: []string{f.URL}, CA: "/none.pem"}); err == nil {
		t.Error("a file of certificates that is missing")
	}
}

// Indexes of others are refused; those whose names only begin alike are nobody's concern.
func TestGenerationsOfOthers(t *testing.T) {
	f := startFake(t, httptest.NewServer)
	open(t, opensearch.Config{}, f)
	c, err := opensearch.New(opensearch.Config{URLs: []string{f.URL}, Deployment: "d"})
	must(t, err)
	mine := `"mappings":{"_meta":{"rialto":{"deployment":"d","format":1}}}`
	for name, x := range map[string]struct {
		answer  string
		list    []uint64
		serving uint64
		foreign bool
	}{
		"none":                    {answer: `{}`},
		"mine":                    {answer: `{"rialto-2":{"aliases":{"rialto":{}},` + mine + `},"rialto-10":{` + mine + `}}`, list: []uint64{2, 10}, serving: 2},
		"names that begin alike":  {answer: `{"rialto-logs-1":{},"rialto-02":{},"rialto-0":{},"rialto--1":{},"rialto-3":{` + mine + `}}`, list: []uint64{3}},
		"of another deployment":   {answer: `{"rialto-2":{` + strings.Replace(mine, `"d"`, `"e"`, 1) + `}}`, foreign: true},
		"of another program":      {answer: `{"rialto-2":{"aliases":{}}}`, foreign: true},
		"an index of the name":    {answer: `{"rialto":{` + mine + `}}`, foreign: true},
		"an alias of another one": {answer: `{"logs":{"aliases":{"rialto":{}}}}`, foreign: true},
		"of another format":       {answer: `{"rialto-2":{` + strings.Replace(mine, `:1`, `:2`, 1) + `}}`, foreign: true},
	} {
		f.on(describing, says(http.StatusOK, x.answer))
		list, serving, err := c.Generations(t.Context())
		if errors.Is(err, searchindex.ErrForeign) != x.foreign || !slices.Equal(list, x.list) || serving != x.serving || err != nil && !x.foreign {
			t.Errorf("%s: generations %v, serving %d, error %v; want %v, %d, foreign %v", name, list, serving, err, x.list, x.serving, x.foreign)
		}
	}
}

// Settings that are not valid are named, and secrets are not shown.
func TestCheckOfTheConfiguration(t *testing.T) {
	url := []string{"https://search:9200"}
	for fault, c := range map[string]opensearch.Config{
		"https://":            {URLs: []string{"http://search:9200"}},
		"without a path":      {URLs: []string{"https://search:9200/path"}},
		"credentials":         {URLs: []string{"https://canary:canary@search:9200"}},
		"index":               {URLs: url, Name: "Rialto,*"},
		"both user and":       {URLs: url, User: "canary"},
		"not both":            {URLs: url, User: "canary", Password: "canary long", APIKey: "canary"},
		"one of an example":   {URLs: url, User: "root", Password: "Admin"},
		"of an example,":      {URLs: url, User: "canary", Password: "canary"},
		"shards: give 1":      {URLs: url, Shards: -1},
		"replicas: give 0 to": {URLs: url, Replicas: 100},
	} {
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), fault) || strings.Contains(err.Error(), "canary") {
			t.Errorf("error %v, want one that contains %q, and no password", err, fault)
		}
		if _, err := opensearch.New(c); err == nil {
			t.Errorf("%s: it is used", fault)
		}
	}
	must(t, opensearch.Config{URLs: append(url, "http://127.0.0.1:9200", "http://localhost:9200/"), Name: "team_a-2", User: "rialto", Password: "of the cluster", Shards: 4, Replicas: 1}.Check())
}

// A new index remembers deletions for longer than a write of an earlier writer may be delayed.
func TestDeletionsAreRemembered(t *testing.T) {
	f := startFake(t, httptest.NewServer)
	open(t, opensearch.Config{Name: "rialto", Deployment: "d"}, f)
	requests, bodies := f.said()
	var made struct {
		Settings struct {
			Index struct {
				Deletions string `json:"gc_deletes"`
			}
		}
	}
	i := slices.Index(requests, "PUT /rialto-1")
	if i < 0 {
		t.Fatalf("the requests were %q", requests)
	}
	if err := json.Unmarshal([]byte(bodies[i]), &made); err != nil || made.Settings.Index.Deletions != "1h" {
		t.Errorf("an index was made with %s, %v", bodies[i], err)
	}
}
