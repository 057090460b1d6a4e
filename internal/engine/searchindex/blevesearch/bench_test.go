package blevesearch_test

import (
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/keyword"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/registry"
	"github.com/blevesearch/bleve/v2/search/query"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/searchindex/blevesearch"
)

// benchMessages is how many messages the benchmarks of queries have; RIALTO_SEARCH_MESSAGES sets it. The bars are for 1,000,000.
func benchMessages(b *testing.B) int {
	n, err := strconv.Atoi(os.Getenv("RIALTO_SEARCH_MESSAGES"))
	if err != nil {
		return 50_000
	}
	return n
}

const (
	benchConversations = 1000
	benchReadable      = 50 // of them, so that a reader may read one message of twenty
	benchBatch         = 500
)

// texts makes messages of some 200 bytes: words whose frequencies fall as in a language, and every fourth in Chinese.
type texts struct {
	rng  *rand.Rand
	zipf *rand.Zipf
	// chinese returns the nth word: a character, so that any two follow each other, unless a benchmark says otherwise.
	chinese func(n uint64) string
}

func newTexts() *texts {
	rng := rand.New(rand.NewPCG(1, 1))
	return &texts{rng, rand.NewZipf(rng, 1.1, 4, 200_000), func(n uint64) string { return string(rune(0x4e00 + n%3000)) }}
}

// word n of the vocabulary.
func word(n uint64) string {
	const letters = "etaoinshrdlucmfwypvbgkqjxz"
	var b strings.Builder
	for n += 30; n > 0; n /= 26 {
		b.WriteByte(letters[n%26])
	}
	return b.String()
}

func (t *texts) next() string {
	var b strings.Builder
	chinese := t.rng.IntN(4) == 0
	for b.Len() < 200 {
		if n := t.zipf.Uint64(); chinese {
			b.WriteString(t.chinese(n))
		} else {
			b.WriteString(word(n))
			b.WriteByte(' ')
		}
	}
	return b.String()
}

func accessOf(conversation uint64) string { return "c" + strconv.FormatUint(conversation, 10) }

// batch makes the messages from a number on.
func (t *texts) batch(from, n int) *searchindex.Batch {
	b := &searchindex.Batch{Checkpoints: map[string]uint64{"m": uint64(from + n)}}
	for k := range n {
		c := uint64(t.rng.IntN(benchConversations))
		b.Put = append(b.Put, searchindex.Document{ID: searchindex.ID{Kind: searchindex.Message, Parent: c, Number: uint64(from+k) + 1}, Text: t.next(), Author: uint64(t.rng.IntN(5000)) + 1, Access: []string{accessOf(c)}, TimeMs: 1_800_000_000_000 + int64(from+k)*1000})
	}
	return b
}

// words is the analysis of this repository as an analyzer of Bleve.
type words struct{}

func (words) Analyze(text []byte) (tokens analysis.TokenStream) {
	for i, w := range searchindex.Words(string(text)) {
		tokens = append(tokens, &analysis.Token{Term: []byte(w), Position: i + 1, Type: analysis.AlphaNumeric})
	}
	return tokens
}

func openReference(b *testing.B, dir string) bleve.Index {
	m := bleve.NewIndexMapping()
	_ = registry.RegisterAnalyzer("rialto", func(map[string]interface{}, *registry.Cache) (analysis.Analyzer, error) { return words{}, nil })
	field := func(analyzer string) *mapping.FieldMapping {
		f := bleve.NewTextFieldMapping()
		f.Analyzer, f.Store, f.IncludeInAll, f.IncludeTermVectors, f.DocValues = analyzer, false, false, false, false
		return f
	}
	d := bleve.NewDocumentStaticMapping()
	d.AddFieldMappingsAt("text", field("rialto"))
	d.AddFieldMappingsAt("access", field(keyword.Name))
	d.AddFieldMappingsAt("author", field(keyword.Name))
	when := bleve.NewNumericFieldMapping()
	when.Store, when.IncludeInAll = false, false
	d.AddFieldMappingsAt("time", when)
	m.DefaultMapping = d
	index, err := bleve.NewUsing(dir, m, scorch.Name, scorch.Name, nil)
	if err != nil {
		b.Fatal(err)
	}
	return index
}

