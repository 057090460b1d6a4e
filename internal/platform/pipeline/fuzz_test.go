package pipeline_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rialto-im/rialto/internal/platform/pipeline"
)

// A file of a pipeline is refused, or has what can be processed.
func FuzzLoad(f *testing.F) {
	for _, text := range []string{"renditions:\n  - height: 720\n    max_bitrate: 2000000\nwatermark:\n  image: logo.png\n", "stages:\n  - name: a\n    needs: [b]\n  - name: b\n    needs: [a]\n", "on_demand: {above: 720, drop_after: 1h}\n",
		"renditions: &a [*a]\n", "---\n---\n", "thumbnails: 1e99\n", "\t", "renditions:\n  - height: -1\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "pipeline.yaml")
		must(t, os.WriteFile(path, []byte(text), 0o600))
		p, err := pipeline.Load(path)
		if err != nil {
			return
		}
		if len(p.Renditions) == 0 || p.Thumbnails < 0 {
			t.Errorf("%q was read as %+v", text, p)
		}
		for i, r := range p.Renditions {
			if r.Height <= 0 || i > 0 && r.Height <= p.Renditions[i-1].Height {
				t.Errorf("the renditions of %q are %v", text, heights(p))
			}
		}
	})
}
