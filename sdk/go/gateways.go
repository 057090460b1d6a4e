package rialto

import (
	"context"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/gateway/v1/gatewayv1connect"
)

const (
	discoverWithin = 3 * time.Second
	// discoverAgain is the time between a discovery that failed and the next one.
	discoverAgain = 5 * time.Second
	// longestLifetime bounds how long an answer is used, whatever it says.
	longestLifetime = time.Hour
	maxGateways     = 16
	// A gateway that failed is tried last for failureTime.
	failureTime = time.Minute
)

// gateways is where sockets connect: the list of the last discovery, which outlives discoveries that fail, and Config.URL. Without Config.Discover
// it is Config.URL alone. Run's goroutine uses it.
type gateways struct {
	config  *Config
	service gatewayv1connect.GatewayServiceClient
	own     string // the address of Config.URL's sockets

	list     []string             // addresses of sockets, best first
	askAt    time.Time            // when the list is too old
	failed   map[string]time.Time // addresses that failed, and when
	current  string               // the address of the last try
	previous string               // the node of the last connection
}

func newGateways(config *Config) gateways {
	return gateways{config: config, service: gatewayv1connect.NewGatewayServiceClient(config.HTTP, config.URL), own: "ws" + strings.TrimPrefix(config.URL, "http") + "/v1/socket",
		failed: map[string]time.Time{}}
}

// next returns the address for the next try: the best one that has not failed, then Config.URL, then the one that failed longest ago.
func (g *gateways) next(ctx context.Context) string {
	if g.config.Discover && !time.Now().Before(g.askAt) {
		g.discover(ctx)
	}
	all := g.list
	if !slices.Contains(all, g.own) {
		all = append(slices.Clone(all), g.own)
	}
	g.current = all[0]
	for _, address := range all[1:] {
		if g.failed[address].Before(g.failed[g.current]) {
			g.current = address
		}
	}
	return g.current
}

// discover asks for the gateways. If that fails, the last list stays.
func (g *gateways) discover(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, discoverWithin)
	defer cancel()
	r, err := g.service.FindGateways(within, connect.NewRequest(&gatewayv1.FindGatewaysRequest{Region: g.config.Region, Previous: g.previous}))
	now := time.Now()
	if err != nil {
		g.config.Logger.Info("the gateways could not be asked for; the last ones are used", "error", err)
		g.askAt = now.Add(discoverAgain)
		return
	}
	g.list = nil
	for _, v := range r.Msg.Gateways {
		if len(g.list) < maxGateways && g.accepts(v.Ws) && !slices.Contains(g.list, v.Ws) {
			g.list = append(g.list, v.Ws)
		}
	}
	g.askAt = now.Add(min(time.Duration(r.Msg.TtlMs)*time.Millisecond, longestLifetime))
	for address, at := range g.failed {
		if now.Sub(at) > failureTime {
			delete(g.failed, address)
		}
	}
}

// accepts reports whether a socket may connect to an address. Where Config.URL has TLS, tokens do not go elsewhere without.
func (g *gateways) accepts(address string) bool {
	return strings.HasPrefix(address, "wss://") || strings.HasPrefix(address, "ws://") && strings.HasPrefix(g.own, "ws://")
}

// opened records that the current address led to a node, which is preferred from now on.
func (g *gateways) opened(node string) {
	g.previous = node
	delete(g.failed, g.current)
	if i := slices.Index(g.list, g.current); i > 0 {
		g.list = slices.Insert(slices.Delete(g.list, i, i+1), 0, g.current)
	}
}

// fail records that the current address did not lead to a connection, or that its node stops: it is tried last. It reports whether there is another one
// that has not failed.
func (g *gateways) fail() (others bool) {
	g.failed[g.current] = time.Now()
	if !g.config.Discover {
		return false
	}
	for _, address := range append(slices.Clone(g.list), g.own) {
		if g.failed[address].IsZero() {
			return true
		}
	}
	return false
}
