package chaos

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// Kinds of faults.
const (
	Kill                 = "kill"                 // kills a node with SIGKILL and starts it again
	KillDuringStart      = "kill-during-start"    // kills a node repeatedly while it starts
	KillAll              = "kill-all"             // kills all nodes at once
	Stop                 = "stop"                 // stops a node with SIGTERM and starts it again
	Rolling              = "rolling"              // restarts all nodes, one after the other
	Pause                = "pause"                // suspends a node with SIGSTOP for a while
	Isolated             = "isolate"              // a node is partitioned from the other nodes
	InboundLost          = "no-inbound"           // a node receives nothing from the other nodes; they receive what it sends
	OutboundLost         = "no-outbound"          // the other nodes receive nothing from a node; it receives what they send
	PostgresUnreachable  = "no-postgres"          // a node is partitioned from PostgreSQL
	ClientsUnreachable   = "no-clients"           // a node is partitioned from clients
	PostgresInboundLost  = "no-inbound-postgres"  // a node receives nothing from PostgreSQL, which receives what it sends
	PostgresOutboundLost = "no-outbound-postgres" // PostgreSQL receives nothing from a node, which receives what it sends
	ClientsInboundLost   = "no-inbound-clients"   // a node receives nothing from clients
	ClientsOutboundLost  = "no-outbound-clients"  // clients receive nothing from a node
	IsolatedFromAll      = "isolate-all"          // a node is partitioned from everything
	Slow                 = "slow"                 // a node's links have delay, jitter and low bandwidth
	Lossy                = "lossy"                // a share of the packets to and from a node is lost
	Resets               = "resets"               // all connections of clients and between nodes are reset, repeatedly
	Clock                = "clock"                // a node's clock jumps, and jumps back

	PostgresCrash              = "postgres-crash"           // the primary is killed, and starts again
	PostgresPause              = "postgres-pause"           // the primary is suspended for a while
	PostgresSlow               = "postgres-slow"            // the primary commits slowly
	PostgresSlowDisk           = "postgres-disk"            // the primary's disk has few writes per second
	Failover                   = "postgres-failover"        // the primary is killed and the standby promoted
	FailoverWhilePaused        = "postgres-failover-paused" // the primary is suspended and the standby promoted
	PostgresUnreachablePrimary = "postgres-unreachable"     // the primary is partitioned from everything, the standby is promoted, and the partition heals
	NoStandby                  = "postgres-no-standby"      // the standby is killed; commits wait, then go on without it
)

// Fault is a scheduled fault.
type Fault struct {
	// At is the planned start, from the beginning of the fault phase. The fault starts later if earlier ones are still active.
	At   time.Duration
	Kind string
	// Node is the number of the node or of the engine's server, otherwise 0.
	Node int
	// Duration of the fault.
	Duration time.Duration
	// Amount of a clock jump or a delay.
	Amount time.Duration
	// Share of lost packets, and the seed that selects them.
	Share float64
	Seed  uint64
}

// text describes the fault in histories and reports: "kill n2 for 3s".
func (f Fault) text(nodes []*Node) string {
	s := f.Kind
	if onNode(f.Kind) {
		s += " " + nodes[f.Node].Name
	} else if onEngineServer(f.Kind) {
		s += fmt.Sprintf(" %d", f.Node+1)
	}
	if f.Amount != 0 {
		s += " by " + f.Amount.String()
	}
	if f.Share != 0 {
		s += fmt.Sprintf(" of %.3g in 100", 100*f.Share)
	}
	return s + " for " + f.Duration.String()
}

// kinds returns the kinds of faults for a cluster with a number of nodes and some engines. A kind appears as often as its weight.
func kinds(nodes int, engines []string) (list []string) {
	often := map[string]int{Kill: 4, KillDuringStart: 1, KillAll: 1, Stop: 2, Pause: 3, PostgresUnreachable: 2, PostgresInboundLost: 1, PostgresOutboundLost: 1, ClientsUnreachable: 2, ClientsInboundLost: 1, ClientsOutboundLost: 1, Slow: 2, Lossy: 2, Resets: 2, Clock: 2,
		PostgresCrash: 2, PostgresPause: 2, PostgresSlow: 1, PostgresSlowDisk: 2, Failover: 2, FailoverWhilePaused: 1, PostgresUnreachablePrimary: 2, NoStandby: 1}
	if nodes > 1 {
		for k, n := range map[string]int{Rolling: 1, Isolated: 3, InboundLost: 2, OutboundLost: 2, IsolatedFromAll: 2} {
			often[k] = n
		}
	}
	maps.Copy(often, engineWeights(engines))
	for k, n := range often {
		for range n {
			list = append(list, k)
		}
	}
	slices.Sort(list)
	return list
}

// onNode reports whether a kind affects a single node.
func onNode(kind string) bool {
	return slices.Contains([]string{Kill, KillDuringStart, Stop, Pause, Isolated, InboundLost, OutboundLost, PostgresUnreachable, PostgresInboundLost, PostgresOutboundLost, ClientsUnreachable, ClientsInboundLost, ClientsOutboundLost, IsolatedFromAll, Slow, Lossy, Clock, NATSLinkLost}, kind)
}

// onPostgres reports whether a kind affects PostgreSQL.
func onPostgres(kind string) bool {
	return slices.Contains([]string{PostgresCrash, PostgresPause, PostgresSlow, PostgresSlowDisk, Failover, FailoverWhilePaused, PostgresUnreachablePrimary, NoStandby}, kind)
}

