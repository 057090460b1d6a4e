package natsbus

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rialto-im/rialto/internal/engine/bus"
)

const (
	// user of the routes between servers, and of the connection to the embedded one.
	user = "rialto"
	// startWait is how long a server may take to listen.
	startWait = 10 * time.Second
	startPoll = 5 * time.Millisecond
	// noPort is an invalid port, so that the server does not listen for clients. DontListen would express this better, but with it
	// nats-server 2.15 does not listen for other servers either: it waits for the client port, and continues only after opening it has
	// failed.
	noPort = 1 << 16
)

// startServer starts the embedded server. Clients cannot reach it from outside; other servers can, at Listen.
func startServer(deps Deps, config Config) (*server.Server, *server.Options, error) {
	options := &server.Options{
		ServerName: deps.Node, DontListen: true, NoSigs: true, NoLog: true,
		MaxPayload: 2 << 20, PingInterval: pingEvery, MaxPingsOut: 2, WriteDeadline: 2 * pingEvery,
		// A list, because Join would disconnect a single user when it changes the options.
		Users: []*server.User{{Username: user, Password: config.Secret}},
	}
	if config.Listen != "" {
		options.DontListen, options.Host, options.Port = false, "127.0.0.1", noPort
		if err := cluster(options, config); err != nil {
			return nil, nil, err
		}
	}
	s, err := server.NewServer(options)
	if err != nil {
		return nil, nil, fmt.Errorf("the bus's server: %w", err)
	}
	failed := make(chan string, 1)
	s.SetLoggerV2(&logger{deps.Logger, failed}, false, false, false)
	s.Start()
	for deadline := time.Now().Add(startWait); config.Listen != "" && s.ClusterAddr() == nil; {
		var why string
		select {
		case why = <-failed:
		case <-time.After(startPoll):
			if time.Now().Before(deadline) {
				continue
			}
			why = "it is not ready after " + startWait.String()
		}
		s.Shutdown()
		s.WaitForShutdown()
		return nil, nil, errors.New("the bus's server cannot start at " + config.Listen + ": " + why)
	}
	return s, options, nil
}

// Join connects the embedded server with those at the given addresses, host:port, and disconnects it from earlier ones that are not among
// them; servers found through others stay connected. Only one of two nodes should be given the other's address: if both connect at once,
// one connection is dropped, and its data is lost.
func (b *Bus) Join(peers []string) error {
	if b.server == nil {
		return errors.New("the bus has an external server: there is nobody to join")
	}
	routes, err := routesTo(peers, b.config.Secret)
	if err != nil {
		return err
	}
	b.joining.Lock()
	defer b.joining.Unlock()
	if b.closed.Load() {
		return bus.ErrClosed
	}
	options := *b.options
	options.Routes = routes
	if err := b.server.ReloadOptions(&options); err != nil {
		return fmt.Errorf("the bus cannot join others: %w", err)
	}
	b.options = &options
	return nil
}

func routesTo(peers []string, secret string) ([]*url.URL, error) {
	var routes []*url.URL
	for _, p := range peers {
		if _, _, err := hostPort(p); err != nil {
			return nil, fmt.Errorf("the bus's peers: %w", err)
		}
		routes = append(routes, &url.URL{Scheme: "nats-route", User: url.UserPassword(user, secret), Host: p})
	}
	return routes, nil
}

// cluster sets the options by which the nodes' servers find and authenticate each other.
func cluster(options *server.Options, config Config) error {
	host, port, err := hostPort(config.Listen)
	if err != nil {
		return fmt.Errorf("the bus's listen: %w", err)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	c := &options.Cluster
	// One connection to each peer, so that a node's messages stay in order when routes change.
	*c = server.ClusterOpts{Name: config.Prefix, Host: host, Port: port, Advertise: config.Advertise, Username: user, Password: config.Secret, AuthTimeout: 5, PoolSize: -1,
		Compression: server.CompressionOpts{Mode: server.CompressionOff}}
	if c.TLSConfig = config.Identity; config.TLS.set() {
		if c.TLSConfig, err = config.TLS.load(); err != nil {
			return err
		}
		if len(c.TLSConfig.Certificates) == 0 || c.TLSConfig.RootCAs == nil {
			return errors.New("the bus's tls: a cluster needs cert, key and ca")
		}
	}
	if c.TLSConfig != nil {
		c.TLSTimeout = 5
	}
	options.Routes, err = routesTo(config.Peers, config.Secret)
	return err
}

func hostPort(address string) (string, int, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("%s has no port from 0 to 65535", address)
	}
	return host, int(port), nil
}

// peers returns the number of servers to which s has a route.
func peers(s *server.Server) int {
	if s == nil {
		return 0
	}
	list, err := s.Routez(nil)
	if err != nil {
		return 0
	}
	names := map[string]bool{}
	for _, r := range list.Routes {
		names[r.RemoteID] = true
	}
	return len(names)
}

// logger writes the server's messages to the node's log.
type logger struct {
	out    *slog.Logger
	failed chan string // receives the first error that ends the server
}

func (l *logger) Noticef(format string, args ...any) {
	l.out.Debug("the bus's server", "says", fmt.Sprintf(format, args...))
}

func (l *logger) Warnf(format string, args ...any) {
	if strings.HasPrefix(format, "Plaintext passwords") {
		return // the random user is in memory only
	}
	l.out.Warn("the bus's server warns", "says", fmt.Sprintf(format, args...))
}

func (l *logger) Errorf(format string, args ...any) {
	l.out.Warn("the bus's server has a fault", "says", fmt.Sprintf(format, args...))
}

func (l *logger) Fatalf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if strings.Contains(text, ":"+strconv.Itoa(noPort)) {
		return // expected
	}
	l.out.Error("the bus's server failed", "says", text)
	select {
	case l.failed <- text:
	default:
	}
}

func (l *logger) Debugf(string, ...any) {}

func (l *logger) Tracef(string, ...any) {}
