package ids_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rialto-im/rialto/sdk/go/ids"
)

func ExampleNewSnowflakes() {
	g, err := ids.NewSnowflakes(ids.Config{Worker: 37}) // one for the process
	if err != nil {
		fmt.Println(err)
		return
	}
	first, err := g.Next(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	second, err := g.Next(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := ids.ParseSnowflake(second)
	fmt.Println(first < second, p.Datacenter, p.Worker, err)
	// Output: true 1 5 <nil>
}

// After a restart, ids go on after the last one that is known, whatever the clock does.
func ExampleNewSnowflakes_restart() {
	const largestInTable = 249858855004012544
	last, err := ids.ParseSnowflake(largestInTable)
	if err != nil {
		fmt.Println(err)
		return
	}
	clock := func() time.Time { return last.Time.Add(-time.Minute) } // it stepped back
	g, err := ids.NewSnowflakes(ids.Config{Worker: 0, After: last.Time, Now: clock})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = g.Next(context.Background())
	fmt.Println(err)
	// Output: ids: the clock is behind the last id by 1m0s; wait until it has caught up
}

func ExampleNewSonyflakes() {
	g, err := ids.NewSonyflakes(ids.Config{Worker: 54_321})
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := g.Next(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := ids.ParseSonyflake(v)
	fmt.Println(p.Machine, err)
	// Output: 54321 <nil>
}

// Ids of 53 bits, which JavaScript's numbers hold: seconds since 2025 until 2160, 64 workers, 32,768 ids a second each.
func ExampleNewFlakes() {
	layout := ids.Layout{Epoch: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), Unit: time.Second, TimeBits: 32, WorkerBits: 6, SequenceBits: 15}
	g, err := ids.NewFlakes(layout, ids.Config{Worker: 63})
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := g.Next(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := layout.Parse(v)
	fmt.Println(v < 1<<53, p.Worker, err)
	// Output: true 63 <nil>
}

func ExampleNewReadables() {
	g, err := ids.NewReadables(16, ids.Config{Worker: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	const conversation, group = 249858855004012544, 2
	v, err := g.Next(context.Background(), group, conversation)
	if err != nil {
		fmt.Println(err)
		return
	}
	back, err := ids.ParseReadable(v.String())
	fmt.Println(len(v.String()), back == v, v.Type(), v.Spin()>>8, err)
	// Output: 19 true 2 3 <nil>
}

// A worker id that several processes share in turn: whoever holds it stores, before it makes ids, up to which time it may.
func ExampleNewLease() {
	var mu sync.Mutex                      // in a database: a transaction
	var stored = time.UnixMilli(ids.Epoch) // the row of the worker id 7
	var lease *ids.Lease
	lease, err := ids.NewLease(ids.SnowflakeLayout(), func(ctx context.Context, until time.Time) error {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		from, to := stored, now.Add(3*time.Second)
		if from.Before(now) {
			from = now
		}
		if to.Before(until.Add(time.Second)) {
			to = until.Add(time.Second)
		}
		stored = to // compare and set: a process that reads another time than it stored has lost the worker id
		return lease.Grant(7, from, now, to)
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	g := ids.LeasedFlakes(lease, nil)
	v, err := g.Next(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := ids.ParseSnowflake(v)
	fmt.Println(p.Worker, p.Time.Before(stored), err)
	// Output: 7 true <nil>
}

func ExampleNewUUIDv7() {
	g := ids.NewUUIDv7(nil)
	first, err := g.Next()
	if err != nil {
		fmt.Println(err)
		return
	}
	second, err := g.Next()
	fmt.Println(len(first.String()), first.String() < second.String(), err)
	// Output: 36 true <nil>
}

func ExampleNewULIDs() {
	g := ids.NewULIDs(nil)
	v, err := g.Next()
	if err != nil {
		fmt.Println(err)
		return
	}
	back, p, err := ids.ParseULID(v.String())
	fmt.Println(len(v.String()), back == v, time.Since(p.Time) < time.Hour, err)
	// Output: 26 true true <nil>
}

func ExampleParseSnowflake() {
	p, err := ids.ParseSnowflake(249858855004012544)
	fmt.Println(p.Time.Format(time.RFC3339), p.Datacenter, p.Worker, p.Sequence, err)
	// Output: 2026-11-21T11:29:53Z 0 0 0 <nil>
}

func ExampleParseReadable() {
	v, err := ids.ParseReadable("F3ZM-VZDF-A226-2222")
	fmt.Println(v.Time().UTC().Format(time.RFC3339), v, err)
	_, err = ids.ParseReadable("F3ZM-VZDF-A226-222O")
	fmt.Println(err)
	// Output:
	// 2026-11-21T07:17:51Z F3ZM-VZDF-A226-2222 <nil>
	// character 19 of a readable id is 'O', not one of 23456789ABCDEFGHJKLMNPQRSTUVWXYZ
}
