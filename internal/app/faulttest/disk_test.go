package faulttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"golang.org/x/sys/unix"
)

// limit has the server's writes beyond a size of a file fail from now on, as writes to a broken disk do: they are its own
// writes, to real files. It needs no rights.
func (p *process) limit(size uint64) {
	p.t.Helper()
	var now unix.Rlimit
	if err := unix.Prlimit(p.PID(), unix.RLIMIT_FSIZE, nil, &now); err != nil {
		p.t.Fatal(err)
	}
	if err := unix.Prlimit(p.PID(), unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: min(size, now.Max), Max: now.Max}, nil); err != nil {
		p.t.Fatal(err)
	}
}

// said returns everything that the server logged.
func (p *process) said() string {
	p.t.Helper()
	b, err := os.ReadFile(p.log.Name())
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

// The disk fails under load, again and again. Each time the server ends, saying why; the clients find it again, and nothing
// that was acknowledged is missing.
func TestTheDiskFails(t *testing.T) {
	p := newProcess(t)
	if !p.start("") {
		t.Fatal("the server did not start")
	}
	c := newChatters(t, p.url())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stop := make(chan struct{})
	group := c.chat(ctx, stop)
	const failures = 5
	for range failures {
		if !c.until(c.acks.Load()+500, p.gone) {
			t.Fatal("the server died by itself")
		}
		p.limit(1)
		<-p.gone
		if code := p.ExitCode(); code != 3 {
			t.Errorf("the server ended with %d, want 3", code)
		}
		if !p.start("") {
			t.Fatal("the server did not start again")
		}
	}
	c.until(c.acks.Load()+500, p.gone)
	close(stop)
	c.settle(p.gone)
	cancel()
	group.Wait()
	for _, v := range c.history.Check() {
		t.Error(v)
	}
	if n := strings.Count(p.said(), "the disk failed"); n < failures {
		t.Errorf("the log reports %d failures of the disk, want %d", n, failures)
	}
	p.stop()
	p.verify()
}

// person creates a user with a client, which the caller runs if necessary.
func person(t *testing.T, p *process, handle string) *rialto.Client {
	t.Helper()
	c, err := rialto.New(rialto.Config{URL: p.url(), MaxWait: 20 * time.Millisecond, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Register(t.Context(), handle, "a good password", handle); err != nil {
		t.Fatal(err)
	}
	return c
}

func rename(t *testing.T, c *rialto.Client, name string) error {
	_, err := c.Account().UpdateProfile(t.Context(), connect.NewRequest(&accountv1.UpdateProfileRequest{DisplayName: &name}))
	return err
}

func nameOf(t *testing.T, c *rialto.Client) string {
	t.Helper()
	r, err := c.Account().GetUsers(t.Context(), connect.NewRequest(&accountv1.GetUsersRequest{Users: []uint64{c.User()}}))
	if err != nil {
		t.Fatal(err)
	}
	return r.Msg.Users[0].DisplayName
}

// sendBy sends by a call, which fails at once where a client on a socket would retry.
func sendBy(t *testing.T, c *rialto.Client, conversation uint64, n int) error {
	_, err := c.Chat().Send(t.Context(), connect.NewRequest(&chatv1.SendRequest{Conversation: conversation, ClientMsgId: fmt.Sprint(n),
		Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: fmt.Sprint("message ", n)}}}))
	return err
}

// texts returns the messages of a conversation, oldest first.
func texts(t *testing.T, c *rialto.Client, conversation uint64) (all []string) {
	t.Helper()
	for after := uint64(1); ; {
		r, err := c.Chat().History(t.Context(), connect.NewRequest(&chatv1.HistoryRequest{Conversation: conversation, After: after, Limit: 200}))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range r.Msg.Messages {
			all, after = append(all, m.Content.GetText()), m.Seq
		}
		if !r.Msg.More {
			return all
		}
	}
}

// refusedFor reports whether a call was refused as unavailable for a reason.
func refusedFor(err error, reason string) bool {
	var e *connect.Error
	if !errors.As(err, &e) || e.Code() != connect.CodeUnavailable {
		return false
	}
	for _, d := range e.Details() {
		if v, err := d.Value(); err == nil {
			if g, ok := v.(*gatewayv1.Error); ok && g.Reason == reason {
				return true
			}
		}
	}
	return false
}

// The database file cannot be written, but the timelines can. Changes in the database fail with a reason, reading and chatting continue,
// and afterwards exactly the acknowledged changes are stored.
func TestTheDatabaseFileCannotBeWritten(t *testing.T) {
	p := newProcess(t)
	if !p.start("") {
		t.Fatal("the server did not start")
	}
	alice, bob := person(t, p, "alice"), person(t, p, "bob")
	r, err := alice.Chat().OpenDirect(t.Context(), connect.NewRequest(&chatv1.OpenDirectRequest{User: bob.User()}))
	if err != nil {
		t.Fatal(err)
	}
	wal := filepath.Join(p.dir, "records.db-wal")
	name := ""
	size := func() int64 {
		info, err := os.Stat(wal)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	for n, from := 0, size(); size() < from+64<<10; n++ {
		name = fmt.Sprint("alice ", n)
		if err := rename(t, alice, name); err != nil {
			t.Fatal(err)
		}
	}
	p.limit(uint64(size()))
	// Few, and at once: the node has ids for two more seconds, and gives up its parts soon after, as its heartbeats are not stored.
	const sent = 10
	var sends sync.WaitGroup
	for n := range sent {
		sends.Go(func() {
			if err := sendBy(t, alice, r.Msg.Id, n); err != nil {
				t.Errorf("message %d, while only the records' disk fails: %v", n, err)
			}
		})
	}
	sends.Wait()
	for range 5 {
		if err := rename(t, alice, "nobody"); !refusedFor(err, "storage") {
			t.Errorf("a change was answered %v", err)
		}
	}
	if got := nameOf(t, bob); got != "bob" {
		t.Errorf("reading returned %q", got)
	}
	if got := nameOf(t, alice); got != name {
		t.Errorf("the name is %q, want %q", got, name)
	}
	if got := texts(t, bob, r.Msg.Id); len(got) != sent {
		t.Errorf("%d messages", len(got))
	}
	p.limit(unix.RLIM_INFINITY)
	if err := rename(t, alice, "alice again"); err != nil {
		t.Errorf("with the disk repaired: %v", err)
	}
	p.kill()
	if !p.start("") {
		t.Fatal("the server did not start again")
	}
	if got := nameOf(t, alice); got != "alice again" {
		t.Errorf("after a restart the name is %q", got)
	}
	if got := texts(t, bob, r.Msg.Id); len(got) != sent {
		t.Errorf("after a restart %d messages", len(got))
	}
	p.stop()
	p.verify()
}
