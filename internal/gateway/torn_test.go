package gateway

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// A message that has begun comes whole in time, or brings something; else its connection ends. Whatever else comes does not
// count, and what we do not read ourselves does not either.
func TestMessagesThatDoNotComeWhole(t *testing.T) {
	long := append(binary.BigEndian.AppendUint64([]byte{0x82, 0xff}, maxFrame), 0, 0, 0, 0)
	bytesOf := func(n int) []byte { return make([]byte, n) }
	for _, test := range []struct {
		name string
		each func(c *conn, second int) []byte // what comes each second
		ends int                              // second; 0: it goes on
	}{
		{"a byte a second", func(_ *conn, s int) []byte {
			if s == 0 {
				return long
			}
			return bytesOf(1)
		}, slowTime},
		{"a head a second", func(_ *conn, s int) []byte { return long[s%13 : s%13+1] }, slowTime},
		{"half of what it must bring", func(_ *conn, s int) []byte {
			if s == 0 {
				return long
			}
			return bytesOf(leastBytes / slowTime / 2)
		}, slowTime},
		{"something, and then no more", func(_ *conn, s int) []byte {
			switch s {
			case 0:
				return append(bytes.Clone(long), bytesOf(3*leastBytes)...)
			case 20:
				return bytesOf(leastBytes)
			}
			return bytesOf(1)
		}, 20 + slowTime},
		{"parts, and pings between", func(_ *conn, s int) []byte {
			if s == 0 {
				return masked(0x02, "a")
			}
			return masked(0x89, "")
		}, slowTime},
		{"what it must bring", func(_ *conn, s int) []byte {
			if s == 0 {
				return long
			}
			return bytesOf(leastBytes/slowTime + 20)
		}, 0},
		{"messages that end in the next read", func(_ *conn, s int) []byte {
			if s == 0 {
				return masked(0x82, "")[:3]
			}
			return append(masked(0x82, "")[3:], masked(0x82, "")[:3]...)
		}, 0},
		{"parts that are whole in the end", func(_ *conn, s int) []byte {
			switch s % 20 {
			case 0:
				return masked(0x02, "")
			case 19:
				return masked(0x80, "")
			}
			return masked(0x89, "")
		}, 0},
		{"pings", func(*conn, int) []byte { return masked(0x89, "") }, 0},
		{"a pause of ours", func(c *conn, s int) []byte {
			c.mu.Lock()
			defer c.mu.Unlock()
			switch s {
			case 0:
				return masked(0x82, "abc")[:3]
			case 1:
				c.paused = true
			case 50:
				c.relax()
			}
			return nil
		}, 50 + slowTime},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, _ := bench(t)
			start := c.server.now.Load()
			for second := range 100 {
				now := start + uint32(second)
				c.server.now.Store(now)
				c.last.Store(now) // as if by heartbeats
				if b := test.each(c, second); len(b) > 0 {
					c.read(bytes.Clone(b))
				}
				next := c.server.look(c, now)
				if begun := c.begun.Load(); !c.closing && begun != 0 && !c.paused && next > begun+slowTime && next > now+5 {
					t.Fatalf("second %d: the next look is at %d, and its time ends at %d", second, next-start, begun+slowTime-start)
				}
				if c.closing != (test.ends != 0 && second >= test.ends) {
					t.Fatalf("second %d: closing %v", second, c.closing)
				}
				if c.closing {
					break
				}
			}
			byes := 0
			for _, f := range sent(t, c) {
				if f.Bye != nil {
					byes++
					if f.Bye.Code != closeTorn {
						t.Errorf("it ends with %v", f.Bye)
					}
				}
			}
			if byes == 1 != (test.ends != 0) {
				t.Errorf("%d goodbyes", byes)
			}
		})
	}
}
