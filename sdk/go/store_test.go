package rialto_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// TestMain saves without end if a test started this process to kill it.
func TestMain(m *testing.M) {
	if path := os.Getenv("SAVE_WITHOUT_END"); path != "" {
		f := rialto.NewFileStore(path)
		for n := uint64(1); ; n++ {
			if err := f.Save(big(n)); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			fmt.Println(n)
		}
	}
	os.Exit(m.Run())
}

// big returns a large state whose parts all contain its number.
func big(n uint64) rialto.State {
	s := rialto.State{User: 1, Seq: n, ClientSeq: n}
	for i := range 200 {
		s.Outbox = append(s.Outbox, rialto.Unsent{ClientSeq: n + uint64(i), Content: []byte(strings.Repeat(fmt.Sprint(n), 10))})
	}
	return s
}

// TestAKillInTheMiddleOfASave leaves a whole state, and none before the one that was saved last.
func TestAKillInTheMiddleOfASave(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "state.json")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for round := range 8 {
		c := exec.Command(self)
		c.Env = append(os.Environ(), "SAVE_WITHOUT_END="+path)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines, saved := bufio.NewScanner(out), uint64(0)
		for range 3 + round {
			lines.Scan()
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for ok := true; ok; ok = lines.Scan() { // what the process had reported before
			if saved, err = strconv.ParseUint(lines.Text(), 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		_ = c.Wait() // it was killed
		s, err := rialto.NewFileStore(path).Load()
		if err != nil || s.Seq < saved || s.Seq > saved+1 || s.ClientSeq != s.Seq || len(s.Outbox) != 200 || s.Outbox[199].ClientSeq != s.Seq+199 {
			t.Fatalf("after state %d there is %d with %d messages, %v", saved, s.Seq, len(s.Outbox), err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("others may read it: %v, %v", info.Mode(), err)
		}
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) > 2 {
		t.Errorf("kills leave %d files, %v", len(left), err)
	}
}

// TestHalfAState: an incomplete state file is not read, and is overwritten.
func TestHalfAState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	f := rialto.NewFileStore(path)
	if err := f.Save(big(1)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", []byte(`{"User":1,"Seq":2,"Out`+strings.Repeat(" ", 100_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := f.Load(); err != nil || s.Seq != 1 {
		t.Errorf("state %d, %v", s.Seq, err)
	}
	if err := f.Save(big(3)); err != nil {
		t.Fatal(err)
	}
	if s, err := f.Load(); err != nil || s.Seq != 3 {
		t.Errorf("state %d, %v", s.Seq, err)
	}
}

// TestABadFile is an error that names it, and it stays as it is.
func TestABadFile(t *testing.T) {
	for _, text := range []string{"", "{", "[]", "no state", `{"User":"x"}`} {
		path := filepath.Join(t.TempDir(), "state.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := rialto.New(rialto.Config{URL: "http://x", Store: rialto.NewFileStore(path)}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: error %v, want one that contains %q", text, err, path)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("%q became %q, %v", text, b, err)
		}
	}
}

// broken is a store whose disk is full.
type broken struct {
	rialto.MemoryStore
	full atomic.Bool // the client saves while a test sets it
}

func (b *broken) Save(s rialto.State) error {
	if b.full.Load() {
		return errors.New("no space")
	}
	return b.MemoryStore.Save(s)
}

// TestUnstoredMessagesAreNotSent: a message that could not be stored gets no number; the next message gets it.
func TestUnstoredMessagesAreNotSent(t *testing.T) {
	var got []string
	s := start(t, &server{script: func(_ int, c *conn) {
		for sends := c.sends(); sends != nil; sends = c.sends() {
			for _, m := range sends {
				got = append(got, fmt.Sprint(m.ClientSeq, m.Content.GetText()))
			}
			c.store(sends)
		}
	}})
	store := &broken{}
	c, _ := s.client(store)
	run(t, c)
	store.full.Store(true)
	if _, err := c.SendText(t.Context(), 7, "lost"); err == nil || err.Error() != "no space" {
		t.Errorf("on a full disk: got %v", err)
	}
	store.full.Store(false)
	if _, err := c.SendText(t.Context(), 7, "kept"); err != nil {
		t.Error(err)
	}
	if !slices.Equal(got, []string{"1kept"}) {
		t.Errorf("the server got %v", got)
	}
}

// TestTheOutboxHasABound, and so has a message.
func TestTheOutboxHasABound(t *testing.T) {
	s := start(t, &server{})
	c, _ := s.client(&noStore{})
	text := &chatv1.Content{Kind: &chatv1.Content_Text{Text: "x"}}
	for range rialto.MostQueued {
		c.Queue(7, text)
	}
	now, cancel := context.WithCancel(t.Context())
	cancel() // nobody waits for a message that was stored after all
	if _, err := c.Queue(7, text)(now); !errors.Is(err, rialto.ErrQueueFull) {
		t.Errorf("one more: got %v", err)
	}
	large := &chatv1.Content{Kind: &chatv1.Content_Custom{Custom: &chatv1.Custom{Type: "t", Data: make([]byte, rialto.MostContent)}}}
	if _, err := c.Queue(7, large)(now); rialto.Reason(err) != "content_too_large" {
		t.Errorf("a large one: got %v", err)
	}
}

// noStore forgets, and costs nothing.
type noStore struct{}

func (*noStore) Load() (rialto.State, error) { return rialto.State{}, nil }
func (*noStore) Save(rialto.State) error     { return nil }
