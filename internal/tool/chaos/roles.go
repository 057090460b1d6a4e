package chaos

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
)

// Roles of nodes, as in the setting roles.
const (
	roleGateway = "gateway"
	roleAPI     = "api"
	roleChat    = "chat"
	roleFeed    = "feed"
	roleWorker  = "worker"
	roleEdge    = "edge"
)

// minRoleNodes is the least number of nodes with each role, so that one of them can restart.
const minRoleNodes = 2

// edgeSecret is shared by the edges of a run and its other nodes.
const edgeSecret = "only for the nodes and edges of this run"

// Layout is the list of roles of each node, in order; edges come last. If it is empty, each node has all roles.
type Layout [][]string

// ParseLayout parses nodes separated by commas, the roles of each joined by +: "gateway,gateway,api+worker,api+worker".
func ParseLayout(text string) (l Layout, err error) {
	for node := range strings.SplitSeq(text, ",") {
		l = append(l, strings.Split(strings.TrimSpace(node), "+"))
	}
	return l, l.check()
}

// MixedLayout gives each of a number of nodes random roles, and each role to minRoleNodes of them or more. Two edges follow.
func MixedLayout(seed uint64, nodes int) (l Layout, err error) {
	rng := rand.New(rand.NewPCG(seed, 0x726f6c6573))
	roles := []string{roleGateway, roleAPI, roleChat, roleFeed, roleWorker}
	with := make([]map[string]bool, max(nodes, minRoleNodes))
	for i := range with {
		with[i] = map[string]bool{roles[rng.IntN(len(roles))]: true}
		for _, r := range roles {
			if rng.IntN(3) == 0 {
				with[i][r] = true
			}
		}
	}
	for _, r := range roles {
		have := 0
		for _, node := range with {
			if node[r] {
				have++
			}
		}
		for _, i := range rng.Perm(len(with)) {
			if have < minRoleNodes && !with[i][r] {
				with[i][r] = true
				have++
			}
		}
	}
	for _, node := range with {
		l = append(l, slices.DeleteFunc(slices.Clone(roles), func(r string) bool { return !node[r] }))
	}
	l = append(l, []string{roleEdge}, []string{roleEdge})
	return l, l.check()
}

// check returns why a cluster with this layout would not serve everything while one node restarts.
func (l Layout) check() error {
	var errs []error
	for _, role := range []string{roleGateway, roleAPI, roleChat, roleFeed, roleWorker} {
		n := 0
		for _, roles := range l {
			if servesRole(roles, role) {
				n++
			}
		}
		if n < minRoleNodes {
			errs = append(errs, fmt.Errorf("the role %s is on %d nodes: each needs %d, so that one can restart", role, n, minRoleNodes))
		}
	}
	for i, roles := range l {
		if i > 0 && slices.Contains(l[i-1], roleEdge) && !slices.Contains(roles, roleEdge) {
			errs = append(errs, errors.New("edges come last"))
		}
	}
	return errors.Join(errs...)
}

// String is what ParseLayout parses.
func (l Layout) String() string {
	nodes := make([]string, 0, len(l))
	for _, roles := range l {
		nodes = append(nodes, strings.Join(roles, "+"))
	}
	return strings.Join(nodes, ",")
}

// of returns the roles of a node; nil are all.
func (l Layout) of(i int) []string {
	if len(l) == 0 {
		return nil
	}
	return l[i]
}

// servesRole reports whether a node with some roles, or without any, serves a role.
func servesRole(roles []string, role string) bool {
	switch {
	case len(roles) == 0:
		return role != roleEdge
	case slices.Contains(roles, role):
		return true
	}
	return (role == roleChat || role == roleFeed) && slices.Contains(roles, roleAPI)
}

// roleSettings returns the settings of a node beside those of its engines, which an edge does not have. origins are the addresses of nodes
// with the role api.
func (l Layout) roleSettings(roles []string, origins []string) (settings []string) {
	if len(l) == 0 {
		return nil
	}
	settings = []string{"roles=" + strings.Join(roles, ","), "edge.secret=" + edgeSecret}
	if slices.Contains(roles, roleEdge) {
		settings = append(settings, "edge.origins="+strings.Join(origins, ","))
	}
	return settings
}

// Services by role, as docs/operating/scaling.md configures a balancer. Everything else is for the role api.
var (
	chatServices = []string{"/rialto.bridge.", "/rialto.chat.", "/rialto.presence.", "/rialto.transaction."}
	feedServices = []string{"/rialto.comment.", "/rialto.engagement.", "/rialto.feed.", "/rialto.notification.", "/rialto.ranking."}
)

// roleOf returns the role that serves a request.
func roleOf(method, path string) string {
	hasPrefix := func(prefix string) bool { return strings.HasPrefix(path, prefix) }
	switch {
	case path == "/v1/socket" || path == "/v1/events" || path == "/v1/stomp":
		return roleGateway
	case slices.ContainsFunc(chatServices, hasPrefix):
		return roleChat
	case slices.ContainsFunc(feedServices, hasPrefix):
		return roleFeed
	case method == http.MethodGet && hasPrefix("/v1/media/"):
		return roleEdge
	}
	return roleAPI
}

// Serving returns the nodes that serve a role. If the cluster has no edges, nodes with the role api serve theirs.
func (r *Router) Serving(role string) []*Node {
	var list []*Node
	for _, n := range r.nodes {
		if servesRole(n.roles, role) {
			list = append(list, n)
		}
	}
	if len(list) == 0 && role == roleEdge {
		return r.Serving(roleAPI)
	}
	return list
}

// route returns the node for a request: the preferred one if it serves that, else a random one that does.
func (r *Router) route(q *http.Request, preferred *Node) *Node {
	list := r.Serving(roleOf(q.Method, q.URL.Path))
	if slices.Contains(list, preferred) {
		return preferred
	}
	return list[rand.IntN(len(list))]
}
