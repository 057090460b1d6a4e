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

// look is how long an operator waits at least until the next node, to see that the others have the last one back.
const look = 2 * time.Second

// nemesis carries out a schedule.
type nemesis struct {
	cluster  *Cluster
	database *Postgres
	record   *Recorder
	say      func(format string, args ...any)

	// Of runs with two builds:
	turns   int  // of rolling restarts
	refused bool // the older one is, from now on
}

// run has all faults happen in their order, and returns when the last is over, or ctx has ended and what was begun is over. All is
// whole then, or there is an error.
func (n *nemesis) run(ctx context.Context, schedule []Fault) error {
	begin := time.Now()
	for _, group := range together(schedule) {
		if !pause(ctx, max(0, group[0].At-time.Since(begin))) {
			return nil
		}
		failed := make(chan error, len(group))
		for _, f := range group {
			go func() { failed <- n.one(ctx, f) }()
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

// one has a fault happen, and heals it. Healing is done also when ctx has ended.
func (n *nemesis) one(ctx context.Context, f Fault) error {
	what := f.text(n.cluster.Nodes)
	n.say("%s", what)
	e := n.record.Begin(Event{Proc: "nemesis", F: FFault, Text: what})
	err := n.hurt(ctx, f)
	if err != nil {
		err = fmt.Errorf("%s: %w", what, err)
		e.Err = err.Error()
	}
	n.record.End(e, Ok)
	return err
}

func (n *nemesis) hurt(ctx context.Context, f Fault) error {
	whole := context.WithoutCancel(ctx)
	if onBase(f.Kind) {
		whole, cancel := context.WithTimeout(whole, f.For+5*time.Minute)
		defer cancel()
		return n.hurtBase(whole, f)
	}
	if onEngine(f.Kind) != "" {
		whole, cancel := context.WithTimeout(whole, f.For+5*time.Minute)
		defer cancel()
		return n.hurtEngine(ctx, whole, f)
	}
	c, node := n.cluster, n.cluster.Nodes[f.Node]
	switch f.Kind {
	case Kill:
		node.process.Kill()
		pause(ctx, f.For)
		return c.Start(whole, node)
	case KillSoon:
		node.process.Kill()
		return n.killSoon(ctx, node, f)
	case KillAll:
		for _, x := range c.Nodes {
			x.process.Kill()
		}
		pause(ctx, f.For)
		for _, x := range c.Nodes {
			if err := c.Start(whole, x); err != nil {
				return err
			}
		}
		return nil
	case Stop:
		err := c.Stop(whole, node)
		pause(ctx, f.For)
		return errors.Join(err, c.Start(whole, node))
	case Rolling:
		if c.builds[older] != "" {
			return n.exchange(ctx, f)
		}
		for _, x := range c.Nodes {
			if err := errors.Join(c.Stop(whole, x), c.Start(whole, x)); err != nil {
				return err
			}
			pause(ctx, max(look, f.For/time.Duration(len(c.Nodes))))
		}
		return nil
	case Pause:
		if err := node.process.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		pause(ctx, f.For)
		return node.process.Signal(syscall.SIGCONT)
	case Clock:
		return n.jump(ctx, node, f)
	case Resets:
		for end := time.Now().Add(f.For); time.Now().Before(end); {
			if err := n.reset(); err != nil {
				return err
			}
			if !pause(ctx, time.Second) {
				break
			}
		}
		return nil
	}
	if c.lab != nil {
		heal, err := c.troubleInLab(f)
		if err != nil {
			return err
		}
		pause(ctx, f.For)
		return heal()
	}
	n.trouble(ctx, f, node)
	return nil
}

// killSoon starts a node and kills it before it is ready, several times, and then lets it start.
func (n *nemesis) killSoon(ctx context.Context, node *Node, f Fault) error {
	for end := time.Now().Add(f.For); time.Now().Before(end) && ctx.Err() == nil; {
		early, cancel := context.WithTimeout(ctx, f.For/8)
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

// reset ends all connections of clients, and those between nodes.
func (n *nemesis) reset() error {
	if n.cluster.lab != nil {
		return n.cluster.resetInLab()
	}
	for i, node := range n.cluster.Nodes {
		node.Clients.Reset()
		for _, l := range slices.Concat(node.bussed, n.cluster.buses[i]) {
			l.Reset()
		}
	}
	return nil
}

// trouble has links of a node misbehave for a while.
func (n *nemesis) trouble(ctx context.Context, f Fault, node *Node) {
	to, from := n.cluster.busLinks(f.Node)
	both := Trouble{Forth: true, Back: true}
	set := func(links []*Link, t Trouble) {
		for _, l := range links {
			l.Set(t)
		}
	}
	var hurt []*Link
	with := func(links []*Link, t Trouble) {
		set(links, t)
		hurt = append(hurt, links...)
	}
	switch f.Kind {
	case Alone:
		with(to, both)
		with(from, both)
	case Deaf: // what others say on connections that they opened, and on those that the node opened
		with(to, Trouble{Forth: true})
		with(from, Trouble{Back: true})
	case Mute:
		with(to, Trouble{Back: true})
		with(from, Trouble{Forth: true})
	case NoBase:
		with(node.Databases, both)
	case DeafBase:
		with(node.Databases, Trouble{Back: true})
	case MuteBase:
		with(node.Databases, Trouble{Forth: true})
	case NoPeople:
		with([]*Link{node.Clients}, both)
	case DeafPeople:
		with([]*Link{node.Clients}, Trouble{Forth: true})
	case MutePeople:
		with([]*Link{node.Clients}, Trouble{Back: true})
	case Cut:
		with(to, both)
		with(from, both)
		with(node.Databases, both)
		with(node.engines, both)
		with([]*Link{node.Clients}, both)
	case Slow:
		slow := Trouble{Delay: f.Much / 2, Jitter: f.Much, Rate: 1 << 20}
		with(to, slow)
		with(from, slow)
		with(slices.Concat(node.engines, node.Databases), Trouble{Delay: f.Much / 10, Jitter: f.Much / 10})
		with([]*Link{node.Clients}, slow)
	case Lossy:
		with(slices.Concat(to, from, node.engines, node.Databases, []*Link{node.Clients}), Trouble{Lose: f.Share})
	}
	pause(ctx, f.For)
	set(hurt, Trouble{})
}

// jump has a node's clock jump for a while.
func (n *nemesis) jump(ctx context.Context, node *Node, f Fault) error {
	set := func(d time.Duration) error {
		next := node.clock + ".new" // a clock is never half written
		if err := os.WriteFile(next, []byte(strconv.FormatInt(int64(d), 10)), 0o600); err != nil {
			return err
		}
		return os.Rename(next, node.clock)
	}
	if err := set(f.Much); err != nil {
		return err
	}
	pause(ctx, f.For)
	return set(0)
}

func (n *nemesis) hurtBase(ctx context.Context, f Fault) error {
	switch f.Kind {
	case BaseCrash:
		return n.database.Crash(ctx, f.For)
	case BasePause:
		return n.database.Freeze(ctx, f.For)
	case BaseSlow:
		return n.database.Slow(ctx, f.Much, f.For)
	case BaseDisk:
		return n.database.SlowDisk(ctx, f.For)
	case Failover:
		return n.database.Failover(ctx, false, f.For/2)
	case FailoverOff:
		return n.database.Failover(ctx, true, f.For/2)
	case Vanish:
		return n.database.Vanish(ctx, n.cluster.without, f.For/2)
	default:
		return n.database.StandbyGone(ctx, f.For/2)
	}
}
