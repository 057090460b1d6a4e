package archtest_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/tool/archtest"
)

// rules of this repository. The folder of a new package determines its layer.
func rules() archtest.Rules {
	return archtest.Rules{
		Module: "github.com/rialto-im/rialto",
		Layers: [][]string{
			{"internal/base", "sdk/go", "web"},
			{"internal/engine"},
			{"internal/platform"},
			{"internal/service"},
			{"internal/transport"},
			{"internal/tool"},
			{"internal/app"},
			{"cmd"},
		},
		Generated: []string{"gen", "sdk/go/gen"},
		Within: map[string][]string{
			"internal/base":                    {"internal/base/errs", "internal/base/id", "internal/base/clock", "internal/base/backoff", "internal/base/budget", "internal/base/excerpt", "internal/base/loopback", "internal/base/memory", "internal/base/tracing"},
			"internal/base/egress":             {"internal/base/outgoing", "internal/base/certpool"},
			"sdk/go":                           {"sdk/go/reconnect"},
			"sdk/go/examples":                  {"sdk/go"},
			"internal/base/id":                 {"sdk/go/ids"}, // the server uses the generators that the SDK exports
			"internal/platform":                {"internal/platform/lease"},
			"internal/platform/idservice":      {"internal/platform/idgen"},
			"internal/platform/directory":      {"internal/platform/nodecall"},
			"internal/platform/interest":       {"internal/platform/nodecall"},
			"internal/platform/nodecall":       {"internal/platform/cluster"}, // its test: targets outlive the registry
			"internal/platform/job":            {"internal/platform/cluster"},
			"internal/platform/counter":        {"internal/platform/cluster", "internal/platform/reconciliation"},
			"internal/platform/activity":       {"internal/platform/cluster", "internal/platform/userdata"},
			"internal/platform/coldtier":       {"internal/platform/reconciliation"},
			"internal/platform/reconciliation": {"internal/platform/cluster", "internal/platform/job", "internal/platform/auditlog"},
			"internal/platform/cache":          {"internal/platform/clusterevent"},
			"internal/platform/backup":         {"internal/platform/datadir"},
			"internal/platform/runtimeswitch":  {"internal/platform/clusterevent", "internal/platform/auditlog"},
			"internal/engine/timeline":         {"internal/engine/sqldb/pglink"}, // all connections to PostgreSQL are made there
			"internal/tool/importer":           {"internal/tool/interchangefile", "internal/tool/apiclient"},
			"internal/tool/exporter":           {"internal/tool/interchangefile", "internal/tool/importer"}, // its client of the server
			"internal/tool/where":              {"internal/tool/apiclient"},
			"internal/tool/rank":               {"internal/tool/apiclient"},
			"internal/tool/idcli":              {"internal/tool/apiclient"},
			"internal/tool/remotebackup":       {"internal/tool/apiclient"},
			"internal/app":                     {"internal/app/config"},
			"internal/app/apptest":             {"internal/app"},
		},
		Never: map[string][]string{
			"internal/transport/gateway":       {"internal/engine/sqldb", "internal/engine/timeline", "internal/service"},
			"internal/transport/rpc":           {"internal/engine/sqldb", "internal/engine/timeline", "internal/engine/bus", "internal/service/fanout"},
			"internal/transport/stomp":         {"internal/engine", "internal/platform", "internal/service", "internal/transport/gateway", "internal/transport/rpc"},
			"internal/service/fanout":          {"internal/engine/sqldb"},
			"internal/service/chat":            {"internal/engine/bus", "internal/engine/blob"},
			"internal/service/inbox":           {"internal/engine/bus", "internal/engine/blob"},
			"internal/service/presence":        {"internal/engine/timeline", "internal/engine/bus", "internal/engine/blob"},
			"internal/service/schedule":        {"internal/engine/timeline", "internal/engine/bus", "internal/engine/blob"},
			"internal/service/chatroom":        {"internal/engine/timeline", "internal/engine/blob"},
			"internal/service/streamedmessage": {"internal/engine/timeline", "internal/engine/blob"},
			"internal/service/officialaccount": {"internal/engine/timeline", "internal/engine/bus", "internal/engine/blob"},
			"internal/service/organization":    {"internal/engine/timeline", "internal/engine/blob"},
			"internal/platform/directory":      {"internal/engine/sqldb", "internal/engine/timeline", "internal/engine/blob"},
			"internal/service/account":         {"internal/engine/timeline", "internal/engine/bus", "internal/engine/blob"},
			"internal/service/media":           {"internal/engine/timeline", "internal/engine/bus"},
			"internal/engine/timeline":         {"internal/base/message"},
			"internal/service/comment":         {"internal/engine/timeline", "internal/engine/bus", "internal/engine/blob"},
			"internal/service/engagement":      {"internal/engine/timeline", "internal/engine/bus", "internal/engine/blob"},
			"internal/service/ranking":         {"internal/engine/timeline", "internal/engine/bus", "internal/engine/blob"},
			"internal/service/detail":          {"internal/engine/timeline", "internal/engine/bus", "internal/engine/blob"},
			"internal/service/notification":    {"internal/engine/timeline", "internal/engine/bus", "internal/engine/blob"},
			"internal/service/push":            {"internal/engine/timeline", "internal/engine/bus", "internal/engine/blob"},
			"internal/service/video":           {"internal/engine/timeline", "internal/engine/bus"},
			"internal/service/feed":            {"internal/engine/bus", "internal/engine/blob"},
			"internal/service/helpdesk":        {"internal/engine/timeline", "internal/engine/bus", "internal/engine/blob"},
			"internal/service/canary":          {"internal/engine", "internal/platform"}, // it is a client
		},
		Only: map[string][]string{
			"sdk/go":                        {}, // a separate module, so that its users do not get the server's dependencies
			"web":                           {},
			"internal/tool/bench":           {"internal/base/commandline", "sdk/go", "internal/base/progress", "internal/base/backoff", "internal/base/eventually"},
			"internal/tool/terminal":        {"internal/base/commandline", "sdk/go", "internal/base/printable", "internal/base/excerpt"},
			"internal/tool/apiclient":       {"sdk/go", "internal/base/backoff", "internal/base/egress"},
			"internal/tool/where":           {"internal/base/commandline", "sdk/go", "internal/base/printable", "internal/tool/apiclient"},
			"internal/tool/remotebackup":    {"sdk/go", "internal/base/backoff", "internal/base/progress", "internal/tool/apiclient"},
			"internal/tool/interchangefile": {"sdk/go", "internal/base/excerpt", "internal/base/filecopy"},
			"internal/tool/importer":        {"sdk/go", "internal/base/progress", "internal/tool/apiclient", "internal/tool/interchangefile"},
			"internal/tool/exporter":        {"sdk/go", "internal/base/progress", "internal/tool/interchangefile", "internal/tool/importer"},
			"internal/tool/plan":            {"internal/engine/timeline", "internal/engine/sqldb"}, // the number of partitions; a database for its benchmark
			"internal/engine/bus":           {"internal/base/errs", "internal/base/certpool", "internal/base/eventually", "internal/base/backoff"},
			"internal/tool/archtest":        {},
		},
		// All but egress and s3blob are clients of Rialto itself, or test it.
		Requests: []string{"internal/base/egress", "sdk/go", "sdk/go/examples", "internal/tool/apiclient", "internal/tool/terminal", "internal/tool/bench", "internal/tool/chaos", "internal/app/apptest", "internal/service/canary", "internal/engine/blob/s3blob"},
		// Failpoints count their hits for the whole process, and only in test builds.
		Mutable:       []string{"internal/base/failpoint"},
		Lines:         500,
		TestLines:     700,
		FunctionLines: 70,
		Words: map[string]string{ // of an earlier vocabulary
			"house": "node", "houses": "nodes", "door": "endpoint, API or listener", "doors": "endpoints, API or listeners", "deed": "operation", "deeds": "operations",
			"parcel": "payload", "parcels": "payloads", "stranger": "anonymous client, or user who is no friend or member", "strangers": "anonymous clients, or users who are no friends or members",
			"homecoming": "takeover", "poke": "signal", "pokes": "signals",
			"stray": "redirected record", "strays": "redirected records", "lonely": "isolated", "keeper": "owner", "keepers": "owners",
			"crew": "worker group", "unheard": "not received", "shun": "open the circuit of", "shunned": "silent", "shunning": "circuit breaker",
			"slip": "signed ticket", "slips": "signed tickets", "wish": "request", "wishes": "requests", "town": "workload",
			"looker": "check", "mend": "repair", "mended": "repaired", "mends": "repairs", "nought": "0", "picky": "rejecting", "doubtful": "suspected",
			"reign": "epoch", "thief": "another client", "thiefs": "other clients", "carriers": "dispatchers", "homes": "owners",
		},
	}
}

