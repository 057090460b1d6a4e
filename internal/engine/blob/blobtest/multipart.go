package blobtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/rialto-im/rialto/internal/engine/blob"
)

// layout returns the parts of a value, each with its bytes.
func layout(value []byte) (parts []blob.Part, pieces [][]byte) {
	for offset := 0; offset < len(value); offset += blob.MinPartSize {
		piece := value[offset:min(offset+blob.MinPartSize, len(value))]
		parts, pieces = append(parts, blob.Part{Number: len(parts) + 1, Offset: int64(offset), Size: int64(len(piece))}), append(pieces, piece)
	}
	return parts, pieces
}

func begin(t *testing.T, s blob.Store, key string) string {
	t.Helper()
	session, err := s.BeginParts(t.Context(), key)
	if err != nil || session == "" {
		t.Fatalf("%s: session %q, %v", key, session, err)
	}
	return session
}

func putPart(t *testing.T, s blob.Store, key, session string, p *blob.Part, piece []byte) {
	t.Helper()
	var err error
	if p.Tag, err = s.PutPart(t.Context(), key, session, *p, bytes.NewReader(piece)); err != nil {
		t.Errorf("part %d of %s: %v", p.Number, key, err)
	}
}

func join(t *testing.T, s blob.Store, key, session string, parts []blob.Part) {
	t.Helper()
	if err := s.JoinParts(t.Context(), key, session, parts); err != nil {
		t.Fatalf("%s: %v", key, err)
	}
}

// multipart stores parts in parallel, in any order and repeatedly. Nothing is visible before they are joined, and joining may be repeated.
func multipart(t *testing.T, s blob.Store) {
	value := bytes.Repeat([]byte("0123456789abcdef!"), (2*blob.MinPartSize+1000)/17)
	parts, pieces := layout(value)
	old := []byte("the old one")
	put(t, s, "a/b", old)
	session := begin(t, s, "a/b")
	var wait sync.WaitGroup
	for _, i := range []int{2, 0, 1} {
		wait.Go(func() { putPart(t, s, "a/b", session, &parts[i], pieces[i]) })
	}
	wait.Wait()
	other := bytes.Repeat([]byte("x"), len(pieces[2]))
	putPart(t, s, "a/b", session, &parts[2], other)
	putPart(t, s, "a/b", session, &parts[2], pieces[2]) // the last one counts
	has(t, s, "before the parts are joined", "a/b", old)
	for what, bad := range map[string][]blob.Part{"none": nil, "a gap": {parts[0], parts[2]}, "reversed": {parts[1], parts[0], parts[2]}, "no first": parts[1:]} {
		if err := s.JoinParts(t.Context(), "a/b", session, bad); !errors.Is(err, blob.ErrParts) {
			t.Errorf("%s: %v", what, err)
		}
	}
	has(t, s, "after bad parts", "a/b", old)
	for range 2 {
		join(t, s, "a/b", session, parts)
		has(t, s, "joined", "a/b", value)
	}
	if err := s.AbortParts(t.Context(), "a/b", session); err != nil {
		t.Error(err)
	}
	has(t, s, "aborted after it was joined", "a/b", value)
}

// failedParts: a part of another size, or whose reader fails, is not stored, and other parts are unchanged.
func failedParts(t *testing.T, s blob.Store) {
	value := bytes.Repeat([]byte("abc"), blob.MinPartSize/3+100)
	parts, pieces := layout(value)
	session := begin(t, s, "a")
	for i := range parts {
		putPart(t, s, "a", session, &parts[i], pieces[i])
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for what, c := range map[string]struct {
		ctx  context.Context
		r    io.Reader
		want error
	}{
		"one missing":         {t.Context(), bytes.NewReader(pieces[0][1:]), blob.ErrSize},
		"one more":            {t.Context(), io.MultiReader(bytes.NewReader(pieces[0]), strings.NewReader("x")), blob.ErrSize},
		"fails in the middle": {t.Context(), io.MultiReader(bytes.NewReader(pieces[0][:100]), iotest.ErrReader(errBroken)), errBroken},
		"fails at the end":    {t.Context(), io.MultiReader(bytes.NewReader(pieces[0]), iotest.ErrReader(errBroken)), errBroken},
		"canceled":            {canceled, bytes.NewReader(pieces[0]), context.Canceled},
	} {
		if _, err := s.PutPart(c.ctx, "a", session, parts[0], c.r); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
	putPart(t, s, "a", session, &parts[0], pieces[0])
	has(t, s, "before the parts are joined", "a", nil)
	join(t, s, "a", session, parts)
	has(t, s, "after failures", "a", value)
	for _, p := range []blob.Part{{Number: 0, Size: 1}, {Number: 1, Offset: -1, Size: 1}, {Number: 1, Size: -1}} {
		if _, err := s.PutPart(t.Context(), "a", session, p, strings.NewReader("x")); !errors.Is(err, blob.ErrParts) {
			t.Errorf("%v: %v", p, err)
		}
	}
	for _, key := range []string{"", "../a", ".part/sessions/x"} {
		_, begun := s.BeginParts(t.Context(), key)
		_, stored := s.PutPart(t.Context(), key, session, parts[0], strings.NewReader("x"))
		for _, err := range []error{begun, stored, s.JoinParts(t.Context(), key, session, parts), s.AbortParts(t.Context(), key, session)} {
			if !errors.Is(err, blob.ErrKey) {
				t.Errorf("%q: %v", key, err)
			}
		}
	}
}

// abortedParts: after an abort nothing can be stored or joined, and an abort may be repeated.
func abortedParts(t *testing.T, s blob.Store) {
	parts := []blob.Part{{Number: 1, Size: 4}}
	session := begin(t, s, "a")
	putPart(t, s, "a", session, &parts[0], []byte("some"))
	for range 2 {
		if err := s.AbortParts(t.Context(), "a", session); err != nil {
			t.Error(err)
		}
	}
	_, stored := s.PutPart(t.Context(), "a", session, parts[0], strings.NewReader("some"))
	if joined := s.JoinParts(t.Context(), "a", session, parts); !errors.Is(stored, blob.ErrNotFound) || !errors.Is(joined, blob.ErrNotFound) {
		t.Errorf("after the abort, a part: %v, joining: %v", stored, joined)
	}
	has(t, s, "aborted", "a", nil)
	session = begin(t, s, "a")
	putPart(t, s, "a", session, &parts[0], []byte("more"))
	join(t, s, "a", session, slices.Clone(parts))
	has(t, s, "begun again", "a", []byte("more"))
}
