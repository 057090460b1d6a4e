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
)

const benchAbout = `bench measures how many ids come, and what they cost: in this process, on records in a new directory that is removed afterwards; or
with --url and --key over the network, on a running server. I1 are snowflakes, I2 segments, I3 sequences, I4 ids as texts, I5 the network,
I6 a restart.
`

// askers at once, in this process.
const askers = 8

// row of the result.
type row struct {
	Row   string  `json:"row"`
	What  string  `json:"what"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// bench gathers rows.
type bench struct {
	progress io.Writer
	duration time.Duration
	keys     uint64 // of sequences, at a restart
	rows     []row
}

func (c *command) bench(ctx context.Context, args []string) int {
	c.name = "rialto id bench"
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	c.server(fs)
	b := &bench{progress: c.errOut}
	fs.DurationVar(&b.duration, "duration", 3*time.Second, "how `long` to measure each row")
	fs.Uint64Var(&b.keys, "keys", 10_000_000, "how `many` keys sequences have at a restart")
	connections := fs.Int("connections", 64, "how `many` connections, over the network")
	asJSON := fs.Bool("json", false, "print the result as JSON")
	if _, code, ok := c.parse(fs, args, "[flags]", benchAbout, 0); !ok {
		return code
	}
	if b.duration <= 0 || b.keys < 1 || *connections < 1 || *connections > 1024 {
		fmt.Fprintf(c.errOut, "%s: --duration and --keys are more than 0, and --connections 1 to 1,024\n", c.name)
		return 2
	}
	measure := func() error { return b.local(ctx) }
	if c.url != "" {
		measure = func() error {
			client, err := c.client()
			if err != nil {
				return err
			}
			return b.network(ctx, client, *connections)
		}
	}
	return c.said(func() error {
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

// figure is a number with as many places as say something.
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

// rate has callers do a thing, which gives so many ids at a time, for the bench's time, and says how many ids came in a second.
func (b *bench) rate(ctx context.Context, callers, ids int, do func(ctx context.Context, caller int) error) (float64, error) {
	return rate(ctx, b.duration, callers, ids, do)
}

func rate(ctx context.Context, duration time.Duration, callers, ids int, do func(ctx context.Context, caller int) error) (float64, error) {
	const look = 64 // deeds between looks at the clock; they are quick
	var done atomic.Uint64
	var failed atomic.Pointer[error]
	var wait sync.WaitGroup
	began := time.Now()
	for caller := range callers {
		wait.Go(func() {
			for once := true; once || time.Since(began) < duration && failed.Load() == nil; once = false {
				n := 1
				if ids == 1 {
					n = look
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
