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
	Kill       = "kill"        // a node, as kill -9 does; it starts again
	KillSoon   = "kill-soon"   // again while it starts
	KillAll    = "kill-all"    // all nodes at once
	Stop       = "stop"        // a node, as an operator does
	Rolling    = "rolling"     // all nodes, one after the other
	Pause      = "pause"       // a node is held, and goes on
	Alone      = "alone"       // a node is cut off from the other nodes
	Deaf       = "deaf"        // a node hears nothing of the other nodes, which hear it
	Mute       = "mute"        // the other nodes hear nothing of a node, which hears them
	NoBase     = "no-base"     // a node is cut off from PostgreSQL
	NoPeople   = "no-people"   // a node is cut off from clients
	DeafBase   = "deaf-base"   // a node hears nothing of PostgreSQL, which hears it
	MuteBase   = "mute-base"   // PostgreSQL hears nothing of a node, which hears it
	DeafPeople = "deaf-people" // a node hears nothing of clients
	MutePeople = "mute-people" // clients hear nothing of a node
	Cut        = "cut"         // a node is cut off from all
	Slow       = "slow"        // a node's ways are slow, shaky and narrow
	Lossy      = "lossy"       // some of what comes to a node, and of what it sends, is lost
	Resets     = "resets"      // all connections of clients and between nodes are reset, several times
	Clock      = "clock"       // a node's clock jumps, and jumps back

	BaseCrash   = "postgres-crash"    // the primary is killed, and starts again
	BasePause   = "postgres-pause"    // the primary is held, and goes on
	BaseSlow    = "postgres-slow"     // its commits are slow
	BaseDisk    = "postgres-disk"     // its disk takes few writes in a second
	Failover    = "postgres-failover" // it is killed, and the standby promoted
	FailoverOff = "postgres-takeover" // it is held, and the standby promoted
	Vanish      = "postgres-vanish"   // no packet reaches it, or leaves it; the standby is promoted; and then it is there again
	NoStandby   = "postgres-alone"    // the standby is killed; commits wait, then go on without it
)

// Fault to come.
type Fault struct {
	// At is when, from the beginning of the faults; it may come later, where those before it last.
	At   time.Duration
	Kind string
	// Node by number, where it is one's, or the server of an engine; else 0.
	Node int
	// For so long.
	For time.Duration
	// Much of it: for clocks and delays.
	Much time.Duration
	// Share that is lost.
	Share float64
}

// text is what records and reports say: "kill n2 for 3s".
func (f Fault) text(nodes []*Node) string {
	s := f.Kind
	if onNode(f.Kind) {
		s += " " + nodes[f.Node].Name
	} else if onCopy(f.Kind) {
		s += fmt.Sprintf(" %d", f.Node+1)
	}
	if f.Much != 0 {
		s += " by " + f.Much.String()
	}
	if f.Share != 0 {
		s += fmt.Sprintf(" of %.3g in 100", 100*f.Share)
	}
	return s + " for " + f.For.String()
}

// kinds with how often they come, of those that a cluster of so many nodes with some engines can suffer.
func kinds(nodes int, engines []string) (list []string) {
	often := map[string]int{Kill: 4, KillSoon: 1, KillAll: 1, Stop: 2, Pause: 3, NoBase: 2, DeafBase: 1, MuteBase: 1, NoPeople: 2, DeafPeople: 1, MutePeople: 1, Slow: 2, Lossy: 2, Resets: 2, Clock: 2,
		BaseCrash: 2, BasePause: 2, BaseSlow: 1, BaseDisk: 2, Failover: 2, FailoverOff: 1, Vanish: 2, NoStandby: 1}
	if nodes > 1 {
		for k, n := range map[string]int{Rolling: 1, Alone: 3, Deaf: 2, Mute: 2, Cut: 2} {
			often[k] = n
		}
	}
	maps.Copy(often, ofEngines(engines))
	for k, n := range often {
		for range n {
			list = append(list, k)
		}
	}
	slices.Sort(list)
	return list
}

// onNode tells whether a kind is one node's.
func onNode(kind string) bool {
	return slices.Contains([]string{Kill, KillSoon, Stop, Pause, Alone, Deaf, Mute, NoBase, DeafBase, MuteBase, NoPeople, DeafPeople, MutePeople, Cut, Slow, Lossy, Clock, NATSWay}, kind)
}

// onBase tells whether a kind is PostgreSQL's.
func onBase(kind string) bool {
	return slices.Contains([]string{BaseCrash, BasePause, BaseSlow, BaseDisk, Failover, FailoverOff, Vanish, NoStandby}, kind)
}

