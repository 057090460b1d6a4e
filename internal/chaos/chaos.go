// Package chaos runs a cluster of real processes on a real PostgreSQL with a standby, and other engines where asked, has users chat
// through its public doors, breaks parts of it by a schedule that comes from a seed, and then checks everything that anyone saw
// against the promises: what was acknowledged, what devices were given, what every node says in the end, and what rialto verify
// finds in what is stored.
//
// It is for tests and for those who operate: cmd is its command, docs/operating/chaos.md says what it does. Judging is a pure function
// of the record (Check), which is a file that can be judged again.
package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
)

// Config of a run. Dir is needed; the rest has defaults.
type Config struct {
	// Dir gets the report, the history and the nodes' logs. It is made where it is not there.
	Dir string
	// Binary of the server, built with the tag faults; by default it is built from this source.
	Binary string
	// Older is a build that nodes begin with, also with the tag faults; rolling restarts exchange it for Binary, and back as long as it is
	// let. By default there is one build.
	Older string
	// Database of the cluster, which the caller closes; by default one is started, and closed.
	Database *Postgres
	// Network by which its parts reach each other: Proxies, Namespaces, or Auto; by default Auto, and Proxies where the database is the
	// caller's, or there are other engines, which are not made for Namespaces.
	Network string
	// Engines besides PostgreSQL: of WithCassandra, WithNATS and WithS3; by default none.
	Engines []string
	// Seed of the schedule and of what users do; by default 1.
	Seed uint64
	// Nodes of the cluster; by default 3.
	Nodes int
	// Over so long faults happen; by default 3 minutes. Every and Longest as in Plan, by default 15 s and 30 s.
	Over, Every, Longest time.Duration
	// Only faults of these kinds.
	Only []string
	// Rate of what users do, by default 1: some 60 messages in a second.
	Rate float64
	// Calm is how long the load goes on before the faults, and four times that after them; by default 10 s.
	Calm time.Duration
	// Settle is how long the others may take to notice that a node has gone; by default 10 s.
	Settle time.Duration
	// Rest is how long all may take to come to rest at the end; by default 2 minutes.
	Rest time.Duration
	// Noise is what a receipt may take on this machine without any fault; by default 750 ms.
	Noise time.Duration
	// Settings more for the nodes, as "chat.large_above=20".
	Settings []string
	// Say is told how far the run is; by default nobody.
	Say func(format string, args ...any)
}

func (c *Config) defaults() {
	c.Seed = orElse(c.Seed, 1)
	c.Nodes = orElse(c.Nodes, 3)
	c.Over, c.Every, c.Longest = orElse(c.Over, 3*time.Minute), orElse(c.Every, 15*time.Second), orElse(c.Longest, 30*time.Second)
	c.Rate = orElse(c.Rate, 1)
	c.Network = orElse(c.Network, Auto)
	if c.Database != nil || len(c.Engines) > 0 && c.Network == Auto {
		c.Network = Proxies
	}
	c.Calm, c.Settle, c.Rest = orElse(c.Calm, 10*time.Second), orElse(c.Settle, 10*time.Second), orElse(c.Rest, 2*time.Minute)
	c.Noise = orElse(c.Noise, usualNoise)
	if c.Say == nil {
		c.Say = func(string, ...any) {}
	}
}

// usualNoise of a machine that has time.
const usualNoise = 750 * time.Millisecond

func orElse[T comparable](v, other T) T {
	var zero T
	if v == zero {
		return other
	}
	return v
}

// Names in a run's folder.
const (
	historyFile = "history.jsonl"
	aboutFile   = "about.json"
	verdictFile = "verdict.json"
	reportFile  = "report.html"
	logsDir     = "nodes"
)

