// Package nodecall makes calls to other nodes, by requests on the bus. Each kind of call declares what its failure means: FailFast, FailSafe or FailBack. FailSafe
// calls go to all other nodes; the others go to one, which the caller names: the owner of a part of shared work, or whoever holds something in memory.
// docs/decisions/0180-targets-and-failures-of-calls.md has all calls, and the policies that nothing needs.
//
// The names of nodes come from the view of the cluster that this node read last (cluster.Service.Nodes and Owner). That view remains valid while the database
// does not answer. A call needs the bus only, so it then still reaches the known nodes.
//
// All types are values, and safe for concurrent use.
package nodecall

import (
	"context"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/tracing"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"go.opentelemetry.io/otel/trace"
)

// FailFast calls return the error of the first attempt. The caller knows whether to try again, or its own caller does.
type FailFast struct {
	Timeout time.Duration
}

// Ask makes a call to the node that responds to a subject.
func (p FailFast) Ask(ctx context.Context, b bus.Bus, subject string, data []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	return request(ctx, b, subject, data)
}

// request makes one attempt, and records it if ctx is traced.
func request(ctx context.Context, b bus.Bus, subject string, data []byte) ([]byte, error) {
	ctx, span := tracing.Start(ctx, "node.call", trace.SpanKindClient)
	span.Text("rialto.subject", subject)
	answer, err := b.Request(ctx, subject, data)
	span.End(err)
	return answer, err
}

// FailSafe calls go to all other nodes, and failures are dropped: a node that does not answer learns in another way what it was to be told.
type FailSafe struct {
	// Timeout of all attempts together.
	Timeout time.Duration
}

// Nodes are the live nodes, as this one knows them.
type Nodes struct {
	// Own is this node's name.
	Own string
	// Live returns the names of all.
	Live func() []string
}

// Tell makes a call to all other nodes at the same time, and returns when each has answered or failed. each, which may be nil, is called with the answer of
// each node or with why there is none, one at a time.
func (p FailSafe) Tell(ctx context.Context, b bus.Bus, nodes Nodes, subject func(node string) string, data []byte, each func(node string, answer []byte, err error)) {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	var mu sync.Mutex // guards calls of each
	var group sync.WaitGroup
	defer group.Wait()
	for _, node := range nodes.Live() {
		if node == nodes.Own {
			continue
		}
		group.Go(func() {
			answer, err := request(ctx, b, subject(node), data)
			if each != nil {
				mu.Lock()
				defer mu.Unlock()
				each(node, answer, err)
			}
		})
	}
}

// FailBack calls are repeated after growing delays, until they are answered or go to the wrong node.
type FailBack struct {
	// Timeout of one attempt.
	Timeout time.Duration
	// First and Longest bound the delays.
	First, Longest time.Duration
}

// Repeated says how long a call is repeated.
type Repeated struct {
	// IsTarget reports whether the node is still the target. It is asked before each attempt.
	IsTarget func() bool
	// Accept reports whether an answer is one. Otherwise the attempt has failed.
	Accept func(answer []byte) bool
	// Failed is called after each attempt that failed; err is nil if the answer was not accepted.
	Failed func(err error)
}

// Repeat makes a call to the node that responds to a subject. moved: the node is no longer the target; it may have acted on an earlier attempt. It fails only
// with the error of ctx.
func (p FailBack) Repeat(ctx context.Context, b bus.Bus, subject string, data []byte, r Repeated) (answer []byte, moved bool, err error) {
	for retry := backoff.New(p.First, p.Longest); r.IsTarget(); {
		answer, err := FailFast{p.Timeout}.Ask(ctx, b, subject, data)
		if ctx.Err() != nil {
			return nil, false, ctx.Err()
		}
		if err == nil && r.Accept(answer) {
			return answer, false, nil
		}
		r.Failed(err)
		if err := retry.Wait(ctx); err != nil {
			return nil, false, err
		}
	}
	return nil, true, nil
}
