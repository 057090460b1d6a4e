// Command irc is a bridge to IRC: it links groups with channels of one network, as docs/bridges.md describes.
package main

import (
	"context"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/rialto-im/rialto/bridges/bridge"
	rialto "github.com/rialto-im/rialto/sdk/go"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
)

// config of the side of IRC.
type config struct {
	server, nick, account, password string
	tls                             bool
	roots                           *x509.CertPool // that sign the server's certificate; nil: those of the system
	interval                        time.Duration  // between two lines
	state                           string         // directory
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "irc:", err)
		os.Exit(1)
	}
}

// run is the bridge, until the process is asked to stop.
func run(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c := config{password: os.Getenv("IRC_PASSWORD")}
	flags := flag.NewFlagSet("irc", flag.ContinueOnError)
	url := flags.String("url", "http://127.0.0.1:7070", "`address` of Rialto; the API key of the bridge is in the environment variable RIALTO_KEY")
	flags.StringVar(&c.server, "server", "", "`address` of the IRC server, as irc.libera.chat:6697; required")
	flags.BoolVar(&c.tls, "tls", true, "connect with TLS")
	authority := flags.String("ca", "", "`file` with the certificates that sign the server's, if the system does not have them")
	flags.StringVar(&c.nick, "nick", "rialto", "`nick` of the bridge")
	flags.StringVar(&c.account, "account", "", "`account` at the network, if the bridge has one; its password is in the environment variable IRC_PASSWORD")
	display := flags.String("name", "IRC", "`name` of the network, as groups see it")
	channels := flags.String("channels", "", "`channels` that groups may be linked with, separated by commas, as #rialto; * permits all; required")
	flags.StringVar(&c.state, "state", "irc", "`directory` with what came from IRC and is not stored yet, and what was sent last")
	flags.DurationVar(&c.interval, "interval", time.Second, "`time` between two lines to IRC, after the first four")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := c.check(*channels); err != nil {
		return err
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
	b, err := bridge.New(bridge.Config{Rialto: side, Rooms: bridge.Rooms(*channels, fold), Spool: filepath.Join(c.state, "spool"), Logger: logger,
		Registration: &bridgev1.PutBridgeRequest{DisplayName: *display}}) // IRC has neither edits nor recalls, reactions and files
	if err != nil {
		return err
	}
	x, err := newClient(c, b, logger)
	if err != nil {
		return err
	}
	return b.Run(ctx, x)
}

// check checks the settings.
func (c *config) check(channels string) error {
	host, _, err := net.SplitHostPort(c.server)
	switch {
	case c.server == "" || channels == "":
		return errors.New("--server and --channels are required")
	case err != nil:
		return fmt.Errorf("--server must be a host and a port, as irc.libera.chat:6697: %w", err)
	case c.interval <= 0 || c.interval > time.Minute:
		return errors.New("--interval must be more than nothing, and at most a minute")
	case (c.account == "") != (c.password == ""):
		return errors.New("--account and the environment variable IRC_PASSWORD belong together")
	case c.account != "" && !c.tls && !isLoopback(host):
		return errors.New("the password of --account needs TLS: leave out --tls=false")
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
