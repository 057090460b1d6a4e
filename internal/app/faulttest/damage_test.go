package faulttest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/tool/verify"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// filled is the directory of a server that was stopped, or killed, with messages and names in it.
type filled struct {
	*process
	dir          string
	alice        *rialto.Client
	conversation uint64
}

const filledWith = 300

func fill(t *testing.T, killed bool) *filled {
	t.Helper()
	p := newProcess(t)
	if !p.start("") {
		t.Fatal("the server did not start")
	}
	alice, bob := person(t, p, "alice"), person(t, p, "bob")
	r, err := alice.Chat().OpenDirect(t.Context(), connect.NewRequest(&chatv1.OpenDirectRequest{User: bob.User()}))
	if err != nil {
		t.Fatal(err)
	}
	for n := range filledWith {
		if err := sendBy(t, alice, r.Msg.Id, n); err != nil {
			t.Fatal(err)
		}
		if err := rename(t, alice, fmt.Sprint("alice ", n)); err != nil {
			t.Fatal(err)
		}
	}
	if killed {
		p.kill()
	} else {
		p.stop()
	}
	p.verify()
	return &filled{p, p.dir, alice, r.Msg.Id}
}

// shows reads all messages. An error is acceptable; missing or different messages are not.
func (f *filled) shows(t *testing.T) (whole bool, err error) {
	r, err := f.alice.Chat().History(t.Context(), connect.NewRequest(&chatv1.HistoryRequest{Conversation: f.conversation, After: 1, Limit: 200}))
	if err != nil {
		return false, err
	}
	rest, err := f.alice.Chat().History(t.Context(), connect.NewRequest(&chatv1.HistoryRequest{Conversation: f.conversation, After: 201, Limit: 200}))
	if err != nil {
		return false, err
	}
	all := append(r.Msg.Messages, rest.Msg.Messages...)
	for n, m := range all {
		if m.Content.GetText() != fmt.Sprint("message ", n) {
			return false, nil
		}
	}
	return len(all) == filledWith, nil
}

// damage to a file, at a place that is a part of its length.
type damage struct {
	name string
	do   func(b []byte) []byte
}

func flip(name string, part float64) damage {
	return damage{"a bit flipped " + name, func(b []byte) []byte { b[int(float64(len(b))*part)] ^= 16; return b }}
}

var (
	emptied = damage{"emptied", func([]byte) []byte { return nil }}
	halved  = damage{"cut to half", func(b []byte) []byte { return b[:len(b)/2] }}
	zeroed  = damage{"a page of zeros", func(b []byte) []byte { clear(b[len(b)/2:][:min(4096, len(b)-len(b)/2)]); return b }}
)

// rialto verify finds corruption, and the server does not return partial data as if it were complete. Undetectable corruption is not
// tested: the end of the last write before a kill (less than 32 KiB), which looks like a power failure.
func TestDamagedFilesAreFound(t *testing.T) {
	for _, c := range []struct {
		killed  bool
		files   string
		damages []damage
	}{
		{false, "records.db", []damage{emptied, halved, zeroed, flip("early", 0.1), flip("in the middle", 0.5), flip("late", 0.9)}},
		{false, "timeline/*.sst", []damage{emptied, halved, zeroed, flip("early", 0.1), flip("in the middle", 0.5), flip("late", 0.9)}},
		{false, "timeline/MANIFEST*", []damage{emptied, flip("early", 0.2)}},
		{true, "timeline/*.log", []damage{emptied, zeroed, flip("early", 0.1), flip("in the middle", 0.5)}},
		{true, "timeline/MANIFEST*", []damage{emptied, halved, flip("early", 0.2)}},
	} {
		f := fill(t, c.killed)
		files, err := filepath.Glob(filepath.Join(f.dir, c.files))
		if err != nil {
			t.Fatal(err)
		}
		tried := 0
		for _, file := range files {
			good, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(bytes.Trim(good, "\x00")) < 64 {
				continue // nothing is in it
			}
			for _, d := range c.damages {
				f.damaged(t, file, d.name, d.do(slices.Clone(good)))
				tried++
			}
		}
		if tried == 0 {
			t.Errorf("no file %s has content to damage", c.files)
		}
	}
}

func (f *filled) damaged(t *testing.T, file, what string, bad []byte) {
	t.Helper()
	name, err := filepath.Rel(f.dir, file)
	if err != nil {
		t.Fatal(err)
	}
	f.process.dir = filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(f.process.dir, os.DirFS(f.dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.process.dir, name), bad, 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := verify.Run(context.Background(), f.process.dir, func(string, ...any) {})
	found := err != nil || len(report.Violations) > 0
	if !f.start("") {
		if !found {
			t.Errorf("%s, %s: the server does not start, but rialto verify reports no violation", name, what)
		}
		return
	}
	whole, err := f.shows(t)
	if !found && !whole {
		t.Errorf("%s, %s: rialto verify finds nothing, and messages are missing (%v)", name, what, err)
	}
	f.kill()
}
