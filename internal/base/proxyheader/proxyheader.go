// Package proxyheader reads the header of the PROXY protocol, version 1 or 2, with which a proxy in front of the server begins a connection. The header names
// the client's address.
package proxyheader

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"

	"github.com/pires/go-proxyproto"
)

// maxSize is the size of a header in bytes. An address needs at most 107 of version 1 and 52 of version 2. The rest is for what proxies add in version 2,
// which is not used.
const maxSize = 1 << 10

const (
	signature2 = "\r\n\r\n\x00\r\nQUIT\n" // of version 2
	maxLine    = 107                      // bytes of version 1
)

var (
	errTooLong = errors.New("the header is longer than 1 KiB")
	errNone    = errors.New("there is no header of the PROXY protocol")
)

// Read reads a header, and not one byte more: what follows is for the protocol of the connection. It returns the address and port that the header
// names, the zero value for the proxy's own connections, such as health checks.
func Read(from io.Reader) (netip.AddrPort, error) {
	b, err := readBytes(from)
	if err != nil {
		return netip.AddrPort{}, err
	}
	h, err := proxyproto.Read(bufio.NewReaderSize(bytes.NewReader(b), len(b))) // it does not stop at the end of a header itself
	if err != nil {
		return netip.AddrPort{}, err
	}
	source, ok := h.SourceAddr.(*net.TCPAddr)
	if h.Command.IsLocal() || !ok {
		return netip.AddrPort{}, nil
	}
	return source.AddrPort(), nil
}

// readBytes reads the bytes of a header: of version 1 up to the end of its line, of version 2 as many as it says.
func readBytes(from io.Reader) ([]byte, error) {
	b := make([]byte, len(signature2), 256) // the shortest line is longer
	if _, err := io.ReadFull(from, b); err != nil {
		return nil, err
	}
	if string(b) == signature2 {
		b = b[:len(signature2)+4]
		if _, err := io.ReadFull(from, b[len(signature2):]); err != nil {
			return nil, err
		}
		n := int(binary.BigEndian.Uint16(b[len(b)-2:]))
		if len(b)+n > maxSize {
			return nil, errTooLong
		}
		head := len(b)
		b = append(b, make([]byte, n)...)
		_, err := io.ReadFull(from, b[head:])
		return b, err
	}
	if !bytes.HasPrefix(b, []byte("PROXY ")) {
		return nil, errNone
	}
	for b[len(b)-1] != '\n' {
		if len(b) == maxLine {
			return nil, errTooLong
		}
		b = b[:len(b)+1]
		if _, err := io.ReadFull(from, b[len(b)-1:]); err != nil {
			return nil, err
		}
	}
	return b, nil
}
