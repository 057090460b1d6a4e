package cluster

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// A store that was restored from another backup than the cluster's database may have a later term. The node then gives up the part and
// acquires it again in a higher term.
func TestTheTermRisesAboveThatOfAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var grants []Grant
		revoked := 0
		work := Work{Kind: "k", Parts: 1, Assigned: func(g Grant) { grants = append(grants, g) }, Revoked: func(int) { revoked++ }}
		s, err := New(t.Context(), Deps{Logger: slog.New(slog.DiscardHandler), Work: []Work{work}}, Config{Node: "n"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		beat := func() {
			time.Sleep(s.config.HeartbeatInterval)
			synctest.Wait()
		}
		beat()
		if len(grants) != 1 || grants[0].Term == 0 || !grants[0].Held() {
			t.Fatalf("the grants are %+v, want one that is held, with a term", grants)
		}
		first := grants[0]
		first.Superseded(first.Term + 10)
		first.Superseded(first.Term + 3) // reported late
		beat()
		if len(grants) != 2 || revoked != 1 || first.Held() || !grants[1].Held() || grants[1].Term != first.Term+11 {
			t.Errorf("%+v, revoked %d times", grants, revoked)
		}
		first.Superseded(first.Term + 20) // from a grant that has ended
		beat()
		if len(grants) != 2 || revoked != 1 {
			t.Errorf("%+v, revoked %d times", grants, revoked)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
