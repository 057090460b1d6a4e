package telemetry

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestBuildNamesItsCommit: the commit is from the linker or from go build, else unknown; nothing is invented.
func TestBuildNamesItsCommit(t *testing.T) {
	const hash = "0123456789abcdef0123456789abcdef01234567"
	info := &debug.BuildInfo{GoVersion: "go1.99", Main: debug.Module{Version: "(devel)"}, Deps: []*debug.Module{{Path: "modernc.org/sqlite", Version: "v1.2.3"}, {Path: "github.com/cockroachdb/pebble/v2", Version: "v2.0.1"}}}
	for _, c := range []struct {
		linked   string
		settings []debug.BuildSetting
		short    string
		says     []string
	}{
		{"", nil, "unknown", []string{"commit   unknown: the build had no access to git", "go       go1.99", "engines  pebble v2.0.1, sqlite v1.2.3"}},
		{"", []debug.BuildSetting{{Key: "vcs.revision", Value: hash}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"}}, "0123456789ab+", []string{hash + " of 2026-01-02T03:04:05Z, with uncommitted changes"}},
		{hash + " 2026-01-02T03:04:05Z", []debug.BuildSetting{{Key: "vcs.revision", Value: "other"}}, "0123456789ab", []string{hash + " of 2026-01-02T03:04:05Z\n"}},
		{hash + " 2026-01-02T03:04:05Z modified", nil, "0123456789ab+", []string{"with uncommitted changes"}},
	} {
		info.Settings = c.settings
		b := buildOf(info, c.linked)
		for _, want := range c.says {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%q is not in\n%s", want, b)
			}
		}
		if b.Short() != c.short {
			t.Errorf("short: %s, not %s", b.Short(), c.short)
		}
		r := prometheus.NewRegistry()
		b.Info(r)
		families, err := r.Gather()
		if err != nil || len(families) != 1 || families[0].GetName() != "rialto_build_info" || !strings.Contains(families[0].String(), c.short) {
			t.Errorf("the metrics are %v, %v, want only rialto_build_info with the commit", families, err)
		}
	}
	if b := ThisBuild(); b.Go == "" || b.Commit == "" {
		t.Errorf("this test: %+v", b)
	}
}