func applyReference(b *testing.B, index bleve.Index, from *searchindex.Batch) {
	batch := index.NewBatch()
	for _, d := range from.Put {
		if err := batch.Index(string(d.ID.Append(nil)), map[string]any{"text": d.Text, "access": d.Access[0], "author": strconv.FormatUint(d.Author, 10), "time": float64(d.TimeMs)}); err != nil {
			b.Fatal(err)
		}
	}
	if err := index.Batch(batch); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkIndexing measures messages that are indexed in batches, of this package (ours) and of Bleve itself with the same analysis (reference), and the
// bytes on the disk for each. An iteration is a batch.
func BenchmarkIndexing(b *testing.B) {
	for name, run := range map[string]func(b *testing.B, dir string) (apply func(*searchindex.Batch), end func() error){
		"ours": func(b *testing.B, dir string) (func(*searchindex.Batch), func() error) {
			index := open(b, dir)
			return func(batch *searchindex.Batch) {
				if err := index.Apply(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
			}, index.Close
		},
		"reference": func(b *testing.B, dir string) (func(*searchindex.Batch), func() error) {
			index := openReference(b, filepath.Join(dir, "x"))
			return func(batch *searchindex.Batch) { applyReference(b, index, batch) }, index.Close
		},
	} {
		b.Run(name, func(b *testing.B) {
			dir, t := b.TempDir(), newTexts()
			apply, end := run(b, dir)
			messages, bytes := 0, 0
			for b.Loop() {
				b.StopTimer()
				batch := t.batch(messages, benchBatch)
				for i := range batch.Put {
					bytes += len(batch.Put[i].Text)
				}
				messages += benchBatch
				b.StartTimer()
				apply(batch)
			}
			b.ReportMetric(float64(messages)/b.Elapsed().Seconds(), "messages/s")
			if err := end(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(sizeOf(b, dir))/float64(bytes), "bytes/byte")
		})
	}
}

func sizeOf(b *testing.B, dir string) (bytes int64) {
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return bytes
}

// BenchmarkQueries measures searches of a reader who may read a twentieth of all messages, in an order of this package (ours), and Bleve's query with the same filter
// (reference). An iteration is a query.
func BenchmarkQueries(b *testing.B) {
	n, t := benchMessages(b), newTexts()
	index, err := blevesearch.Open(b.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer index.Close() //nolint:errcheck // a benchmark
	reference := openReference(b, filepath.Join(b.TempDir(), "x"))
	defer reference.Close() //nolint:errcheck // a benchmark
	for from := 0; from < n; from += 2000 {
		batch := t.batch(from, 2000)
		if err := index.Apply(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
		applyReference(b, reference, batch)
	}
	access := make([]string, benchReadable)
	for k := range access {
		access[k] = accessOf(uint64(k * (benchConversations / benchReadable)))
	}
	ranking := searchindex.Ranking{NowMs: 1_800_000_000_000 + int64(n)*1000, RecencyWeight: 0.5, HalfLifeMs: 30 * 86_400_000, PopularityWeight: 0.05}
	query := func(k int) *searchindex.Pattern {
		words := []string{word(t.zipf.Uint64() % 1000)}
		if k%2 == 0 {
			words = append(words, word(t.zipf.Uint64()%1000))
		}
		return searchindex.NewPattern(words, k%3 == 0)
	}
	b.Run("ours", func(b *testing.B) {
		measure(b, func(k int) {
			if _, err := index.Search(b.Context(), &searchindex.Query{Kind: searchindex.Message, Terms: query(k).Terms(), Access: access, Ranking: ranking, Limit: 45}); err != nil {
				b.Fatal(err)
			}
		})
	})
	b.Run("reference", func(b *testing.B) {
		measure(b, func(k int) {
			r := bleve.NewSearchRequestOptions(referenceQuery(query(k).Terms(), access), 45, 0, false)
			if _, err := reference.SearchInContext(b.Context(), r); err != nil {
				b.Fatal(err)
			}
		})
	})
}

// referenceQuery is Bleve's query for terms within conversations.
func referenceQuery(terms []searchindex.Term, access []string) query.Query {
	of := func(q interface {
		query.Query
		SetField(string)
	}, field string) query.Query {
		q.SetField(field)
		return q
	}
	var all, within []query.Query
	for _, t := range terms {
		forms := []query.Query{of(bleve.NewTermQuery(t.Word), "text")}
		if t.Prefix {
			forms = append(forms, of(bleve.NewPrefixQuery(t.Word), "text"))
		}
		if t.Fuzzy {
			forms = append(forms, of(bleve.NewFuzzyQuery(t.Word), "text"))
		}
		all = append(all, bleve.NewDisjunctionQuery(forms...))
	}
	for _, a := range access {
		within = append(within, of(bleve.NewTermQuery(a), "access"))
	}
	return bleve.NewConjunctionQuery(append(all, bleve.NewDisjunctionQuery(within...))...)
}

// measure runs a query for each iteration, and reports the median and the 99th percentile.
func measure(b *testing.B, run func(k int)) {
	var times []time.Duration
	for k := 0; b.Loop(); k++ {
		began := time.Now()
		run(k)
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	for _, p := range []int{50, 99} {
		b.ReportMetric(float64(times[(len(times)-1)*p/100].Microseconds())/1000, fmt.Sprintf("p%d-ms", p))
	}
}
