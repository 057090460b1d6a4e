package ids

import (
	"errors"
	"fmt"
	"time"
)

// Readable is a readable id, as messages have: 80 bits, 42 of milliseconds since 1970, 12 of spin (a count within the millisecond),
// 4 of conversation type, 22 of conversation. Its text is four groups of four symbols, and sorts by time.
type Readable [10]byte

// Alphabet of 32 symbols, in ASCII order, without 0, 1, I and O.
const Alphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"

var symbolValue = func() (t [256]int8) {
	for i := range t {
		t[i] = -1
	}
	for i := range len(Alphabet) {
		t[Alphabet[i]] = int8(i)
	}
	return
}()

// ReadableOf packs the parts: ms is cut to 42 bits, spin to 12, typ to 4, conversation to its low 22.
func ReadableOf(ms int64, spin uint16, typ uint8, conversation uint64) Readable {
	hi := uint64(ms)<<22 | uint64(spin&0xfff)<<10 | uint64(typ&0xf)<<6 | conversation>>16&0x3f
	return Readable{byte(hi >> 56), byte(hi >> 48), byte(hi >> 40), byte(hi >> 32), byte(hi >> 24), byte(hi >> 16), byte(hi >> 8), byte(hi), byte(conversation >> 8), byte(conversation)}
}

// Ms is the time part, milliseconds since 1970.
func (m Readable) Ms() int64 {
	return int64(uint64(m[0])<<34 | uint64(m[1])<<26 | uint64(m[2])<<18 | uint64(m[3])<<10 | uint64(m[4])<<2 | uint64(m[5])>>6)
}

// Time is the time part.
func (m Readable) Time() time.Time { return time.UnixMilli(m.Ms()) }

// Spin is the count within the millisecond.
func (m Readable) Spin() uint16 { return uint16(m[5]&0x3f)<<6 | uint16(m[6])>>2 }

// Type is the conversation's type: 1 one-to-one, 2 group.
func (m Readable) Type() uint8 { return m[6]&3<<2 | m[7]>>6 }

// Low22 is the low 22 bits of the conversation.
func (m Readable) Low22() uint32 { return uint32(m[7]&0x3f)<<16 | uint32(m[8])<<8 | uint32(m[9]) }

// Append appends the text form, 19 characters, to b.
func (m Readable) Append(b []byte) []byte {
	for half := range 2 {
		p := m[half*5:]
		v := uint64(p[0])<<32 | uint64(p[1])<<24 | uint64(p[2])<<16 | uint64(p[3])<<8 | uint64(p[4])
		if half == 1 {
			b = append(b, '-')
		}
		b = append(b, Alphabet[v>>35], Alphabet[v>>30&31], Alphabet[v>>25&31], Alphabet[v>>20&31], '-',
			Alphabet[v>>15&31], Alphabet[v>>10&31], Alphabet[v>>5&31], Alphabet[v&31])
	}
	return b
}

// String is the text form, as BD8U-FCQJ-LDC5-L789.
func (m Readable) String() string { return string(m.Append(make([]byte, 0, 19))) }

var errReadableLength = errors.New("a readable id has 19 characters, as BD8U-FCQJ-LDC5-L789")

// ParseReadable reads the text form. The error names the first offending character, counted from 1.
func ParseReadable(s string) (Readable, error) {
	var m Readable
	if len(s) != 19 {
		return m, errReadableLength
	}
	var v uint64
	n := 0
	for i := range len(s) {
		if i%5 == 4 {
			if s[i] != '-' {
				return Readable{}, fmt.Errorf("character %d of a readable id is %q, not a hyphen", i+1, s[i])
			}
			continue
		}
		d := symbolValue[s[i]]
		if d < 0 {
			return Readable{}, fmt.Errorf("character %d of a readable id is %q, not one of %s", i+1, s[i], Alphabet)
		}
		v = v<<5 | uint64(d)
		if n++; n%8 == 0 {
			p := m[n/8*5-5:]
			p[0], p[1], p[2], p[3], p[4] = byte(v>>32), byte(v>>24), byte(v>>16), byte(v>>8), byte(v)
			v = 0
		}
	}
	return m, nil
}
