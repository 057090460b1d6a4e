package rialto

import (
	"context"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/gateway/v1/gatewayv1connect"
	"github.com/rialto-im/rialto/sdk/go/reconnect"
)

const maxGateways = 16

// gateways is where sockets connect: the addresses of the last discovery, and Config.URL. Without Config.Discover it is Config.URL alone. Run's goroutine
// uses it.
type gateways struct {
	config  *Config
	service gatewayv1connect.GatewayServiceClient
	servers reconnect.Servers
}

func newGateways(config *Config) gateways {
	own := "ws" + strings.TrimPrefix(config.URL, "http") + "/v1/socket"
	return gateways{config: config, service: gatewayv1connect.NewGatewayServiceClient(config.HTTP, config.URL), servers: reconnect.Servers{Own: own, Discover: config.Discover}}
}

// next returns the address for the next try.
func (g *gateways) next(ctx context.Context) string {
	if g.servers.MustDiscover(time.Now()) {
		g.discover(ctx)
	}
	return g.servers.Next()
}

// discover asks for the gateways. If that fails, the last list stays.
func (g *gateways) discover(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, reconnect.DiscoverWithin)
	defer cancel()
	r, err := g.service.FindGateways(within, connect.NewRequest(&gatewayv1.FindGatewaysRequest{Region: g.config.Region, Previous: g.servers.Previous()}))
	if err != nil {
		g.config.Logger.Info("the gateways could not be asked for; the last ones are used", "error", err)
		g.servers.NotDiscovered(time.Now())
		return
	}
	var list []string
	for _, v := range r.Msg.Gateways {
		if len(list) < maxGateways && g.accepts(v.Ws) && !slices.Contains(list, v.Ws) {
			list = append(list, v.Ws)
		}
	}
	g.servers.Discovered(list, time.Duration(r.Msg.TtlMs)*time.Millisecond, time.Now())
}

// accepts reports whether a socket may connect to an address. Where Config.URL has TLS, tokens do not go elsewhere without.
func (g *gateways) accepts(address string) bool {
	return strings.HasPrefix(address, "wss://") || strings.HasPrefix(address, "ws://") && strings.HasPrefix(g.servers.Own, "ws://")
}

// opened records that the current address led to a node, which is preferred from now on.
func (g *gateways) opened(node string) { g.servers.Opened(node) }

// fail records that the current address did not lead to a connection, or that its node stops: it is tried last. It reports whether there is another one
// that has not failed.
func (g *gateways) fail() (others bool) { return g.servers.Fail(time.Now()) }
