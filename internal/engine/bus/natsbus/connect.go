package natsbus

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rialto-im/rialto/internal/base/certpool"
)

const (
	// waitBuffer is the size of messages that may be published while the connection is lost.
	waitBuffer = 8 << 20
	// reconnectWait is the minimum delay between two attempts; a random delay up to the same is added.
	reconnectWait = 250 * time.Millisecond
	// pingEvery is the interval of pings. The connection counts as lost at the second ping without an answer.
	pingEvery = 5 * time.Second
	// settleWait is how long a new subscriber waits until the server knows it.
	settleWait = 2 * time.Second
)

// TLS has files in PEM format. In a cluster, each node presents Cert to the others, and accepts certificates signed by CA.
type TLS struct {
	Cert, Key, CA string
}

func (t TLS) set() bool { return t != TLS{} }

func (t TLS) load() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAndVerifyClientCert}
	if t.Cert != "" || t.Key != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("the bus's tls.cert and tls.key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	if t.CA != "" {
		pool, err := certpool.Read(t.CA)
		if err != nil {
			return nil, fmt.Errorf("the bus's tls.ca: %w", err)
		}
		c.RootCAs, c.ClientCAs = pool, pool
	}
	return c, nil
}

// connect opens the connection. The callbacks need the fields that are set before it.
func (b *Bus) connect() error {
	options := []nats.Option{
		nats.Name("rialto " + b.deps.Node),
		nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait), nats.ReconnectJitter(reconnectWait, reconnectWait),
		nats.ReconnectBufSize(waitBuffer), nats.IgnoreAuthErrorAbort(),
		nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(1), nats.FlusherTimeout(2 * pingEvery), nats.ReconnectOnFlusherError(),
		nats.DrainTimeout(b.config.Drain),
		nats.DisconnectErrHandler(func(c *nats.Conn, err error) {
			if b.closed.Load() {
				c.Close() // it cannot be drained any more
				return
			}
			if err != nil {
				b.deps.Logger.Warn("the bus lost its connection, and reconnects", "error", err)
			}
		}),
		nats.ReconnectHandler(func(c *nats.Conn) {
			b.reconnects.Add(1)
			b.suspectAll()
			b.deps.Logger.Info("the bus has reconnected", "server", c.ConnectedServerName())
			if err := tooSmall(c); err != nil {
				b.deps.Logger.Error("the bus's server does not accept large messages", "error", err)
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, s *nats.Subscription, err error) {
			subject := ""
			if s != nil {
				subject = s.Subject
			}
			if errors.Is(err, nats.ErrSlowConsumer) {
				b.deps.Logger.Warn("a subscriber of the bus is too slow: messages were dropped, and it is notified of a gap", "subject", subject)
				return
			}
			b.deps.Logger.Warn("error of the bus", "subject", subject, "error", err)
		}),
	}
	if b.server != nil {
		options = append(options, nats.InProcessServer(b.server), nats.UserInfo(user, b.config.Secret))
	}
	if b.config.Credentials != "" {
		options = append(options, nats.UserCredentials(b.config.Credentials))
	}
	if b.config.URL != "" && b.config.TLS.set() {
		t, err := b.config.TLS.load()
		if err != nil {
			return err
		}
		options = append(options, nats.Secure(t))
	}
	// The first attempt reports configuration errors; only an unreachable server is retried.
	conn, err := nats.Connect(b.config.URL, options...)
	if err == nil {
		if err := tooSmall(conn); err != nil {
			conn.Close()
			return err
		}
		b.take(conn)
		return nil
	}
	if refused(err) || b.server != nil {
		return fmt.Errorf("the NATS server refuses this node: check the bus's url, its user and password or credentials, and the certificates: %w", err)
	}
	if conn, err = nats.Connect(b.config.URL, append(options, nats.RetryOnFailedConnect(true))...); err != nil {
		return fmt.Errorf("the bus's url: %w", err)
	}
	b.take(conn)
	b.deps.Logger.Warn("no NATS server answers; the bus retries, and delivers nothing until then")
	return nil
}

// take registers the end of the connection. It ends only by Close, because it reconnects for ever.
func (b *Bus) take(conn *nats.Conn) {
	conn.SetClosedHandler(func(*nats.Conn) { close(b.ended) })
	b.conn = conn
}

// refused reports whether an error is permanent, such as wrong credentials or an invalid URL.
func refused(err error) bool {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	return errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) || errors.Is(err, nats.ErrAuthRevoked) ||
		errors.Is(err, nats.ErrSecureConnRequired) || errors.Is(err, nats.ErrSecureConnWanted) || errors.As(err, &unknown) || errors.As(err, &name)
}

// tooSmall returns an error if the server does not accept the bus's largest message.
func tooSmall(c *nats.Conn) error {
	if takes := c.MaxPayload(); takes < largest {
		return fmt.Errorf("the NATS server accepts messages of %d bytes only: set its max_payload to %d or more", takes, largest)
	}
	return nil
}

// settle waits until the server knows all subscribers. Without a connection it does not wait, because they are registered when it is
// restored.
func (b *Bus) settle() {
	if b.conn.IsConnected() {
		if err := b.conn.FlushTimeout(settleWait); err != nil {
			b.deps.Logger.Warn("the bus does not answer; a new subscriber receives nothing until it does", "error", err)
		}
	}
}
