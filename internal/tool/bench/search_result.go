package bench

import (
	"fmt"
	"io"
	"time"
)

// searchFaults are hits that should not have been there, and those that should.
type searchFaults struct {
	// Wrong hits are of messages that the reader may not read, that were edited or recalled before the query, that do not match it, or that came twice.
	Wrong uint64 `json:"wrong_hits"`
	// Missing hits are of messages that matched all the time of the query and that the index had, and acknowledged messages that were not found in time.
	Missing uint64 `json:"missing_hits"`
}

// searchResult of a run.
type searchResult struct {
	Messages uint64  `json:"messages"`
	SentPerS float64 `json:"sent_per_s"`
	// IndexedPerS is of the messages before the measurement of the lag, from the first one sent until the last one of each group was found.
	IndexedPerS float64 `json:"indexed_per_s"`
	// Lag is from the acknowledgement of a message until a search finds it; it is too long by a sixth at most.
	LagP50 float64 `json:"lag_p50_ms"`
	LagP99 float64 `json:"lag_p99_ms"`
	Probes uint64  `json:"probes"`
	// Query is from the call to its answer, of first pages.
	Queries     uint64  `json:"queries"`
	QueriesPerS float64 `json:"queries_per_s"`
	QueryP50    float64 `json:"query_p50_ms"`
	QueryP99    float64 `json:"query_p99_ms"`
	// Changes are messages that were edited or recalled beside the queries.
	Changes uint64 `json:"changes"`
	searchFaults
	// Incomplete are answers that said that the index did not have everything yet.
	Incomplete uint64  `json:"incomplete_answers"`
	Retries    uint64  `json:"retries"`
	Seconds    float64 `json:"seconds"`
	// ServerCPU is the CPU seconds of the server, without the process of its index, for each million of the messages that IndexedPerS is of, if it runs on this machine; otherwise 0.
	ServerCPU float64 `json:"server_cpu_s_per_million"`
}

// complete fills in what was counted.
func (l *searchLoad) complete(r *searchResult) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Messages, r.Changes, r.Incomplete, r.Retries = l.sent.Load(), l.changes.Load(), l.unfinished.Load(), l.retries.Load()
	r.Probes, r.LagP50, r.LagP99 = l.lag.count, l.lag.quantile(0.5), l.lag.quantile(0.99)
	r.Queries, r.QueryP50, r.QueryP99 = l.queries.count, l.queries.quantile(0.5), l.queries.quantile(0.99)
	r.searchFaults, r.Seconds = l.faults, time.Since(l.start).Seconds()
}

// passed reports whether all hits were right, and something was searched for.
func (r *searchResult) passed() bool { return r.Wrong+r.Missing == 0 && r.Queries > 0 }

func (r *searchResult) print(out io.Writer) {
	fmt.Fprintf(out, "messages      %d; sent %.0f/s, found %.0f/s\n", r.Messages, r.SentPerS, r.IndexedPerS)
	fmt.Fprintf(out, "lag           %d messages were found after p50 %.0f ms, p99 %.0f ms\n", r.Probes, r.LagP50, r.LagP99)
	fmt.Fprintf(out, "queries       %d (%.0f/s), p50 %.2f ms, p99 %.2f ms; %d messages were edited or recalled beside them\n", r.Queries, r.QueriesPerS, r.QueryP50, r.QueryP99, r.Changes)
	if r.ServerCPU > 0 {
		fmt.Fprintf(out, "server CPU    %.1f s per million messages, without the process of the index\n", r.ServerCPU)
	}
	if r.Retries+r.Incomplete > 0 {
		fmt.Fprintf(out, "calls         %d repeated, %d answered that the index is incomplete\n", r.Retries, r.Incomplete)
	}
	fmt.Fprintf(out, "checked       wrong hits %d, missing hits %d\n", r.Wrong, r.Missing)
}
