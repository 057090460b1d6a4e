package stomp

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
)

// Limits of a client's frame.
const (
	maxHead    = 16 << 10          // bytes of the command and the headers
	maxHeaders = 64                // headers of a frame
	maxBody    = 1<<20 - 2*maxHead // bytes of a body: with its ids it fits into a frame of the gateway
)

// header is one header of a frame.
type header struct{ name, value string }

// frame is a frame of STOMP 1.2.
type frame struct {
	command string
	headers []header
	body    []byte // of a decoded frame: until the next one is decoded
}

// get returns the value of a header, "" without it. Of several of a name, the first counts.
func (f *frame) get(name string) string {
	if i := slices.IndexFunc(f.headers, func(h header) bool { return h.name == name }); i >= 0 {
		return f.headers[i].value
	}
	return ""
}

// badFrame is the error of a client's frame.
func badFrame(message string) error { return errs.New(errs.Invalid, "bad_stomp", message) }

var (
	errHead    = badFrame("the headers of a frame have at most 16 KiB, and are at most 64")
	errBody    = badFrame("a body has at most 992 KiB, and only SEND has one")
	errNUL     = badFrame("a frame ends with a NUL byte, after as many bytes of body as content-length says; headers have none")
	errHeader  = badFrame(`a header is NAME:VALUE in UTF-8, and in it \n, \r, \c and \\ are the only escapes`)
	errLength  = badFrame("content-length is the number of bytes of the body")
	errCommand = badFrame("the commands are CONNECT, STOMP, SEND, SUBSCRIBE, UNSUBSCRIBE, ACK, NACK, BEGIN, COMMIT, ABORT and DISCONNECT")
)

// decoder cuts the bytes of a client into frames. It keeps what is incomplete, and nothing between frames.
type decoder struct {
	buf     []byte
	head    int // bytes of the command and the headers of the first frame, with the empty line; 0 while that is incomplete
	scanned int // bytes of the first frame in which its end is not
	length  int // of the body, by content-length; -1: up to a NUL byte
	beats   int // heartbeats that were not counted yet
	frame   frame
}

// feed adds bytes.
func (d *decoder) feed(p []byte) { d.buf = append(d.buf, p...) }

// incomplete returns how many bytes of a frame wait for its rest.
func (d *decoder) incomplete() int { return len(d.buf) }

// next returns the next frame, nil if it is not complete. Ends of lines between frames are heartbeats.
func (d *decoder) next() (*frame, error) {
	if d.head == 0 {
		d.skipHeartbeats()
		if ok, err := d.decodeHead(); !ok {
			return nil, err
		}
	}
	end := d.head + d.length
	if d.length < 0 {
		n := bytes.IndexByte(d.buf[d.scanned:], 0)
		if end = d.scanned + n; n < 0 {
			d.scanned = len(d.buf)
			end = d.scanned
		}
	}
	if end-d.head > maxBody || end > d.head && d.frame.command != "SEND" {
		return nil, errBody
	}
	if len(d.buf) <= end {
		return nil, nil
	}
	if d.buf[end] != 0 {
		return nil, errNUL
	}
	f := d.frame
	f.body = d.buf[d.head:end:end]
	d.buf, d.head, d.scanned, d.frame = d.buf[end+1:], 0, 0, frame{}
	return &f, nil
}

// skipHeartbeats removes ends of lines before a frame.
func (d *decoder) skipHeartbeats() {
	rest := d.buf
	for len(rest) > 0 && (rest[0] == '\n' || len(rest) > 1 && rest[0] == '\r' && rest[1] == '\n') {
		if rest[0] == '\n' {
			d.beats++
		}
		rest = rest[1:]
		d.scanned = 0
	}
	if d.buf = rest; len(rest) == 0 {
		d.buf = nil
	}
}

