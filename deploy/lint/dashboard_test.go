package lint_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
)

// validate reports what Grafana's schemas do not allow in a dashboard: fields that are missing or do not exist, values of another type or beyond their bounds. The
// queries are those of Prometheus; a panel reads its queries before its data source, so they are read again.
func validate(raw []byte) (faults []string) {
	check := func(err error) {
		if err != nil && err.Error() != "" { // without faults, Validate returns an empty list of them
			faults = append(faults, err.Error())
		}
	}
	plugins.RegisterDefaultPlugins() // the schemas of panels and queries
	//lint:ignore SA1019 the dashboard is of the first schema, which each version of Grafana reads
	var board dashboard.Dashboard
	check(board.UnmarshalJSONStrict(raw))
	check(board.Validate())
	var parts struct {
		Panels []struct{ Targets []json.RawMessage }
	}
	check(json.Unmarshal(raw, &parts))
	for _, p := range parts.Panels {
		for _, target := range p.Targets {
			var q prometheus.Dataquery
			check(q.UnmarshalJSONStrict(target))
			check(q.Validate())
		}
	}
	return faults
}

func TestTheDashboardFollowsGrafanasSchema(t *testing.T) {
	raw := read(t, "../monitoring/dashboard.json")
	for _, fault := range validate([]byte(raw)) {
		t.Error(fault)
	}
	for was, is := range map[string]string{
		`"refresh": "30s"`:      `"refreshes": "30s"`,
		`"timezone": "browser"`: `"timezone": 7`,
		`"gridPos": {`:          `"gridPosition": {`,
		`"expr": "max(rialto_`:  `"expression": "max(rialto_`,
		`"editable": true`:      `"editable": true, "fiscalYearStartMonth": 13`,
		`"exemplar": true`:      `"exemplar": "true"`,
	} {
		if wrong := strings.Replace(raw, was, is, 1); wrong == raw {
			t.Errorf("the dashboard has no %s", was)
		} else if len(validate([]byte(wrong))) == 0 {
			t.Errorf("%s is not found to be wrong", is)
		}
	}
}
