package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// restartPause is the least pause between the nodes of a rolling restart.
const restartPause = 2 * time.Second

// nemesis injects the faults of a schedule.
type nemesis struct {
	cluster  *Cluster
	database *Postgres
	record   *Recorder
	progress func(format string, args ...any)

	// For runs with two builds:
	rollingRestarts int  // number of rolling restarts
	refused         bool // the cluster refuses the older build from now on
}

// run injects all faults in order. It returns after the last one, or when ctx ends. Active faults are healed in both cases, or there is
// an error.
func (n *nemesis) run(ctx context.Context, schedule []Fault) error {
	begin := time.Now()
	for _, group := range groupByTime(schedule) {
		if !pause(ctx, max(0, group[0].At-time.Since(begin))) {
			return nil
		}
		failed := make(chan error, len(group))
		for _, f := range group {
			go func() { failed <- n.injectAndRecord(ctx, f) }()
		}
		var errs []error
		for range group {
			errs = append(errs, <-failed)
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return nil
}

// injectAndRecord injects a fault, heals it and records both. It heals also after ctx has ended.
func (n *nemesis) injectAndRecord(ctx context.Context, f Fault) error {
	what := f.text(n.cluster.Nodes)
	n.progress("%s", what)
	e := n.record.Begin(Event{Proc: "nemesis", F: FFault, Text: what})
	err := n.inject(ctx, f)
	if err != nil {
		err = fmt.Errorf("%s: %w", what, err)
		e.Err = err.Error()
	}
	n.record.End(e, Ok)
	return err
}

func (n *nemesis) inject(ctx context.Context, f Fault) error {
	whole := context.WithoutCancel(ctx)
	if onPostgres(f.Kind) {
		whole, cancel := context.WithTimeout(whole, f.Duration+5*time.Minute)
		defer cancel()
		return n.injectPostgres(whole, f)
	}
	if onEngine(f.Kind) != "" {
		whole, cancel := context.WithTimeout(whole, f.Duration+5*time.Minute)
		defer cancel()
		return n.injectEngine(ctx, whole, f)
	}
	node := n.cluster.Nodes[f.Node]
	switch f.Kind {
	case Kill, KillDuringStart, KillAll, Stop, Rolling, Pause:
		return n.injectProcess(ctx, f, node)
	case Clock:
		return n.jumpClock(ctx, node, f)
	case Resets:
		return n.resetRepeatedly(ctx, f.Duration)
	}
	if n.cluster.namespaces != nil {
		heal, err := n.cluster.impairNamespace(f)
		if err != nil {
			return err
		}
		pause(ctx, f.Duration)
		return heal()
	}
	n.impairLinks(ctx, f, node)
	return nil
}

// injectProcess kills, stops or suspends one or all nodes, and then resumes them, even after ctx has ended.
func (n *nemesis) injectProcess(ctx context.Context, f Fault, node *Node) error {
	whole, c := context.WithoutCancel(ctx), n.cluster
	switch f.Kind {
	case Kill:
		node.process.Kill()
		pause(ctx, f.Duration)
		return c.Start(whole, node)
	case KillDuringStart:
		node.process.Kill()
		return n.killSoon(ctx, node, f)
	case KillAll:
		for _, x := range c.Nodes {
			x.process.Kill()
		}
		pause(ctx, f.Duration)
		for _, x := range c.Nodes {
			if err := c.Start(whole, x); err != nil {
				return err
			}
		}
		return nil
	case Stop:
		err := c.Stop(whole, node)
		pause(ctx, f.Duration)
		return errors.Join(err, c.Start(whole, node))
	case Rolling:
		return n.rollingRestart(ctx, f)
	}
	if err := node.process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	pause(ctx, f.Duration)
	return node.process.Signal(syscall.SIGCONT)
}

// rollingRestart restarts the nodes one after the other, with another build if the run has two.
func (n *nemesis) rollingRestart(ctx context.Context, f Fault) error {
	whole, c := context.WithoutCancel(ctx), n.cluster
	if c.builds[older] != "" {
		return n.upgradeAndDowngrade(ctx, f)
	}
	for _, x := range c.Nodes {
		e := n.record.Begin(Event{Proc: "nemesis", F: FRestart, Node: x.Name, Text: rolesText(x.roles)})
		if err := errors.Join(c.Stop(whole, x), c.Start(whole, x)); err != nil {
			return err
		}
		n.record.End(e, Ok)
		pause(ctx, max(restartPause, f.Duration/time.Duration(len(c.Nodes))))
	}
	return nil
}

// resetRepeatedly resets all connections once a second.
func (n *nemesis) resetRepeatedly(ctx context.Context, duration time.Duration) error {
	for end := time.Now().Add(duration); time.Now().Before(end); {
		if err := n.reset(); err != nil {
			return err
		}
		if !pause(ctx, time.Second) {
			break
		}
	}
	return nil
}

// killSoon starts a node and kills it before it is ready, repeatedly, and then lets it start.
func (n *nemesis) killSoon(ctx context.Context, node *Node, f Fault) error {
	for end := time.Now().Add(f.Duration); time.Now().Before(end) && ctx.Err() == nil; {
		early, cancel := context.WithTimeout(ctx, f.Duration/8)
		err := node.process.Start(early) // kills it when the time is up
		cancel()
		if err == nil {
			node.process.Kill()
		} else if !errors.Is(err, ErrNotReady) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return n.cluster.Start(context.WithoutCancel(ctx), node)
}

// reset closes all connections of clients and between nodes.
func (n *nemesis) reset() error {
	if n.cluster.namespaces != nil {
		return n.cluster.resetInNamespaces()
	}
	for i, node := range n.cluster.Nodes {
		node.Clients.Reset()
		for _, l := range slices.Concat(node.natsLinks, n.cluster.buses[i]) {
			l.Reset()
		}
	}
	return nil
}

// impairLinks impairs links of a node for a while.
func (n *nemesis) impairLinks(ctx context.Context, f Fault, node *Node) {
	to, from := n.cluster.busLinks(f.Node)
	both := Impairment{HoldToServer: true, HoldFromServer: true}
	set := func(links []*Link, t Impairment) {
		for _, l := range links {
			l.Set(t)
		}
	}
	var hurt []*Link
	with := func(links []*Link, t Impairment) {
		set(links, t)
		hurt = append(hurt, links...)
	}
	switch f.Kind {
	case Isolated:
		with(to, both)
		with(from, both)
	case InboundLost: // on connections opened by either side
		with(to, Impairment{HoldToServer: true})
		with(from, Impairment{HoldFromServer: true})
	case OutboundLost:
		with(to, Impairment{HoldFromServer: true})
		with(from, Impairment{HoldToServer: true})
	case PostgresUnreachable:
		with(node.Databases, both)
	case PostgresInboundLost:
		with(node.Databases, Impairment{HoldFromServer: true})
	case PostgresOutboundLost:
		with(node.Databases, Impairment{HoldToServer: true})
	case ClientsUnreachable:
		with([]*Link{node.Clients}, both)
	case ClientsInboundLost:
		with([]*Link{node.Clients}, Impairment{HoldToServer: true})
	case ClientsOutboundLost:
		with([]*Link{node.Clients}, Impairment{HoldFromServer: true})
	case IsolatedFromAll:
		with(to, both)
		with(from, both)
		with(node.Databases, both)
		with(node.engineLinks, both)
		with([]*Link{node.Clients}, both)
	case Slow:
		slow := Impairment{Delay: f.Amount / 2, Jitter: f.Amount, Rate: 1 << 20}
		with(to, slow)
		with(from, slow)
		with(slices.Concat(node.engineLinks, node.Databases), Impairment{Delay: f.Amount / 10, Jitter: f.Amount / 10})
		with([]*Link{node.Clients}, slow)
	case Lossy:
		with(slices.Concat(to, from, node.engineLinks, node.Databases, []*Link{node.Clients}), Impairment{LossShare: f.Share, Seed: f.Seed})
	}
	pause(ctx, f.Duration)
	set(hurt, Impairment{})
}

// jumpClock makes a node's clock jump for a while.
func (n *nemesis) jumpClock(ctx context.Context, node *Node, f Fault) error {
	set := func(d time.Duration) error {
		next := node.clock + ".new" // the node must never read a partial value
		if err := os.WriteFile(next, []byte(strconv.FormatInt(int64(d), 10)), 0o600); err != nil {
			return err
		}
		return os.Rename(next, node.clock)
	}
	if err := set(f.Amount); err != nil {
		return err
	}
	pause(ctx, f.Duration)
	return set(0)
}

func (n *nemesis) injectPostgres(ctx context.Context, f Fault) error {
	switch f.Kind {
	case PostgresCrash:
		return n.database.Crash(ctx, f.Duration)
	case PostgresPause:
		return n.database.Pause(ctx, f.Duration)
	case PostgresSlow:
		return n.database.Slow(ctx, f.Amount, f.Duration)
	case PostgresSlowDisk:
		return n.database.SlowDisk(ctx, f.Duration)
	case Failover:
		return n.database.Failover(ctx, false, f.Duration/2)
	case FailoverWhilePaused:
		return n.database.Failover(ctx, true, f.Duration/2)
	case PostgresUnreachablePrimary:
		return n.database.LosePrimaryMachine(ctx, n.cluster.isolateServer, f.Duration/2)
	default:
		return n.database.LoseStandby(ctx, f.Duration/2)
	}
}
