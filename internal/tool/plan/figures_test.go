package plan

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// made converts the number in the page to the figure, where they differ.
func made(f Figure, said float64) float64 {
	switch f.Name {
	case "cpu_entry": // measured on two cores
		return rounded(2e6 / said)
	case "feed_cpu_post", "feed_cpu_home": // milliseconds
		return rounded(said * 1000)
	case "feed_cpu_entry": // milliseconds for 10,000
		return rounded(said * 1000 / 10_000)
	case "feed_notice": // milliseconds for 15,000
		return rounded(said * 1000 / 15_000)
	}
	return said
}

// TestFiguresAreThoseOfThePage compares the figures with docs/performance.md: a new measurement must be entered in both.
func TestFiguresAreThoseOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, f := range Figures() {
		if f.row == "" {
			continue
		}
		found++
		line := ""
		for l := range strings.Lines(string(page)) {
			if strings.HasPrefix(l, "| "+f.row+" |") {
				line = l
			}
		}
		if !strings.Contains(line, f.quote) {
			t.Errorf("%s: docs/performance.md has no row %q with %q, but %q", f.Name, f.row, f.quote, line)
		}
		number := strings.ReplaceAll(strings.Fields(f.quote)[0], ",", "")
		if said, err := strconv.ParseFloat(number, 64); err != nil || made(f, said) != f.Value {
			t.Errorf("figure %s: got %v, want %q of docs/performance.md (%v)", f.Name, f.Value, f.quote, err)
		}
		if f.Low > 0 && !strings.Contains(line, short(f.Low)) {
			t.Errorf("figure %s: the row does not have the low end %v: %s", f.Name, f.Low, line)
		}
	}
	if found < 12 {
		t.Errorf("got %d figures of docs/performance.md, want at least 12", found)
	}
	bus, err := os.ReadFile("../../../docs/decisions/0032-bus-by-nats.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(bus), "7 µs to another node") || byName(Figures())["cpu_bus"] != 7 {
		t.Error("the figure cpu_bus differs from decision 32")
	}
}

func TestEachFigureIsUsedAndNamedOnce(t *testing.T) {
	in := Defaults()
	in.DailyUsers, in.Users, in.Videos, in.Posts, in.Likes = 60e6, 200e6, 0.01, 0.2, 20
	names := map[string]bool{}
	for i, f := range Figures() {
		if names[f.Name] || f.What == "" || f.From == "" || f.Value <= 0 {
			t.Errorf("figure is incomplete or its name is repeated: %+v", f)
		}
		names[f.Name] = true
		matters := false
		for _, e := range []Engine{Embedded, Postgres, Cassandra} {
			in.Engine = e
			before := Make(in, Figures())
			other := Figures()
			other[i].Value *= 7
			after := Make(in, other)
			after.Figures, before.Figures = nil, nil
			differs := !sameText(before, after)
			if differs && !f.counts(e) {
				t.Errorf("figure %s affects plans with engine %s, which should not use it", f.Name, e)
			}
			matters = matters || differs
		}
		if !matters {
			t.Errorf("no plan uses figure %s", f.Name)
		}
	}
}

func sameText(a, b *Plan) bool {
	var x, y strings.Builder
	a.print(&x)
	b.print(&y)
	return x.String() == y.String()
}

func TestMeasuredFigures(t *testing.T) {
	for name, c := range map[string]struct {
		text, figure, fault string
		value               float64
	}{
		"idle":     {`{"connections":40000,"users":40000,"rss_before_kb":1,"rss_after_kb":2,"kb_per_connection":1.25}`, "kb_connection", "", 1.25},
		"tried":    {`{"connections":40000,"kb_per_connection":1.25}`, "connections_tried", "", 40_000},
		"chat":     {`{"acked":1000,"delivered":1000,"server_cpu_s_per_million":19.5}`, "cpu_message", "", 19.5},
		"cluster":  {`{"acked":1000,"delivered":1000,"server_cpu_s_per_million":195,"nodes":[{"url":"a"},{"url":"b"}]}`, "cluster_message", "", 195},
		"far away": {`{"acked":1000,"delivered":1000,"server_cpu_s_per_million":0}`, "", "run rialto bench chat on the server's machine", 0},
		"groups":   {`{"acked":1000,"delivered":99000,"server_cpu_s_per_million":190}`, "", "measured with groups", 0},
		"noise":    {`{"connections":10,"kb_per_connection":-3}`, "", "must be above 0", 0},
		"other":    {`{"events":50000}`, "", "not the output of rialto bench chat or idle", 0},
		"broken":   {`{"acked"`, "", "not the output of rialto bench", 0},
	} {
		file := filepath.Join(t.TempDir(), "bench.json")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		figures := Figures()
		err := measured(figures, file)
		if c.fault != "" {
			if err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%s: got error %v, want another one", name, err)
			}
			continue
		}
		if err != nil || byName(figures)[c.figure] != c.value {
			t.Errorf("%s: got error %v, figure %v", name, err, byName(figures)[c.figure])
		}
		for _, f := range figures {
			if f.Name == c.figure && f.From != "bench.json" {
				t.Errorf("figure %s: got source %s, want the file", f.Name, f.From)
			}
		}
	}
}
