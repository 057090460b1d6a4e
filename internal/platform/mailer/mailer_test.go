package mailer_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/platform/mailer"
	"github.com/rialto-im/rialto/internal/platform/mailer/smtptest"
)

func open(t *testing.T, config mailer.Config) *mailer.Mailer {
	t.Helper()
	m, err := mailer.New(config, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestSend(t *testing.T) {
	server := smtptest.Start(t)
	m := open(t, mailer.Config{Address: server.Address, From: "Our chat <chat@example.com>", TLS: "none"})
	text := "Grüße, 你好.\n.a line that begins with a dot\n" + strings.Repeat("long ", 100) + "\n"
	if err := m.Send(t.Context(), "anna@example.org", "你好: your code", text); err != nil {
		t.Fatal(err)
	}
	got := <-server.Mails
	if got.To != "anna@example.org" || got.Subject != "你好: your code" || strings.TrimRight(got.Text, "\n") != strings.TrimRight(text, "\n") {
		t.Errorf("the server got %+v", got)
	}
	if from := got.Header.Get("From"); from != `"Our chat" <chat@example.com>` {
		t.Errorf("it is from %s", from)
	}
	for _, name := range []string{"Date", "Message-ID", "Auto-Submitted"} {
		if got.Header.Get(name) == "" {
			t.Errorf("it has no %s", name)
		}
	}
	for _, bad := range []string{"", "anna", "anna@example.org\r\nRCPT TO:<bert@example.org>", "anna@example.org\r\nBcc: bert@example.org"} {
		if err := m.Send(t.Context(), bad, "subject", "text"); err == nil {
			t.Errorf("an email to %q was sent", bad)
		}
	}
	if err := m.Send(t.Context(), "anna@example.org", "a subject\r\nBcc: bert@example.org", "text"); err == nil {
		if got := <-server.Mails; got.Header.Get("Bcc") != "" {
			t.Error("a subject added a header")
		}
	}
	server.Fail(1)
	if err := m.Send(t.Context(), "anna@example.org", "subject", "text"); err == nil {
		t.Error("an email that was refused was sent")
	}
}

// A server that refuses emails, for instance those to a new address for now, works; one that cannot be reached is not called after some failures.
func TestCircuitOfTheServer(t *testing.T) {
	server := smtptest.Start(t)
	config := mailer.Config{Address: server.Address, From: "chat@example.com", TLS: "none"}
	m := open(t, config)
	server.Fail(30)
	for n := range 30 {
		if err := m.Send(t.Context(), "anna@example.org", "subject", "text"); err == nil || outgoing.IsRefused(err) {
			t.Fatalf("email %d, which the server refuses: %v", n+1, err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config.Address = l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	m = open(t, config)
	failed := 0
	for err = m.Send(t.Context(), "anna@example.org", "subject", "text"); !outgoing.IsRefused(err); err = m.Send(t.Context(), "anna@example.org", "subject", "text") {
		if failed++; err == nil || failed > 100 {
			t.Fatalf("email %d without a server: %v", failed, err)
		}
	}
	if failed != 10 {
		t.Errorf("calls are refused after %d failures, want 10", failed)
	}
}

// TestPasswordsAndCodesAreSentEncrypted: a server that offers no encryption gets nothing.
func TestPasswordsAndCodesAreSentEncrypted(t *testing.T) {
	server := smtptest.Start(t)
	for _, tls := range []string{"", "starttls", "implicit"} {
		for _, username := range []string{"", "chat"} {
			c := mailer.Config{Address: server.Address, From: "chat@example.com", TLS: tls, Timeout: 2 * time.Second}
			if username != "" {
				c.Username, c.Password = username, "secret"
			}
			if err := open(t, c).Send(t.Context(), "anna@example.org", "subject", "text"); err == nil {
				t.Errorf("tls %q: %q has sent an email without encryption", tls, username)
			}
		}
	}
	if list := server.Logins(); len(list) != 0 || len(server.Mails) != 0 {
		t.Errorf("the server got %v, and %d emails", list, len(server.Mails))
	}
}

func TestConfig(t *testing.T) {
	good := mailer.Config{Address: "smtp.example.com:587", From: "chat@example.com"}
	for what, change := range map[string]func(c *mailer.Config){
		"without a port":                 func(c *mailer.Config) { c.Address = "smtp.example.com" },
		"with a port that is a name":     func(c *mailer.Config) { c.Address = "smtp.example.com:smtp" },
		"from nobody":                    func(c *mailer.Config) { c.From = "" },
		"with an unknown kind of TLS":    func(c *mailer.Config) { c.TLS = "ssl" },
		"unencrypted to another machine": func(c *mailer.Config) { c.TLS = "none" },
		"with a username alone":          func(c *mailer.Config) { c.Username = "chat" },
		"with a timeout of a minute":     func(c *mailer.Config) { c.Timeout = time.Minute },
	} {
		c := good
		change(&c)
		if c.Check() == nil {
			t.Errorf("a server %s is accepted", what)
		}
	}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	if err := (mailer.Config{}).Check(); err != nil {
		t.Error(err)
	}
}
