package config

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/base/loopback"
	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/platform/otlp"
)

// check finds what cannot be, and fills in the defaults of the node.
func (c *Config) check(fields settable) (faults []error) {
	if c.Data == "" {
		c.Data = "data"
	}
	if c.Listen == "" {
		c.Listen = "127.0.0.1:7070"
	}
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	c.checkEngines(fault)
	c.checkPublic(fault, "listen", c.Listen, "passwords")
	c.checkSockets(fault, "tcp.listen", c.TCP.Listen)
	c.checkSockets(fault, "stomp.listen", c.Stomp.Listen)
	c.checkDiscovery(fault)
	if c.Admin != "" {
		if public, err := reachable(c.Admin); err != nil {
			fault("admin: %w", err)
		} else if public && !c.AdminOpen {
			fault("admin: %s is not on loopback, and requires no credentials; set a loopback address, or admin_open=true if only operators can reach it", c.Admin)
		}
	}
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		fault("tls: give both tls.cert and tls.key, or neither")
	} else if c.TLS.Cert != "" {
		if _, err := tls.LoadX509KeyPair(c.TLS.Cert, c.TLS.Key); err != nil {
			fault("tls: tls.cert and tls.key cannot be used: %w", err)
		}
	}
	if dir := c.Web.Extensions; dir != "" {
		if _, err := os.Stat(filepath.Join(dir, "index.js")); err != nil {
			fault("web.extensions: the folder has no index.js that can be read: %w", err)
		}
	}
	for _, name := range fields.names {
		if v := fields.fields[name]; v.CanInt() && v.Int() < 0 {
			fault("%s: it cannot be below zero; 0 is the default", name)
		}
	}
	for _, o := range c.Gateway.Origins {
		if o != "*" && !isOrigin(o) {
			fault("gateway.origins: %q is not an origin, as https://app.example.com, nor *", o)
		}
	}
	if o := c.Media.Origin; o != "" && !isOrigin(o) {
		fault("media.origin: %q is not an origin, as https://files.example.com", o)
	}
	if _, err := telemetry.NewLogger(c.Log, nil); err != nil {
		faults = append(faults, err)
	}
	return append(faults, c.checkServices()...)
}

// checkPublic finds a listener that others can reach, and that would have what is secret cross the network unencrypted.
func (c *Config) checkPublic(fault func(string, ...any), name, address, secret string) {
	if public, err := reachable(address); err != nil {
		fault(name+": %w", err)
	} else if public && c.TLS.Cert == "" && !c.Plaintext {
		fault("%s: %s is not on loopback, and %s would cross the network unencrypted; set tls.cert and tls.key, or plaintext=true if a proxy in front terminates TLS", name, address, secret)
	}
}

// checkSockets checks the address of a listener for sockets that do not speak HTTP, if there is one.
func (c *Config) checkSockets(fault func(string, ...any), name, address string) {
	if address == "" {
		return
	}
	c.checkPublic(fault, name, address, "tokens")
	if !c.Has(RoleGateway) {
		fault("%s: this node has no sockets; leave the setting empty, or give it the role %s", name, RoleGateway)
	}
}

// reachable reports whether other machines can reach an address.
func reachable(address string) (bool, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false, fmt.Errorf("%q is not HOST:PORT, as 127.0.0.1:7070", address)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return false, fmt.Errorf("the port of %q is not a number of 0 to 65535", address)
	}
	return !loopback.IsHost(host), nil
}

func isPostgres(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql")
}

// isOrigin reports whether text is one origin. url.Parse allows hosts with signs that end a source or a directive of a Content-Security-Policy,
// and a wildcard would match no page.
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && text == u.Scheme+"://"+u.Host && !strings.ContainsAny(u.Host, "!$&'()*+,;=<>\"")
}

// checkServices runs each package's own check.
func (c *Config) checkServices() (faults []error) {
	for _, err := range []error{c.Account.Check(), c.Chat.Check(), c.Gateway.Check(), c.Limits.Check(), c.Overload.Check(), c.LinkPreviews.Check(), c.StreamedMessages.Check(), c.Output.Check(), c.OfficialAccounts.Check(), c.Push.Check(), c.Feed.Check(), c.Moderation.Check(), c.Video.Check(), c.Search.Check(), c.ServerEvents.Check(), c.Transactions.Check(), c.Bridges.Check(), c.Privacy.Check(), c.MessageTrace.Check(), c.Tracing.Check(), c.Canary.Check(), otlp.Check(c.Tracing), c.Reconciliation.Check(), c.Jobs.Check(), c.IDs.Check(), c.Cache.Check(), c.Backup.Check(c.Data), c.Edge.Check()} {
		if err != nil {
			faults = append(faults, err)
		}
	}
	return faults
}
