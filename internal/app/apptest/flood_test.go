package apptest_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/app/apptest"
)

// h2 encodes an HTTP/2 frame.
func h2(kind, flags byte, stream uint32, payload []byte) []byte {
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	return append(binary.BigEndian.AppendUint32(b, stream), payload...)
}

// Floods of HTTP/2 frames do not affect other clients, and endless headers end their connection long before everything was sent.
func TestFloodsOfHTTP2(t *testing.T) {
	h := apptest.Open(t, nil)
	preface := append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), h2(4, 0, 0, nil)...)
	get := []byte{0x82, 0x86, 0x84, 0x41, 1, 'a'} // GET http /, host a
	more := append([]byte{0, 1, 'x', 100}, bytes.Repeat([]byte("a"), 100)...)
	for name, flood := range map[string]func(n uint32) []byte{
		"endless headers": func(n uint32) []byte {
			if n == 0 {
				return append(bytes.Clone(preface), h2(1, 0, 1, get)...)
			}
			return h2(9, 0, 1, bytes.Repeat(more, 20))
		},
		"settings that are not read": func(n uint32) []byte {
			if n == 0 {
				return preface
			}
			return bytes.Repeat(h2(4, 0, 0, nil), 100)
		},
		"streams that are begun and reset": func(n uint32) []byte {
			if n == 0 {
				return preface
			}
			return append(h2(1, 4, 2*n-1, get), h2(3, 0, 2*n-1, []byte{0, 0, 0, 8})...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("tcp", h.Address().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			sent := 0
			for n := range uint32(20_000) {
				k, err := c.Write(flood(n))
				if sent += k; err != nil {
					t.Logf("ended after %d bytes: %v", sent, err)
					break
				}
			}
			if name == "endless headers" && sent > 20<<20 {
				t.Errorf("the server accepted %d bytes of headers", sent)
			}
			for range 3 { // other clients are served
				r, err := http.Get(h.URL + "/healthz")
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, r.Body); err != nil || r.StatusCode != http.StatusOK {
					t.Errorf("another client: got %d %v", r.StatusCode, err)
				}
				if err := r.Body.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