// Programs act on the reasons of errors: the protocol's table contains each reason that the code returns, and no other.
func TestTheProtocolHasEachReason(t *testing.T) {
	page, err := os.ReadFile("../../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "### Reasons")
	table, _, _ = strings.Cut(table, "\n## ")
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\w+) \\|").FindAllStringSubmatch(table, -1) {
		documented[m[1]+" "+m[2]] = true
	}
	returned, err := archtest.Reasons("../../..")
	if err != nil {
		t.Fatal(err)
	}
	// Only operators see errors in the configuration.
	delete(returned, "bad_config invalid_argument")
	for r := range returned {
		if !documented[r] {
			t.Errorf("docs/protocol.md lacks the reason %s", r)
		}
	}
	for r := range documented {
		if !returned[r] {
			t.Errorf("docs/protocol.md has the reason %s, which no code returns", r)
		}
	}
}

func TestTheRepositoryKeepsItsRules(t *testing.T) {
	found, err := archtest.Check("../../..", rules())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Error(f)
	}
}

// TestEachViolationIsFound runs the check on a small repository that violates each rule.
func TestEachViolationIsFound(t *testing.T) {
	found, err := archtest.Check("testdata/bad", archtest.Rules{
		Module: "example.org/bad",
		Layers: [][]string{{"low"}, {"high"}},
		Within: map[string][]string{"low/friend": {"low/beside"}},
		Never:  map[string][]string{"high/never": {"low/beside"}},
		Only:   map[string][]string{"high/other": {"low/own"}},
		Lines:  35, TestLines: 10, FunctionLines: 8,
		Words: map[string]string{"house": "node"},
	})
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
