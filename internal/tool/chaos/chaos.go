// Package chaos runs a cluster of real processes on a real PostgreSQL with a standby, and optionally on other engines. Users chat through its
// public API. A nemesis injects faults by a schedule that is derived from a seed. At the end checkers compare everything that was
// observed with the guarantees: acknowledgements, what devices received, what every node answers, and what rialto verify finds in the
// stores.
//
// It is for tests and for operators. runchaos is its command, docs/operating/chaos.md describes it. Check is a pure function of the recorded
// history, which is a file that can be checked again.
package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Config of a run. Dir is required; the other fields have defaults.
type Config struct {
	// Dir receives the report, the history and the nodes' logs. It is created if it does not exist.
	Dir string
	// Binary is the path of a server built with the tag faults. By default it is built from this source.
	Binary string
	// Older is the path of an older build, also with the tag faults. Nodes start with it; rolling restarts replace it with Binary and go
	// back while the cluster accepts it. By default there is only one build.
	Older string
	// Database of the cluster, which the caller closes. By default one is started and closed.
	Database *Postgres
	// Network between the parts: Proxies, Namespaces, or Auto. The default is Auto; it is Proxies if Database is set or if there are
	// Engines, which do not support Namespaces.
	Network string
	// Engines besides PostgreSQL: WithCassandra, WithNATS, WithS3. By default there are none.
	Engines []string
	// Seed of the schedule and of the users' actions; 1 by default.
	Seed uint64
	// Nodes is the number of nodes; 3 by default, or those of Layout.
	Nodes int
	// Layout has the roles of each node. By default each has all.
	Layout Layout
	// Over is the duration of the fault phase, 3 minutes by default. Every and Longest are as in Plan, 15 s and 30 s by default.
	Over, Every, Longest time.Duration
	// Only restricts the kinds of faults.
	Only []string
	// Rate multiplies the users' activity; 1, the default, is about 60 messages a second.
	Rate float64
	// WarmUp is the duration of the load before the faults, 10 s by default. After the faults the load continues for four times as
	// long.
	WarmUp time.Duration
	// DetectionTime is how long other nodes may take to notice that a node is down; 10 s by default.
	DetectionTime time.Duration
	// QuiesceTimeout bounds the wait until all messages are delivered at the end, by default 2 minutes.
	QuiesceTimeout time.Duration
	// BaselineLatency is the latency of a receipt on this machine without any fault; 750 ms by default.
	BaselineLatency time.Duration
	// Settings are additional settings of the nodes, such as "chat.large_group_above=20".
	Settings []string
	// Progress receives progress messages. By default they are dropped.
	Progress func(format string, args ...any)
}

func (c *Config) defaults() {
	c.Seed = orElse(c.Seed, 1)
	if len(c.Layout) > 0 {
		c.Nodes = len(c.Layout)
	}
	c.Nodes = orElse(c.Nodes, 3)
	c.Over, c.Every, c.Longest = orElse(c.Over, 3*time.Minute), orElse(c.Every, 15*time.Second), orElse(c.Longest, 30*time.Second)
	c.Rate = orElse(c.Rate, 1)
	c.Network = orElse(c.Network, Auto)
	if c.Database != nil || len(c.Engines) > 0 && c.Network == Auto {
		c.Network = Proxies
	}
	c.WarmUp, c.DetectionTime, c.QuiesceTimeout = orElse(c.WarmUp, 10*time.Second), orElse(c.DetectionTime, 10*time.Second), orElse(c.QuiesceTimeout, 2*time.Minute)
	c.BaselineLatency = orElse(c.BaselineLatency, defaultLatency)
	if c.Progress == nil {
		c.Progress = func(string, ...any) {}
	}
}

// defaultLatency is the value on a machine that is not overloaded.
const defaultLatency = 750 * time.Millisecond

func orElse[T comparable](v, other T) T {
	var zero T
	if v == zero {
		return other
	}
	return v
}

// Names of files in the directory of a run.
const (
	historyFile = "history.jsonl"
	aboutFile   = "about.json"
	verdictFile = "verdict.json"
	reportFile  = "report.html"
	logsDir     = "nodes"
)

// Run performs one run and writes its report. It returns an error if the run could not be carried out; violations are in the report.
func Run(ctx context.Context, c Config) (_ *Report, err error) {
	c.defaults()
	nodes := filepath.Join(c.Dir, logsDir)
	if err := os.MkdirAll(nodes, 0o755); err != nil {
		return nil, err
	}
	if c.Binary == "" {
		c.Progress("building the server")
		if c.Binary, err = Build(ctx, c.Dir); err != nil {
			return nil, err
		}
		defer os.Remove(c.Binary) //nolint:errcheck // it is large, and can be built again
	}
	if len(c.Engines) > 0 && c.Network == Namespaces {
		return nil, errors.New("engines besides PostgreSQL need the network proxies: set it to proxies or auto")
	}
	namespaces, description, err := openNetwork(c.Network, c.Nodes)
	if err != nil {
		return nil, err
	}
	if namespaces != nil {
		defer func() { err = errors.Join(err, namespaces.Close()) }()
	}
	c.Progress("starting PostgreSQL and %d nodes, connected by %s", c.Nodes, description)
	database := c.Database
	if database == nil {
		if database, err = OpenPostgres(ctx, namespaces); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, database.Close()) }()
	}
	engines, err := OpenEngines(ctx, nodes, c.Engines, c.Progress)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, engines.Close()) }()
	cluster, err := OpenCluster(ctx, c.Binary, c.Older, nodes, database, engines, c.Nodes, c.Layout, append(nodeSettings(), c.Settings...))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	record, err := NewRecorder(filepath.Join(c.Dir, historyFile))
	if err != nil {
		return nil, err
	}
	plan := Plan{Seed: c.Seed, Nodes: c.Nodes, Engines: c.Engines, Duration: c.Over, Every: c.Every, Longest: c.Longest, Only: c.Only, Mixed: c.Older != ""}
	t, failed := c.perform(ctx, cluster, database, record, plan)
	events, err := record.Close()
	if err = errors.Join(failed, err); err != nil && (t == nil || ctx.Err() != nil) {
		return nil, err
	}
	about := t.about(c)
	c.Progress("checking %d events", len(events))
	r := &Report{Config: c, About: about, Plan: Schedule(plan), Version: versionOf(ctx, c.Binary), Network: description, Disk: database.Disk(), Verdicts: Check(events, about), Began: record.start}
	if c.Older != "" {
		r.Version += "; the older build: " + versionOf(ctx, c.Older)
	}
	r.Verdicts = append(r.Verdicts, c.verify(ctx, database, engines))
	if err != nil { // the events recorded so far are checked anyway
		r.Verdicts = append(r.Verdicts, Verdict{Rule: "RUN", Name: "the run was completed", State: Unknown, What: err.Error()})
	}
	return r, r.write(c.Dir, events)
}