// Plan parametrizes a schedule.
type Plan struct {
	Seed  uint64
	Nodes int
	// Engines that the cluster has besides PostgreSQL.
	Engines []string
	// Duration of the fault phase.
	Duration time.Duration
	// Every is the mean pause after a fault; pauses are from half to one and a half of it. Longest bounds the duration of a fault.
	Every, Longest time.Duration
	// Only restricts the kinds. If empty, all kinds are used.
	Only []string
	// Mixed: rolling restarts exchange builds and are more frequent.
	Mixed bool
}

// At least once in every quietEvery there are no faults for quietTime.
const (
	quietEvery = 5 * time.Minute
	quietTime  = 20 * time.Second
)

// Schedule returns the faults of a plan in order. It is deterministic. In a quarter of the cases two faults on different targets begin
// together. Long schedules include the mandatory faults, each without another fault.
func Schedule(p Plan) (list []Fault) {
	rng := rand.New(rand.NewPCG(p.Seed, 0x6e656d65736973))
	all := kinds(p.Nodes, p.Engines)
	if len(p.Only) > 0 {
		all = p.Only
	}
	duties := p.mandatoryFaults(rand.New(rand.NewPCG(p.Seed, 0x647574696573)))
	rested := time.Duration(0)
	for t := randomDuration(rng, p.Every/2, 3*p.Every/2); ; {
		if t-rested > quietEvery-quietTime-max(p.Longest, downFor+downMore) {
			t += quietTime
			rested = t
		}
		if len(duties) > 0 && (duties[0].At <= t || p.Duration-t < 2*p.Longest+downFor+downMore) {
			f := duties[0]
			duties, f.At = duties[1:], t
			if t += f.Duration + randomDuration(rng, p.Every/2, 3*p.Every/2); f.At+f.Duration <= p.Duration {
				list = append(list, f)
			}
			continue
		}
		f := p.randomFault(rng, all, t)
		if f.At+f.Duration > p.Duration {
			return list
		}
		list = append(list, f)
		end := f.At + f.Duration
		if rng.IntN(4) == 0 {
			for range 10 { // until a compatible one is found
				g := p.randomFault(rng, all, t)
				if g.compatibleWith(f) && g.At+g.Duration <= p.Duration {
					list, end = append(list, g), max(end, g.At+g.Duration)
					break
				}
			}
		}
		t = end + randomDuration(rng, p.Every/2, 3*p.Every/2)
	}
}

func randomDuration(rng *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(rng.Int64N(int64(to-from)))
}

func (p Plan) randomFault(rng *rand.Rand, all []string, t time.Duration) Fault {
	f := Fault{At: t, Kind: all[rng.IntN(len(all))], Duration: randomDuration(rng, p.Longest/10, p.Longest).Round(10 * time.Millisecond)}
	if onNode(f.Kind) {
		f.Node = rng.IntN(p.Nodes)
	} else if onEngineServer(f.Kind) {
		f.Node = rng.IntN(copies)
	}
	switch f.Kind {
	case Clock:
		much := []time.Duration{500 * time.Millisecond, 5 * time.Second, time.Minute, time.Hour}
		f.Amount = much[rng.IntN(len(much))]
		if rng.IntN(2) == 0 {
			f.Amount = -f.Amount
		}
	case Slow, S3Slow:
		f.Amount = randomDuration(rng, 10*time.Millisecond, 300*time.Millisecond).Round(time.Millisecond)
	case Lossy:
		f.Share, f.Seed = float64(1+rng.IntN(5))/100, lossSeed(p.Seed, t, f.Node)
	case PostgresSlow:
		f.Amount = randomDuration(rng, 10*time.Millisecond, 100*time.Millisecond).Round(time.Millisecond)
	}
	return f
}

// compatibleWith reports whether two faults may be active at once: their targets must differ.
func (f Fault) compatibleWith(g Fault) bool {
	if e := onEngine(f.Kind); e != "" && e == onEngine(g.Kind) {
		return false
	}
	if onNode(f.Kind) && onNode(g.Kind) {
		return f.Node != g.Node
	}
	for _, k := range []string{f.Kind, g.Kind} {
		if onPostgresLinks(k) && (f.Kind == PostgresUnreachablePrimary || g.Kind == PostgresUnreachablePrimary) { // the same links
			return false
		}
	}
	return targetOf(f.Kind) != "" && targetOf(g.Kind) != "" && targetOf(f.Kind) != targetOf(g.Kind)
}

// onPostgresLinks reports whether a kind affects the links of a node to PostgreSQL.
func onPostgresLinks(kind string) bool {
	return slices.Contains([]string{PostgresUnreachable, PostgresInboundLost, PostgresOutboundLost, IsolatedFromAll, Slow, Lossy}, kind)
}

// targetOf returns the target of a kind; "" is everything.
func targetOf(kind string) string {
	switch {
	case onNode(kind):
		return "node"
	case onPostgres(kind):
		return "postgres"
	}
	return onEngine(kind)
}

// groupByTime groups faults that begin at the same time, in order.
func groupByTime(list []Fault) (groups [][]Fault) {
	slices.SortStableFunc(list, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
	for _, f := range list {
		if n := len(groups); n > 0 && groups[n-1][0].At == f.At {
			groups[n-1] = append(groups[n-1], f)
		} else {
			groups = append(groups, []Fault{f})
		}
	}
	return groups
}

// String is a line of a schedule.
func (f Fault) String() string {
	return fmt.Sprintf("%v %s node %d for %v by %v, %v", f.At.Round(time.Millisecond), f.Kind, f.Node+1, f.Duration, f.Amount, f.Share)
}
