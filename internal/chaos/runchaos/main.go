// Command runchaos breaks a cluster and says what that did to it:
//
//	go run ./internal/chaos/runchaos --seed 1 --for 3m --dir chaos-report
//
// It exits 0 when every promise held, 1 when one did not or could not be judged, 2 when the run could not be carried out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rialto-im/rialto/internal/chaos"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	fs := flag.NewFlagSet("runchaos", flag.ContinueOnError)
	var c chaos.Config
	fs.StringVar(&c.Dir, "dir", "chaos-report", "`folder` of the report")
	fs.StringVar(&c.Binary, "binary", "", "`path` of a server that was built with -tags faults; by default it is built")
	fs.StringVar(&c.Older, "older", "", "`path` of an older server, built likewise: nodes begin with it, and rolling restarts exchange it for the other, and back as long as it is let")
	fs.Uint64Var(&c.Seed, "seed", 1, "of the schedule, and of what users do")
	fs.IntVar(&c.Nodes, "nodes", 3, "of the cluster")
	fs.DurationVar(&c.Over, "for", 3*time.Minute, "how long faults happen")
	fs.DurationVar(&c.Every, "every", 15*time.Second, "the time between faults, about")
	fs.DurationVar(&c.Longest, "longest", 30*time.Second, "how long a fault lasts at most")
	fs.DurationVar(&c.Calm, "calm", 10*time.Second, "before the faults; four times that after them")
	fs.Float64Var(&c.Rate, "rate", 1, "of what users do: 1 is about 60 messages in a second")
	fs.DurationVar(&c.Noise, "noise", 750*time.Millisecond, "what a receipt may take on this machine without any fault: INV18 takes less for nothing")
	fs.StringVar(&c.Network, "network", chaos.Auto, "by which parts reach each other: `proxies`, namespaces (root on Linux, packets are dropped), or auto: namespaces where they are allowed")
	engines := fs.String("engines", "", "`engines` besides PostgreSQL, separated by commas, and their faults: cassandra (three nodes, which have the timelines), nats (three servers, instead of those in the nodes), s3 (the files, and users who send some)")
	fs.Func("set", "a `setting` more of the nodes, as gateway.drain_over=5s; again for more", func(s string) error {
		c.Settings = append(c.Settings, s)
		return nil
	})
	only := fs.String("only", "", "faults of these `kinds` alone, separated by commas")
	judge := fs.String("judge", "", "judge the record of an earlier run, in this `folder`, and run nothing")
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil || fs.NArg() > 0 {
		return 2
	}
	if *judge != "" {
		return again(*judge)
	}
	if *engines != "" {
		c.Engines = strings.Split(*engines, ",")
	}
	if *only != "" {
		c.Only = strings.Split(*only, ",")
	}
	start := time.Now()
	c.Say = func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "[%6.1fs] %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := chaos.Run(ctx, c)
	if r != nil {
		show(r.Verdicts)
		fmt.Println("report:", filepath.Join(c.Dir, "report.html"))
	}
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "runchaos:", err)
		return 2
	case !r.Sound():
		fmt.Println("not every promise held; again:", r.Replay())
		return 1
	}
	return 0
}

func again(dir string) int {
	list, err := chaos.Judge(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "runchaos:", err)
		return 2
	}
	show(list)
	for _, v := range list {
		if v.State == chaos.Violated || v.State == chaos.Unknown {
			return 1
		}
	}
	return 0
}

func show(list []chaos.Verdict) {
	for _, v := range list {
		fmt.Printf("%-8s %-11s %s: %s\n", v.Rule, v.State, v.Name, v.What)
		for _, f := range v.Found {
			fmt.Println("           ", f)
		}
		if v.More > 0 {
			fmt.Printf("            and %d more\n", v.More)
		}
	}
}
