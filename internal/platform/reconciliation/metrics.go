package reconciliation

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// Status is the progress of a comparison, and the number of its differences.
type Status struct {
	Round
	// Differences is the number of those that are not repaired. Corrected is the number of those that were corrected, and that no operator has seen yet.
	Differences, Corrected int64
}

// Statuses returns all comparisons, in the order in which they were given. One that has not begun has no round.
func (s *Service) Statuses(ctx context.Context) (list []Status, err error) {
	at := map[string]int{}
	for _, c := range s.deps.Comparisons {
		at[c.Name()] = len(list)
		list = append(list, Status{Round: Round{Comparison: c.Name()}})
	}
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT comparison, position, round, checked, compared, began_ms, ended_ms, (SELECT count(*) FROM reconciliation_differences d WHERE d.comparison = r.comparison AND NOT corrected), (SELECT count(*) FROM reconciliation_differences d WHERE d.comparison = r.comparison AND corrected) FROM reconciliation_rounds r`)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var v Status
		err := rows.Scan(&v.Comparison, &v.Position, &v.Number, &v.checked, &v.Compared, &v.BeganMs, &v.EndedMs, &v.Differences, &v.Corrected)
		if i, ok := at[v.Comparison]; ok && err == nil {
			list[i] = v
		}
		return err
	})
	return list, err
}

const (
	countsMaxAge = 15 * time.Second
	countTimeout = time.Second
)

// counts are the figures of the metrics. They are read again when they are older than countsMaxAge.
type counts struct {
	mu   sync.Mutex // guards the fields below; held while they are read
	list []Status
	at   time.Time
}

var (
	differencesDesc = prometheus.NewDesc("rialto_reconciliation_differences", "Differences between two stores that are not repaired.", []string{"comparison"}, nil)
	correctedDesc   = prometheus.NewDesc("rialto_reconciliation_corrected", "Differences that were corrected when they were found, and that no operator has seen yet.", []string{"comparison"}, nil)
	roundDesc       = prometheus.NewDesc("rialto_reconciliation_round_ended_seconds", "When the last round ended, in seconds since 1970; 0: none has.", []string{"comparison"}, nil)
	comparedDesc    = prometheus.NewDesc("rialto_reconciliation_compared", "Items that the last whole round had.", []string{"comparison"}, nil)
)

// Describe implements prometheus.Collector.
func (s *Service) Describe(out chan<- *prometheus.Desc) {
	out <- differencesDesc
	out <- correctedDesc
	out <- roundDesc
	out <- comparedDesc
}

// Collect implements prometheus.Collector. Every node has the same figures, those of the database.
func (s *Service) Collect(out chan<- prometheus.Metric) {
	s.counts.mu.Lock()
	defer s.counts.mu.Unlock()
	if now := time.Now(); now.Sub(s.counts.at) > countsMaxAge { // after a failure, too: a scrape may not wait again and again for a database that hangs
		s.counts.at = now
		ctx, cancel := context.WithTimeout(context.Background(), countTimeout)
		defer cancel()
		if list, err := s.Statuses(ctx); err != nil {
			s.deps.Logger.Warn("the differences between stores could not be counted for the metrics, which show the previous counts", "error", err)
		} else {
			s.counts.list = list
		}
	}
	for _, v := range s.counts.list {
		out <- prometheus.MustNewConstMetric(differencesDesc, prometheus.GaugeValue, float64(v.Differences), v.Comparison)
		out <- prometheus.MustNewConstMetric(correctedDesc, prometheus.GaugeValue, float64(v.Corrected), v.Comparison)
		out <- prometheus.MustNewConstMetric(roundDesc, prometheus.GaugeValue, float64(v.EndedMs)/1000, v.Comparison)
		out <- prometheus.MustNewConstMetric(comparedDesc, prometheus.GaugeValue, float64(v.Compared), v.Comparison)
	}
}
