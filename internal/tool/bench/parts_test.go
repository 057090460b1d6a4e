package bench

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

func newReader(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, 1<<20) }

// nextFrom reads a client's frame, as a server would.
func (s *socket) nextFrom() ([]byte, error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(s.in, head); err != nil {
		return nil, err
	}
	if head[0] != 0x82 || head[1]&0x80 == 0 {
		return nil, errors.New("not a masked binary frame")
	}
	n := uint64(head[1] & 0x7f)
	for code, size := range map[uint64]int{126: 2, 127: 8} {
		if uint64(head[1]&0x7f) == code {
			b := make([]byte, 8)
			if _, err := io.ReadFull(s.in, b[8-size:]); err != nil {
				return nil, err
			}
			n = binary.BigEndian.Uint64(b)
		}
	}
	p := make([]byte, n+4)
	if _, err := io.ReadFull(s.in, p); err != nil {
		return nil, err
	}
	for i := range p[4:] {
		p[4+i] ^= p[i%4]
	}
	return p[4:], nil
}

// Frames of all sizes are written and read correctly, at the sizes at which their headers change.
func TestFramesOfAllSizes(t *testing.T) {
	for _, n := range []int{0, 1, 125, 126, 127, 4095, 4096, 65535, 65536, 300_000} {
		payload := bytes.Repeat([]byte{0xa5}, n)
		wire := &sink{}
		if err := (&socket{net: wire}).write(payload); err != nil {
			t.Fatal(err)
		}
		got, err := (&socket{in: newReader(wire)}).nextFrom()
		if err != nil || !bytes.Equal(got, payload) {
			t.Errorf("writing a frame of %d bytes: got %d, %v", n, len(got), err)
		}
		// A server's frame has no mask; a preceding ping is skipped.
		in := []byte{0x89, 0, 0x82}
		switch {
		case n < 126:
			in = append(in, byte(n))
		case n < 1<<16:
			in = binary.BigEndian.AppendUint16(append(in, 126), uint16(n))
		default:
			in = binary.BigEndian.AppendUint64(append(in, 127), uint64(n))
		}
		s := &socket{in: bufio.NewReaderSize(bytes.NewReader(append(in, payload...)), 4096)}
		if got, err := s.next(); err != nil || !bytes.Equal(got, payload) {
			t.Errorf("reading a frame of %d bytes: got %d, %v", n, len(got), err)
		}
		if _, err := s.next(); !errors.Is(err, io.EOF) {
			t.Errorf("read at the end of the stream: got %v", err)
		}
	}
	closed := &socket{in: newReader(strings.NewReader("\x88\x06\x0f\xa0bye!"))}
	if _, err := closed.next(); !errors.Is(err, errClosed) || !strings.Contains(err.Error(), "4000 bye!") {
		t.Errorf("read of a close frame: got %v", err)
	}
}

// Quantiles are within a bucket of the true ones.
func TestQuantiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var h, half histogram
	var all []float64
	for i := range 20_000 {
		d := time.Duration(rng.ExpFloat64() * float64(3*time.Millisecond))
		all = append(all, d.Seconds()*1000)
		if i%2 == 0 {
			h.add(d)
		} else {
			half.add(d)
		}
	}
	h.merge(&half)
	slices.Sort(all)
	for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 0.999} {
		want, got := all[int(q*float64(len(all)-1))], h.quantile(q)
		if got > want*1.001+0.001 || got < want*0.96-0.001 {
			t.Errorf("quantile %v: got %v, want %v", q, got, want)
		}
	}
	var none histogram
	if none.quantile(0.99) != 0 {
		t.Error("quantile of an empty histogram: got a value other than 0")
	}
	none.add(-time.Second)
	none.add(1000 * time.Hour)
	if none.quantile(0) != 0 || none.quantile(1) <= 0 {
		t.Error("values beyond the ends are not in the first and last buckets")
	}
	for i := range len(h.buckets) - 1 {
		if bucketOf(boundOf(i)) != i || boundOf(i) >= boundOf(i+1) {
			t.Fatalf("bucket %d begins at %d, which maps to bucket %d", i, boundOf(i), bucketOf(boundOf(i)))
		}
	}
}

// Texts are valid UTF-8 in any script, have the requested size, and can be parsed.
func TestTexts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, []byte(strings.Repeat("你好，世界 👩‍👩‍👧 \xff bad \x00 end. ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"", file} {
		for _, size := range []int{headLength + 1, 60, 200, 5000} {
			c, _, err := newCorpus(from, size, 7)
			if err != nil {
				t.Fatal(err)
			}
			for n := range uint32(500) {
				b := c.appendText(nil, 3, n, 42)
				if len(b) > size || len(b) < size-4 && from == "" || !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
					t.Fatalf("got a text of %d bytes, want %d: %q", len(b), size, b)
				}
				if sender, m, at, ok := c.parse(b); !ok || sender != 3 || m != n || at != 42 {
					t.Fatalf("parse %q: got %d %d %d %v", b, sender, m, at, ok)
				}
			}
		}
	}
	if _, _, err := newCorpus(filepath.Join(t.TempDir(), "none"), 200, 1); err == nil {
		t.Error("a missing file: got no error")
	}
}

// Bad flags are reported, and nothing runs.
func TestFlags(t *testing.T) {
	for _, args := range [][]string{
		{}, {"sing"}, {"chat", "--url", "127.0.0.1:7070"}, {"chat", "--pairs", "-1"}, {"chat", "--window", "0"}, {"chat", "--window", "many"},
		{"chat", "--groups", "1", "--group-size", "1"}, {"chat", "--groups", "1", "--senders", "101"}, {"chat", "--size", "32"}, {"chat", "more"},
		{"idle", "--connections", "0"}, {"reference"},
	} {
		var out, errOut strings.Builder
		if code := Main(args, &out, &errOut); code != 2 || errOut.Len() == 0 || out.Len() > 0 {
			t.Errorf("flags %v: got exit code %d, output %q, errors %q", args, code, out.String(), errOut.String())
		}
	}
	var out, errOut strings.Builder
	if code := Main([]string{"chat", "--url", "http://127.0.0.1:1", "--pairs", "1"}, &out, &errOut); code != 1 || !strings.Contains(errOut.String(), "refused") {
		t.Errorf("without a server: got exit code %d, errors %q", code, errOut.String())
	}
}

// The reference is measured, and leaves no files.
func TestReference(t *testing.T) {
	dir := t.TempDir()
	r, err := reference(dir, 50*time.Millisecond)
	if err != nil || r.RecordsPerS <= 0 || r.SyncP50 <= 0 || r.SyncP99 < r.SyncP50 {
		t.Errorf("got %+v, %v", r, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("remaining files: got %v, %v", left, err)
	}
}

// FuzzCursor: the cursor accepts what the generated code accepts, without more fields or a panic.
func FuzzCursor(f *testing.F) {
	b, err := proto.Marshal(&gatewayv1.ServerFrame{Request: 300, Receipts: []*gatewayv1.Receipt{{ClientSeq: 1 << 40}}, Pong: &gatewayv1.Pong{TimeMs: 5}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Add([]byte{0x80})
	f.Fuzz(func(t *testing.T, b []byte) {
		c := cursor{b: b}
		used := 0
		for {
			_, _, p, ok := c.next()
			if !ok {
				break
			}
			if used += 1 + len(p); used > len(b) {
				t.Fatalf("got %d bytes of fields in %d bytes", used, len(b))
			}
		}
		if !c.bad && len(c.b) > 0 {
			t.Fatal("the cursor stopped before the end")
		}
	})
}
