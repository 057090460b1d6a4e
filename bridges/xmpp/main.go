// Command xmpp is a bridge to XMPP: it links groups with rooms (XEP-0045), as docs/bridges.md describes. It is a component of a server of XMPP (XEP-0114), so that each user of Rialto is an occupant with a name of their own.
package main

import (
	"context"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/rialto-im/rialto/bridges/bridge"
	rialto "github.com/rialto-im/rialto/sdk/go"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
)

// config of the side of XMPP.
type config struct {
	server, domain, secret, nick string
	tls                          bool
	roots                        *x509.CertPool // that sign the server's certificate; nil: those of the system
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "xmpp:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	c := config{secret: os.Getenv("XMPP_SECRET")}
	flags := flag.NewFlagSet("xmpp", flag.ContinueOnError)
	url := flags.String("url", "http://127.0.0.1:7070", "`address` of Rialto; the API key of the bridge is in the environment variable RIALTO_KEY")
	flags.StringVar(&c.server, "server", "127.0.0.1:5347", "`address` at which the server of XMPP expects components; their secret is in the environment variable XMPP_SECRET")
	flags.StringVar(&c.domain, "domain", "", "`domain` of the component, as rialto.example.com; required")
	flags.BoolVar(&c.tls, "tls", false, "connect with TLS; without it the server must be on this machine")
	authority := flags.String("ca", "", "`file` with the certificates that sign the server's, if the system does not have them")
	flags.StringVar(&c.nick, "nick", "Rialto", "`nick` of the bridge in rooms")
	display := flags.String("name", "XMPP", "`name` of the system, as groups see it")
	rooms := flags.String("rooms", "", "`rooms` that groups may be linked with, separated by commas, as room@conference.example.com; * permits all; required")
	state := flags.String("state", "xmpp", "`directory` with what came from XMPP and is not stored yet, and up to where rooms were read")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case c.domain == "" || *rooms == "":
		return errors.New("--domain and --rooms are required")
	case c.secret == "":
		return errors.New("the environment variable XMPP_SECRET must have the component's secret")
	}
	var err error
	if c.roots, err = bridge.Roots(*authority); err != nil {
		return err
	}
	side, err := rialto.NewBridge(rialto.BridgeConfig{URL: *url, Key: os.Getenv("RIALTO_KEY")})
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	k, err := openCheckpoints(filepath.Join(*state, "rooms"), logger)
	if err != nil {
		return err
	}
	x := newClient(c, k, logger)
	b, err := bridge.New(bridge.Config{Rialto: side, Rooms: bridge.Rooms(*rooms, x.Normalize), Spool: filepath.Join(*state, "spool"), Logger: logger,
		Registration: &bridgev1.PutBridgeRequest{DisplayName: *display, Edits: true, Recalls: true}})
	if err != nil {
		return err
	}
	x.received, x.changed, x.expelled = b.Received, b.Changed, b.Expelled
	return b.Run(ctx, x)
}
