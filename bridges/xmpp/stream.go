package main

import (
	"context"
	"crypto/sha1" //nolint:gosec // XEP-0114 prescribes it
	"crypto/tls"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

const (
	// maxStanza is how many bytes a stanza may have. Servers permit less: Prosody and ejabberd 512 KiB.
	maxStanza = 1 << 20
	// maxDepth is how deep the elements of a stanza may be nested, itself included.
	maxDepth = 64
	// openTimeout is how long the server may take to accept the component, and writeTimeout to take a stanza.
	openTimeout  = 30 * time.Second
	writeTimeout = 30 * time.Second
	// readTimeout is how long the server may say nothing. The client pings more often.
	readTimeout = 5 * time.Minute
)

// stream is a connection to a server as a component (XEP-0114). send is safe for concurrent use; one goroutine reads.
type stream struct {
	conn    net.Conn
	limited *io.LimitedReader
	decoder *xml.Decoder

	mu sync.Mutex // makes stanzas whole on the connection
}

// errNotEncrypted refuses a secret and messages to leave the machine as plain text.
var errNotEncrypted = errors.New("the connection of a component is not encrypted: use an address of this machine, such as 127.0.0.1:5347, or --tls with a port of the server that expects TLS")

// openStream connects to a server, which has to be on this machine unless TLS is used, and proves to it that the component knows the secret.
func openStream(ctx context.Context, c config) (*stream, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.server)
	if err != nil {
		return nil, err
	}
	if tcp, is := conn.RemoteAddr().(*net.TCPAddr); !c.tls && (!is || !tcp.IP.IsLoopback()) {
		return nil, errors.Join(errNotEncrypted, conn.Close())
	}
	if c.tls {
		host, _, _ := net.SplitHostPort(c.server)
		conn = tls.Client(conn, &tls.Config{ServerName: host, RootCAs: c.roots, MinVersion: tls.VersionTLS12})
	}
	s := &stream{conn: conn, limited: &io.LimitedReader{R: conn}}
	s.decoder = xml.NewDecoder(s.limited)
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // ends the handshake
	err = s.handshake(c.domain, c.secret)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return s, nil
}

// handshake opens the stream and answers the server's id with a digest of the secret.
func (s *stream) handshake(domain, secret string) error {
	var b strings.Builder
	b.WriteString("<?xml version='1.0'?><stream:stream xmlns='" + nsComponent + "' xmlns:stream='" + nsStream + "'")
	writeAttr(&b, "to", domain)
	b.WriteString(">")
	if err := s.write(b.String()); err != nil {
		return err
	}
	start, err := s.start()
	if err != nil {
		return err
	}
	if start.Name.Space != nsStream || start.Name.Local != "stream" {
		return fmt.Errorf("the server answers with <%s>: it expects no components at this port", start.Name.Local)
	}
	var id string
	for _, a := range start.Attr {
		if a.Name.Local == "id" {
			id = a.Value
		}
	}
	digest := sha1.Sum([]byte(id + secret)) //nolint:gosec // XEP-0114 prescribes it
	if err := s.send(newElement(nsComponent, "handshake").withText(hex.EncodeToString(digest[:]))); err != nil {
		return err
	}
	answer, err := s.read()
	if err == nil && answer.XMLName.Local != "handshake" {
		err = fmt.Errorf("the server answers with <%s> instead of accepting the component", answer.XMLName.Local)
	}
	return err
}

// start reads the next start of an element.
func (s *stream) start() (xml.StartElement, error) {
	if err := s.conn.SetReadDeadline(time.Now().Add(readTimeout)); err != nil {
		return xml.StartElement{}, err
	}
	for {
		s.limited.N = maxStanza
		token, err := s.decoder.Token()
		if err != nil {
			return xml.StartElement{}, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			return t, nil
		case xml.EndElement:
			return xml.StartElement{}, io.EOF
		}
	}
}

// read returns the next stanza, without what is nested deeper than maxDepth: whoever writes in a room decides how deep that is. A stream error is an error.
func (s *stream) read() (element, error) {
	start, err := s.start()
	if err != nil {
		return element{}, err
	}
	e := element{XMLName: start.Name, Attrs: start.Attr}
	if err := s.readChildren(&e); err != nil {
		if s.limited.N <= 0 {
			err = fmt.Errorf("a stanza of the server has more than %d bytes", maxStanza)
		}
		return e, err
	}
	if e.XMLName.Space == nsStream && e.XMLName.Local == "error" {
		return e, streamError(e)
	}
	return e, nil
}

// readChildren reads an element whose start was read to its end.
func (s *stream) readChildren(e *element) error {
	type opened struct {
		*element
		text []byte
	}
	open, skipped := []opened{{element: e}}, 0 // skipped: how many open elements are nested too deep
	for len(open) > 0 {
		token, err := s.decoder.Token()
		if err != nil {
			return err
		}
		last := &open[len(open)-1]
		switch t := token.(type) {
		case xml.StartElement:
			if skipped > 0 || len(open) >= maxDepth {
				skipped++
				continue
			}
			t = t.Copy()
			last.Children = append(last.Children, element{XMLName: t.Name, Attrs: t.Attr})
			open = append(open, opened{element: &last.Children[len(last.Children)-1]})
		case xml.EndElement:
			if skipped > 0 {
				skipped--
				continue
			}
			last.Text, open = string(last.text), open[:len(open)-1]
		case xml.CharData:
			if skipped == 0 {
				last.text = append(last.text, t...)
			}
		}
	}
	return nil
}

// streamError says why the server ends a stream.
func streamError(e element) error {
	var condition, text string
	for _, c := range e.Children {
		if c.XMLName.Local == "text" {
			text = ": " + c.Text
		} else {
			condition = c.XMLName.Local
		}
	}
	return fmt.Errorf("the server ends the stream: %s%s", condition, text)
}

func (s *stream) send(e element) error { return s.write(e.String()) }

func (s *stream) write(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	_, err := io.WriteString(s.conn, text)
	return err
}

// close ends the stream.
func (s *stream) close() error {
	return errors.Join(s.write("</stream:stream>"), s.conn.Close())
}
