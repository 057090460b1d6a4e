package cache

import "github.com/prometheus/client_golang/prometheus"

// Metrics of all caches of a process.
type Metrics struct {
	reads, loads, faults *prometheus.CounterVec
	loadedKeys           *prometheus.CounterVec
	invalidated          *prometheus.CounterVec
}

// NewMetrics returns metrics for the caches of a process.
func NewMetrics() *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rialto_cache_" + name, Help: help}, append([]string{"cache"}, labels...))
	}
	return &Metrics{
		reads:       counter("reads_total", "Reads of keys that needed no load, by cache and by from: local, shared, joined (a load was in progress), stale (the load failed).", "from"),
		loads:       counter("loads_total", "Loads from the database, by cache."),
		loadedKeys:  counter("loaded_keys_total", "Keys that were loaded from the database, by cache."),
		invalidated: counter("invalidated_total", "Keys that were invalidated, by cache."),
		faults:      counter("failures_total", "Failures, by cache and by what: load, shared (the server did not answer), lease (another node loaded a key for too long).", "what"),
	}
}

// Describe and Collect make Metrics a prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, c := range m.all() {
		c.Describe(to)
	}
}

// Collect sends the metrics.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	for _, c := range m.all() {
		c.Collect(to)
	}
}

func (m *Metrics) all() []*prometheus.CounterVec {
	return []*prometheus.CounterVec{m.reads, m.loads, m.loadedKeys, m.invalidated, m.faults}
}

// Reads counts the reads of a cache in memory that a service keeps by itself. A nil Reads counts nothing.
type Reads struct{ hits, misses prometheus.Counter }

// Reads returns the counters of a cache: from local, and keys that were loaded.
func (m *Metrics) Reads(cache string) *Reads {
	return &Reads{m.reads.WithLabelValues(cache, "local"), m.loadedKeys.WithLabelValues(cache)}
}

// Count adds keys that were found, and keys that were not.
func (r *Reads) Count(hits, misses int) {
	if r != nil {
		r.hits.Add(float64(hits))
		r.misses.Add(float64(misses))
	}
}

// cacheMetrics are those of one cache.
type cacheMetrics struct {
	local, shared, joined, stale            prometheus.Counter
	loads, loadedKeys, invalidated          prometheus.Counter
	loadFailed, sharedFailed, leaseTimeouts prometheus.Counter
}

func (m *Metrics) of(cache string) *cacheMetrics {
	return &cacheMetrics{
		local: m.reads.WithLabelValues(cache, "local"), shared: m.reads.WithLabelValues(cache, "shared"), joined: m.reads.WithLabelValues(cache, "joined"), stale: m.reads.WithLabelValues(cache, "stale"),
		loads: m.loads.WithLabelValues(cache), loadedKeys: m.loadedKeys.WithLabelValues(cache), invalidated: m.invalidated.WithLabelValues(cache),
		loadFailed: m.faults.WithLabelValues(cache, "load"), sharedFailed: m.faults.WithLabelValues(cache, "shared"), leaseTimeouts: m.faults.WithLabelValues(cache, "lease"),
	}
}
