package stomp

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// decodeAll decodes bytes that come in pieces, and returns the frames and the first error.
func decodeAll(b []byte, size int) (list []string, err error) {
	var d decoder
	for rest := b; len(rest) > 0; rest = rest[min(len(rest), size):] {
		d.feed(rest[:min(len(rest), size)])
		for {
			f, err := d.next()
			if err != nil {
				return list, err
			}
			if f == nil {
				break
			}
			list = append(list, fmt.Sprintf("%s %q %q", f.command, f.headers, f.body))
		}
	}
	return list, nil
}

// Frames are decoded as STOMP 1.2 says, however the network divides their bytes.
func TestFramesAreDecoded(t *testing.T) {
	for _, test := range []struct {
		bytes string
		want  []string
		err   error
	}{
		{"SEND\ndestination:/conversation/5\n\nhello\x00", []string{`SEND [{"destination" "/conversation/5"}] "hello"`}, nil},
		{"SEND\r\ndestination:/x\r\ncontent-length:3\r\n\r\na\x00b\x00", []string{`SEND [{"destination" "/x"} {"content-length" "3"}] "a\x00b"`}, nil},
		{"\n\r\n\nDISCONNECT\n\n\x00\nDISCONNECT\nreceipt:7\n\n\x00\n", []string{`DISCONNECT [] ""`, `DISCONNECT [{"receipt" "7"}] ""`}, nil},
		{"SEND\na\\cb:x\\ny\\r\\\\z:w\n\n\x00", []string{`SEND [{"a:b" "x\ny\r\\z:w"}] ""`}, nil},
		{"CONNECT\npasscode:a\\cb:c\n\n\x00", []string{`CONNECT [{"passcode" "a\\cb:c"}] ""`}, nil},
		{"SEND\nempty:\n\n\x00", []string{`SEND [{"empty" ""}] ""`}, nil},
		{"SEND\na:\\t\n\n\x00", nil, errHeader},
		{"SEND\na:x\\\n\n\x00", nil, errHeader},
		{"SEND\na:x\ry\n\n\x00", nil, errHeader},
		{"SEND\nno colon\n\n\x00", nil, errHeader},
		{"SEND\n:no name\n\n\x00", nil, errHeader},
		{"SEND\na:\xff\n\n\x00", nil, errHeader},
		{"SEND\n\x00", nil, errNUL},
		{"SEND\na:\x00\n\n\x00", nil, errNUL},
		{"send\n\n\x00", nil, errCommand},
		{"MESSAGE\n\n\x00", nil, errCommand},
		{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", nil, errCommand},
		{"SEND\ncontent-length:2\n\nabc\x00", nil, errNUL},
		{"SEND\ncontent-length:-1\n\n\x00", nil, errLength},
		{"SEND\ncontent-length:x\n\n\x00", nil, errLength},
		{"SEND\ncontent-length:99999999999999999999\n\n", nil, errLength},
		{fmt.Sprintf("SEND\ncontent-length:%d\n\n", maxBody+1), nil, errBody},
		{"SUBSCRIBE\nid:1\n\nbody\x00", nil, errBody},
		{"SUBSCRIBE\nid:1\ncontent-length:4\n\nbody\x00", nil, errBody},
		{"SEND\n" + strings.Repeat("a:b\n", maxHeaders+1) + "\n\x00", nil, errHead},
		{"SEND\na:" + strings.Repeat("x", maxHead) + "\n\n\x00", nil, errHead},
		{"SEND\n\n" + strings.Repeat("x", maxBody+1), nil, errBody},
		{strings.Repeat("x", maxHead+1), nil, errHead},
	} {
		for _, size := range []int{1, 7, 4096, 4 << 20} {
			if size == 1 && len(test.bytes) > 2*maxHead {
				continue // it takes its time
			}
			got, err := decodeAll([]byte(test.bytes), size)
			if !slices.Equal(got, test.want) || err != test.err {
				t.Errorf("%.60q in pieces of %d: %q, %v; want %q, %v", test.bytes, size, got, err, test.want, test.err)
			}
		}
	}
}

// The longest body is decoded, and nothing is kept between frames.
func TestTheDecoderKeepsNothing(t *testing.T) {
	var d decoder
	d.feed([]byte("SEND\n\n"))
	d.feed(bytes.Repeat([]byte("x"), maxBody))
	if f, err := d.next(); f != nil || err != nil {
		t.Fatalf("an incomplete frame is %v, %v", f, err)
	}
	d.feed([]byte("\x00\n\n"))
	f, err := d.next()
	if err != nil || f == nil || len(f.body) != maxBody {
		t.Fatalf("the longest frame: %v", err)
	}
	if f, err := d.next(); f != nil || err != nil || cap(d.buf) != 0 {
		t.Errorf("after it: %v, %v; %d bytes are kept", f, err, cap(d.buf))
	}
}

// Any bytes give the same frames in one piece or several, and what the server encodes is decoded to the same.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("SEND\ndestination:/conversation/5\n\nhello\x00\nACK\nid:1\n\n\x00"), "a:b\n\\", uint8(3))
	f.Add([]byte("SEND\r\ncontent-length:3\r\n\r\na\x00b\x00"), "", uint8(1))
	f.Add([]byte("CONNECT\naccept-version:1.2\n\n\x00"), "\r", uint8(2))
	f.Fuzz(func(t *testing.T, b []byte, value string, step uint8) {
		whole, err := decodeAll(b, max(len(b), 1))
		pieces, perr := decodeAll(b, int(step)%17+1)
		if !slices.Equal(whole, pieces) || (err == nil) != (perr == nil) {
			t.Fatalf("%q, %v in one piece; %q, %v in several", whole, err, pieces, perr)
		}
		value = strings.ReplaceAll(strings.ToValidUTF8(value, ""), "\x00", "")
		if len(value) > 1000 {
			return
		}
		in := &frame{command: "SEND", headers: []header{{"n" + value, value}, {"content", "x"}}, body: b}
		want := fmt.Sprintf("SEND %q", slices.DeleteFunc(in.headers, func(h header) bool { return h.value == "" }))
		got, err := decodeAll(appendFrame(nil, in), 4096)
		if len(b) > maxBody {
			return
		}
		if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], want[:len(want)-1]) || !strings.HasSuffix(got[0], fmt.Sprintf("%q", b)) {
			t.Fatalf("%q became %q, %v", want, got, err)
		}
	})
}
