// Command runchaos injects faults into a cluster, and checks afterwards that no guarantee was violated:
//
//	go run ./internal/tool/chaos/runchaos --seed 1 --for 3m --dir chaos-report
//
// It exits 0 if all rules hold, 1 if one is violated or could not be checked, 2 if the run could not be carried out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rialto-im/rialto/internal/tool/chaos"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	fs := flag.NewFlagSet("runchaos", flag.ContinueOnError)
	var c chaos.Config
	fs.StringVar(&c.Dir, "dir", "chaos-report", "`folder` of the report")
	fs.StringVar(&c.Binary, "binary", "", "`path` of a server that was built with -tags faults (by default it is built from this source)")
	fs.StringVar(&c.Older, "older", "", "`path` of an older server, also built with -tags faults: nodes start with it, and rolling restarts upgrade them and downgrade them again for as long as the cluster accepts it")
	fs.Uint64Var(&c.Seed, "seed", 1, "`seed` of the schedule and of the users' actions")
	fs.IntVar(&c.Nodes, "nodes", 3, "`number` of nodes")
	fs.DurationVar(&c.Over, "for", 3*time.Minute, "duration of the fault phase")
	fs.DurationVar(&c.Every, "every", 15*time.Second, "mean time between faults")
	fs.DurationVar(&c.Longest, "longest", 30*time.Second, "maximum duration of a fault")
	fs.DurationVar(&c.WarmUp, "calm", 10*time.Second, "duration of the load before the faults; after them the load continues for four times as long")
	fs.Float64Var(&c.Rate, "rate", 1, "`factor` of the users' activity: 1 is about 60 messages a second")
	fs.DurationVar(&c.BaselineLatency, "noise", 750*time.Millisecond, "latency of a receipt on this machine without any fault; INV18 accepts receipts up to this latency")
	fs.StringVar(&c.Network, "network", chaos.Auto, "`network` between the parts: proxies, namespaces (needs root on Linux; packets are dropped), or auto (namespaces where they are permitted)")
	engines := fs.String("engines", "", "`engines` besides PostgreSQL, separated by commas; their faults are injected too: cassandra (three nodes, which store the timelines), nats (three servers, instead of those embedded in the nodes), s3 (stores the files; users send some)")
	fs.Func("set", "additional `setting` of the nodes, such as gateway.drain_over=5s; may be repeated", func(s string) error {
		c.Settings = append(c.Settings, s)
		return nil
	})
	roles := fs.String("roles", "", "`roles` of the nodes, which are separated by commas, and the roles of one by +: gateway,gateway,api+worker,api+worker; edges come last. mixed: --nodes nodes with roles that the seed chooses, and two edges. Needs --engines s3")
	only := fs.String("only", "", "inject only these `kinds` of faults, separated by commas")
	judge := fs.String("judge", "", "check the recording of an earlier run in this `folder` again, and run nothing")
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil || fs.NArg() > 0 {
		return 2
	}
	if *judge != "" {
		return recheck(*judge)
	}
	if *engines != "" {
		c.Engines = strings.Split(*engines, ",")
	}
	if *only != "" {
		c.Only = strings.Split(*only, ",")
	}
	if err := setLayout(&c, *roles); err != nil {
		fmt.Fprintln(os.Stderr, "runchaos:", err)
		return 2
	}
	start := time.Now()
	c.Progress = func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "[%6.1fs] %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := chaos.Run(ctx, c)
	if r != nil {
		printVerdicts(r.Verdicts)
		fmt.Println("report:", filepath.Join(c.Dir, "report.html"))
	}
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "runchaos:", err)
		return 2
	case !r.Passed():
		fmt.Println("not all rules hold; to repeat:", r.Replay())
		return 1
	}
	return 0
}

// setLayout gives the nodes their roles.
func setLayout(c *chaos.Config, roles string) (err error) {
	switch roles {
	case "":
		return nil
	case "mixed":
		c.Layout, err = chaos.MixedLayout(c.Seed, c.Nodes)
	default:
		c.Layout, err = chaos.ParseLayout(roles)
	}
	if err == nil && !slices.Contains(c.Engines, chaos.WithS3) {
		err = errors.New("--roles: nodes with different roles share files in S3: add --engines s3")
	}
	return err
}

// recheck checks the recording of an earlier run again.
func recheck(dir string) int {
	list, err := chaos.Recheck(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "runchaos:", err)
		return 2
	}
	printVerdicts(list)
	for _, v := range list {
		if v.State == chaos.Violated || v.State == chaos.Unknown {
			return 1
		}
	}
	return 0
}

func printVerdicts(list []chaos.Verdict) {
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
