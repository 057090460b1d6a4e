package pipeline_test

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/platform/pipeline"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write writes the file of a pipeline, with a watermark of some pixels beside it.
func write(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	var mark bytes.Buffer
	must(t, png.Encode(&mark, image.NewNRGBA(image.Rect(0, 0, 8, 4))))
	must(t, os.WriteFile(filepath.Join(dir, "logo.png"), mark.Bytes(), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "logo.txt"), []byte("no image"), 0o600))
	path := filepath.Join(dir, "pipeline.yaml")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func heights(p *pipeline.Pipeline) (list []int) {
	for _, r := range p.Renditions {
		list = append(list, r.Height)
	}
	return list
}

// TestBuiltIn: the built-in pipeline is written in the form of a file, and its text is one that can be loaded.
func TestBuiltIn(t *testing.T) {
	text, err := pipeline.Text("")
	must(t, err)
	for _, path := range []string{"", write(t, text), write(t, ""), write(t, "# nothing\n")} {
		p, err := pipeline.Load(path)
		must(t, err)
		if !slices.Equal(heights(p), []int{240, 480, 720, 1080}) || !p.Copy || p.Thumbnails != 3 || !p.Storyboard || p.Watermark != nil || len(p.Stages) != 0 || p.OnDemand.Above != 0 || p.OnDemand.Viewers != 20 || p.OnDemand.DropAfter != 720*time.Hour || p.IsOnDemand(1080) {
			t.Errorf("the pipeline of %q is %+v", path, p)
		}
	}
}

// TestLoad: a file replaces the sections that it has. Renditions are ordered by size, and stages so that each is behind those that it needs.
func TestLoad(t *testing.T) {
	p, err := pipeline.Load(write(t, `
renditions:
  - height: 720
    max_bitrate: 2000000
  - height: 144
    crf: 28
    preset: fast
watermark:
  image: logo.png
  opacity: 0.5
stages:
  - name: index
    command: [sh, -c, "cp /in/sheet/sheet.jpg index.jpg"]
    inputs: [sheet/sheet.jpg, 720p]
    outputs: [{file: index.jpg, type: image/jpeg}]
    timeout: 1m
  - name: sheet
    command: [ffmpeg]
    inputs: [source]
    outputs:
      - file: sheet.jpg
        type: image/jpeg
        max_bytes: 1000
`))
	must(t, err)
	if !slices.Equal(heights(p), []int{144, 720}) || p.Renditions[0].Preset != "fast" || p.Renditions[0].CRF != 28 || p.Renditions[1].MaxBitrate != 2_000_000 || p.Thumbnails != 3 {
		t.Errorf("the pipeline is %+v", p)
	}
	if w := p.Watermark; w == nil || w.Opacity != 0.5 || w.Corner != "bottom-right" || w.PixelWidth != 8 || w.PixelHeight != 4 || len(w.Content) == 0 {
		t.Errorf("the watermark is %+v", w)
	}
	if len(p.Stages) != 2 || p.Stages[0].Name != "sheet" || p.Stages[1].Name != "index" {
		t.Fatalf("the stages are %+v", p.Stages)
	}
	if s := p.Stage("index"); s.Timeout != time.Minute || s.Attempts != 3 || s.Memory != 1<<30 || s.Outputs[0].MaxBytes != 16<<20 || s.Line() != 12 {
		t.Errorf("the stage is %+v", s)
	}
}

// TestOnDemand: one setting makes the higher renditions be encoded on demand.
func TestOnDemand(t *testing.T) {
	p, err := pipeline.Load(write(t, "on_demand: {above: 480}\n"))
	must(t, err)
	if p.IsOnDemand(480) || !p.IsOnDemand(720) || p.OnDemand.Viewers != 20 || p.OnDemand.DropAfter != 720*time.Hour {
		t.Errorf("it is %+v", p.OnDemand)
	}
}

const validStage = "  - name: a\n    command: [x]\n    inputs: [source]\n    outputs: [{file: f, type: a/b}]\n"

