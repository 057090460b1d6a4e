package lint_test

import (
	"encoding/json"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/rialto-im/rialto/deploy/nodetest"
	"sigs.k8s.io/yaml"
)

// metrics returns the names of the metrics of a node in a cluster, and of an edge.
func metrics(t *testing.T) map[string]bool {
	t.Helper()
	cmd := serve(t)
	cmd.Env = []string{"RIALTO_POSTGRES=" + nodetest.Postgres(t)}
	n := nodetest.Start(t, cmd)
	edge := nodetest.Start(t, serve(t, "--set", "roles=edge", "--set", "edge.origins="+n.URL, "--set", "edge.secret="+strings.Repeat("s", 32)))
	_, text := nodetest.Answer(t, n.Admin+"/metrics")
	_, ofEdge := nodetest.Answer(t, edge.Admin+"/metrics")
	text += ofEdge
	found := map[string]bool{"up": true}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)`).FindAllStringSubmatch(text, -1) {
		found[m[1]] = true
		if m[2] == "histogram" {
			found[m[1]+"_bucket"], found[m[1]+"_sum"], found[m[1]+"_count"] = true, true, true
		}
	}
	if len(found) < 30 {
		t.Fatalf("got %d metrics, want at least 30", len(found))
	}
	return found
}

// serve is a command that runs a node with some arguments, without an environment.
func serve(t *testing.T, arguments ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(nodetest.Static(t), append([]string{"serve", "--data", filepath.Join(t.TempDir(), "data"), "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"}, arguments...)...)
	cmd.Env, cmd.SysProcAttr = []string{}, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// checkMetrics checks that the metrics of an expression exist. The test that runs HAProxy covers HAProxy's own metrics.
func checkMetrics(t *testing.T, where, text string, existing map[string]bool) {
	t.Helper()
	expression, err := parser.NewParser(parser.Options{}).ParseExpr(strings.ReplaceAll(text, "$__rate_interval", "1m"))
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	parser.Inspect(expression, func(n parser.Node, _ []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok && !existing[s.Name] && !strings.HasPrefix(s.Name, "haproxy_") {
			t.Errorf("%s: nodes have no metric %s", where, s.Name)
		}
		return nil
	})
}

// Prometheus' own parser accepts the alerts and the dashboard, and all metrics in them exist.
func TestAlertsAndDashboardUseExistingMetrics(t *testing.T) {
	existing := metrics(t)
	groups, faults := rulefmt.ParseFile("../monitoring/alerts.yml", false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	for _, err := range faults {
		t.Error(err)
	}
	rules := 0
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			rules++
			checkMetrics(t, r.Alert, r.Expr, existing)
			if r.Annotations["summary"] == "" || r.Annotations["what"] == "" || r.Labels["severity"] == "" {
				t.Errorf("%s needs a summary, an instruction (what) and a severity", r.Alert)
			}
		}
	}
	var board struct {
		Panels []struct {
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	must(t, json.Unmarshal([]byte(read(t, "../monitoring/dashboard.json")), &board))
	at := map[[2]int]string{}
	for _, p := range board.Panels {
		if other := at[[2]int{p.GridPos.X, p.GridPos.Y}]; other != "" || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %s overlaps panel %q, or is beyond the right edge", p.Title, other)
		}
		at[[2]int{p.GridPos.X, p.GridPos.Y}] = p.Title
		for _, target := range p.Targets {
			checkMetrics(t, p.Title, target.Expr, existing)
		}
	}
	if rules < 10 || len(board.Panels) < 10 {
		t.Errorf("got %d rules and %d panels, want at least 10 of each", rules, len(board.Panels))
	}
}

// Prometheus scrapes the nodes and the HAProxy of HAProxy's configuration, and its rule files exist.
func TestPrometheusScrapesTheNodesOfHAProxy(t *testing.T) {
	var config struct {
		RuleFiles     []string `json:"rule_files"`
		ScrapeConfigs []struct {
			JobName       string `json:"job_name"`
			StaticConfigs []struct {
				Targets []string
			} `json:"static_configs"`
		} `json:"scrape_configs"`
	}
	must(t, yaml.Unmarshal([]byte(read(t, "../monitoring/prometheus.yml")), &config))
	for _, file := range config.RuleFiles {
		_, err := os.Stat("../monitoring/" + file)
		must(t, err)
	}
	proxy, nodes := read(t, "../haproxy/haproxy.cfg"), 0
	for _, job := range config.ScrapeConfigs {
		for _, target := range job.StaticConfigs[0].Targets {
			u, err := url.Parse("http://" + target)
			must(t, err)
			if job.JobName == "rialto" {
				nodes++
				if !strings.Contains(proxy, u.Hostname()+":7070") || !strings.Contains(proxy, "check port "+u.Port()) {
					t.Errorf("HAProxy's configuration has no node at %s", target)
				}
			} else if !strings.Contains(proxy, "bind "+target) {
				t.Errorf("HAProxy does not listen at %s", target)
			}
		}
	}
	if nodes != 3 {
		t.Errorf("got %d scraped nodes, want 3", nodes)
	}
}

// Titles, rules and documents contain the number of partitions. Nothing else compares it with the source.
func TestTheNumberOfPartitionsIsCurrent(t *testing.T) {
	source := regexp.MustCompile(`(?m)^\s*(?:const )?Partitions = (\d+)`).FindStringSubmatch(read(t, "../../internal/engine/timeline/timeline.go"))
	if source == nil {
		t.Fatal("the number of partitions was not found in the source")
	}
	for file, said := range map[string]string{
		"../monitoring/dashboard.json":        `Partitions with an owner, of (\d+)`,
		"../monitoring/alerts.yml":            `rialto_partitions_held\{job="rialto"\}\) < (\d+)`,
		"../../docs/operating/metrics.md":     "`rialto_partitions_held < (\\d+)`",
		"../../docs/operating/metrics.md#one": `partitions that have an owner, of (\d+)`,
	} {
		file, _, _ = strings.Cut(file, "#")
		if m := regexp.MustCompile(said).FindStringSubmatch(read(t, file)); m == nil || m[1] != source[1] {
			t.Errorf("number of partitions in %s: got %q, want %s", file, m, source[1])
		}
	}
}
