package simulator

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// small is a simulation that takes less than a second.
func small(seed uint64) Config {
	return Config{Nodes: 10, Zones: 3, Clients: 100_000, cohorts: 200, Seed: seed, Duration: 12 * time.Minute, Faults: FaultKinds(), HeartbeatInterval: time.Second, NodeTimeout: 5 * time.Second}
}

// All invariants hold with several seeds, and each kind of fault was injected.
func TestTheInvariantsHold(t *testing.T) {
	faults := map[string]int{}
	for seed := range uint64(8) {
		r := Run(small(seed+1), nil)
		if r.Violation != nil {
			var out bytes.Buffer
			r.Print(&out)
			t.Fatalf("an invariant is violated: %s", out.String())
		}
		for k, n := range r.Faults {
			faults[k] += n
		}
		if r.Episodes == 0 || r.Assignments == 0 || r.Admitted < r.Clients {
			t.Errorf("seed %d: little was simulated: %+v", seed+1, r)
		}
	}
	for _, k := range FaultKinds() {
		if faults[k] == 0 {
			t.Errorf("no fault %s was injected", k)
		}
	}
}

// A seed always gives the same run, and another seed another one.
func TestASeedGivesTheSameRun(t *testing.T) {
	first, again, other := Run(small(7), nil), Run(small(7), nil), Run(small(8), nil)
	a, err := json.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(again)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Errorf("two runs of a seed differ:\n%s\n%s", a, b)
	}
	if first.Trace == other.Trace {
		t.Error("two seeds have the same trace")
	}
}

// Each check finds a decision that is broken on purpose.
func TestTheChecksFindBrokenDecisions(t *testing.T) {
	for name, test := range map[string]struct {
		faults string
		broken broken
		nodes  int
		want   []string // invariants, any of which finds it
	}{
		"changes whatever the term":     {"all", broken{ignoreTerms: true}, 10, []string{"terms rise", "one grant for each part and term", "one valid grant for each part"}},
		"two grants of a term":          {"none", broken{repeatedTerms: true}, 10, []string{"one grant for each part and term"}},
		"writes of any term":            {"pause", broken{ignoreFence: true}, 10, []string{"one node acts on a part"}},
		"a node without heartbeats":     {"zone", broken{stuck: true}, 10, []string{"each part is owned again"}},
		"an assignment by the number":   {"resize", broken{assign: byNumber}, 10, []string{"few parts move"}},
		"all parts for the first node":  {"none", broken{assign: allToFirst}, 10, []string{"loads are even"}},
		"connections as fast as come":   {"storm", broken{anyRate: true}, 10, []string{"no node admits more than its rate"}},
		"clients that do not come back": {"crash,zone", broken{noReconnect: true}, 10, []string{"all clients are connected again"}},
	} {
		t.Run(name, func(t *testing.T) {
			found := ""
			for seed := uint64(1); seed <= 10 && found == ""; seed++ {
				c := small(seed)
				if c.Faults = strings.Split(test.faults, ","); test.faults == "all" {
					c.Faults = FaultKinds()
				} else if test.faults == "none" {
					c.Faults = nil
				}
				c.Nodes, c.broken = test.nodes, test.broken
				if r := Run(c, nil); r.Violation != nil {
					found = r.Violation.Invariant
					if r.Violation.Text == "" || len(r.Violation.Events) == 0 || r.Violation.AtS <= 0 {
						t.Errorf("the violation says too little: %+v", r.Violation)
					}
				}
			}
			if !slices.Contains(test.want, found) {
				t.Errorf("found %q, want one of %q", found, test.want)
			}
		})
	}
}

func byNumber(_ string, parts int, nodes []string) (owners []string) {
	for i := range parts {
		owners = append(owners, nodes[i%len(nodes)])
	}
	return owners
}

func allToFirst(_ string, parts int, nodes []string) (owners []string) {
	for range parts {
		owners = append(owners, nodes[0])
	}
	return owners
}

// The queue gives events in the order of their times, and those of the same time in the order in which they came.
func TestTheQueueIsInOrder(t *testing.T) {
	var q queue
	for i := range 500 {
		q.push(event{at: time.Duration(i * 7919 % 50), a: int32(i)})
	}
	var last event
	for i := range 500 {
		e, ok := q.pop()
		if !ok || i > 0 && (e.at < last.at || e.at == last.at && e.a < last.a) {
			t.Fatalf("event %d: %v, %v after %v", i, ok, e, last)
		}
		last = e
	}
	if _, ok := q.pop(); ok {
		t.Error("the queue is not empty")
	}
}

// The command prints the seed, the trace and the violation, and its exit code says whether there was one.
func TestTheCommand(t *testing.T) {
	var out, errOut bytes.Buffer
	args := []string{"--nodes", "5", "--zones", "2", "--clients", "100", "--seed", "3", "--duration", "6m"}
	if code := Main(append(args, "-o", "json"), &out, &errOut); code != 0 {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	var r Result
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || r.Seed != 3 || r.Nodes != 5 || len(r.Trace) != 16 || r.Violation != nil {
		t.Errorf("the report of seed 3 is not as expected, error %v: %s", err, out.String())
	}
	out.Reset()
	if code := Main(args, &out, &errOut); code != 0 || !strings.Contains(out.String(), "trace "+r.Trace) || !strings.Contains(out.String(), "all invariants hold") {
		t.Errorf("exit code %d: %s", code, out.String())
	}
	r.Violation = &Violation{Invariant: "terms rise", AtS: 1.5, Text: "they fell", Events: []string{"the last one"}}
	out.Reset()
	r.Print(&out)
	for _, want := range []string{"terms rise", "1.500000 s", "seed 3", "they fell", "the last one"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	for _, args := range []string{"--nodes 2", "--faults rain", "--clients 0", "--duration 1s", "-o xml", "more", "--node-timeout 1s", "--unknown"} {
		if code := Main(strings.Fields(args), &out, &errOut); code != 2 {
			t.Errorf("%s: exit code %d, want 2", args, code)
		}
	}
	if code := Main([]string{"--help"}, &out, &errOut); code != 0 {
		t.Errorf("--help: exit code %d", code)
	}
}