// TestFaults: each fault names its line, and what to do.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"renditions:\n  - height: 480\n  - height: 240\n  - height: 480\n", "line 4: there is a rendition of the height 480 in line 2 already; remove one"},
		{"renditions: []\n", "there are 0 renditions"},
		{"renditions:\n  - height: 100000\n", "line 2: the height of a rendition is 100000"},
		{"renditions:\n  - height: 480\n    max_bitrate: 5\n", "line 2: max_bitrate is 5"},
		{"renditions:\n  - height: 480\n    crf: 99\n", "line 2: crf is 99"},
		{"renditions:\n  - height: 480\n    preset: rapid\n", "line 2: \"rapid\" is no preset"},
		{"renditions:\n  - height: 480\n    width: 5\n", "line 3: unknown field \"width\""},
		{"renditions:\n  - height: tall\n", "line 2: "},
		{"on_demand:\n  above: 200\n", "line 2: above of on_demand is 200; set the height of the largest rendition that each video gets at once, at least 240"},
		{"on_demand:\n  above: -1\n", "line 2: above of on_demand is -1"},
		{"on_demand:\n  viewers: -3\n", "line 2: viewers of on_demand is -3; set 1 to 10000"},
		{"on_demand:\n  drop_after: 1h\n", "line 2: drop_after of on_demand is 1h0m0s; set 24h0m0s to"},
		{"on_demand:\n  over: 5\n", "line 2: unknown field \"over\""},
		{"on_demand:\n  above: 480\nstages:\n" + strings.Replace(validStage, "source", "720p", 1), "line 4: the stage a needs 720p, which is encoded on demand; name a rendition of at most 480p"},
		{"thumbnails: 0\n", "thumbnails is 0; set 1 to 20"},
		{"thumbnail: 1\n", "line 1: unknown field \"thumbnail\""},
		{"copy: [\n", "line 1: "},
		{"copy: true\n---\ncopy: false\n", "a second document"},
		{"watermark:\n  image: missing.png\n", "line 2: the watermark cannot be read"},
		{"watermark:\n  image: logo.txt\n", "is no PNG image"},
		{"watermark:\n  opacity: 0.5\n", "line 2: the watermark has no image"},
		{"watermark:\n  image: logo.png\n  opacity: 2\n", "the opacity of the watermark is 2"},
		{"watermark:\n  image: logo.png\n  width: 0.9\n", "the width of the watermark is 0.9"},
		{"watermark:\n  image: logo.png\n  corner: middle\n", "\"middle\" is no corner"},
		{"stages:\n" + strings.Replace(validStage, "name: a", "name: A b", 1), "line 2: the name of a stage is \"A b\""},
		{"stages:\n" + strings.Replace(validStage, "name: a", "name: publish", 1), "line 2: a stage is called publish, as a part of each pipeline is"},
		{"stages:\n" + validStage + validStage, "line 6: there is a stage a in line 2 already"},
		{"stages:\n" + strings.Replace(validStage, "[x]", "[]", 1), "line 2: the stage a has no valid command"},
		{"stages:\n" + strings.Replace(validStage, "[source]", "[]", 1), "line 2: the stage a has no inputs"},
		{"stages:\n" + strings.Replace(validStage, "[source]", "[source, source]", 1), "line 2: the stage a names the input source twice"},
		{"stages:\n" + strings.Replace(validStage, "source", "b", 1), "line 2: the stage a needs \"b\", which does not exist"},
		{"stages:\n" + strings.Replace(validStage, "source", "300p", 1), "line 2: the stage a needs 300p, but there is no rendition of that height"},
		{"storyboard: false\nstages:\n" + strings.Replace(validStage, "source", "storyboard", 1), "line 3: the stage a needs the storyboard, but storyboard is false"},
		{"stages:\n" + strings.Replace(validStage, "source", "a", 1), "line 2: the stages a → a need each other"},
		{"stages:\n" + strings.Replace(validStage, "source", "b/f", 1) + strings.ReplaceAll(strings.Replace(validStage, "source", "a", 1), "name: a", "name: b"), "the stages a → b → a need each other"},
		{"stages:\n" + validStage + strings.Replace(strings.Replace(validStage, "source", "a/g", 1), "name: a", "name: b", 1), "line 6: the stage b needs \"a/g\", but the stage a has no such output"},
		{"stages:\n" + validStage + "    optional: true\n" + strings.Replace(strings.Replace(validStage, "source", "a", 1), "name: a", "name: b", 1), "line 7: the stage b needs the stage a, which is optional"},
		{"stages:\n" + strings.Replace(validStage, "[{file: f, type: a/b}]", "[]", 1), "line 2: the stage a has 0 outputs"},
		{"stages:\n" + strings.Replace(validStage, "file: f", "file: ../f", 1), "line 5: an output of the stage a is called \"../f\""},
		{"stages:\n" + strings.Replace(validStage, "type: a/b", "type: jpeg", 1), "line 5: the type of the output f is \"jpeg\""},
		{"stages:\n" + strings.Replace(validStage, "type: a/b", "type: a/b, max_bytes: 5000000000", 1), "max_bytes of the output f is 5000000000"},
		{"stages:\n" + validStage + "    timeout: 5h\n", "the timeout of the stage a is 5h0m0s"},
		{"stages:\n" + validStage + "    memory: 5\n", "the memory of the stage a is 5"},
		{"stages:\n" + validStage + "    disk: -1\n", "the disk of the stage a is -1"},
		{"stages:\n" + validStage + "    attempts: 50\n", "the stage a has 50 attempts"},
		{"stages:\n" + strings.Repeat(validStage, 17), "line 66: there are 17 stages; a pipeline has at most 16"},
	} {
		path := write(t, c.text)
		_, err := pipeline.Load(path)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("of %q the fault is %v, want %q", c.text, err, c.want)
		}
	}
}

// TestAllFaults: a file with several faults gets them all at once.
func TestAllFaults(t *testing.T) {
	_, err := pipeline.Load(write(t, "renditions:\n  - height: 1\nthumbnails: 100\nwatermark:\n  corner: x\n"))
	if err == nil || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("the faults are %v", err)
	}
}

// TestMissing: a file that is not there is named.
func TestMissing(t *testing.T) {
	if _, err := pipeline.Load("/missing/pipeline.yaml"); err == nil || !strings.Contains(err.Error(), "/missing/pipeline.yaml") {
		t.Errorf("it fails with %v", err)
	}
}
