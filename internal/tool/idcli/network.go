package idcli

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/tool/apiclient"
	idv1 "github.com/rialto-im/rialto/sdk/go/gen/id/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/id/v1/idv1connect"
)

// network measures a server: batches, and single calls compared with empty calls.
func (b *bench) network(ctx context.Context, client *apiclient.Client, connections int) error {
	next := func(tag string, count int64) func(context.Context, int) error {
		return func(ctx context.Context, _ int) error {
			return client.CallOnce(ctx, idv1connect.IDServiceNextProcedure, &idv1.NextRequest{Tag: tag, Count: count}, &idv1.NextResponse{})
		}
	}
	ping := func(ctx context.Context, _ int) error {
		return client.CallOnce(ctx, idv1connect.IDServicePingProcedure, &idv1.PingRequest{}, &idv1.PingResponse{})
	}
	b.say("batches of 1,000 over the network")
	// A warm-up lets the tag's step adapt to the demand.
	if _, err := rate(ctx, b.duration/3, connections, 1000, next("segment", 1000)); err != nil {
		return err
	}
	v, err := b.rate(ctx, connections, 1000, next("segment", 1000))
	if err != nil {
		return err
	}
	b.add("I5", "segments, batches of 1,000", v/1e6, "million/s")

	b.say("single calls and empty calls")
	empty, single, err := interleaved(ctx, b.duration, connections, ping, next("segment", 1))
	if err != nil {
		return err
	}
	b.add("I5", "empty calls", empty, "per s")
	b.add("I5", "single calls", single, "per s")
	b.add("I5", "ratio of single to empty calls, interleaved", single/empty, "")

	b.say("latency of a call")
	began, calls := time.Now(), 0
	for calls == 0 || time.Since(began) < b.duration/3 {
		if err := next("segment", 1)(ctx, 0); err != nil {
			return err
		}
		calls++
	}
	b.add("I5", "sequential calls", time.Since(began).Seconds()*1e6/float64(calls), "µs each")
	return nil
}

// interleaved measures two functions alternately, since a machine's speed varies, and returns the calls per second of each, as if all
// callers called only that one.
func interleaved(ctx context.Context, duration time.Duration, callers int, functions ...func(context.Context, int) error) (first, second float64, err error) {
	const each = 16 // calls of one function before the other
	var spent [2]atomic.Int64
	var done [2]atomic.Int64
	_, err = rate(ctx, duration, callers, each, func(ctx context.Context, caller int) error {
		for i, do := range functions {
			began := time.Now()
			for range each {
				if err := do(ctx, caller); err != nil {
					return err
				}
			}
			spent[i].Add(int64(time.Since(began)))
			done[i].Add(each)
		}
		return nil
	})
	perSecond := func(i int) float64 {
		return float64(done[i].Load()) * float64(callers) / time.Duration(spent[i].Load()).Seconds()
	}
	return perSecond(0), perSecond(1), err
}
