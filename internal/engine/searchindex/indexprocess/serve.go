package indexprocess

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/engine/searchindex"
)

// ErrCallerEnded is the error of Serve if the process that calls has ended. The caller of Serve then ends its process at once: what was applied is durable.
var ErrCallerEnded = errors.New("indexprocess: the process that calls has ended")

// beatInterval is between two signs of life.
const beatInterval = time.Second

// Serve opens an index and answers the calls of an Index in another process, until that closes it, has ended, or sends what is no frame.
func Serve(in io.Reader, out io.Writer, open func() (searchindex.Index, error)) error {
	s := &server{out: out, calls: map[uint64]context.CancelFunc{}}
	beats, stop := context.WithCancel(context.Background())
	defer s.beating.Wait()
	defer stop()
	s.beating.Go(func() { s.beat(beats) }) // opening may take long
	index, err := open()
	if err != nil {
		var r reply
		r.fail(err)
		return errors.Join(err, s.write(readyFrame, 0, &r))
	}
	s.index = index
	if err := s.write(readyFrame, 0, &reply{}); err != nil {
		return err
	}
	for b := bufio.NewReader(in); ; {
		f, err := readFrame(b)
		if errors.Is(err, io.EOF) {
			return ErrCallerEnded
		}
		if err != nil {
			return err
		}
		switch f.kind {
		case cancelFrame:
			s.cancel(f.call)
		case closeFrame:
			s.group.Wait()
			var r reply
			if err := index.Close(); err != nil {
				r.fail(err)
			}
			return s.write(replyFrame, f.call, &r)
		default:
			if err := s.begin(f); err != nil {
				return err
			}
		}
	}
}

// server is Serve in progress.
type server struct {
	index searchindex.Index
	group sync.WaitGroup // of the calls in progress
	// beating is of the goroutine that says that the process runs.
	beating sync.WaitGroup

	writing sync.Mutex // held to write a frame to out
	out     io.Writer

	mu    sync.Mutex                    // guards calls
	calls map[uint64]context.CancelFunc // in progress, by number
}

// beat says that the process runs until ctx ends, or nobody reads it.
func (s *server) beat(ctx context.Context) {
	tick := time.NewTicker(beatInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if s.write(beatFrame, 0, nil) != nil {
			return // the loop of Serve sees it
		}
	}
}

// write writes a frame. r may be nil.
func (s *server) write(kind frameKind, call uint64, r *reply) error {
	var payload any // a nil interface
	if r != nil {
		payload = r
	}
	b, err := encodeFrame(kind, call, payload)
	if err != nil {
		var failed reply
		failed.fail(err)
		if b, err = encodeFrame(kind, call, &failed); err != nil {
			return err
		}
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	_, err = s.out.Write(b)
	return err
}

func (s *server) cancel(call uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel, ok := s.calls[call]; ok {
		cancel()
	}
}

// begin begins a call.
func (s *server) begin(f frame) error {
	run, err := s.decode(f)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.mu.Lock()
	n := len(s.calls)
	s.calls[f.call] = cancel
	s.mu.Unlock()
	if n >= maxCalls {
		cancel()
		return fmt.Errorf("indexprocess: more than %d calls at once", maxCalls)
	}
	s.group.Go(func() {
		var r reply
		if err := run(ctx, &r); err != nil {
			r = reply{}
			r.fail(err)
		}
		s.mu.Lock()
		delete(s.calls, f.call)
		s.mu.Unlock()
		cancel()
		_ = s.write(replyFrame, f.call, &r) // if nobody reads it, the loop sees that
	})
	return nil
}

// decode returns what a frame calls.
func (s *server) decode(f frame) (run func(context.Context, *reply) error, err error) {
	switch f.kind {
	case applyFrame:
		b := &searchindex.Batch{}
		return func(ctx context.Context, _ *reply) error { return s.index.Apply(ctx, b) }, f.decode(b)
	case searchFrame:
		q := &searchindex.Query{}
		return func(ctx context.Context, r *reply) (err error) {
			r.Result, err = s.index.Search(ctx, q)
			return err
		}, f.decode(q)
	case missingFrame:
		var list []searchindex.Document
		return func(ctx context.Context, r *reply) (err error) {
			r.IDs, err = s.index.Missing(ctx, list)
			return err
		}, f.decode(&list)
	case checkpointsFrame:
		var names []string
		return func(ctx context.Context, r *reply) (err error) {
			r.At, err = s.index.Checkpoints(ctx, names)
			return err
		}, f.decode(&names)
	}
	return nil, fmt.Errorf("indexprocess: a frame of the unknown kind %d", f.kind)
}
