package app

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/platform/transcode"
	"github.com/rialto-im/rialto/internal/platform/transcode/transcodetest"
	"github.com/rialto-im/rialto/internal/tool/bench"
)

// TestBenchOfVideos: the bench has each file processed by two deployments, compares their speed, and reads the videos of the first one from an edge, which has most of what
// it is asked for.
func TestBenchOfVideos(t *testing.T) {
	transcodetest.Open(t, transcode.Config{})
	h, _ := open(t, edgeSecret)
	other, _ := open(t)
	e := openEdgeOf(t, h)
	var out, errOut bytes.Buffer
	code := bench.Main([]string{"video", "--json", "--url", url(h), "--reference", url(other), "--edge", url(e), "--edge-metrics", "http://" + e.AdminAddress().String() + "/metrics",
		"--files", "2", "--seconds", "1", "--rate", "10", "--size", "160x90", "--codec", "mpeg4", "--viewers", "4"}, &out, &errOut)
	var r struct {
		Files, Failed int
		Ready         float64 `json:"all_renditions_p50_ms"`
		Reference     float64 `json:"reference_all_renditions_p50_ms"`
		Speed         float64 `json:"speed_ratio"`
		Hits          float64 `json:"edge_hit_ratio"`
		BackToOrigin  float64 `json:"back_to_origin_ratio"`
	}
	if err := json.Unmarshal(out.Bytes(), &r); code != 0 || err != nil {
		t.Fatalf("got exit code %d, %v\n%s\n%s", code, err, out.String(), errOut.String())
	}
	if r.Files != 2 || r.Failed != 0 || r.Ready <= 0 || r.Reference <= 0 || r.Speed <= 0 || r.Hits <= 0 || r.Hits >= 1 || r.BackToOrigin <= 0 || r.BackToOrigin >= 1 {
		t.Errorf("the result is %s", out.String())
	}
	if strings.Count(errOut.String(), "in the reference after") != 2 {
		t.Errorf("the bench says %s", errOut.String())
	}
}

// TestBenchOfVideosFlags: flags that do not fit together are refused.
func TestBenchOfVideosFlags(t *testing.T) {
	for flags, want := range map[string]string{"--edge http://127.0.0.1:1": "--edge and --edge-metrics need each other", "--reference http://127.0.0.1:1 --at-once 2": "--at-once is 1", "--reference a": "is not an address",
		"--viewers 0": "--viewers must be at least 1", "--url http://127.0.0.1:1 --reference http://127.0.0.1:1": "is repeated"} {
		var out, errOut bytes.Buffer
		if code := bench.Main(append([]string{"video"}, strings.Fields(flags)...), &out, &errOut); code != 2 || !strings.Contains(errOut.String(), want) {
			t.Errorf("%s is answered with %d: %s", flags, code, errOut.String())
		}
	}
}
