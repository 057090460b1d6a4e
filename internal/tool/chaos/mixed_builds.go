package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// FBuild: Node runs the build Text ("older" or "newer") from now on. With Fail, the cluster refused that build, and Err is its message.
const FBuild = "build"

const (
	older = "older"
	newer = "newer"
)

// upgradeAndDowngrade is a rolling restart between two builds. The first time, all nodes but one are upgraded, and downgraded. The second
// time, all nodes are upgraded. Then all are downgraded one after the other, if the cluster accepts the first: once all nodes speak a
// newer protocol, it refuses an older build. From then on nodes keep their build.
func (n *nemesis) upgradeAndDowngrade(ctx context.Context, f Fault) error {
	c := n.cluster
	wait := max(restartPause, f.Duration/time.Duration(2*len(c.Nodes)))
	turn := n.rollingRestarts
	n.rollingRestarts++
	switch {
	case turn == 0 && len(c.Nodes) > 1:
		most := c.Nodes[:len(c.Nodes)-1]
		for _, to := range []string{newer, older} {
			for _, node := range most {
				if err := n.restart(ctx, node, to, wait); err != nil {
					return err
				}
			}
		}
		return nil
	case c.Nodes[0].build == older:
		for _, node := range c.Nodes {
			if err := n.restart(ctx, node, newer, wait); err != nil {
				return err
			}
		}
		return nil
	}
	for _, node := range c.Nodes {
		to := older
		if n.refused {
			to = newer
		}
		if err := n.restart(ctx, node, to, wait); err != nil {
			return err
		}
	}
	return nil
}

// restart stops a node and starts it with a build. If the cluster refuses the older one, the newer is started.
func (n *nemesis) restart(ctx context.Context, node *Node, build string, wait time.Duration) error {
	whole := context.WithoutCancel(ctx)
	if err := n.cluster.Stop(whole, node); err != nil {
		return err
	}
	before, err := os.Stat(node.logFile.Name())
	if err != nil {
		return err
	}
	back := node.build == newer && build == older
	node.build, node.process.Path = build, n.cluster.builds[build]
	if back {
		limited, cancel := context.WithTimeout(whole, startTime)
		err = node.process.Start(limited)
		cancel()
	} else {
		err = n.cluster.Start(whole, node)
	}
	if errors.Is(err, ErrNotReady) && back {
		log, rerr := os.ReadFile(node.logFile.Name())
		if rerr != nil {
			return rerr
		}
		said := strings.TrimSpace(string(log[min(before.Size(), int64(len(log))):]))
		n.record.Note(Event{F: FBuild, Node: node.Name, Text: build, Type: Fail, Err: said[strings.LastIndex(said, "\n")+1:]})
		n.refused = true
		node.build, node.process.Path = newer, n.cluster.builds[newer]
		err = n.cluster.Start(whole, node)
	}
	if err != nil {
		return err
	}
	n.record.Note(Event{F: FBuild, Node: node.Name, Text: node.build})
	pause(ctx, wait)
	return nil
}

// checkMixedBuilds checks runs with two builds: they served together, and an older build was refused only with the documented reason.
func checkMixedBuilds(m *analysis) *Verdict {
	v := verdict("MIXED", "two builds serve together; a build that is too old is refused with a reason")
	builds := map[string]string{}
	var since, both time.Duration
	counts := map[string]int{}
	refusals := 0
	var said string
	serve := func() bool { return counts[older] > 0 && counts[newer] > 0 }
	messages, next := 0, 0
	sent := m.acknowledged()
	for _, e := range m.events {
		if e.F != FBuild {
			continue
		}
		for ; next < len(sent) && sent[next].end < e.T; next++ {
			if serve() {
				messages++
			}
		}
		if e.Type == Fail {
			refusals++
			said = e.Err
			if !strings.Contains(e.Err, "these releases cannot serve together") || !strings.Contains(e.Err, "Upgrade this node") {
				v.violate("at %s %s was started with the older build and ended with %q, want the reason and what to do", at(e.T), e.Node, e.Err)
			}
			continue
		}
		if serve() {
			both += e.T - since
		}
		since = e.T
		counts[builds[e.Node]]--
		builds[e.Node] = e.Text
		counts[e.Text]++
	}
	if len(builds) == 0 {
		v.State, v.What = NotChecked, "all nodes run the same build"
		return v
	}
	v.What = fmt.Sprintf("both builds served together for %s, in which %d messages were acknowledged", short(both), messages)
	if messages == 0 {
		v.State = Unknown
	}
	if refusals > 0 {
		v.What += fmt.Sprintf("; the older build was refused %d times: %s", refusals, said)
	}
	return v
}
