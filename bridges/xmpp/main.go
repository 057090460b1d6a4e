// Command xmpp is a bridge to XMPP: it links groups with rooms (XEP-0045), as docs/bridges.md describes. It is a component of a server of XMPP (XEP-0114), so that each user of Rialto is an occupant with a name of their own.
package main

import (
	"context"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"

	"github.com/rialto-im/rialto/bridges/bridge"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
)

// config of the side of XMPP.
type config struct {
	server, domain, secret, nick string
	tls                          bool
	roots                        *x509.CertPool // that sign the server's certificate; nil: those of the system
}

func main() { bridge.Main("xmpp", run) }

// run is the bridge, until ctx ends.
func run(ctx context.Context, args []string) error {
	c := config{secret: os.Getenv("XMPP_SECRET")}
	shared := bridge.NewCommand("xmpp", "XMPP", "rooms", "room@conference.example.com")
	shared.Flags.StringVar(&c.server, "server", "127.0.0.1:5347", "`address` at which the server of XMPP expects components; their secret is in the environment variable XMPP_SECRET")
	shared.Flags.StringVar(&c.domain, "domain", "", "`domain` of the component, as rialto.example.com; required")
	shared.Flags.BoolVar(&c.tls, "tls", false, "connect with TLS; without it the server must be on this machine")
	shared.Flags.StringVar(&c.nick, "nick", "Rialto", "`nick` of the bridge in rooms")
	if err := shared.Flags.Parse(args); err != nil {
		return err
	}
	switch {
	case c.domain == "" || shared.Rooms == "":
		return errors.New("--domain and --rooms are required")
	case c.secret == "":
		return errors.New("the environment variable XMPP_SECRET must have the component's secret")
	}
	var err error
	if c.roots, err = shared.Roots(); err != nil {
		return err
	}
	k, err := openCheckpoints(filepath.Join(shared.State, "rooms"), shared.Logger)
	if err != nil {
		return err
	}
	return shared.Run(ctx, newClient(c, k, shared.Logger), &bridgev1.PutBridgeRequest{Edits: true, Recalls: true})
}
