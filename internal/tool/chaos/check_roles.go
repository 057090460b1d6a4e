package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// FRestart is the restart of the node Node, with the roles Text, in a rolling restart.
const FRestart = "restart"

// allRoles is the text of a node that has all roles.
const allRoles = "all roles"

func rolesText(roles []string) string {
	if len(roles) == 0 {
		return allRoles
	}
	return strings.Join(roles, "+")
}

// checkRoles checks the restart of each node of a rolling restart: what apps send, receive and ask for meanwhile is not late. It reports the
// maximum for each kind of node.
func checkRoles(m *analysis) *Verdict {
	late := max(late, m.about.BaselineLatency)
	v := verdict("ROLES", fmt.Sprintf("while a node with some roles restarts, nothing that apps send, receive or ask for is more than %v late", late))
	kinds := m.restartsByRoles()
	if len(kinds) == 0 {
		v.State, v.What = NotChecked, "no node was restarted in a rolling restart without another fault"
		return v
	}
	for _, o := range m.ops {
		if o.F != FAsk || o.how == Ok {
			continue
		}
		for roles, windows := range kinds {
			if slices.ContainsFunc(windows, func(w fault) bool { return o.begin < w.end && o.end > w.begin }) {
				v.violate("while a node with %s restarted, a call to %s at %s was not answered: %s", roles, o.Text, at(o.begin), o.Err)
			}
		}
	}
	receipts, deliveries, answers := m.appLatencies()
	var parts []string
	for _, roles := range slices.Sorted(maps.Keys(kinds)) {
		var figures []string
		all := 0
		for _, kind := range []struct {
			name string
			list []latency
		}{{"receipts", receipts}, {"deliveries", deliveries}, {"answers", answers}} {
			n, slowest := 0, latency{}
			for _, l := range kind.list {
				if slices.ContainsFunc(kinds[roles], func(w fault) bool { return l.begin < w.end && l.begin+l.took > w.begin }) {
					if n++; l.took >= slowest.took {
						slowest = l
					}
				}
			}
			if slowest.took >= late {
				v.violate("while a node with %s restarted, %s at %s took %v", roles, slowest.what, at(slowest.begin), slowest.took)
			}
			all += n
			figures = append(figures, fmt.Sprintf("%d %s within %s", n, kind.name, short(slowest.took)))
		}
		if all == 0 {
			v.violate("while a node with %s restarted, apps sent, received and asked for nothing", roles)
		}
		parts = append(parts, fmt.Sprintf("%s, %d restarts: %s", roles, len(kinds[roles]), strings.Join(figures, ", ")))
	}
	for _, roles := range m.about.Roles {
		if kinds[roles] == nil {
			v.violate("no node with %s was restarted without another fault", roles)
		}
	}
	v.What = strings.Join(parts, "; ")
	return v
}

// restartsByRoles returns when nodes restarted, in rolling restarts without another fault, by their roles. Clients may need some time more to return.
func (m *analysis) restartsByRoles() map[string][]fault {
	windows, kinds := m.restarted(), map[string][]fault{}
	for _, o := range m.ops {
		if o.F != FRestart || o.how != Ok {
			continue
		}
		if slices.ContainsFunc(windows, func(w fault) bool { return o.begin >= w.begin && o.end <= w.end }) {
			kinds[o.Text] = append(kinds[o.Text], fault{o.Node, o.begin, o.end + restartPause})
		}
	}
	return kinds
}

// latency of an operation, or of a delivery since its receipt.
type latency struct {
	begin, took time.Duration
	what        string
}

// appLatencies returns the latencies of all sends and calls of apps that succeeded, and of the deliveries of those sends.
func (m *analysis) appLatencies() (receipts, deliveries, answers []latency) {
	stored := map[string]time.Duration{}
	for _, o := range m.ops {
		_, device := m.about.Owners[o.Proc]
		switch {
		case o.how != Ok:
		case o.F == FSend && device:
			stored[o.Text] = o.end
			receipts = append(receipts, latency{o.begin, o.end - o.begin, fmt.Sprintf("the receipt of %q", o.Text)})
		case o.F == FAsk:
			answers = append(answers, latency{o.begin, o.end - o.begin, "the answer of " + o.Text})
		}
	}
	for _, e := range m.events {
		if since, ok := stored[e.Text]; ok && e.F == FDeliver {
			deliveries = append(deliveries, latency{since, max(0, e.T-since), fmt.Sprintf("the delivery of %q to %s", e.Text, e.Proc)})
		}
	}
	return receipts, deliveries, answers
}
