package chaos

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

//go:embed report.html
var page string

// Report of a run.
type Report struct {
	Config Config    `json:"-"`
	About  RunInfo   `json:"-"`
	Began  time.Time `json:"began"`
	// Version of the server's build: its commit, toolchain and engines.
	Version string `json:"version"`
	// Network describes the kind of network, and why it was used.
	Network string `json:"ways"`
	// Disk describes how PostgreSQL's disk was slowed down.
	Disk     string    `json:"disk"`
	Verdicts []Verdict `json:"verdicts"`
	Plan     []Fault   `json:"-"`
}

// Passed reports whether all rules hold or were not checked.
func (r *Report) Passed() bool {
	return !slices.ContainsFunc(r.Verdicts, func(v Verdict) bool { return v.State == Violated || v.State == Unknown })
}

// Replay returns the command that repeats the run, as far as real processes allow.
func (r *Report) Replay() string {
	c := r.Config
	s := fmt.Sprintf("go run ./internal/tool/chaos/runchaos --seed %d --nodes %d --for %v --every %v --longest %v --rate %g", c.Seed, c.Nodes, c.Over, c.Every, c.Longest, c.Rate)
	for _, set := range c.Settings {
		s += " --set " + set
	}
	if len(c.Layout) > 0 {
		s += " --roles " + c.Layout.String()
	}
	if c.Older != "" {
		s += " --older " + c.Older
	}
	if c.BaselineLatency != defaultLatency {
		s += fmt.Sprintf(" --noise %v", c.BaselineLatency)
	}
	if c.Network != "" && c.Network != Auto {
		s += " --network " + c.Network
	}
	if len(c.Engines) > 0 {
		s += " --engines " + strings.Join(c.Engines, ",")
	}
	if len(c.Only) > 0 {
		s += " --only " + strings.Join(c.Only, ",")
	}
	return s
}

func (r *Report) write(dir string, events []Event) error {
	b, err := json.MarshalIndent(struct {
		*Report
		Seed   uint64 `json:"seed"`
		Nodes  int    `json:"nodes"`
		Replay string `json:"replay"`
		Sound  bool   `json:"sound"`
	}{r, r.Config.Seed, r.Config.Nodes, r.Replay(), r.Passed()}, "", "\t")
	if err != nil {
		return err
	}
	about, err := json.MarshalIndent(r.About, "", "\t")
	if err != nil {
		return err
	}
	html, err := r.html(events)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, verdictFile), append(b, '\n'), 0o644),
		os.WriteFile(filepath.Join(dir, aboutFile), append(about, '\n'), 0o644),
		os.WriteFile(filepath.Join(dir, reportFile), []byte(html), 0o644))
}

// Recheck checks the recording of a run again, for example after a change of the checkers.
func Recheck(dir string) ([]Verdict, error) {
	b, err := os.ReadFile(filepath.Join(dir, aboutFile))
	if err != nil {
		return nil, err
	}
	var about RunInfo
	if err := json.Unmarshal(b, &about); err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(dir, historyFile))
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // read only
	events, err := ReadHistory(f)
	if err != nil {
		return nil, err
	}
	return Check(events, about), nil
}

// series is an operation in the plot, with its display name and CSS class.
type series struct {
	F, Name, Class string
	Points         string // path of the latency, the 99th percentile of each step
	Count, Failed  int
	Open           int
	P50, P99, Most string
}

type band struct {
	X, Width float64
	Row      int
	Text     string
	From, To string
	Y        float64
}

type tick struct {
	At    float64
	Label string
}

// stageLabel is the label of a stage, with a line below it.
type stageLabel struct {
	tick
	Y, Under float64
}

// chart of a run, in units of the page.
type chart struct {
	Report     *Report
	Series     []*series
	Bands      []band
	XTicks     []tick
	YTicks     []tick
	Throughput string
	Most       int
	Rows       []float64
	BandHeight float64
	Length     string
	Events     int
	Marks      []stageLabel
	Top        float64 // upper edge, including the stage labels
	Height     float64 // including the labels
	Replay     string
	Sound      bool
}

// Size of the plots.
const (
	plotWidth  = 1000.0
	plotHeight = 220.0
	steps      = 250
	slowest    = 30.0   // seconds at the top of the plot
	quickest   = 0.0005 // at its bottom
)

func (r *Report) html(events []Event) (string, error) {
	t, err := template.New("report").Parse(page)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	if err := t.Execute(&out, r.chart(events)); err != nil {
		return "", err
	}
	return out.String(), nil
}