// Plan of faults.
type Plan struct {
	Seed  uint64
	Nodes int
	// Engines that the cluster has besides PostgreSQL.
	Engines []string
	// Over so long.
	Over time.Duration
	// Every so often, from half to one and a half of it after the one before has ended; Longest is how long one lasts at most.
	Every, Longest time.Duration
	// Only these kinds; none: all that there are.
	Only []string
	// Mixed: rolling restarts exchange builds, and come more often.
	Mixed bool
}

// Quiet is how long nothing happens, at least once in every five minutes.
const (
	quietEvery = 5 * time.Minute
	quietTime  = 20 * time.Second
)

// Schedule gives the faults of a plan, the same for the same plan, in order. A quarter of the time two begin together; one of them is
// never on what the other is on. Long enough ones have those of duties, alone.
func Schedule(p Plan) (list []Fault) {
	rng := rand.New(rand.NewPCG(p.Seed, 0x6e656d65736973))
	all := kinds(p.Nodes, p.Engines)
	if len(p.Only) > 0 {
		all = p.Only
	}
	duties := p.duties(rand.New(rand.NewPCG(p.Seed, 0x647574696573)))
	rested := time.Duration(0)
	for t := between(rng, p.Every/2, 3*p.Every/2); ; {
		if t-rested > quietEvery-quietTime-max(p.Longest, downFor+downMore) {
			t += quietTime
			rested = t
		}
		if len(duties) > 0 && (duties[0].At <= t || p.Over-t < 2*p.Longest+downFor+downMore) {
			f := duties[0]
			duties, f.At = duties[1:], t
			if t += f.For + between(rng, p.Every/2, 3*p.Every/2); f.At+f.For <= p.Over {
				list = append(list, f)
			}
			continue
		}
		f := p.one(rng, all, t)
		if f.At+f.For > p.Over {
			return list
		}
		list = append(list, f)
		end := f.At + f.For
		if rng.IntN(4) == 0 {
			for range 10 { // until one is found that goes with it
				g := p.one(rng, all, t)
				if g.beside(f) && g.At+g.For <= p.Over {
					list, end = append(list, g), max(end, g.At+g.For)
					break
				}
			}
		}
		t = end + between(rng, p.Every/2, 3*p.Every/2)
	}
}

func between(rng *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(rng.Int64N(int64(to-from)))
}

func (p Plan) one(rng *rand.Rand, all []string, t time.Duration) Fault {
	f := Fault{At: t, Kind: all[rng.IntN(len(all))], For: between(rng, p.Longest/10, p.Longest).Round(10 * time.Millisecond)}
	if onNode(f.Kind) {
		f.Node = rng.IntN(p.Nodes)
	} else if onCopy(f.Kind) {
		f.Node = rng.IntN(copies)
	}
	switch f.Kind {
	case Clock:
		much := []time.Duration{500 * time.Millisecond, 5 * time.Second, time.Minute, time.Hour}
		f.Much = much[rng.IntN(len(much))]
		if rng.IntN(2) == 0 {
			f.Much = -f.Much
		}
	case Slow, S3Slow:
		f.Much = between(rng, 10*time.Millisecond, 300*time.Millisecond).Round(time.Millisecond)
	case Lossy:
		f.Share = float64(1+rng.IntN(5)) / 100
	case BaseSlow:
		f.Much = between(rng, 10*time.Millisecond, 100*time.Millisecond).Round(time.Millisecond)
	}
	return f
}

// beside tells whether two may be at once: they must be on different things.
func (f Fault) beside(g Fault) bool {
	if e := onEngine(f.Kind); e != "" && e == onEngine(g.Kind) {
		return false
	}
	if onNode(f.Kind) && onNode(g.Kind) {
		return f.Node != g.Node
	}
	for _, k := range []string{f.Kind, g.Kind} {
		if onWaysToBase(k) && (f.Kind == Vanish || g.Kind == Vanish) { // the same ways
			return false
		}
	}
	return on(f.Kind) != "" && on(g.Kind) != "" && on(f.Kind) != on(g.Kind)
}

// onWaysToBase tells whether a kind is on those of a node.
func onWaysToBase(kind string) bool {
	return slices.Contains([]string{NoBase, DeafBase, MuteBase, Cut, Slow, Lossy}, kind)
}

// on tells what a kind is on; "" is all.
func on(kind string) string {
	switch {
	case onNode(kind):
		return "node"
	case onBase(kind):
		return "postgres"
	}
	return onEngine(kind)
}

// together gives faults in groups that begin at once, in order.
func together(list []Fault) (groups [][]Fault) {
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
	return fmt.Sprintf("%v %s node %d for %v by %v, %v", f.At.Round(time.Millisecond), f.Kind, f.Node+1, f.For, f.Much, f.Share)
}
