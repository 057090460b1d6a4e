package proxyheader_test

import (
	"encoding/binary"
	"io"
	"net/netip"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/proxyheader"
)

// v2 returns a header of version 2: its command, its family, and what follows.
func v2(command, family byte, rest string) string {
	b := append([]byte("\r\n\r\n\x00\r\nQUIT\n"), 0x20|command, family)
	return string(binary.BigEndian.AppendUint16(b, uint16(len(rest)))) + rest
}

const (
	four = "\xcb\x00\x71\x07" + "\x0a\x00\x00\x01" + "\xd4\x31\x1b\xa0"                                                                                                 // 203.0.113.7:54321 to 10.0.0.1:7072
	six  = "\x20\x01\x0d\xb8\x00\x01\x00\x02\x00\x03\x00\x04\x00\x05\x00\x06" + "\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01" + "\xd4\x31\x1b\xa0" // 2001:db8:1:2:3:4:5:6
)

// Headers of both versions name the client's address. What follows them stays unread.
func TestHeadersNameTheClient(t *testing.T) {
	for name, test := range map[string]struct{ header, want string }{
		"v1, IPv4":         {"PROXY TCP4 203.0.113.7 10.0.0.1 54321 7072\r\n", "203.0.113.7:54321"},
		"v1, IPv6":         {"PROXY TCP6 2001:db8:1:2:3:4:5:6 2001:db8::1 54321 7072\r\n", "[2001:db8:1:2:3:4:5:6]:54321"},
		"v1, unknown":      {"PROXY UNKNOWN\r\n", ""},
		"v1, loopback":     {"PROXY TCP4 127.0.0.1 127.0.0.1 54321 7072\r\n", "127.0.0.1:54321"},
		"v2, IPv4":         {v2(1, 0x11, four), "203.0.113.7:54321"},
		"v2, IPv6":         {v2(1, 0x21, six), "[2001:db8:1:2:3:4:5:6]:54321"},
		"v2, with more":    {v2(1, 0x11, four+"\x05\x00\x04abcd"), "203.0.113.7:54321"},
		"v2, of a check":   {v2(0, 0, ""), ""},
		"v2, check, IPv4":  {v2(0, 0x11, four), ""},
		"v2, a long check": {v2(0, 0, "ignored"), ""},
	} {
		in := strings.NewReader(test.header + "rest")
		client, err := proxyheader.Read(in)
		want := netip.AddrPort{}
		if test.want != "" {
			want = netip.MustParseAddrPort(test.want)
		}
		if rest, rerr := io.ReadAll(in); err != nil || netip.AddrPortFrom(client.Addr().Unmap(), client.Port()) != want || rerr != nil || string(rest) != "rest" {
			t.Errorf("%s: got %v, %v, with %q unread; want %v", name, client, err, rest, want)
		}
	}
}

// What is no header, or too long for one, is refused, and no more than a header's size of it is read.
func TestNoHeaders(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":         "",
		"a frame":         "\x00\x00\x00\x09\x12\x07\x0a\x05TOKEN",
		"HTTP":            "GET / HTTP/1.1\r\n\r\n",
		"TLS":             "\x16\x03\x01\x02\x00\x01",
		"half of v1":      "PROXY TCP4 203.0.113.7 10.",
		"half of v2":      v2(1, 0x11, four)[:20],
		"a bad address":   "PROXY TCP4 203.0.113.700 10.0.0.1 54321 7072\r\n",
		"a bad port":      "PROXY TCP4 203.0.113.7 10.0.0.1 543210 7072\r\n",
		"a long line":     "PROXY TCP4 " + strings.Repeat("1", 1<<16),
		"a long v2":       v2(1, 0x11, four+"\x05\x10\x00"+strings.Repeat("x", 4096)),
		"v2, unspecified": v2(1, 0, ""),
		"v3":              "\r\n\r\n\x00\r\nQUIT\n\x31\x11\x00\x0c" + four,
	} {
		in := strings.NewReader(text)
		if client, err := proxyheader.Read(in); err == nil || client.IsValid() {
			t.Errorf("%s: got %v, %v", name, client, err)
		}
		if read := len(text) - in.Len(); read > 1024 {
			t.Errorf("%s: %d bytes were read", name, read)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("PROXY TCP4 203.0.113.7 10.0.0.1 54321 7072\r\nrest")
	f.Add(v2(1, 0x21, six) + "rest")
	f.Fuzz(func(t *testing.T, text string) {
		in := strings.NewReader(text)
		client, err := proxyheader.Read(in)
		if read := len(text) - in.Len(); read > 1024 || err != nil && client.IsValid() {
			t.Errorf("%d bytes were read; %v, %v", read, client, err)
		}
	})
}
