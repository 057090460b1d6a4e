// Package mailer sends emails through the operator's SMTP server. The connection is encrypted, unless that server is on this machine. While most emails fail, further
// emails are refused (package outgoing).
package mailer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"strconv"
	"time"

	"github.com/rialto-im/rialto/internal/base/loopback"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/wneessen/go-mail"
)

// Config of an SMTP server; the zero value is none.
type Config struct {
	// Address of the server, as smtp.example.com:587.
	Address string `yaml:"address"`
	// From is the address of the sender, as "Our chat <chat@example.com>".
	From string `yaml:"from"`
	// Username at the server; empty if it asks for none.
	Username string `yaml:"username"`
	// Password of that user.
	Password string `yaml:"password"`
	// TLS is starttls (default), implicit (as on port 465), or none, for a server on this machine.
	TLS string `yaml:"tls"`
	// Timeout of sending one email; 0 is 15 seconds.
	Timeout time.Duration `yaml:"timeout"`
}

// Set reports whether there is a server.
func (c Config) Set() bool { return c.Address != "" }

// Check reports invalid settings.
func (c Config) Check() error {
	if !c.Set() {
		return nil
	}
	host, port, err := net.SplitHostPort(c.Address)
	if n, perr := strconv.Atoi(port); err != nil || perr != nil || host == "" || n < 1 || n > 65535 {
		return fmt.Errorf("address is a name and a port, as smtp.example.com:587, not %q", c.Address)
	}
	if _, err := netmail.ParseAddress(c.From); err != nil {
		return fmt.Errorf(`from is an email address, as "Our chat <chat@example.com>": %w`, err)
	}
	switch {
	case c.TLS != "" && c.TLS != "starttls" && c.TLS != "implicit" && c.TLS != "none":
		return fmt.Errorf("tls is starttls, implicit or none, not %q", c.TLS)
	case c.TLS == "none" && !loopback.IsHost(host):
		return errors.New("tls is none only for a server on this machine, since codes would cross the network unencrypted")
	case (c.Username == "") != (c.Password == ""):
		return errors.New("give both username and password, or neither")
	case c.Timeout < 0 || c.Timeout > 30*time.Second:
		return errors.New("timeout is at most 30s")
	}
	return nil
}

// Mailer sends emails. It is safe for concurrent use; each email has a connection of its own.
type Mailer struct {
	config Config
	calls  *outgoing.Calls
	host   string
	port   int
}

// New returns a mailer of a configuration that Check accepts. Its circuit breaker is one of calls, or its own if that is nil.
func New(config Config, calls *outgoing.Calls) (*Mailer, error) {
	if err := config.Check(); err != nil {
		return nil, err
	}
	if config.Timeout == 0 {
		config.Timeout = 15 * time.Second
	}
	host, port, err := net.SplitHostPort(config.Address)
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(port)
	return &Mailer{config, outgoing.OrNew(calls), host, n}, err
}

// Send sends a text to an address. A nil error means that the server has taken it; an *outgoing.Refused, that it was not tried.
func (m *Mailer) Send(ctx context.Context, to, subject, text string) error {
	msg := mail.NewMsg()
	if err := errors.Join(msg.From(m.config.From), msg.To(to)); err != nil {
		return fmt.Errorf("mailer: %w", err)
	}
	msg.Subject(subject)
	msg.SetDate()
	msg.SetMessageID()
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // no answers of absent people
	msg.SetBodyString(mail.TypeTextPlain, text)
	client, err := mail.NewClient(m.host, m.options()...)
	if err != nil {
		return fmt.Errorf("mailer: %w", err)
	}
	refused := m.calls.Do(ctx, outgoing.SMTP, m.config.Address, m.config.Timeout, func(ctx context.Context) outgoing.Outcome {
		err = client.DialAndSendWithContext(ctx, msg)
		var answer *mail.SendError
		if errors.As(err, &answer) && answer.ErrorCode() >= refusal && answer.ErrorCode() != closing { // the server works, and refuses this email
			return outgoing.Outcome{}
		}
		return outgoing.OutcomeOf(0, 0, err)
	})
	if err := cmp.Or(refused, err); err != nil {
		return fmt.Errorf("mailer: %w", err)
	}
	return nil
}

// Codes of SMTP: the first that says that an email is refused, for now or for good; and that of a server that is not available.
const (
	refusal = 400
	closing = 421
)

func (m *Mailer) options() []mail.Option {
	list := []mail.Option{mail.WithPort(m.port), mail.WithTimeout(m.config.Timeout)}
	switch m.config.TLS {
	case "none":
		list = append(list, mail.WithTLSPolicy(mail.NoTLS))
	case "implicit":
		list = append(list, mail.WithSSL())
	default:
		list = append(list, mail.WithTLSPolicy(mail.TLSMandatory))
	}
	if m.config.Username != "" {
		list = append(list, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(m.config.Username), mail.WithPassword(m.config.Password))
	}
	return list
}
