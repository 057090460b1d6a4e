package faulttest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/eventually"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
)

// indexProcesses returns the processes of search indexes in the directory of the server, whoever started them.
func (p *process) indexProcesses() (list []int) {
	p.t.Helper()
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, file := range commands {
		b, err := os.ReadFile(file)
		args := strings.Split(string(bytes.TrimRight(b, "\x00")), "\x00")
		if err != nil || len(args) != 4 || args[1] != "search-index" || !strings.HasPrefix(args[3], p.dir+"/") {
			continue // it has ended, or is another one
		}
		n, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			p.t.Fatal(err)
		}
		list = append(list, n)
	}
	return list
}

// The process of the search index is stopped, and killed; the server is killed, and stopped. Messages are sent meanwhile, and all are found afterwards. There is
// never more than one such process, none without a server, and it has none of the server's environment.
func TestTheProcessOfTheSearchIndexEnds(t *testing.T) {
	p := newProcess(t, "--set", "limits.search_user=none", "--set", "limits.search_address=none")
	p.env = []string{"RIALTO_PUSH_CONTACT=canary@example.com", "SECRET=canary"}
	if !p.start("") {
		t.Fatal("the server did not start")
	}
	if list := p.indexProcesses(); len(list) != 0 {
		t.Errorf("a server without documents has the processes %v", list)
	}
	ann := p.register("ann")
	g, err := ann.Chat().CreateGroup(t.Context(), connect.NewRequest(&chatv1.CreateGroupRequest{Title: "birds"}))
	if err != nil {
		t.Fatal(err)
	}
	sent := 0
	send := func() {
		t.Helper()
		for range 20 {
			sent++
			if _, err := ann.Chat().Send(t.Context(), connect.NewRequest(&chatv1.SendRequest{Conversation: g.Msg.Id, ClientMsgId: fmt.Sprint(sent), Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "a kingfisher"}}})); err != nil {
				t.Fatal(err)
			}
		}
	}
	index := func() int {
		t.Helper()
		send()
		eventually.True(t, "all messages are found", func() bool { return found(t, ann, "kingfisher") == min(sent, 50) })
		list := p.indexProcesses()
		if len(list) != 1 {
			t.Fatalf("the server has the processes %v", list)
		}
		return list[0]
	}
	first := index()
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", first)); err != nil || bytes.Contains(b, []byte("canary")) || bytes.Contains(b, []byte("RIALTO_")) {
		t.Errorf("its environment is %q: %v", b, err)
	}
	signal(t, first, syscall.SIGSTOP)
	eventually.True(t, "it is stopped", func() bool { return isStopped(t, first) })
	send()
	if n := found(t, ann, "kingfisher"); n != 0 {
		t.Errorf("%d messages are found while it is stopped", n)
	}
	signal(t, first, syscall.SIGCONT)
	if n := index(); n != first {
		t.Error("it was started again after a short stop")
	}
	signal(t, first, syscall.SIGKILL)
	second := index()
	if second == first {
		t.Error("it was not killed")
	}
	p.kill()
	eventually.True(t, "its end with the server", func() bool { return len(p.indexProcesses()) == 0 })
	if !p.start("") {
		t.Fatal("the server did not start again")
	}
	index()
	p.stop()
	if list := p.indexProcesses(); len(list) != 0 {
		t.Errorf("the processes %v are left", list)
	}
	p.verify()
}

// isStopped reports whether all threads of a process are stopped: one that is in a call to the disk stops after it.
func isStopped(t *testing.T, process int) bool {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", process))
	if err != nil || len(tasks) == 0 {
		t.Fatalf("process %d has the threads %v: %v", process, tasks, err)
	}
	for _, name := range tasks {
		if stat, err := os.ReadFile(name); err == nil && !bytes.Contains(stat, []byte(") T ")) {
			return false
		}
	}
	return true
}

// found returns how many messages are found; 0 while the index cannot be reached.
func found(t *testing.T, c *rialto.Client, query string) (n int) {
	t.Helper()
	r, err := c.Search().Search(t.Context(), connect.NewRequest(&searchv1.SearchRequest{Query: query, Kinds: []searchv1.HitKind{searchv1.HitKind_HIT_KIND_MESSAGE}, Limit: 50}))
	if err != nil {
		if reason := rialto.Reason(err); reason != "search_unavailable" && connect.CodeOf(err) != connect.CodeDeadlineExceeded && connect.CodeOf(err) != connect.CodeUnavailable {
			t.Errorf("a search failed with the reason %q: %v", reason, err)
		}
		return 0
	}
	for _, group := range r.Msg.Groups {
		n += len(group.Hits)
	}
	return n
}

func signal(t *testing.T, process int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(process, s); err != nil {
		t.Fatal(err)
	}
}
