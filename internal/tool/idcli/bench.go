package idcli

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/rialto-im/rialto/internal/tool/apiclient"
)

const benchAbout = `bench measures the throughput and the cost of ids. Without --url it runs in this process, with a new directory that it removes afterwards.
With --url and --key it measures a running server over the network. The rows are: I1 snowflakes, I2 segments, I3 sequences, I4 text ids,
I5 the network, I6 a restart.
`

// callers is the number of goroutines that request ids in this process.
const callers = 8

// row is one row of the result.
type row struct {
	Row   string  `json:"row"`
	What  string  `json:"what"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// bench collects the rows.
type bench struct {
	progress io.Writer
	duration time.Duration
	keys     uint64 // number of keys of sequences at a restart
	rows     []row
}

func (c *command) bench(ctx context.Context, args []string) int {
	c.name = "rialto id bench"
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	c.server(fs)
	b := &bench{progress: c.errOut}
	fs.DurationVar(&b.duration, "duration", 3*time.Second, "how `long` to measure each row")
	fs.Uint64Var(&b.keys, "keys", 10_000_000, "`number` of keys of sequences at a restart")
	connections := fs.Int("connections", 64, "`number` of connections with --url")
	asJSON := fs.Bool("json", false, "print the result as JSON")
	if _, code, ok := c.parse(fs, args, "[flags]", benchAbout, 0); !ok {
		return code
	}
	if b.duration <= 0 || b.keys < 1 || *connections < 1 || *connections > 1024 {
		fmt.Fprintf(c.errOut, "%s: --duration and --keys must be more than 0, and --connections 1 to 1,024\n", c.name)
		return 2
	}
	measure := func() error { return b.local(ctx) }
	if c.remote.URL != "" {
		measure = func() error {
			client, err := apiclient.New(c.remote)
			if err != nil {
				return err
			}
			return b.network(ctx, client, *connections)
		}
	}
	return c.report(func() error {
		if err := measure(); err != nil {
			return err
		}
		if *asJSON {
			return json.NewEncoder(c.out).Encode(map[string]any{"rows": b.rows})
		}
		w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', tabwriter.AlignRight)
		for _, r := range b.rows {
			fmt.Fprintf(w, "%s\t%s\t %s %s\n", r.Row, r.What, figure(r.Value), r.Unit)
		}
		return w.Flush()
	}())
}

// figure formats a number with its significant digits.
func figure(v float64) string {
	switch {
	case v >= 1000:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

func (b *bench) say(what string) { fmt.Fprintln(b.progress, "measuring", what, "…") }

func (b *bench) add(name, what string, value float64, unit string) {
	b.rows = append(b.rows, row{name, what, value, unit})
}

// rate calls do from several callers for the duration of the bench, and returns the ids per second. Each call returns the given number of ids.
func (b *bench) rate(ctx context.Context, callers, ids int, do func(ctx context.Context, caller int) error) (float64, error) {
	return rate(ctx, b.duration, callers, ids, do)
}

func rate(ctx context.Context, duration time.Duration, callers, ids int, do func(ctx context.Context, caller int) error) (float64, error) {
	const clockInterval = 64 // calls between two reads of the clock, because a call is fast
	var done atomic.Uint64
	var failed atomic.Pointer[error]
	var wait sync.WaitGroup
	began := time.Now()
	for caller := range callers {
		wait.Go(func() {
			for once := true; once || time.Since(began) < duration && failed.Load() == nil; once = false {
				n := 1
				if ids == 1 {
					n = clockInterval
				}
				for range n {
					if err := do(ctx, caller); err != nil {
						failed.Store(&err)
						return
					}
				}
				done.Add(uint64(n * ids))
			}
		})
	}
	wait.Wait()
	took := time.Since(began)
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return float64(done.Load()) / took.Seconds(), nil
}
