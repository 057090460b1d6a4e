package simulator

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/progress"
)

// Main runs runsimulation, and returns its exit code.
func Main(args []string, out, errOut io.Writer) int {
	config := Config{}
	fs := flag.NewFlagSet("runsimulation", flag.ContinueOnError)
	fs.SetOutput(errOut)
	fs.IntVar(&config.Nodes, "nodes", 1000, "`number` of nodes, 3 to 5,000")
	fs.IntVar(&config.Zones, "zones", 10, "`number` of zones, whose nodes fail together")
	fs.IntVar(&config.Clients, "clients", 5_000_000, "`number` of clients of all nodes")
	fs.Uint64Var(&config.Seed, "seed", 0, "`number` that determines the run; 0 means a random one, which is printed")
	fs.DurationVar(&config.Duration, "duration", time.Hour, "virtual `time`, at least 5m")
	faults := fs.String("faults", "all", "`kinds` of faults to inject, separated by commas: "+strings.Join(FaultKinds(), ", ")+"; or all, or none")
	fs.DurationVar(&config.HeartbeatInterval, "heartbeat-interval", time.Second, "cluster.heartbeat_interval of the nodes")
	fs.DurationVar(&config.NodeTimeout, "node-timeout", 5*time.Second, "cluster.node_timeout of the nodes")
	format := fs.String("o", "text", "`format` of the result: text or json")
	switch err := fs.Parse(args); {
	case err == flag.ErrHelp:
		return 0
	case err != nil:
		return 2
	}
	if err := config.complete(*faults, fs.Args(), *format); err != nil {
		fmt.Fprintf(errOut, "runsimulation: %v\n", err)
		return 2
	}
	// Nodes share little garbage that lives long; collecting it less often saves a third of the time.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	lines := progress.New(errOut)
	began := time.Now()
	lines.Say("seed %d", config.Seed)
	step := lines.Step("simulate")
	r := Run(config, func(share float64) { step.At(share, "") })
	step.End()
	r.RealS = time.Since(began).Seconds()
	if *format == "json" {
		text, err := json.Marshal(r)
		if err != nil {
			fmt.Fprintf(errOut, "runsimulation: %v\n", err)
			return 1
		}
		fmt.Fprintf(out, "%s\n", text)
	} else {
		r.Print(out)
	}
	if r.Violation != nil {
		return 1
	}
	return 0
}

// complete checks the flags, and fills in what follows from them.
func (c *Config) complete(faults string, rest []string, format string) error {
	switch faults {
	case "all":
		c.Faults = FaultKinds()
	case "none":
	default:
		for k := range strings.SplitSeq(faults, ",") {
			if !slices.Contains(FaultKinds(), k) {
				return fmt.Errorf("--faults: there is no fault %q; write all, none, or some of %s", k, strings.Join(FaultKinds(), ","))
			}
			c.Faults = append(c.Faults, k)
		}
	}
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case c.Nodes < 3 || c.Nodes > 5000 || c.Zones < 2 || c.Zones > c.Nodes:
		return fmt.Errorf("--nodes is 3 to 5,000, and --zones 2 to the number of nodes")
	case c.Clients < 1 || c.Clients > c.Nodes*capacity/2:
		return fmt.Errorf("--clients is 1 to %d, half of what %d nodes hold", c.Nodes*capacity/2, c.Nodes)
	case c.Duration < 5*time.Minute:
		return fmt.Errorf("--duration is at least 5m")
	case c.HeartbeatInterval < 100*time.Millisecond || c.NodeTimeout < 4*c.HeartbeatInterval || c.NodeTimeout > 10*time.Second:
		return fmt.Errorf("--heartbeat-interval is at least 100ms, and --node-timeout four times that to 10s")
	case format != "text" && format != "json":
		return fmt.Errorf("-o is text or json")
	}
	for c.Seed == 0 {
		c.Seed = uint64(rand.Uint32())
	}
	return nil
}
