package edge_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/transport/edge"
)

// TestRegistry: an edge that knows the secret is there while it reports, until it says that it stops. Changes are told once. The number of edges has a bound, and what
// is no report is refused.
func TestRegistry(t *testing.T) {
	now, changes := clocktest.NewManual(), 0
	g := edge.NewRegistry(edge.NewPurges(secret, nil), now, func() { changes++ })
	report := func(key, query, figures string) int {
		r := httptest.NewRequest(http.MethodPost, edge.ReportPath+"?"+query, strings.NewReader(figures))
		r.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		return w.Code
	}
	query := func(name, url string) string {
		return "name=" + name + "&url=" + url + "&region=eu&connections=3&capacity=100"
	}
	check := func(what string, want ...string) {
		t.Helper()
		got := []string{}
		for _, e := range g.Live() {
			got = append(got, fmt.Sprint(e.Name, " ", e.URL, " ", e.Region, " ", e.Connections, "/", e.Capacity, " ", string(e.Figures)))
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: the edges are %v, and not %v", what, got, want)
		}
	}
	if code := report("another secret", query("a", "https://a"), ""); code != http.StatusForbidden {
		t.Errorf("a report without the secret is answered with %d", code)
	}
	for what, bad := range map[string]string{"nothing": "", "no name": query("", "https://a"), "a path": query("a", "https://a/b"), "a policy": query("a", "https://a%3Bscript-src"), "two addresses": query("a", "https://a%20https://b"), "no number": "name=a&connections=x&capacity=1",
		"a long name": query(strings.Repeat("a", 200), "https://a")} {
		if code := report(secret, bad, ""); code != http.StatusBadRequest {
			t.Errorf("a report with %s is answered with %d", what, code)
		}
	}
	if code := report(secret, query("a", "https://a"), strings.Repeat("a", 300<<10)); code != http.StatusBadRequest {
		t.Errorf("a report that is too long is answered with %d", code)
	}
	check("refused reports")
	for _, name := range []string{"b", "a", "a"} {
		if code := report(secret, query(name, "https://"+name+":8443"), "figures of "+name); code != http.StatusNoContent {
			t.Errorf("a report is answered with %d", code)
		}
	}
	check("reports", "a https://a:8443 eu 3/100 figures of a", "b https://b:8443 eu 3/100 figures of b")
	if changes != 2 {
		t.Errorf("%d changes are told of two edges", changes)
	}
	report(secret, query("b", "https://b:8443")+"&leaving=true", "")
	check("one that stops", "a https://a:8443 eu 3/100 figures of a")
	report(secret, query("a", "https://other"), "figures of another")
	check("two of one name", "a https://a:8443 eu 3/100 figures of a", "a https://other eu 3/100 figures of another")
	report(secret, query("a", "https://other")+"&leaving=true", "")
	check("one of two of one name stops", "a https://a:8443 eu 3/100 figures of a")
	now.Advance(3 * time.Second)
	check("one that is silent")
	for i := range 70 {
		if code := report(secret, query(fmt.Sprint("n", i), "https://a"), ""); (code == http.StatusNoContent) != (i < 64) {
			t.Errorf("the report of edge %d is answered with %d", i, code)
		}
	}
}
