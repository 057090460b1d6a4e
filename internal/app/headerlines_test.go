package app

import (
	"errors"
	"strings"
	"testing"
)

// TestHeaderLinesAreChecked in each request of a connection, however its bytes are divided; bodies, chunks and other protocols are not.
func TestHeaderLinesAreChecked(t *testing.T) {
	const (
		get     = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
		post    = "POST / HTTP/1.1\r\nHost: a\r\ncontent-length: 5 \r\n\r\n\n b\nc"
		chunks  = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\n\n b\r\nA\r\n0\n23456789\r\n0\r\nX: y\r\n\r\n"
		oldPost = "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\n\n\n\n"
		folded  = "GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n"
		bare    = "GET / HTTP/1.1\r\nHost: a\n\r\n"
	)
	for text, wrong := range map[string]bool{
		get + post + chunks + oldPost + get: false,
		"\r\n" + get:                        false,
		folded:                              true,
		bare:                                true,
		"GET / HTTP/1.9\nHost: a\n\n":       true,
		strings.Replace(post, " 5 ", "\r\n 5", 1): true,
		get + folded:    true,
		post + bare:     true,
		chunks + folded: true,
		oldPost + bare:  true,
		strings.Replace(chunks, "X: y\r\n", "X: y\n", 1):              true,
		strings.Replace(chunks, "X: y\r\n", "X: y\r\n z\r\n", 1):      true,
		strings.Replace(chunks, "A\r\n", "A\n", 1):                    true,
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\n \n":                       false,
		get + "\x81\x85\n\n HTTP\n a\n":                               false,
		"GET / HTTP/1.1\r\nX: " + strings.Repeat("a", 2*maxLine):      false, // net/http refuses it
		"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n" + bare:         false, // likewise
		"POST / HTTP/1.1\r\nTransfer-Encoding: x\r\n\r\nx\r\n" + bare: false, // likewise
	} {
		for _, size := range []int{1, 2, 7, len(text)} {
			var c lineChecker
			var err error
			for rest := text; rest != "" && err == nil; {
				n := min(size, len(rest))
				err = c.check([]byte(rest[:n]))
				rest = rest[n:]
			}
			if errors.Is(err, errHeaderLine) != wrong {
				t.Errorf("%.200q in parts of %d bytes: %v, want a refusal: %v", text, size, err, wrong)
			}
			if cap(c.line) > 2*maxLine {
				t.Errorf("%.200q: %d bytes are kept", text, cap(c.line))
			}
		}
	}
}
