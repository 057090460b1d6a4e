package app

import (
	"bytes"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// net/http accepts two things in the headers of HTTP/1 that RFC 9112 lets a server refuse: lines that end in a line feed alone, and headers that
// continue on a second line. A proxy in front may read them as something else, and then takes a part of one client's request for another's.
// lineChecker refuses both. It follows the requests of a connection by their lengths, and passes all bytes on unchanged: where it and
// net/http disagree about a length, net/http refuses the request or ends the connection.

var errHeaderLine = errors.New("a header's line is folded, or does not end in CR LF")

// maxLine bounds the line that a lineChecker keeps; net/http refuses longer headers.
const maxLine = 16 << 10

// lineState is what a lineChecker expects next.
type lineState int

const (
	inRequestLine lineState = iota
	inHeaders
	inBody      // of bodyLeft bytes
	inChunkSize // a line with the size of a chunk
	inChunk     // of bodyLeft bytes
	inChunkEnd  // the empty line after a chunk
	inTrailers
	unchecked
)

// lineChecker checks the bytes of a connection. The zero value expects a request.
type lineChecker struct {
	state    lineState
	line     []byte // so far
	bodyLeft int64
	old      bool // HTTP/1.0, in which net/http ignores Transfer-Encoding
	chunked  bool
}

// check follows the next bytes.
func (c *lineChecker) check(p []byte) error {
	for len(p) > 0 && c.state != unchecked {
		if c.state == inBody || c.state == inChunk {
			n := min(c.bodyLeft, int64(len(p)))
			c.bodyLeft, p = c.bodyLeft-n, p[n:]
			c.skipped()
			continue
		}
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			end = len(p) - 1
		}
		c.line, p = append(c.line, p[:end+1]...), p[end+1:]
		if len(c.line) > maxLine {
			c.state, c.line = unchecked, nil
			return nil
		}
		if c.line[len(c.line)-1] != '\n' {
			return nil
		}
		line := string(bytes.TrimSuffix(c.line[:len(c.line)-1], []byte("\r")))
		if c.state == inRequestLine && line != "" && !isHTTP1(line) {
			c.state = unchecked // HTTP/2, a frame of a socket, or what net/http refuses
			return nil
		}
		if len(line) == len(c.line)-1 || c.state != inRequestLine && line != "" && (line[0] == ' ' || line[0] == '\t') {
			return errHeaderLine
		}
		c.ended(line)
		c.line = c.line[:0]
	}
	return nil
}

// skipped continues after a body or a chunk.
func (c *lineChecker) skipped() {
	switch {
	case c.bodyLeft > 0:
	case c.state == inChunk:
		c.state = inChunkEnd
	default:
		*c = lineChecker{line: c.line}
	}
}

// isHTTP1 reports whether a line begins a request of HTTP/1.
func isHTTP1(line string) bool {
	return len(line) > 9 && line[len(line)-9:len(line)-1] == " HTTP/1."
}

// ended handles a line, without its end.
func (c *lineChecker) ended(line string) {
	switch c.state {
	case inRequestLine:
		if line != "" { // a client may send empty lines before a request
			c.state, c.old = inHeaders, strings.HasSuffix(line, "0")
		}
	case inHeaders, inTrailers:
		c.header(line)
	case inChunkSize:
		size, err := strconv.ParseInt(strings.TrimSpace(strings.SplitN(line, ";", 2)[0]), 16, 64)
		switch {
		case err != nil || size < 0:
			c.state = unchecked
		case size == 0:
			c.state = inTrailers
		default:
			c.state, c.bodyLeft = inChunk, size
		}
	case inChunkEnd:
		c.state = inChunkSize
	case inBody, inChunk, unchecked: // they have no lines
	}
}

// header notes how the body ends, and where the headers end.
func (c *lineChecker) header(line string) {
	name, value, _ := strings.Cut(line, ":")
	value = strings.Trim(value, " \t")
	switch {
	case line != "" && c.state == inTrailers:
	case strings.EqualFold(name, "Content-Length"):
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			n = -1 // net/http refuses it
		}
		c.bodyLeft = n
	case strings.EqualFold(name, "Transfer-Encoding"):
		c.chunked = !c.old // net/http refuses other encodings
	case line != "":
	case c.chunked && c.state == inHeaders:
		c.state = inChunkSize
	case c.bodyLeft > 0 && c.state == inHeaders:
		c.state = inBody
	case c.bodyLeft < 0 && c.state == inHeaders:
		c.state = unchecked
	default:
		*c = lineChecker{line: c.line}
	}
}

// stopChecking is an http.Server's ConnState: a connection that was taken over has another protocol.
func stopChecking(c net.Conn, state http.ConnState) {
	if own, ok := c.(*countedConn); ok && own.lines != nil && state == http.StateHijacked {
		own.lines.state = unchecked
	}
}
