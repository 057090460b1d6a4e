package archtest_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/archtest"
)

// house is the law of this repository. A new room takes its place here first.
func house() archtest.Law {
	rooms := [][]string{
		{"errs", "id", "clock", "lifecycle", "auth", "telemetry", "message", "failpoint", "history", "archtest", "sqldb/sqltest", "sqldb/pglink"},
		{"sqldb", "timeline", "bus", "blob", "webhook"},
		{"idgen", "job", "cache", "cluster", "news"},
		{"chat", "inbox", "presence", "account", "media"},
		{"fanout"},
		{"gateway", "rpc"},
		{"config", "bench", "verify", "move", "terminal", "idcli", "chaos", "plan"},
		{"app", "faulttest"},
	}
	floors := map[string]int{"sdk/go": 0, "web": 0, "cmd/rialto": len(rooms)}
	for floor, names := range rooms {
		for _, n := range names {
			floors["internal/"+n] = floor
		}
	}
	// The vocabulary uses the three smallest words of itself, and nothing else beside it.
	floors["internal/errs"], floors["internal/id"], floors["internal/clock"] = -1, -1, -1
	floors["internal/sqldb/sqltest"] = -1 // the connections to servers are tested with servers
	return archtest.Law{
		Module: "github.com/rialto-im/rialto",
		Floors: floors,
		Never: map[string][]string{
			"internal/gateway":  {"internal/sqldb", "internal/timeline", "internal/chat", "internal/inbox", "internal/presence", "internal/account", "internal/fanout"},
			"internal/rpc":      {"internal/sqldb", "internal/timeline", "internal/bus", "internal/fanout"},
			"internal/fanout":   {"internal/sqldb", "internal/chat", "internal/inbox", "internal/presence", "internal/account"},
			"internal/chat":     {"internal/bus", "internal/blob"},
			"internal/inbox":    {"internal/bus", "internal/blob"},
			"internal/presence": {"internal/timeline", "internal/blob"},
			"internal/account":  {"internal/timeline", "internal/bus", "internal/blob"},
			"internal/media":    {"internal/timeline", "internal/bus"},
			"internal/timeline": {"internal/message"},
		},
		Only: map[string][]string{
			"sdk/go":            {"gen"},
			"web":               {},
			"internal/bench":    {"gen", "sdk/go"},
			"internal/terminal": {"gen", "sdk/go"},
			"internal/plan":     {"internal/timeline", "internal/sqldb"}, // how many partitions there are; its benchmark a database
			"internal/bus":      {"internal/errs"},
			"internal/archtest": {},
		},
		// Failpoints count their hits for the whole process, in builds for tests only.
		Mutable:   []string{"internal/failpoint"},
		Lines:     600,
		TestLines: 700,
	}
}

// reasons are what programs act on: each is said in the protocol's table, and the table has no other.
func TestTheProtocolHasEachReason(t *testing.T) {
	page, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "### Reasons")
	table, _, _ = strings.Cut(table, "\n## ")
	said := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\w+) \\|").FindAllStringSubmatch(table, -1) {
		said[m[1]+" "+m[2]] = true
	}
	given, err := archtest.Reasons("../..")
	if err != nil {
		t.Fatal(err)
	}
	// The configuration's own fault, which no client sees.
	delete(given, "bad_config invalid_argument")
	for r := range given {
		if !said[r] {
			t.Errorf("docs/protocol.md does not have the reason %s", r)
		}
	}
	for r := range said {
		if !given[r] {
			t.Errorf("docs/protocol.md has the reason %s, which nothing gives", r)
		}
	}
}

func TestTheHouseObeys(t *testing.T) {
	found, err := archtest.Check("../..", house())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Error(f)
	}
}

// TestEachBreachIsFound holds the check itself to a small repository that breaks every rule once.
func TestEachBreachIsFound(t *testing.T) {
	law := archtest.Law{
		Module: "example.org/bad",
		Floors: map[string]int{"low": 0, "beside": 0, "high": 1, "other": 1},
		Never:  map[string][]string{"high": {"beside"}},
		Only:   map[string][]string{"other": {"low"}},
		Lines:  35, TestLines: 10,
	}
	found, err := archtest.Check("testdata/bad", law)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/expected.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(text)), "\n")
	if !slices.Equal(found, want) {
		t.Errorf("found:\n%s\nwant:\n%s", strings.Join(found, "\n"), strings.Join(want, "\n"))
	}
}