// perform runs the load and the faults, and then reads the final state.
func (c *Config) perform(ctx context.Context, cluster *Cluster, database *Postgres, record *Recorder, plan Plan) (t *workload, err error) {
	online, endAll := context.WithCancel(ctx) // of the devices
	c.Progress("creating users and conversations")
	t, err = newWorkload(online, cluster, record, c.Seed, c.Rate)
	if err != nil {
		endAll()
		return nil, err
	}
	defer func() {
		endAll()
		t.online.Wait()
		t.router.CloseIdle()
	}()
	stage := func(name string) {
		c.Progress("%s", name)
		record.Note(Event{F: FStage, Text: name})
	}
	if c.Older != "" {
		for _, n := range cluster.Nodes {
			record.Note(Event{F: FBuild, Node: n.Name, Text: n.build})
		}
	}
	stage(Loaded)
	load, endLoad := context.WithCancel(online)
	defer endLoad()
	actors := t.run(load, online)
	pause(ctx, c.WarmUp)
	stage(Faults)
	faults, endFaults := context.WithCancel(ctx)
	defer endFaults()
	go func() { // ends with the fault phase or the run
		select {
		case <-record.Full():
			endFaults()
		case <-faults.Done():
		}
	}()
	n := &nemesis{cluster: cluster, database: database, record: record, progress: c.Progress}
	failed := n.run(faults, Schedule(plan))
	stage(Healed)
	pause(ctx, 4*c.WarmUp)
	endLoad()
	stage(Ended)
	finished := make(chan struct{})
	go func() { // sends that still wait for a receipt give up when the run ends
		actors.Wait()
		close(finished)
	}()
	select {
	case <-finished:
		if t.settle(ctx, c.QuiesceTimeout) {
			stage(Quiesced)
		}
	case <-time.After(c.QuiesceTimeout):
	}
	err = errors.Join(failed, t.readFinalState(ctx))
	endAll()
	<-finished
	return t, err
}

// about returns what the checkers need to know besides the events.
func (t *workload) about(c Config) RunInfo {
	a := RunInfo{Fixed: map[uint64]bool{}, Large: map[uint64]bool{}, Direct: map[uint64]bool{}, Owners: map[string]uint64{}, DetectionTime: c.DetectionTime, RecoveryTime: 3 * c.WarmUp, BaselineLatency: c.BaselineLatency}
	for _, r := range t.conversations {
		a.Fixed[r.id], a.Large[r.id], a.Direct[r.id] = r.fixed, r.large, r.direct
	}
	for _, p := range t.users {
		if p.name[:4] == "flap" {
			continue // it is in no conversation
		}
		for _, d := range p.devices {
			a.Owners[d.proc] = d.user
		}
	}
	for _, n := range t.cluster.Nodes {
		a.Nodes = append(a.Nodes, n.Name)
		if roles := rolesText(n.roles); len(n.roles) > 0 && !slices.Contains(a.Roles, roles) {
			a.Roles = append(a.Roles, roles)
		}
	}
	return a
}

// verify runs rialto verify on the database, as an operator would.
func (c *Config) verify(ctx context.Context, database *Postgres, engines *Engines) Verdict {
	v := verdict("VERIFY", "rialto verify finds no violation in the stored data")
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	var errOut strings.Builder
	cmd := exec.CommandContext(ctx, c.Binary, append([]string{"verify", "--postgres", database.DirectURL(), "--json"}, engines.verify()...)...)
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	var r struct {
		Conversations, Entries, Inboxes int
		Violations                      []struct{ Rule, Where, What string }
		More                            int
	}
	if jerr := json.Unmarshal(out, &r); jerr != nil {
		v.State, v.What = Unknown, fmt.Sprintf("%v %s", errors.Join(err, jerr), errOut.String())
		return *v
	}
	v.What = fmt.Sprintf("%d conversations with %d entries, %d streams", r.Conversations, r.Entries, r.Inboxes)
	for _, x := range r.Violations {
		v.violate("%s, %s: %s", x.Rule, x.Where, x.What)
	}
	v.More += r.More
	return *v
}

// versionOf returns the output of a build's version command as one line.
func versionOf(ctx context.Context, binary string) string {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, binary, "version").Output()
	if err != nil {
		return fmt.Sprintf("unknown (%v)", err)
	}
	var lines []string
	for line := range strings.Lines(string(out)) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "; ")
}