// Run does one run and writes its report. The error is of the run: that it could not be carried out. What it found is in the report.
func Run(ctx context.Context, c Config) (_ *Report, err error) {
	c.defaults()
	nodes := filepath.Join(c.Dir, logsDir)
	if err := os.MkdirAll(nodes, 0o755); err != nil {
		return nil, err
	}
	if c.Binary == "" {
		c.Say("building the server")
		if c.Binary, err = Build(ctx, c.Dir); err != nil {
			return nil, err
		}
		defer os.Remove(c.Binary) //nolint:errcheck // it is large, and can be built again
	}
	if len(c.Engines) > 0 && c.Network == Namespaces {
		return nil, errors.New("engines besides PostgreSQL are reached by proxies: leave the network to itself, or set it to proxies")
	}
	lab, ways, err := openNetwork(c.Network, c.Nodes)
	if err != nil {
		return nil, err
	}
	if lab != nil {
		defer func() { err = errors.Join(err, lab.Close()) }()
	}
	c.Say("starting PostgreSQL and %d nodes, by %s", c.Nodes, ways)
	database := c.Database
	if database == nil {
		if database, err = OpenPostgres(ctx, lab); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, database.Close()) }()
	}
	engines, err := OpenEngines(ctx, nodes, c.Engines, c.Say)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, engines.Close()) }()
	cluster, err := OpenCluster(ctx, c.Binary, c.Older, nodes, database, engines, c.Nodes, append(nodeSettings(), c.Settings...))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	record, err := NewRecorder(filepath.Join(c.Dir, historyFile))
	if err != nil {
		return nil, err
	}
	plan := Plan{Seed: c.Seed, Nodes: c.Nodes, Engines: c.Engines, Over: c.Over, Every: c.Every, Longest: c.Longest, Only: c.Only, Mixed: c.Older != ""}
	t, failed := c.perform(ctx, cluster, database, record, plan)
	events, err := record.Close()
	if err = errors.Join(failed, err); err != nil && (t == nil || ctx.Err() != nil) {
		return nil, err
	}
	about := t.about(c)
	c.Say("judging %d events", len(events))
	r := &Report{Config: c, About: about, Plan: Schedule(plan), Version: version(), Ways: ways, Disk: database.Disk(), Verdicts: Check(events, about), Began: record.start}
	r.Verdicts = append(r.Verdicts, c.verify(ctx, database, engines))
	if err != nil { // what was seen until then is judged all the same
		r.Verdicts = append(r.Verdicts, Verdict{Rule: "RUN", Name: "the run came to its end", State: Unknown, What: err.Error()})
	}
	return r, r.write(c.Dir, events)
}

// perform has users live through the faults, and asks what is there in the end.
func (c *Config) perform(ctx context.Context, cluster *Cluster, database *Postgres, record *Recorder, plan Plan) (t *town, err error) {
	ever, endAll := context.WithCancel(ctx)
	c.Say("making users and conversations")
	t, err = found(ever, cluster, record, c.Seed, c.Rate)
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
		c.Say("%s", name)
		record.Note(Event{F: FStage, Text: name})
	}
	if c.Older != "" {
		for _, n := range cluster.Nodes {
			record.Note(Event{F: FBuild, Node: n.Name, Text: n.build})
		}
	}
	stage(Loaded)
	load, endLoad := context.WithCancel(ever)
	defer endLoad()
	living := t.live(load, ever)
	pause(ctx, c.Calm)
	stage(Faults)
	hurting, heal := context.WithCancel(ctx)
	defer heal()
	go func() { // ends with the faults, or the run
		select {
		case <-record.Full():
			heal()
		case <-hurting.Done():
		}
	}()
	n := &nemesis{cluster: cluster, database: database, record: record, say: c.Say}
	failed := n.run(hurting, Schedule(plan))
	stage(Healed)
	pause(ctx, 4*c.Calm)
	endLoad()
	stage(Ended)
	stuck := make(chan struct{})
	go func() { // what still waits for a receipt gives up when the run ends
		living.Wait()
		close(stuck)
	}()
	select {
	case <-stuck:
		if t.settle(ctx, c.Rest) {
			stage(AtRest)
		}
	case <-time.After(c.Rest):
	}
	err = errors.Join(failed, t.inquire(ctx))
	endAll()
	<-stuck
	return t, err
}

// about tells the checkers what the events do not.
func (t *town) about(c Config) About {
	a := About{Fixed: map[uint64]bool{}, Large: map[uint64]bool{}, Direct: map[uint64]bool{}, Owners: map[string]uint64{}, Settle: c.Settle, Back: 3 * c.Calm, Noise: c.Noise}
	for _, r := range t.everyRoom {
		a.Fixed[r.id], a.Large[r.id], a.Direct[r.id] = r.fixed, r.large, r.direct
	}
	for _, p := range t.everybody {
		if p.name[:4] == "flap" {
			continue // it is in no conversation
		}
		for _, d := range p.devices {
			a.Owners[d.proc] = d.user
		}
	}
	for _, n := range t.cluster.Nodes {
		a.Nodes = append(a.Nodes, n.Name)
	}
	return a
}

// verify has rialto verify read the database, as an operator would.
func (c *Config) verify(ctx context.Context, database *Postgres, engines *Engines) Verdict {
	v := verdict("VERIFY", "rialto verify finds every promise kept in what is stored")
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	var errOut strings.Builder
	cmd := exec.CommandContext(ctx, c.Binary, append([]string{"verify", "--postgres", database.Own(), "--json"}, engines.verify()...)...)
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

// version of the source that this was built from, as far as the build knows.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.GoVersion
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" || s.Key == "vcs.modified" && s.Value == "true" {
			v += " " + s.Key + "=" + s.Value
		}
	}
	return v
}
