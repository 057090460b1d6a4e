package ids

import (
	"encoding/binary"
	"fmt"
	"time"
)

// ULID is a ULID, 128 bits.
type ULID [16]byte

// ULIDs generates ULIDs: 48 bits of milliseconds and 80 random bits. The highest 22 of these count within the millisecond, from a random
// value. ULIDs of a generator increase, as bytes and as texts.
type ULIDs struct{ clock hybridClock }

// NewULIDs returns a generator. now is the clock; nil is time.Now.
func NewULIDs(now func() time.Time) *ULIDs { return &ULIDs{newHybridClock(now)} }

// Next returns a ULID. It fails with ErrEnded after 2159.
func (u *ULIDs) Next() (v ULID, err error) {
	ms, count, random, err := u.clock.next()
	if err != nil {
		return v, err
	}
	binary.BigEndian.PutUint64(v[:], ms<<16|count>>6)
	binary.BigEndian.PutUint64(v[8:], count<<58|random>>6)
	return v, nil
}

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// Append appends the text form, 26 symbols of Crockford's base 32, as 01ARZ3NDEKTSV4RRFFQ69G5FAV, to b.
func (v ULID) Append(b []byte) []byte {
	hi, lo := binary.BigEndian.Uint64(v[:]), binary.BigEndian.Uint64(v[8:])
	for i := 125; i >= 0; i -= 5 {
		var d uint64
		switch {
		case i >= 64:
			d = hi >> (i - 64)
		case i > 59:
			d = hi<<(64-i) | lo>>i
		default:
			d = lo >> i
		}
		b = append(b, crockford[d&31])
	}
	return b
}

// String returns the text form.
func (v ULID) String() string { return string(v.Append(make([]byte, 0, 26))) }

// ULIDParts are the parts of a ULID. Other generators have random bits where this one counts.
type ULIDParts struct {
	Time          time.Time
	Count, Random uint64 // 22 and 58 bits
}

// ParseULID reads the text form, in either case. The error names the first offending character, counted from 1.
func ParseULID(s string) (v ULID, p ULIDParts, err error) {
	if len(s) != 26 {
		return v, p, fmt.Errorf("a ULID has 26 characters, as 01ARZ3NDEKTSV4RRFFQ69G5FAV, and this has %d", len(s))
	}
	var hi, lo uint64
	for i := range len(s) {
		d, ok := crockfordDigit(s[i])
		if !ok {
			return v, p, fmt.Errorf("character %d of a ULID is %q, not one of %s", i+1, s[i], crockford)
		}
		if i == 0 && d > 7 {
			return v, p, fmt.Errorf("character 1 of a ULID is %q: it has 128 bits, and begins with 0 to 7", s[i])
		}
		hi, lo = hi<<5|lo>>59, lo<<5|d
	}
	p = ULIDParts{Time: time.UnixMilli(int64(hi >> 16)).UTC(), Count: hi&0xffff<<6 | lo>>58, Random: lo & (1<<58 - 1)}
	binary.BigEndian.PutUint64(v[:], hi)
	binary.BigEndian.PutUint64(v[8:], lo)
	return v, p, nil
}

func crockfordDigit(c byte) (uint64, bool) {
	if c >= 'a' && c <= 'z' {
		c -= 0x20
	}
	for i := range len(crockford) {
		if crockford[i] == c {
			return uint64(i), true
		}
	}
	return 0, false
}
