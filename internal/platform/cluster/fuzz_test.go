package cluster

import (
	"bytes"
	"encoding/binary"
	"log/slog"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
)

// FuzzProbes: a probe or an answer of another node is refused, or its topics are within it, and are encoded to the same bytes. An answer about the clock
// never makes a node believe that another one is a century behind.
func FuzzProbes(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{wireProbe})
	f.Add([]byte{wireProbe, 7})
	f.Add(appendTopic(appendTopic([]byte{wireProbe}, 1, []byte("one")), 2, nil))
	f.Add([]byte{wireProbe, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Add(bytes.Repeat([]byte{0x80}, 30))
	f.Add(binary.AppendUvarint(binary.AppendUvarint(nil, 1<<62), 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		again, size := []byte{wireProbe}, 0
		if err := eachTopic(b, func(id byte, data []byte) { again, size = appendTopic(again, id, data), size+len(data) }); size > len(b) {
			t.Errorf("%d bytes of %d, %v", size, len(b), err)
		} else if err == nil && len(again) == len(b) && !bytes.Equal(again, b) { // a length may be written in more bytes than it needs
			t.Errorf("%x became %x", b, again)
		}
		p := &Prober{deps: ProberDeps{Logger: slog.New(slog.DiscardHandler), Topics: []Topic{{ID: 1, Answer: bytes.Clone}}}}
		if a := p.answer(b); len(a) > 2*len(b)+16 {
			t.Errorf("%d bytes are answered with %d", len(b), len(a))
		}
		o := NewClockOffsets("n1", clock.System{})
		o.answer(b)
		o.answered("n2", time.Now(), b)
		if behind := o.Behind(); behind < 0 || behind > maxClockError+2*maxOffsetMs*time.Millisecond {
			t.Errorf("%x makes a node believe that another one is behind by %v", b, behind)
		}
	})
}
