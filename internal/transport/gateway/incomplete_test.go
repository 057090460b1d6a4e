package gateway

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// An incomplete message must be completed, or bring chunkSize bytes, every chunkTime seconds; otherwise its connection is closed. Other
// frames do not extend the deadline. Time in which the server pauses reading does not count.
func TestStalledIncompleteMessageClosesConnection(t *testing.T) {
	long := append(binary.BigEndian.AppendUint64([]byte{0x82, 0xff}, maxFrame), 0, 0, 0, 0)
	bytesOf := func(n int) []byte { return make([]byte, n) }
	for _, test := range []struct {
		name string
		each func(c *conn, second int) []byte // the bytes that arrive in a second
		ends int                              // the second of the close; 0: none
	}{
		{"a byte a second", func(_ *conn, s int) []byte {
			if s == 0 {
				return long
			}
			return bytesOf(1)
		}, chunkTime},
		{"a byte of a frame header a second", func(_ *conn, s int) []byte { return long[s%13 : s%13+1] }, chunkTime},
		{"half of the least rate", func(_ *conn, s int) []byte {
			if s == 0 {
				return long
			}
			return bytesOf(chunkSize / chunkTime / 2)
		}, chunkTime},
		{"chunks, and then single bytes", func(_ *conn, s int) []byte {
			switch s {
			case 0:
				return append(bytes.Clone(long), bytesOf(3*chunkSize)...)
			case 20:
				return bytesOf(chunkSize)
			}
			return bytesOf(1)
		}, 20 + chunkTime},
		{"a byte of a length a second, over TCP", func(c *conn, s int) []byte {
			c.prefixed = true
			return []byte{0, 1, 0, 0, 1, 1, 1}[s%7 : s%7+1]
		}, chunkTime},
		{"a byte a second, over TCP", func(c *conn, s int) []byte {
			if c.prefixed = true; s == 0 {
				return binary.BigEndian.AppendUint32(nil, maxFrame)
			}
			return bytesOf(1)
		}, chunkTime},
		{"the least rate, over TCP", func(c *conn, s int) []byte {
			if c.prefixed = true; s == 0 {
				return binary.BigEndian.AppendUint32(nil, maxFrame)
			}
			return bytesOf(chunkSize/chunkTime + 20)
		}, 0},
		{"frames that are completed by the next read, over TCP", func(c *conn, s int) []byte {
			if c.prefixed = true; s == 0 {
				return []byte{0, 0}
			}
			return []byte{0, 0, 0, 0}
		}, 0},
		{"a fragment, and then pings", func(_ *conn, s int) []byte {
			if s == 0 {
				return masked(0x02, "a")
			}
			return masked(0x89, "")
		}, chunkTime},
		{"the least rate", func(_ *conn, s int) []byte {
			if s == 0 {
				return long
			}
			return bytesOf(chunkSize/chunkTime + 20)
		}, 0},
		{"messages that are completed by the next read", func(_ *conn, s int) []byte {
			if s == 0 {
				return masked(0x82, "")[:3]
			}
			return append(masked(0x82, "")[3:], masked(0x82, "")[:3]...)
		}, 0},
		{"fragments that are completed in time", func(_ *conn, s int) []byte {
			switch s % 20 {
			case 0:
				return masked(0x02, "")
			case 19:
				return masked(0x80, "")
			}
			return masked(0x89, "")
		}, 0},
		{"pings", func(*conn, int) []byte { return masked(0x89, "") }, 0},
		{"reading paused by the server", func(c *conn, s int) []byte {
			c.mu.Lock()
			defer c.mu.Unlock()
			switch s {
			case 0:
				return masked(0x82, "abc")[:3]
			case 1:
				c.reads = readPaused
			case 50:
				c.resumeReading()
			}
			return nil
		}, 50 + chunkTime},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, _ := bench(t)
			start := c.server.now.Load()
			for second := range 100 {
				now := start + uint32(second)
				c.server.now.Store(now)
				c.lastInput.Store(now) // as if by heartbeats
				if b := test.each(c, second); len(b) > 0 {
					c.read(bytes.Clone(b))
				}
				next := c.server.checkDeadlines(c, now)
				if begun := c.incompleteSince.Load(); !c.isEnding() && begun != 0 && c.reads == readOn && next > begun+chunkTime && next > now+5 {
					t.Fatalf("second %d: the next check is at %d, but the deadline is at %d", second, next-start, begun+chunkTime-start)
				}
				if c.isEnding() != (test.ends != 0 && second >= test.ends) {
					t.Fatalf("second %d: closing %v", second, c.isEnding())
				}
				if c.isEnding() {
					break
				}
			}
			byes := 0
			for _, f := range sent(t, c) {
				if f.Bye != nil {
					byes++
					if f.Bye.Code != closeIncomplete {
						t.Errorf("closed with %v, want the code of incomplete input", f.Bye)
					}
				}
			}
			if byes == 1 != (test.ends != 0) {
				t.Errorf("%d goodbyes", byes)
			}
		})
	}
}
