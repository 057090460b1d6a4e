package rank

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/platform/clickmodel"
	"github.com/rialto-im/rialto/internal/service/ranking"
)

// run runs a command line.
func run(t *testing.T, want int, args ...string) (out, errOut string) {
	t.Helper()
	var a, b bytes.Buffer
	if got := Main(t.Context(), args, &a, &b); got != want {
		t.Fatalf("rialto rank %v ends with %d, want %d: %s%s", args, got, want, &a, &b)
	}
	return a.String(), b.String()
}

// A model is trained with a file of examples, and judged by it, as a page with plots; too few examples make none.
func TestTrainAndEvaluate(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	s := ranking.Simulate(1, 30, 6, 0)
	d := &data{Features: ranking.ModelFeatures(), Examples: s.Impressions, Name: "a <test>", FromMs: 1, ToMs: 2}
	if err := d.write(file("examples.jsonl")); err != nil {
		t.Fatal(err)
	}
	out, _ := run(t, 0, "train", "--examples", file("examples.jsonl"), "--out", file("model.json"))
	if !strings.Contains(out, "by popularity") {
		t.Errorf("training prints %s", out)
	}
	run(t, 0, "evaluate", "--model", file("model.json"), "--examples", file("examples.jsonl"), "--out", file("report.html"))
	report, err := os.ReadFile(file("report.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"a &lt;test&gt;", "NDCG@20", "<polyline class=\"a\" points=\"0.0,260.0 ", "Calibration of clicks", "similarity", "</html>"} {
		if !strings.Contains(string(report), part) {
			t.Errorf("the report lacks %s", part)
		}
	}
	d.Examples = d.Examples[:100]
	if err := d.write(file("few.jsonl")); err != nil {
		t.Fatal(err)
	}
	if _, errOut := run(t, 1, "train", "--examples", file("few.jsonl"), "--out", file("none.json")); !strings.Contains(errOut, "a model needs 1000") {
		t.Errorf("training with few examples prints %s", errOut)
	}
	if _, err := os.Stat(file("none.json")); !os.IsNotExist(err) {
		t.Errorf("a model was written: %v", err)
	}
}

// Files are read as they were written, and what is no file of examples is refused with its line.
func TestFilesOfExamples(t *testing.T) {
	name := filepath.Join(t.TempDir(), "examples.jsonl")
	want := []clickmodel.Example{{List: 1, Post: 2, Features: []float64{0.5}, Clicked: true}, {List: 1, Post: 3, Features: []float64{0.25}, Goods: true, Converted: true}}
	if err := (&data{Features: []string{"likes"}, Examples: want}).write(name); err != nil {
		t.Fatal(err)
	}
	d, err := readFile(name)
	if err != nil || len(d.Examples) != 2 || d.Examples[0].Post != 2 || !d.Examples[0].Clicked || d.Examples[1].Features[0] != 0.25 || !d.Examples[1].Converted {
		t.Errorf("the examples are %+v, error %v", d, err)
	}
	for text, part := range map[string]string{"": "no file of examples", `{"format":2}`: "no file of examples", "{\"format\":1,\"features\":[\"a\"]}\n{\"features\":[1,2]}": "line 2: 2 features, want 1", "{\"format\":1}\nx": "line 2"} {
		if _, err := parse(strings.NewReader(text), "a file"); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q: error %v, want one that contains %q", text, err, part)
		}
	}
}

func TestCommandLines(t *testing.T) {
	for _, args := range [][]string{{}, {"unknown"}, {"train"}, {"train", "--simulated", "--examples", "x"}, {"upload", "--url", "http://127.0.0.1:1", "--key", "k"}, {"models"}, {"models", "--url", "http://127.0.0.1:1"}, {"evaluate", "--simulated"}, {"train", "--simulated", "more"}} {
		if _, errOut := run(t, 2, args...); errOut == "" {
			t.Errorf("rialto rank %v says nothing", args)
		}
	}
	if out, _ := run(t, 0, "--help"); !strings.Contains(out, "activate") {
		t.Errorf("the help is %s", out)
	}
}
