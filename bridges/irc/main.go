// Command irc is a bridge to IRC: it links groups with channels of one network, as docs/bridges.md describes.
package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/rialto-im/rialto/bridges/bridge"
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

func main() { bridge.Main("irc", run) }

// run is the bridge, until ctx ends.
func run(ctx context.Context, args []string) error {
	c := config{password: os.Getenv("IRC_PASSWORD")}
	shared := bridge.NewCommand("irc", "IRC", "channels", "#rialto")
	shared.Flags.StringVar(&c.server, "server", "", "`address` of the IRC server, as irc.libera.chat:6697; required")
	shared.Flags.BoolVar(&c.tls, "tls", true, "connect with TLS")
	shared.Flags.StringVar(&c.nick, "nick", "rialto", "`nick` of the bridge")
	shared.Flags.StringVar(&c.account, "account", "", "`account` at the network, if the bridge has one; its password is in the environment variable IRC_PASSWORD")
	shared.Flags.DurationVar(&c.interval, "interval", time.Second, "`time` between two lines to IRC, after the first four")
	if err := shared.Flags.Parse(args); err != nil {
		return err
	}
	c.state = shared.State
	if err := c.check(shared.Rooms); err != nil {
		return err
	}
	var err error
	if c.roots, err = shared.Roots(); err != nil {
		return err
	}
	x, err := newClient(c, shared.Logger)
	if err != nil {
		return err
	}
	return shared.Run(ctx, x, &bridgev1.PutBridgeRequest{}) // IRC has neither edits nor recalls, reactions and files
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
