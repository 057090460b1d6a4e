package search_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/bus/membus"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/search"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
)

var errDisk = errors.New("the disk is full")

// catchUpFailing is catchUp while the first try of each batch fails.
func (f *fixture) catchUpFailing() {
	f.t.Helper()
	failed, failures := false, 0
	f.apply = func() error {
		if failed = !failed; failed {
			failures++
			return errDisk
		}
		return nil
	}
	for {
		err := f.CatchUp(context.Background())
		if err == nil {
			break
		}
		if !errors.Is(err, errDisk) {
			f.t.Fatalf("error %v, want %v", err, errDisk)
		}
	}
	if f.apply = nil; failures == 0 {
		f.t.Fatal("no batch has failed")
	}
}

// What a batch had that could not be stored is in a later one: nothing is lost, and an index that says that it is complete is.
func TestBatchesThatFailAreRepeated(t *testing.T) {
	f := open(t, 2)
	ana := f.users[0]
	var want []string
	groups := make([]id.Conversation, 3)
	for n := range groups {
		groups[n] = f.group(ana, fmt.Sprint("Title ", n))
		want = append(want, fmt.Sprint("m", groups[n], "/", f.send(groups[n], ana, "canary")))
	}
	want = append(want, fmt.Sprint("p", f.publish(ana, &feedv1.PostContent{Text: "canary"})))
	check := func(when string) {
		t.Helper()
		found, out := f.find(ana, &searchv1.SearchRequest{Query: "canary", Limit: 50})
		if len(found) != len(want) || out.Incomplete || !f.Complete() {
			t.Errorf("%s: found %v, want %v; incomplete: %v", when, found, want, out.Incomplete)
		}
	}
	f.Forget()
	f.catchUpFailing()
	check("a new index")
	for _, c := range groups {
		want = append(want, fmt.Sprint("m", c, "/", f.send(c, ana, "canary")))
	}
	f.Forget()
	f.catchUpFailing()
	check("after a sweep")
	want = append(want, fmt.Sprint("p", f.publish(ana, &feedv1.PostContent{Text: "another canary"})))
	f.catchUpFailing()
	check("after a change")
	want = append(want, fmt.Sprint("m", groups[0], "/", f.send(groups[0], ana, "canary")))
	f.catchUpFailing()
	check("after a message")
}

// A node without an index tells the others of the messages that it commits.
func TestANodeWithoutAnIndexAnnouncesItsMessages(t *testing.T) {
	f := open(t, 1)
	nodes := membus.New()
	s, err := search.New(t.Context(), search.Deps{DB: f.db, Log: f.log, Bus: nodes, Secret: []byte("of pages"), Clock: f.clock, Logger: slog.New(slog.DiscardHandler)}, search.Config{})
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	announced := make(chan []byte, 1)
	cancel, err := nodes.Subscribe("search", func(b []byte) { announced <- append([]byte(nil), b...) }, nil)
	must(t, err)
	s.Committed([]timeline.Commit{{Entries: []timeline.CommittedEntry{{Key: timeline.Key{Kind: timeline.Conversation, ID: 7}}}}})
	if b := eventually.Receive(t, "the announcement", announced); len(b) != 8 || binary.BigEndian.Uint64(b) != 7 {
		t.Errorf("announced %x", b)
	}
	cancel()
	stop()
	must(t, eventually.Receive(t, "the end", ended))
	must(t, nodes.Close())
}

// corrupt is a log in which one conversation cannot be read.
type corrupt struct {
	timeline.Log
	conversation id.Conversation
}

func (l corrupt) Tails(ctx context.Context, keys []timeline.Key) ([]timeline.Tail, error) {
	for _, k := range keys {
		if id.Conversation(k.ID) == l.conversation {
			return nil, timeline.ErrCorrupt
		}
	}
	return l.Log.Tails(ctx, keys)
}

// A sweep that meets a corrupt conversation leaves out that one alone, even if one before it is too long for a round.
func TestASweepPassesACorruptConversation(t *testing.T) {
	f := open(t, 1)
	ana := f.users[0]
	long, broken, last := f.group(ana, "Long"), f.group(ana, "Broken"), f.group(ana, "Last")
	const count = 30
	for range count {
		f.send(long, ana, "canary")
	}
	f.send(broken, ana, "canary")
	f.send(last, ana, "canary")
	f.indexed = corrupt{f.log, broken}
	f.restart()
	f.Forget()
	f.catchUp()
	if found, _ := f.find(ana, &searchv1.SearchRequest{Query: "canary", Limit: 50}); len(found) != count+1 {
		t.Errorf("found %d messages, want %d: %v", len(found), count+1, found)
	}
}

// A search whose index is replaced meanwhile, and closed, is answered by the one that took over.
func TestSearchesGoOnInTheIndexThatTookOver(t *testing.T) {
	f := open(t, 1)
	c := f.group(f.users[0], "Title")
	f.send(c, f.users[0], "canary")
	f.catchUp()
	f.search = func() {
		f.search = nil
		must(t, f.CloseIndex())
		must(t, f.Open(t.Context()))
	}
	if found, _ := f.find(f.users[0], &searchv1.SearchRequest{Query: "canary"}); len(found) != 1 || f.search != nil {
		t.Errorf("it finds %v", found)
	}
}
