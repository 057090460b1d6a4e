package indexprocess

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/engine/searchindex"
)

// fill gives all fields of a value something that is not zero.
func fill(t *testing.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for n := range v.NumField() {
			fill(t, v.Field(n))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(t, v.Index(0))
		fill(t, v.Index(1))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key)
		fill(t, value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.String:
		v.SetString("\x00\xff text") // names of checkpoints are no UTF-8
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(0.1)
	case reflect.Int, reflect.Int64:
		v.SetInt(-1 << 62)
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(201)
	default:
		t.Fatalf("a field of the type %v", v.Type())
	}
}

// Frames keep each field of what the calls have, and of what they return.
func TestFramesKeepAllFields(t *testing.T) {
	for _, v := range []any{&searchindex.Batch{}, &searchindex.Query{}, &reply{}} {
		fill(t, reflect.ValueOf(v).Elem())
		b, err := encodeFrame(searchFrame, 1<<63+5, v)
		if err != nil {
			t.Fatal(err)
		}
		f, err := readFrame(bytes.NewReader(b))
		if err != nil || f.kind != searchFrame || f.call != 1<<63+5 {
			t.Fatalf("a frame with %T is read as %+v, error %v", v, f, err)
		}
		got := reflect.New(reflect.TypeOf(v).Elem()).Interface()
		if err := f.decode(got); err != nil || !reflect.DeepEqual(got, v) {
			t.Errorf("got %+v, want %+v; %v", got, v, err)
		}
	}
}

// The parts of a batch have its documents in their order; the first one what is removed, and the last one the checkpoints.
func TestParts(t *testing.T) {
	rest := searchindex.Batch{Checkpoints: map[string]uint64{"m": 1}, Delete: []searchindex.ID{{Number: 9}}, Term: 3}
	for n, size := range []int{maxPart, 10, maxPart - 1000, 2 * maxPart, 20, 30} {
		rest.Put = append(rest.Put, searchindex.Document{ID: searchindex.ID{Number: uint64(n)}, Text: strings.Repeat("a", size)})
	}
	var got [][]uint64
	for last := false; !last; {
		var part searchindex.Batch
		part, last = nextPart(&rest)
		var numbers []uint64
		for _, d := range part.Put {
			numbers = append(numbers, d.ID.Number)
		}
		if got = append(got, numbers); len(part.Delete) > 0 != (len(got) == 1) || len(part.Checkpoints) > 0 != last || part.Term != 3 {
			t.Errorf("part %d, the last: %v, removes %v and has the checkpoints %v", len(got), last, part.Delete, part.Checkpoints)
		}
	}
	if want := [][]uint64{{0}, {1, 2}, {3}, {4, 5}}; !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("the parts have %v, want %v", got, want)
	}
}

// What a process writes to its standard error is logged by lines, as many and as long ones as are allowed.
func TestLines(t *testing.T) {
	var log bytes.Buffer
	l := &lines{logger: slog.New(slog.NewTextHandler(&log, nil))}
	for _, part := range []string{"one", " line\nanother\n\n", strings.Repeat("é", maxLine), "\n"} {
		if n, err := l.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("wrote %d of %d: %v", n, len(part), err)
		}
	}
	for n := range 2 * maxLines {
		fmt.Fprintln(l, "line", n)
	}
	text := log.String()
	if n := strings.Count(text, "\n"); n != maxLines || !strings.Contains(text, `line="one line"`) || !strings.Contains(text, "line=another") || strings.Contains(text, strings.Repeat("é", maxLine/2+1)) {
		t.Errorf("%d lines of %d were logged: %.500s", n, maxLines, text)
	}
}

// The process gives a sign of life each second, also while it opens a large index.
func TestBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, caller := io.Pipe()
		var out bytes.Buffer // only read while the process waits
		opened, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			ended <- Serve(in, &out, func() (searchindex.Index, error) {
				<-opened
				return nil, nil
			})
		}()
		check := func(want ...frameKind) {
			t.Helper()
			time.Sleep(2*beatInterval + beatInterval/4)
			synctest.Wait()
			var got []frameKind
			for r := bytes.NewReader(out.Bytes()); r.Len() > 0; {
				f, err := readFrame(r)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, f.kind)
			}
			if !slices.Equal(got, want) {
				t.Errorf("it sent the frames %v, want %v", got, want)
			}
		}
		check(beatFrame, beatFrame)
		close(opened)
		check(beatFrame, beatFrame, readyFrame, beatFrame, beatFrame)
		_ = caller.Close()
		if err := <-ended; !errors.Is(err, ErrCallerEnded) {
			t.Errorf("it ended with %v", err)
		}
	})
}
