package pglink

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// ProbeAll queries all servers of the address once, so that a starting node does not use a former primary. Servers that do not answer in
// time are skipped.
func (f *Fence) ProbeAll(ctx context.Context, c *pgconn.Config) {
	if !f.HasSeveralHosts() {
		return
	}
	var wait sync.WaitGroup
	for i := range f.hosts {
		wait.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, hostTimeout)
			defer cancel()
			w := probe{fence: f, n: i, config: c}
			w.run(ctx, slog.New(slog.DiscardHandler))
			w.close()
		})
	}
	wait.Wait()
}

// Watch queries all servers of the address periodically, over one connection to each, until its context ends. Open connections to a
// former primary thereby become Stale, even if it still answers.
func (f *Fence) Watch(ctx context.Context, c *pgconn.Config, every time.Duration, logger *slog.Logger) {
	if !f.HasSeveralHosts() {
		return
	}
	var wait sync.WaitGroup
	for i := range f.hosts {
		wait.Go(func() {
			w := probe{fence: f, n: i, config: c}
			defer w.close()
			tick := time.NewTicker(every)
			defer tick.Stop()
			for {
				bounded, cancel := context.WithTimeout(ctx, max(every, hostTimeout))
				w.run(bounded, logger)
				cancel()
				select {
				case <-tick.C:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	wait.Wait()
}

// probe queries the status of one server.
type probe struct {
	fence     *Fence
	n         int
	config    *pgconn.Config
	conn      *pgconn.PgConn // nil: none
	saidStale bool           // a former primary was logged
}

func (w *probe) run(ctx context.Context, logger *slog.Logger) {
	h := w.fence.hosts[w.n]
	if w.conn == nil || w.conn.IsClosed() {
		c := w.config.Copy()
		c.Host, c.Port, c.TLSConfig, c.Fallbacks = h.configs[0].Host, h.configs[0].Port, h.configs[0].TLSConfig, h.configs[1:]
		c.ValidateConnect, c.ConnectTimeout = nil, hostTimeout
		EnableKeepalive(c)
		var err error
		if w.conn, err = pgconn.ConnectConfig(ctx, c); err != nil {
			logger.Debug("a database server does not answer", "host", h.String(), "error", err)
			w.conn = nil
			return
		}
	}
	s, err := queryStatus(ctx, w.conn)
	switch {
	case err != nil:
		logger.Debug("a database server does not answer", "host", h.String(), "error", err)
		w.close()
	case !s.standby:
		err := w.fence.observe(s.primaryEpoch, h.String())
		if err == nil {
			w.fence.lastPrimary.Store(int64(w.n))
			w.fence.noteAnswer()
		} else if !w.saidStale {
			logger.Error("a second server considers itself the primary; it is not used", "host", h.String(), "error", err)
		}
		w.saidStale = err != nil
	}
}

func (w *probe) close() {
	if w.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = w.conn.Close(ctx) // no statement is running
	w.conn = nil
}
