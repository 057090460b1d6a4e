package fanout_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/bus/membus"
	"github.com/rialto-im/rialto/internal/fanout"
	"github.com/rialto-im/rialto/internal/timeline"
)

// hanging is a log that has an entry in each partition to carry, and never comes to the end of saving a place.
type hanging struct {
	timeline.Log // nil: all else is not called
	saving       atomic.Int64
}

func (*hanging) Take(context.Context, uint16) error { return nil }

func (*hanging) Checkpoint(context.Context, uint16) (uint64, error) { return 0, nil }

func (*hanging) Records(_ context.Context, _ uint16, after uint64, _ int) ([]timeline.Record, error) {
	if after > 0 {
		return nil, nil
	}
	return []timeline.Record{{Seq: 1}}, nil
}

func (*hanging) GetMost(context.Context, []timeline.Ref, int) ([]timeline.Entry, error) {
	return nil, nil
}

func (l *hanging) PutCheckpoint(ctx context.Context, _ uint16, _ uint64) error {
	l.saving.Add(1)
	<-ctx.Done()
	return ctx.Err()
}

// A node whose store hangs stops all the same: what saving its places may take is for all its partitions together.
func TestStoppingWhileTheStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &hanging{}
		w := fanout.New(fanout.Deps{Log: log, Chat: &members{}, Presence: places{}, Bus: membus.New(), Logger: slog.New(slog.DiscardHandler)})
		for p := range timeline.Partitions {
			w.Begin(p)
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
			t.Errorf("it took %v", took)
		}
		if got := log.saving.Load() - before; got != timeline.Partitions {
			t.Errorf("%d places were tried to be saved", got)
		}
	})
}

// untaken is a log whose partitions are taken once, lost then, and cannot be taken again.
type untaken struct {
	hanging
	takes atomic.Int64
}

func (l *untaken) Take(context.Context, uint16) error {
	if l.takes.Add(1) > timeline.Partitions {
		return errBroken
	}
	return nil
}

func (*untaken) PutCheckpoint(context.Context, uint16, uint64) error { return timeline.ErrTaken }

// Partitions that cannot be taken are tried less and less often.
func TestTakingBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &untaken{}
		w := fanout.New(fanout.Deps{Log: log, Chat: &members{}, Presence: places{}, Bus: membus.New(), Logger: slog.New(slog.DiscardHandler)})
		for p := range timeline.Partitions {
			w.Begin(p)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.Run(ctx) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		if each := log.takes.Load()/timeline.Partitions - 1; each < 5 || each > 22 {
			t.Errorf("each was tried %d times in a minute", each)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
