package edge

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// reportAll tells the origin that the edge follows how the edge is, until ctx ends. The last report says that it stops.
func (s *Server) reportAll(ctx context.Context) {
	tick := time.NewTicker(reportInterval)
	defer tick.Stop()
	for failing := false; ; {
		err := s.report(ctx, false)
		if err != nil && !failing && ctx.Err() == nil {
			s.deps.Logger.Warn("the edge cannot report its state to an origin; clients are not sent to the edge", "error", err)
		}
		failing = err != nil
		select {
		case <-tick.C:
		case <-ctx.Done():
			_ = s.report(context.WithoutCancel(ctx), true) // without it, clients are sent here until the last report counts no longer
			return
		}
	}
}

// report tells the origin once.
func (s *Server) report(ctx context.Context, leaving bool) error {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	r := s.deps.Report()
	r.Leaving = r.Leaving || leaving
	q := s.origins.request(http.MethodPost, ReportPath+"?"+r.query(), nil)
	q.Body = r.Figures
	a, err := s.origins.servers.DoAt(ctx, s.following.Load(), q, nil)
	if err == nil && a.Status != http.StatusNoContent {
		err = fmt.Errorf("status %d: %.200s", a.Status, a.Body)
	}
	return err
}