// decodeHead decodes the command and the headers. It is false if they are not complete.
func (d *decoder) decodeHead() (bool, error) {
	n := headLength(d.buf, d.scanned)
	if bytes.IndexByte(d.buf[d.scanned:max(n, min(len(d.buf), maxHead), d.scanned)], 0) >= 0 && n == 0 {
		return false, errNUL
	}
	if n > maxHead || n == 0 && len(d.buf) > maxHead {
		return false, errHead
	}
	if n == 0 {
		d.scanned = max(0, len(d.buf)-2)
		return false, nil
	}
	f, err := decodeHeaders(d.buf[:n])
	if err != nil {
		return false, err
	}
	d.frame, d.head, d.scanned, d.length = f, n, n, -1
	if slices.ContainsFunc(f.headers, func(h header) bool { return h.name == "content-length" }) {
		if d.length, err = strconv.Atoi(f.get("content-length")); err != nil || d.length < 0 {
			return false, errLength
		}
	}
	return true, nil
}

// headLength returns the length of b up to an empty line, 0 without one. The first from bytes are not its end.
func headLength(b []byte, from int) int {
	for i := from; i < len(b); i++ {
		n := bytes.IndexByte(b[i:], '\n')
		if n < 0 {
			return 0
		}
		switch i += n; {
		case i+1 < len(b) && b[i+1] == '\n':
			return i + 2
		case i+2 < len(b) && b[i+1] == '\r' && b[i+2] == '\n':
			return i + 3
		}
	}
	return 0
}

// decodeHeaders decodes a command and headers.
func decodeHeaders(b []byte) (f frame, err error) {
	if bytes.IndexByte(b, 0) >= 0 {
		return f, errNUL
	}
	if bytes.Count(b, []byte("\n")) > maxHeaders+2 {
		return f, errHead
	}
	if !utf8.Valid(b) {
		return f, errHeader
	}
	lines := strings.Split(string(b), "\n")
	for i, line := range lines {
		line = strings.TrimSuffix(line, "\r")
		if i == 0 {
			if f.command = line; !slices.Contains(clientCommands, line) {
				return f, errCommand
			}
			continue
		}
		if line == "" {
			break
		}
		name, value, ok := strings.Cut(line, ":")
		if ok && f.command != "CONNECT" { // for clients of earlier versions
			var first, second bool
			name, first = unescape(name)
			value, second = unescape(value)
			ok = first && second
		}
		if !ok || name == "" {
			return f, errHeader
		}
		f.headers = append(f.headers, header{name, value})
	}
	return f, nil
}

var clientCommands = []string{"CONNECT", "STOMP", "SEND", "SUBSCRIBE", "UNSUBSCRIBE", "ACK", "NACK", "BEGIN", "COMMIT", "ABORT", "DISCONNECT"}

// unescape decodes the escapes of a header.
func unescape(s string) (_ string, ok bool) {
	if !strings.Contains(s, `\`) {
		return s, !strings.Contains(s, "\r")
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\\' {
			if i++; i == len(s) {
				return "", false
			}
			at := strings.IndexByte(`nrc\`, s[i])
			if at < 0 {
				return "", false
			}
			c = "\n\r:\\"[at]
		} else if c == '\r' {
			return "", false
		}
		b.WriteByte(c)
	}
	return b.String(), true
}

var escaper = strings.NewReplacer("\\", `\\`, "\n", `\n`, "\r", `\r`, ":", `\c`, "\x00", "")

// appendFrame appends a frame. Headers without a value are left out; the body has its length, if there is one.
func appendFrame(b []byte, f *frame) []byte {
	b = append(append(b, f.command...), '\n')
	for _, h := range f.headers {
		if h.value == "" {
			continue
		}
		name, value := h.name, h.value
		if f.command != "CONNECTED" {
			name, value = escaper.Replace(name), escaper.Replace(value)
		}
		b = append(append(append(append(b, name...), ':'), value...), '\n')
	}
	if len(f.body) > 0 {
		b = append(strconv.AppendInt(append(b, "content-length:"...), int64(len(f.body)), 10), '\n')
	}
	b = append(b, '\n')
	return append(append(b, f.body...), 0)
}
