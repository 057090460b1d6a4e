package ids

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// UUID is a UUID of any version.
type UUID [16]byte

// UUIDv7 generates UUIDs of version 7 (RFC 9562): 48 bits of milliseconds, a count of 22 bits that starts at a random value in each
// millisecond (method 1 of section 6.2), and 52 random bits. UUIDs of a generator increase.
type UUIDv7 struct{ clock hybridClock }

// NewUUIDv7 returns a generator. now is the clock; nil is time.Now.
func NewUUIDv7(now func() time.Time) *UUIDv7 { return &UUIDv7{newHybridClock(now)} }

// Next returns a UUID. It fails with ErrEnded after 2159.
func (u *UUIDv7) Next() (v UUID, err error) {
	ms, count, random, err := u.clock.next()
	if err != nil {
		return v, err
	}
	binary.BigEndian.PutUint64(v[:], ms<<16|7<<12|count>>10)
	binary.BigEndian.PutUint64(v[8:], 2<<62|count&(1<<10-1)<<52|random>>12)
	return v, nil
}

// Append appends the text form, as 017f22e2-79b0-7cc3-98c4-dc0c0c07398f, to b.
func (v UUID) Append(b []byte) []byte {
	const digits = "0123456789abcdef"
	for i, x := range v {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			b = append(b, '-')
		}
		b = append(b, digits[x>>4], digits[x&15])
	}
	return b
}

// String returns the text form.
func (v UUID) String() string { return string(v.Append(make([]byte, 0, 36))) }

// ParseUUID reads the text form of any UUID, in either case. The error names the first offending character, counted from 1.
func ParseUUID(s string) (v UUID, err error) {
	if len(s) != 36 {
		return v, fmt.Errorf("a UUID has 36 characters, as 017f22e2-79b0-7cc3-98c4-dc0c0c07398f, and this has %d", len(s))
	}
	n := 0
	for i := range len(s) {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return UUID{}, fmt.Errorf("character %d of a UUID is %q, not a hyphen", i+1, s[i])
			}
			continue
		}
		d, ok := hexDigit(s[i])
		if !ok {
			return UUID{}, fmt.Errorf("character %d of a UUID is %q, not one of 0 to 9 and a to f", i+1, s[i])
		}
		v[n/2] |= d << (4 * uint(1-n%2))
		n++
	}
	return v, nil
}

// UUIDv7Parts are the parts of a UUID of version 7. Other generators have random bits where this one counts.
type UUIDv7Parts struct {
	Time          time.Time
	Count, Random uint64 // 22 and 52 bits
}

// ParseUUIDv7 parses the text form of a UUID of version 7 and returns its parts.
func ParseUUIDv7(s string) (v UUID, p UUIDv7Parts, err error) {
	if v, err = ParseUUID(s); err != nil {
		return v, p, err
	}
	if v[6]>>4 != 7 || v[8]>>6 != 2 {
		return v, p, errors.New("this UUID is not of version 7: there its 15th character is 7, and its 20th one of 8, 9, a and b")
	}
	hi, lo := binary.BigEndian.Uint64(v[:]), binary.BigEndian.Uint64(v[8:])
	return v, UUIDv7Parts{Time: time.UnixMilli(int64(hi >> 16)).UTC(), Count: hi&0xfff<<10 | lo>>52&0x3ff, Random: lo & (1<<52 - 1)}, nil
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}
