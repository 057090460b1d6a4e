package lint_test

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/rialto-im/rialto/deploy/nodetest"
)

const runbooks = "docs/operating/alerts/"

// sections of a runbook, in order.
var sections = []string{"What it means", "What to look at", "What to do", "How it was tried"}

// runbookFaults says what is wrong with the runbook of an alert: its title, its sections, and the metrics and commands that do not exist.
func runbookFaults(alert, text string, metrics map[string]bool, isCommand func(words []string) bool) (faults []string) {
	if !strings.HasPrefix(text, "# "+alert+"\n") {
		faults = append(faults, "its title is not the name of the alert")
	}
	var found []string
	for _, part := range strings.Split(text, "\n## ")[1:] {
		title, body, _ := strings.Cut(part, "\n")
		found = append(found, title)
		if len(strings.TrimSpace(body)) < 40 {
			faults = append(faults, fmt.Sprintf("the section %q says nothing", title))
		}
	}
	if !slices.Equal(found, sections) {
		faults = append(faults, fmt.Sprintf("its sections are %q, want %q", found, sections))
	}
	named := 0
	for _, m := range regexp.MustCompile("`((?:rialto|process|go)_[a-z0-9_]+)").FindAllStringSubmatch(text, -1) {
		if named++; !metrics[m[1]] {
			faults = append(faults, "nodes have no metric "+m[1])
		}
	}
	for _, m := range regexp.MustCompile("`rialto ([a-z ]+)").FindAllStringSubmatch(text, -1) {
		if words := strings.Fields(m[1]); !isCommand(words) {
			faults = append(faults, "there is no command rialto "+strings.Join(words, " "))
		}
	}
	if named == 0 && !strings.Contains(text, "`up`") {
		faults = append(faults, "it names no metric")
	}
	return faults
}

// Each alert has a runbook that its annotation leads to, and each runbook has an alert. The metrics and the commands in it exist.
func TestEachAlertHasARunbook(t *testing.T) {
	existing, program := metrics(t), nodetest.Static(t)
	isCommand := func(words []string) bool {
		return exec.Command(program, append(words, "--help")...).Run() == nil
	}
	groups, faults := rulefmt.ParseFile("../monitoring/alerts.yml", false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	for _, err := range faults {
		t.Error(err)
	}
	pages, err := filepath.Glob(filepath.Join(nodetest.Root, runbooks, "Rialto*.md"))
	must(t, err)
	without := map[string]bool{}
	for _, p := range pages {
		without[filepath.Base(p)] = true
	}
	rules := 0
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			rules++
			name := r.Alert + ".md"
			if got := r.Annotations["runbook_url"]; got != runbooks+name {
				t.Errorf("%s: its runbook_url is %q, want %s", r.Alert, got, runbooks+name)
			}
			text, err := os.ReadFile(filepath.Join(nodetest.Root, runbooks, name))
			if err != nil {
				t.Error(err)
				continue
			}
			delete(without, name)
			for _, fault := range runbookFaults(r.Alert, string(text), existing, isCommand) {
				t.Errorf("%s%s: %s", runbooks, name, fault)
			}
		}
	}
	for name := range without {
		t.Errorf("%s%s: there is no such alert", runbooks, name)
	}
	if rules < 20 {
		t.Errorf("got %d alerts, want at least 20", rules)
	}
}

// A runbook with a fault is reported: a wrong title, an empty or a missing section, a metric or a command that does not exist.
func TestFaultsOfRunbooksAreFound(t *testing.T) {
	const body = "\n\nSee `rialto_nodes` first, then the log, then the others, and `rialto admin jobs list` --all.\n"
	good := "# Down" + body
	for _, s := range sections {
		good += "\n## " + s + body
	}
	metrics := map[string]bool{"rialto_nodes": true}
	isCommand := func(words []string) bool { return slices.Equal(words, []string{"admin", "jobs", "list"}) }
	if faults := runbookFaults("Down", good, metrics, isCommand); len(faults) != 0 {
		t.Errorf("a page without a fault: %q", faults)
	}
	for fault, change := range map[string][2]string{
		"its title":           {"# Down", "# Up"},
		"says nothing":        {"## What to do" + body, "## What to do\n\nNothing.\n"},
		"its sections":        {"## How it was tried", "## Tried"},
		"no metric rialto_x":  {"`rialto_nodes`", "`rialto_x`"},
		"no command rialto a": {"`rialto admin", "`rialto abc"},
		"it names no metric":  {"`rialto_nodes`", "the nodes"},
	} {
		text := strings.ReplaceAll(good, change[0], change[1])
		if got := strings.Join(runbookFaults("Down", text, metrics, isCommand), "; "); !strings.Contains(got, fault) {
			t.Errorf("with %q in place of %q the faults are %q, want %q", change[1], change[0], got, fault)
		}
	}
}
