package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/platform/cluster"
)

// The coordinator works after each interval and each wake-up, other nodes do not, and a round that fails does not end the others.
func TestPeriodicWorkOfTheCoordinator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var log bytes.Buffer
		var elsewhere atomic.Bool
		var rounds, idle atomic.Int32
		wake, done := make(chan struct{}), make(chan struct{})
		p := cluster.Periodic{IsCoordinator: func() bool { return !elsewhere.Load() }, Interval: time.Minute, Wake: wake, NotCoordinator: func() { idle.Add(1) },
			Round: func(context.Context) error { rounds.Add(1); return errors.New("no log") }, Failed: "it goes on later", Logger: slog.New(slog.NewTextHandler(&log, nil))}
		go func() { defer close(done); p.Run(ctx) }()
		check := func(after string, wantRounds, wantIdle int32) {
			t.Helper()
			synctest.Wait()
			if rounds, idle := rounds.Load(), idle.Load(); rounds != wantRounds || idle != wantIdle {
				t.Errorf("after %s: %d rounds, and %d without work, want %d and %d", after, rounds, idle, wantRounds, wantIdle)
			}
		}
		check("the start", 0, 0)
		wake <- struct{}{}
		check("a wake-up", 1, 0)
		time.Sleep(time.Minute)
		check("an interval", 2, 0)
		elsewhere.Store(true)
		wake <- struct{}{}
		time.Sleep(time.Minute)
		check("the grant has moved", 2, 2)
		cancel()
		<-done
		if got := strings.Count(log.String(), "it goes on later"); got != 2 {
			t.Errorf("two failures have %d lines in the log", got)
		}
	})
}

// Work with a long interval begins at the start of a node, which does not know the coordinator yet.
func TestPeriodicWorkAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		var rounds atomic.Int32
		p := cluster.Periodic{IsCoordinator: func() bool { return false }, Interval: time.Hour, AtStart: true, Round: func(context.Context) error { rounds.Add(1); return nil }}
		go func() { defer close(done); p.Run(ctx) }()
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		if rounds := rounds.Load(); rounds != 1 {
			t.Errorf("%d rounds of a node that never is the coordinator, want one at its start", rounds)
		}
		cancel()
		<-done
	})
}
