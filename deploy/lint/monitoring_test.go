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

// figures that a node of a cluster has.
func figures(t *testing.T) map[string]bool {
	t.Helper()
	cmd := exec.Command(nodetest.Static(t), "serve", "--data", filepath.Join(t.TempDir(), "data"), "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0")
	cmd.Env, cmd.SysProcAttr = []string{"RIALTO_POSTGRES=" + nodetest.Postgres(t)}, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	n := nodetest.Start(t, cmd)
	_, text := nodetest.Answer(t, n.Admin+"/metrics")
	found := map[string]bool{"up": true}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) `).FindAllStringSubmatch(text, -1) {
		found[m[1]] = true
	}
	if len(found) < 30 {
		t.Fatalf("only %d figures", len(found))
	}
	return found
}

// asksFor holds an expression to the figures that are there. HAProxy's own are held by the test that runs it.
func asksFor(t *testing.T, where, text string, there map[string]bool) {
	t.Helper()
	expression, err := parser.NewParser(parser.Options{}).ParseExpr(strings.ReplaceAll(text, "$__rate_interval", "1m"))
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	parser.Inspect(expression, func(n parser.Node, _ []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok && !there[s.Name] && !strings.HasPrefix(s.Name, "haproxy_") {
			t.Errorf("%s: no node has %s", where, s.Name)
		}
		return nil
	})
}

// TestAlertsAndDashboardAskForWhatIsThere: Prometheus' own parser takes the rules, and each figure is one that nodes have.
func TestAlertsAndDashboardAskForWhatIsThere(t *testing.T) {
	there := figures(t)
	groups, faults := rulefmt.ParseFile("../monitoring/alerts.yml", false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	for _, err := range faults {
		t.Error(err)
	}
	rules := 0
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			rules++
			asksFor(t, r.Alert, r.Expr, there)
			if r.Annotations["summary"] == "" || r.Annotations["what"] == "" || r.Labels["severity"] == "" {
				t.Errorf("%s does not say what is wrong, what to do, and how bad it is", r.Alert)
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
			t.Errorf("%s lies on %s, or beside the board", p.Title, other)
		}
		at[[2]int{p.GridPos.X, p.GridPos.Y}] = p.Title
		for _, target := range p.Targets {
			asksFor(t, p.Title, target.Expr, there)
		}
	}
	if rules < 10 || len(board.Panels) < 10 {
		t.Errorf("%d rules, %d panels", rules, len(board.Panels))
	}
}

// TestPrometheusFindsTheNodes where HAProxy's configuration has them, and its rules.
func TestPrometheusFindsTheNodes(t *testing.T) {
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
		t.Errorf("%d nodes", nodes)
	}
}
