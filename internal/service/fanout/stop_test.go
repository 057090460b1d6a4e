package fanout_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/bus/membus"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/memlog"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/service/fanout"
)

// hanging is a log with an undispatched entry in each partition, whose PutCheckpoint never returns before its context ends.
type hanging struct {
	timeline.Log // nil: no other method is called
	saving       atomic.Int64
}

func (*hanging) Acquire(context.Context, uint16, uint64) error { return nil }

func (*hanging) Checkpoint(context.Context, uint16) (uint64, error) { return 0, nil }

func (*hanging) FanoutRecords(_ context.Context, _ uint16, after uint64, _ int) ([]timeline.FanoutRecord, error) {
	if after > 0 {
		return nil, nil
	}
	return []timeline.FanoutRecord{{Seq: 1}}, nil
}

func (*hanging) GetLimited(context.Context, []timeline.Ref, int) ([]timeline.Entry, error) {
	return nil, nil
}

func (l *hanging) PutCheckpoint(ctx context.Context, _ uint16, _ uint64) error {
	l.saving.Add(1)
	<-ctx.Done()
	return ctx.Err()
}

// waitingAcquire is a log whose Acquire returns only when its context ends.
type waitingAcquire struct {
	timeline.Log
	began chan struct{}
	ended chan error
}

func (l waitingAcquire) Acquire(ctx context.Context, _ uint16, _ uint64) error {
	if ctx.Err() != nil { // the worker called again before it saw that the grant has ended
		return ctx.Err()
	}
	l.began <- struct{}{}
	<-ctx.Done()
	l.ended <- ctx.Err()
	return ctx.Err()
}

// An Acquire in progress is cancelled when the grant of its partition ends.
func TestTheEndOfAGrantCancelsItsAcquire(t *testing.T) {
	log := waitingAcquire{memlog.New(nil), make(chan struct{}), make(chan error)}
	w := fanout.New(fanout.Deps{Log: log, Chat: &members{}, Directory: owners{}, Bus: membus.New(), Logger: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	grant, revoke := context.WithCancel(context.Background())
	defer revoke()
	w.Assigned(cluster.NewGrant(grant, 3, 1))
	eventually.Receive(t, "the worker calls Acquire", log.began)
	revoke()
	w.Revoked(3)
	if err := eventually.Receive(t, "Acquire returns", log.ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Acquire returned %v; want context.Canceled", err)
	}
	cancel()
	must(t, eventually.Receive(t, "the worker stops", done))
}

// A node whose store hangs stops nevertheless: one timeout covers saving the checkpoints of all partitions.
func TestStoppingWhileTheStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &hanging{}
		w := fanout.New(fanout.Deps{Log: log, Chat: &members{}, Directory: owners{}, Bus: membus.New(), Logger: slog.New(slog.DiscardHandler)})
		for p := range timeline.Partitions {
			assign(w, p)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.Run(ctx) }()
		for log.saving.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		before := log.saving.Load()
		began := time.Now()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("stopping took %v, want 5s", took)
		}
		if got := log.saving.Load() - before; got != timeline.Partitions {
			t.Errorf("%d checkpoints were attempted, want one per partition", got)
		}
	})
}

// failingAcquire is a log whose partitions are acquired once, then lost, and cannot be acquired again.
type failingAcquire struct {
	hanging
	attempts atomic.Int64
}

func (l *failingAcquire) Acquire(context.Context, uint16, uint64) error {
	if l.attempts.Add(1) > timeline.Partitions {
		return errBroken
	}
	return nil
}

func (*failingAcquire) PutCheckpoint(context.Context, uint16, uint64) error {
	return timeline.ErrFenced
}

// Attempts to acquire a partition back off.
func TestAcquireBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &failingAcquire{}
		w := fanout.New(fanout.Deps{Log: log, Chat: &members{}, Directory: owners{}, Bus: membus.New(), Logger: slog.New(slog.DiscardHandler)})
		for p := range timeline.Partitions {
			assign(w, p)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.Run(ctx) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		if each := log.attempts.Load()/timeline.Partitions - 1; each < 5 || each > 32 {
			t.Errorf("Acquire was called %d times per partition in a minute, want 5 to 32", each)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
