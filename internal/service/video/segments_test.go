package video

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/platform/pipeline"
	"github.com/rialto-im/rialto/internal/platform/transcode"
)

// TestStoredSegments: the example of docs/formats/video.md is what is written, and what is read.
func TestStoredSegments(t *testing.T) {
	page, err := os.ReadFile("../../../docs/formats/video.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile(`(?m)^    ([0-9a-f]+)$`).FindSubmatch(page)
	if example == nil {
		t.Fatal("the page has no example")
	}
	b, err := encodeSegments([]transcode.Segment{{Offset: 0, Size: 1000, Start: 500, Duration: 24000}, {Offset: 1000, Size: 200, Start: 24500, Duration: 24000}, {Offset: 1200, Size: 3, Start: 48500, Duration: 12000}})
	if got := hex.EncodeToString(b); err != nil || got != string(example[1]) {
		t.Errorf("it is %s, %v, and not %s", got, err, example[1])
	}
	list, err := segmentsOf(&task{start: 500, segments: b})
	if err != nil || len(list) != 3 || list[2] != (segment{offset: 1200, size: 3, start: 48500, duration: 12000}) {
		t.Errorf("it is read as %v, %v", list, err)
	}
	if _, err := segmentsOf(&task{segments: b[:len(b)-1]}); err == nil {
		t.Error("a part of it is read")
	}
	if _, err := encodeSegments([]transcode.Segment{{Size: 1, Duration: 1}, {Offset: 1, Size: 1, Start: 2, Duration: 1}}); err == nil {
		t.Error("a gap is written")
	}
}

// TestStoredStages: the examples of stages in docs/formats/video.md are what is written, and what is read.
func TestStoredStages(t *testing.T) {
	page, err := os.ReadFile("../../../docs/formats/video.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile(`(?m)^    (\[\{.*)$`).FindSubmatch(page)
	if example == nil {
		t.Fatal("the page has no example")
	}
	stage := pipeline.Stage{Name: "contact-sheet", Command: []string{"ffmpeg", "-v", "error"}, Inputs: []string{"source"}, Outputs: []pipeline.Output{{File: "sheet.jpg", Type: "image/jpeg", MaxBytes: 2_000_000}},
		Timeout: 5 * time.Minute, Memory: 1 << 30, Disk: 1 << 30, Attempts: 3, Optional: true}
	if b, err := encodeStages([]pipeline.Stage{stage}); err != nil || string(b) != string(example[1]) {
		t.Errorf("it is %s, %v, and not %s", b, err, example[1])
	}
	var list []pipeline.Stage
	if err := json.Unmarshal(example[1], &list); err != nil || !reflect.DeepEqual(list, []pipeline.Stage{stage}) {
		t.Errorf("it is read as %+v, %v", list, err)
	}
	sizes, err := sizesOf(&task{segments: encodeSizes([]int64{1000, 3})})
	if got := hex.EncodeToString(encodeSizes([]int64{1000, 3})); err != nil || !slices.Equal(sizes, []int64{1000, 3}) || !strings.Contains(string(page), "\n    "+got+"\n") {
		t.Errorf("the sizes are %s, and are read as %v, %v", got, sizes, err)
	}
}
