package pglink

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Survey asks all servers of the address once, so that a node that starts does not take one for the primary that was it. Those that do
// not answer in time are left out.
func (f *Fence) Survey(ctx context.Context, c *pgconn.Config) {
	if !f.Several() {
		return
	}
	var wait sync.WaitGroup
	for i := range f.hosts {
		wait.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, perHost)
			defer cancel()
			w := watched{fence: f, n: i, config: c}
			w.look(ctx, slog.New(slog.DiscardHandler))
			w.leave()
		})
	}
	wait.Wait()
}

// Watch asks all servers of the address every so often, over a connection to each, until its context ends. So open connections to a
// server that another follows become Stale also where that server still answers.
func (f *Fence) Watch(ctx context.Context, c *pgconn.Config, every time.Duration, logger *slog.Logger) {
	if !f.Several() {
		return
	}
	var wait sync.WaitGroup
	for i := range f.hosts {
		wait.Go(func() {
			w := watched{fence: f, n: i, config: c}
			defer w.leave()
			tick := time.NewTicker(every)
			defer tick.Stop()
			for {
				bounded, cancel := context.WithTimeout(ctx, max(every, perHost))
				w.look(bounded, logger)
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

// watched is a server, and the connection to it.
type watched struct {
	fence  *Fence
	n      int
	config *pgconn.Config
	conn   *pgconn.PgConn // nil: none
	old    bool           // was said to be old
}

func (w *watched) look(ctx context.Context, logger *slog.Logger) {
	h := w.fence.hosts[w.n]
	if w.conn == nil || w.conn.IsClosed() {
		c := w.config.Copy()
		c.Host, c.Port, c.TLSConfig, c.Fallbacks = h.ways[0].Host, h.ways[0].Port, h.ways[0].TLSConfig, h.ways[1:]
		c.ValidateConnect, c.ConnectTimeout = nil, perHost
		Keep(c)
		var err error
		if w.conn, err = pgconn.ConnectConfig(ctx, c); err != nil {
			logger.Debug("a server of the database does not answer", "host", h.String(), "error", err)
			w.conn = nil
			return
		}
	}
	s, err := ask(ctx, w.conn)
	switch {
	case err != nil:
		logger.Debug("a server of the database does not answer", "host", h.String(), "error", err)
		w.leave()
	case !s.standby:
		err := w.fence.raise(s.reign, h.String())
		if err == nil {
			w.fence.serves.Store(int64(w.n))
		} else if !w.old {
			logger.Error("a second server believes to be the primary; nothing is read or written there", "host", h.String(), "error", err)
		}
		w.old = err != nil
	}
}

func (w *watched) leave() {
	if w.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = w.conn.Close(ctx) // nothing is under way on it
	w.conn = nil
}
