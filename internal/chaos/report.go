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
	Config  Config    `json:"-"`
	About   About     `json:"-"`
	Began   time.Time `json:"began"`
	Version string    `json:"version"`
	// Ways between the parts: proxies or namespaces, and why.
	Ways string `json:"ways"`
	// Disk says how PostgreSQL's was slow, where it was.
	Disk     string    `json:"disk"`
	Verdicts []Verdict `json:"verdicts"`
	Plan     []Fault   `json:"-"`
}

// Sound tells whether nothing was violated and nothing stayed unknown.
func (r *Report) Sound() bool {
	return !slices.ContainsFunc(r.Verdicts, func(v Verdict) bool { return v.State == Violated || v.State == Unknown })
}

// Replay is the command that does the same again, as far as real processes do.
func (r *Report) Replay() string {
	c := r.Config
	s := fmt.Sprintf("go run ./internal/chaos/runchaos --seed %d --nodes %d --for %v --every %v --longest %v --rate %g", c.Seed, c.Nodes, c.Over, c.Every, c.Longest, c.Rate)
	for _, set := range c.Settings {
		s += " --set " + set
	}
	if c.Older != "" {
		s += " --older " + c.Older
	}
	if c.Noise != usualNoise {
		s += fmt.Sprintf(" --noise %v", c.Noise)
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
	}{r, r.Config.Seed, r.Config.Nodes, r.Replay(), r.Sound()}, "", "\t")
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

// Judge judges the record of a run again, as after a change of the checkers.
func Judge(dir string) ([]Verdict, error) {
	b, err := os.ReadFile(filepath.Join(dir, aboutFile))
	if err != nil {
		return nil, err
	}
	var about About
	if err := json.Unmarshal(b, &about); err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(dir, historyFile))
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it is read
	events, err := ReadHistory(f)
	if err != nil {
		return nil, err
	}
	return Check(events, about), nil
}

// operations that the plot shows, with their names for people and their class in the page.
type series struct {
	F, Name, Class string
	Points         string // path of its latency, the 99th of 100 in each step
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

// mark is a stage of the run, with its name at a height, and a line from under that.
type mark struct {
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
	Marks      []mark
	Top        float64 // of the plot, with the names of stages above it
	Height     float64 // of all that
	Replay     string
	Sound      bool
}

// Size of the plots, in the page.
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
