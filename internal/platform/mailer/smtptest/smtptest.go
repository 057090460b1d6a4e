// Package smtptest has an SMTP server for tests, on this machine.
package smtptest

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
)

// Mail that the server has taken.
type Mail struct {
	To, Subject, Text string
	Header            mail.Header
}

// Server takes emails. Without a certificate it offers no encryption.
type Server struct {
	Address string
	Mails   chan Mail // of up to 100 emails

	t        testing.TB
	listener net.Listener
	group    sync.WaitGroup

	mu       sync.Mutex // guards below
	failures int        // of the next emails
	logins   []string
	conns    map[net.Conn]bool
}

// Start starts a server that ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Address: listener.Addr().String(), Mails: make(chan Mail, 100), t: t, listener: listener, conns: map[net.Conn]bool{}}
	s.group.Go(s.accept)
	t.Cleanup(s.close)
	return s
}

// Fail makes the server refuse the next emails, for now.
func (s *Server) Fail(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = n
}

// Logins returns "username password" of each login.
func (s *Server) Logins() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.logins...)
}

func (s *Server) close() {
	_ = s.listener.Close() // ends accept
	s.mu.Lock()
	for c := range s.conns {
		_ = c.Close() // ends its goroutine
	}
	s.mu.Unlock()
	s.group.Wait()
}

func (s *Server) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[c] = true
		s.mu.Unlock()
		s.group.Go(func() {
			s.serve(c)
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.conns, c)
			_ = c.Close() // the client may have closed it
		})
	}
}

// serve speaks SMTP until the client goes.
func (s *Server) serve(c net.Conn) {
	in := bufio.NewReader(c)
	say := func(line string) { _, _ = io.WriteString(c, line+"\r\n") } // a client that has gone shows at the next read
	say("220 test")
	to := ""
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		switch verb, rest, _ := strings.Cut(line, " "); strings.ToUpper(verb) {
		case "EHLO", "HELO":
			say("250-test\r\n250 AUTH PLAIN")
		case "AUTH":
			s.login(rest)
			say("235 welcome")
		case "MAIL":
			if s.refuses() {
				say("451 not now")
				continue
			}
			say("250 ok")
		case "RCPT":
			to = strings.Trim(strings.TrimPrefix(strings.ToUpper(rest), "TO:"), "<>")
			say("250 ok")
		case "DATA":
			say("354 go on")
			m, err := read(in)
			if err != nil {
				s.t.Errorf("an email cannot be read: %v", err)
				return
			}
			m.To = strings.ToLower(to)
			s.Mails <- m
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

func (s *Server) refuses() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures--
	return s.failures >= 0
}

func (s *Server) login(rest string) {
	_, text, _ := strings.Cut(rest, " ")
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		s.t.Errorf("a login cannot be read: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logins = append(s.logins, strings.ReplaceAll(strings.Trim(string(raw), "\x00"), "\x00", " "))
}

// read reads an email up to the line with a dot.
func read(in *bufio.Reader) (m Mail, err error) {
	var raw strings.Builder
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return m, err
		}
		if line == ".\r\n" {
			break
		}
		raw.WriteString(strings.TrimPrefix(line, "."))
	}
	parsed, err := mail.ReadMessage(strings.NewReader(raw.String()))
	if err != nil {
		return m, err
	}
	m.Header = parsed.Header
	if m.Subject, err = new(mime.WordDecoder).DecodeHeader(parsed.Header.Get("Subject")); err != nil {
		return m, err
	}
	body := parsed.Body
	if e := parsed.Header.Get("Content-Transfer-Encoding"); e != "quoted-printable" {
		return m, fmt.Errorf("the encoding is %q", e)
	}
	text, err := io.ReadAll(quotedprintable.NewReader(body))
	m.Text = strings.ReplaceAll(string(text), "\r\n", "\n")
	return m, err
}
