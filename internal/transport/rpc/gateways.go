package rpc

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/account"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/gateway/v1/gatewayv1connect"
)

// Discovery tells clients where to connect.
type Discovery interface {
	// FindGateways ranks the gateways for a client that asked by an address, as https://chat.example.com; "" if that is not known.
	FindGateways(r *gatewayv1.FindGatewaysRequest, asked string) *gatewayv1.FindGatewaysResponse
}

func (s *Server) gateways() []method {
	return []method{
		newMethod(s, gatewayv1connect.GatewayServiceFindGatewaysProcedure, anonymousAccess, func(ctx context.Context, _ id.Caller, r *gatewayv1.FindGatewaysRequest) (*gatewayv1.FindGatewaysResponse, error) {
			return s.deps.Discovery.FindGateways(r, s.page(ctx).Address), nil
		}),
	}
}

// page is where a call comes from; empty for calls of sockets.
func (s *Server) page(ctx context.Context) account.Page {
	r := incomingOf(ctx).request
	if r == nil {
		return account.Page{}
	}
	return account.Page{Origin: r.Header.Get("Origin"), Address: askedAddress(r, s.deps.Proxied)}
}

// askedAddress is the address by which a request was made, as https://chat.example.com; "" if its headers name none. Only a proxy's headers
// say what the client used before it.
func askedAddress(r *http.Request, proxied bool) string {
	scheme, host := "http", r.Host
	if r.TLS != nil {
		scheme = "https"
	}
	if proxied {
		if proto, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Proto"), ","); strings.EqualFold(strings.TrimSpace(proto), "https") {
			scheme = "https"
		}
		if first, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Host"), ","); strings.TrimSpace(first) != "" {
			host = strings.TrimSpace(first)
		}
	}
	address := scheme + "://" + host
	if u, err := url.Parse(address); err != nil || u.Hostname() == "" || u.Scheme+"://"+u.Host != address {
		return ""
	}
	return address
}
