// Package indexprocess runs a search index in a separate process, so that the kernel divides the processors between it and the process that uses it. Indexing
// uses much CPU time, in goroutines of a library. In the same process they would delay all others (docs/decisions/0142-search-index-process.md).
//
// An Index starts the process when it is called, and restarts it whenever it ends (supervise.go). It calls the process through the pipes of its standard input and output, with
// frames of bounded length (frame.go). The process runs Serve. It ends when its caller has ended, because its input ends then; on Linux the kernel also kills it. A process
// that is not called for some minutes is ended. An index without documents needs no process (empty.go).
//
// While the process restarts after it has ended by itself, calls fail with the reason search_unavailable. Nothing is lost: what Apply has confirmed is durable,
// and positions are in the index. If a call fails because the process has ended, its batch may be stored or not. A process that hangs is killed (process.go), so a
// call ends even if its context does not.
package indexprocess

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
)

const (
	// defaultIdle is how long a process runs without a call.
	defaultIdle = 3 * time.Minute
	// defaultSilence is how long a process may send nothing. A running one sends a beat each second.
	defaultSilence = 30 * time.Second
	defaultSlow    = time.Second
)

// Config of an Index.
type Config struct {
	// Command makes the command of the process, which calls Serve with its standard input and output. It is called for each start.
	Command func() *exec.Cmd
	// Empty: nothing has been applied to the index. The process starts with the first document, and Open does not fail.
	Empty bool
	// Idle is how long the process runs without a call; 0 is 3 minutes.
	Idle time.Duration
	// SlowStart is how long a start takes at most after which the process is ended when it is idle; 0 is 1 s. All files of an index are read when it is opened, and the
	// next call waits for that.
	SlowStart time.Duration
	// Silence is after how long without a sign of life a process is killed, about; 0 is 30 s.
	Silence time.Duration
	// Restarted is called when the process has ended by itself. If nil, nothing is.
	Restarted func()
	Logger    *slog.Logger
}

// Index is a searchindex.Index in another process.
type Index struct {
	config Config
	slots  chan struct{} // each call in progress holds one
	stop   context.CancelFunc
	done   chan struct{} // closed when no process runs any more
	wake   chan struct{} // signals that a call waits while the index is suspended

	mu        sync.Mutex // guards what follows
	process   *process   // nil: none is ready
	suspended bool       // no process runs, as none is needed; the next call starts one
	changed   chan struct{}
	callers   int       // of the process
	used      time.Time // when the last call ended
	damage    error     // the index cannot be opened any more, as it is damaged
	closed    bool

	deferMu  sync.Mutex                        // held to change deferred, until it is nil
	deferred atomic.Pointer[map[string]uint64] // checkpoints of an index without documents; nil: the process has all
}

var errClosed = fmt.Errorf("indexprocess: %w", searchindex.ErrClosed)

// unavailable is the error of a call while no process is ready. cause may be nil.
func unavailable(cause error) error {
	return &errs.Error{Kind: errs.Unavailable, Reason: "search_unavailable", Message: "the search index cannot be reached; try again", Retry: time.Second, Cause: cause}
}

// Open starts a process, and returns when it has opened the index, or with its error. The caller must Close the Index.
func Open(ctx context.Context, config Config) (*Index, error) {
	config.Idle, config.SlowStart, config.Silence = cmp.Or(config.Idle, defaultIdle), cmp.Or(config.SlowStart, defaultSlow), cmp.Or(config.Silence, defaultSilence)
	life, stop := context.WithCancel(context.Background())
	i := &Index{config: config, slots: make(chan struct{}, maxCalls), stop: stop, done: make(chan struct{}), wake: make(chan struct{}, 1), changed: make(chan struct{}), suspended: config.Empty}
	if config.Empty {
		i.deferred.Store(&map[string]uint64{})
		go i.supervise(life, nil) // ends with Close
		return i, nil
	}
	opened := make(chan error, 1)
	go i.supervise(life, opened) // ends with Close
	select {
	case err := <-opened:
		if err == nil {
			return i, nil
		}
		return nil, errors.Join(err, i.Close())
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), i.Close())
	}
}

// Close implements searchindex.Index.
func (i *Index) Close() error {
	i.mu.Lock()
	i.closed = true
	i.mu.Unlock()
	i.stop()
	<-i.done
	return nil
}

// Apply implements searchindex.Index. The last part of a batch has its checkpoints.
func (i *Index) Apply(ctx context.Context, b *searchindex.Batch) error {
	if i.deferred.Load() != nil {
		if ok, err := i.deferApply(ctx, b); ok || err != nil {
			return err
		}
	}
	for rest := *b; ; {
		part, last := nextPart(&rest)
		if _, err := i.call(ctx, applyFrame, &part); err != nil || last {
			return err
		}
	}
}

// Search implements searchindex.Index.
func (i *Index) Search(ctx context.Context, q *searchindex.Query) (searchindex.Result, error) {
	if i.deferred.Load() != nil {
		return searchindex.Result{}, i.check(ctx)
	}
	r, err := i.call(ctx, searchFrame, q)
	if err != nil {
		return searchindex.Result{}, err
	}
	return r.Result, nil
}

// Missing implements searchindex.Index.
func (i *Index) Missing(ctx context.Context, list []searchindex.Document) (missing []searchindex.ID, err error) {
	if i.deferred.Load() != nil { // it has no documents
		for n := range list {
			missing = append(missing, list[n].ID)
		}
		return missing, i.check(ctx)
	}
	for rest := (searchindex.Batch{Put: list}); len(rest.Put) > 0; {
		part, last := nextPart(&rest)
		r, err := i.call(ctx, missingFrame, part.Put)
		if err != nil {
			return nil, err
		}
		if missing = append(missing, r.IDs...); last {
			break
		}
	}
	return missing, nil
}

// Checkpoints implements searchindex.Index.
func (i *Index) Checkpoints(ctx context.Context, names []string) ([]uint64, error) {
	if deferred := i.deferred.Load(); deferred != nil {
		at := make([]uint64, len(names))
		for n, name := range names {
			at[n] = (*deferred)[name]
		}
		return at, i.check(ctx)
	}
	r, err := i.call(ctx, checkpointsFrame, names)
	if err != nil {
		return nil, err
	}
	return r.At, nil
}
