package job_test

import (
	"context"
	"database/sql"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/platform/job"
)

// BenchmarkInsert measures jobs inserted in transactions of ten.
func BenchmarkInsert(b *testing.B) {
	f := openFleet(b, 1)
	b.SetParallelism(32)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if err := f.dbs[0].Write(context.Background(), func(tx *sql.Tx) error {
				for n := range 10 {
					if _, err := f.nodes[0].InsertTx(context.Background(), tx, work{N: n}, job.Options{}); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(10*float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}

// BenchmarkRun measures jobs that are claimed, run and completed by 64 workers of a node, beside 100,000 that are due later.
func BenchmarkRun(b *testing.B) {
	f := openFleet(b, 1)
	fill := func(total int, o job.Options) {
		for n := 0; n < total; n += 1000 {
			must(b, f.dbs[0].Write(b.Context(), func(tx *sql.Tx) error {
				for k := range min(1000, total-n) {
					if _, err := f.nodes[0].InsertTx(b.Context(), tx, work{N: n + k}, o); err != nil {
						return err
					}
				}
				return nil
			}))
		}
	}
	fill(100_000, job.Options{At: f.clock.Now().AddDate(1, 0, 0)})
	fill(b.N, job.Options{})
	var ran atomic.Int64
	done := make(chan struct{})
	b.ResetTimer()
	stop := start(b, f.nodes[0], workers(64, func(context.Context, job.Job[work]) error {
		if ran.Add(1) == int64(b.N) {
			close(done)
		}
		return nil
	}))
	<-done
	stop()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}
