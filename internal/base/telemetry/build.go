package telemetry

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Build describes the build of the running program.
type Build struct {
	// Version is that of a release, or the module's: "(devel)" for a build from a checkout.
	Version string
	// Commit is the full hash, or "unknown".
	Commit string
	// Time of the commit in RFC 3339, or "unknown".
	Time string
	// Modified: the checkout had changes beyond the commit.
	Modified bool
	// Go is the toolchain, Platform the system and processor.
	Go, Platform string
	// Engines are the libraries that store data and connect nodes, such as "pebble v2.1.2".
	Engines []string
}

// linkedCommit is set by scripts/build.sh, as "COMMIT TIME" or "COMMIT TIME modified": go build itself records the commit only in a
// plain checkout, and not if GOFLAGS has -buildvcs=false.
var linkedCommit = ""

// linkedVersion is set by scripts/release.sh.
var linkedVersion = ""

// engines by module path.
var engines = []struct{ path, name string }{
	{"github.com/cockroachdb/pebble/v2", "pebble"},
	{"modernc.org/sqlite", "sqlite"},
	{"github.com/jackc/pgx/v5", "pgx"},
	{"github.com/apache/cassandra-gocql-driver/v2", "gocql"},
	{"github.com/nats-io/nats-server/v2", "nats-server"},
}

// ThisBuild reads what the toolchain and scripts/build.sh recorded in this program.
func ThisBuild() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	b := buildOf(info, linkedCommit)
	b.Version = cmp.Or(linkedVersion, b.Version)
	return b
}

func buildOf(info *debug.BuildInfo, linked string) Build {
	b := Build{Version: cmp.Or(info.Main.Version, "unknown"), Go: cmp.Or(info.GoVersion, runtime.Version()), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	if words := strings.Fields(linked); len(words) >= 2 {
		b.Commit, b.Time, b.Modified = words[0], words[1], len(words) > 2
	}
	b.Commit, b.Time = cmp.Or(b.Commit, "unknown"), cmp.Or(b.Time, "unknown")
	for _, e := range engines {
		for _, d := range info.Deps {
			if d.Path == e.path {
				b.Engines = append(b.Engines, e.name+" "+d.Version)
			}
		}
	}
	return b
}

// Short is the commit, shortened, with a plus if the checkout had changes.
func (b Build) Short() string {
	c := b.Commit
	if c != "unknown" {
		c = c[:min(12, len(c))]
	}
	if b.Modified {
		c += "+"
	}
	return c
}

// String is the output of rialto version.
func (b Build) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "rialto %s\n", b.Version)
	switch {
	case b.Commit == "unknown":
		s.WriteString("commit   unknown: the build had no access to git\n")
	case b.Modified:
		fmt.Fprintf(&s, "commit   %s of %s, with uncommitted changes\n", b.Commit, b.Time)
	default:
		fmt.Fprintf(&s, "commit   %s of %s\n", b.Commit, b.Time)
	}
	fmt.Fprintf(&s, "go       %s %s\n", b.Go, b.Platform)
	fmt.Fprintf(&s, "engines  %s", cmp.Or(strings.Join(b.Engines, ", "), "unknown"))
	return s.String()
}

// Info registers a metric that is always 1 and has the build in its labels.
func (b Build) Info(r *prometheus.Registry) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "rialto", Name: "build_info", Help: "Always 1; the labels say which build runs.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": b.Short(), "committed": b.Time, "go": b.Go}}, func() float64 { return 1 }))
}
