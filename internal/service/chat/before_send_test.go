package chat_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/base/outgoing/outgoingtest"
	"github.com/rialto-im/rialto/internal/platform/webhook"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// moderated returns a node whose messages are decided by answer, which gets the text, or that of an edit, and returns the body of the answer.
func moderated(t *testing.T, onFailure string, answer func(text string) string) (*harness, *chat.Service, id.Conversation) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q chat.BeforeSendQuery
		var c chatv1.Content
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || q.Sender.ID == "" || q.Conversation == "" || protojson.Unmarshal(q.Content, &c) != nil {
			t.Errorf("the webhook got %+v, %v", q, err)
		}
		text := c.GetText()
		if c.GetEdit() != nil {
			text = c.GetEdit().Content.GetText()
		}
		if _, err := w.Write([]byte(answer(text))); err != nil {
			t.Log(err) // the node did not wait
		}
	}))
	t.Cleanup(server.Close)
	h := newHarness(t, chat.Config{BeforeSend: webhook.Config{URL: server.URL, Secret: "a secret of the operator", Timeout: 5 * time.Second}, BeforeSendOnFailure: onFailure})
	s := h.node(t)
	c, err := s.CreateGroup(t.Context(), 1, &chatv1.CreateGroupRequest{Title: "a group", Members: []uint64{2, 3}})
	must(t, err)
	return h, s, c
}

// textsIn returns the texts of a conversation's messages, as they were stored.
func (h *harness) textsIn(t tester, c id.Conversation) (list []string) {
	for _, e := range h.entries(t, c) {
		if text, ok := message.TextOf(e.Content); ok {
			list = append(list, string(text))
		}
	}
	return list
}

func TestBeforeSendDecides(t *testing.T) {
	h, s, c := moderated(t, "", func(text string) string {
		switch text {
		case "bad":
			return `{"allow":false,"reason":"be nice\n"}`
		case "silently bad":
			return `{"allow":false}`
		case "number 1234":
			return `{"allow":true,"text":"number ****"}`
		case "nonsense":
			return `yes`
		case "emptied":
			return `{"allow":true,"text":""}`
		}
		return `{"allow":true}`
	})
	n := uint64(0)
	for _, test := range []struct{ text, reason, message string }{
		{"good", "", ""},
		{"bad", "refused_by_rules", "be nice"},
		{"silently bad", "refused_by_rules", "this message is against the rules of this server"},
		{"number 1234", "", ""},
	} {
		n++
		err := s.Send(t.Context(), draftOf(c, 1, n, test.text))
		if reasonOf(err) != test.reason || err != nil && errs.Of(err).Message != test.message {
			t.Errorf("%q: got %v", test.text, err)
		}
	}
	again := draftOf(c, 1, n, "number 1234")
	if err := s.Send(t.Context(), again); err != nil || !again.Duplicate {
		t.Errorf("a retry of a message with a replaced text: duplicate %v, %v", again.Duplicate, err)
	}
	for _, text := range []string{"nonsense", "emptied"} {
		d := draftOf(c, 2, 1, text)
		if err := s.Send(t.Context(), d); reasonOf(err) != "not_checked" || errs.Of(err).Retry == 0 {
			t.Errorf("%q: got %v", text, err)
		}
	}
	edit, err := proto.Marshal(&chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: &chatv1.Ref{Seq: h.tail(t, c).Seq}, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "bad"}}}}})
	must(t, err)
	if err := s.Send(t.Context(), &message.Draft{Conversation: c, Sender: 1, Device: 101, ClientSeq: n + 1, Content: edit}); reasonOf(err) != "refused_by_rules" {
		t.Errorf("an edit: got %v", err)
	}
	if got := h.textsIn(t, c); !slices.Equal(got, []string{"good", "number ****"}) {
		t.Errorf("stored %q", got)
	}
}

// A message that is written in parts is decided at its beginning, and its text at its end, also if it is broken off.
func TestBeforeSendDecidesStreamedMessages(t *testing.T) {
	var closed atomic.Bool
	_, s, c := moderated(t, "", func(text string) string {
		switch {
		case text == "bad", text == "" && closed.Load():
			return `{"allow":false}`
		case text == "number 1234":
			return `{"allow":true,"text":"number ****"}`
		}
		return `{"allow":true}`
	})
	start := func(own string) (uint64, error) {
		d, err := s.StartStreamed(t.Context(), id.Caller{User: 1, Device: 101}, &chatv1.StartStreamedMessageRequest{Conversation: uint64(c), ClientMsgId: own})
		return d.Seq, err
	}
	text := func(text string) *chatv1.Content {
		return &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}}
	}
	stopped := &chatv1.BrokenOff{Cause: chatv1.BrokenOff_CAUSE_STOPPED, By: 2}
	check := func(seq uint64, want string) {
		t.Helper()
		if got, at, err := s.StreamedEnd(t.Context(), c, seq, 1); err != nil || at == 0 || got.GetText() != want {
			t.Errorf("message %d ended with %v, %v; want %q", seq, got, err, want)
		}
	}
	first, err := start("first")
	must(t, err)
	if _, err := s.EndStreamed(t.Context(), c, first, 1, text("bad")); reasonOf(err) != "refused_by_rules" {
		t.Errorf("a text against the rules: got %v", err)
	}
	for range 2 { // a retry is harmless
		_, err = s.EndStreamed(t.Context(), c, first, 1, text("number 1234"))
		must(t, err)
	}
	check(first, "number ****")
	for own, want := range map[string]string{"bad": "", "number 1234": "number ****", "good": "good"} {
		seq, err := start(own)
		must(t, err)
		_, err = s.BreakOffStreamed(t.Context(), c, seq, 1, own, stopped)
		must(t, err)
		check(seq, want)
		if _, err := s.EndStreamed(t.Context(), c, seq, 1, text("another one")); reasonOf(err) != "id_reuse" {
			t.Errorf("an end after another one: got %v", err)
		}
	}
	closed.Store(true)
	if _, err := start("last"); reasonOf(err) != "refused_by_rules" {
		t.Errorf("a beginning against the rules: got %v", err)
	}
}

// Messages of one device are stored in their order, whatever the order of the answers, and a slow answer delays nobody else.
func TestBeforeSendKeepsTheOrder(t *testing.T) {
	release := make(chan struct{})
	h, s, c := moderated(t, "", func(text string) string {
		if text == "0" {
			<-release
		}
		return `{"allow":true}`
	})
	var group sync.WaitGroup
	const number = 10
	for n := range number {
		group.Add(1)
		d := draftOf(c, 1, uint64(n+1), fmt.Sprint(n))
		d.Done = func(d *message.Draft) {
			if d.Err != nil {
				t.Error(d.Err)
			}
			group.Done()
		}
		s.Submit(d) // it does not wait
	}
	must(t, s.Send(t.Context(), draftOf(c, 2, 1, "of another sender")))
	if got := h.textsIn(t, c); !slices.Equal(got, []string{"of another sender"}) {
		t.Errorf("before the first answer %q were stored", got)
	}
	close(release)
	group.Wait()
	want := []string{"of another sender"}
	for n := range number {
		want = append(want, fmt.Sprint(n))
	}
	if got := h.textsIn(t, c); !slices.Equal(got, want) {
		t.Errorf("stored %q", got)
	}
}

// While the webhook fails, messages are stored or refused as the setting says, and after many failures it is not called for a while.
func TestBeforeSendFails(t *testing.T) {
	for _, onFailure := range []string{"allow", "refuse"} {
		var calls atomic.Int64
		h, s, c := moderated(t, onFailure, func(string) string {
			calls.Add(1)
			return "no JSON"
		})
		const number = 60
		stored := 0
		for n := range number {
			d := draftOf(c, 1, 0, fmt.Sprint(n))
			d.ClientMsgID = fmt.Sprint(n)
			switch err := s.Send(t.Context(), d); reasonOf(err) {
			case "":
				stored++
			case "not_checked":
			default:
				t.Fatal(err)
			}
		}
		if want := map[string]int{"allow": number, "refuse": 0}[onFailure]; stored != want || len(h.textsIn(t, c)) != want {
			t.Errorf("%s: %d messages were stored, want %d", onFailure, stored, want)
		}
		if calls.Load() >= number {
			t.Errorf("%s: the webhook was called for each of %d messages", onFailure, number)
		}
	}
}

// A message to which the answer does not fit is not checked, but the webhook works: it is asked about the next one. Otherwise a sender of such messages could have
// everybody's messages stored unchecked, or refused.
func TestAnswersThatDoNotFitOpenNoCircuit(t *testing.T) {
	for _, onFailure := range []string{"allow", "refuse"} {
		_, s, c := moderated(t, onFailure, func(text string) string {
			if text == "forbidden" {
				return `{"allow":false}`
			}
			return `{"allow":true,"text":""}` // which is no text
		})
		for n := range 60 {
			d := draftOf(c, 1, 0, "words")
			d.ClientMsgID = fmt.Sprint(n)
			err := s.Send(t.Context(), d)
			if want := map[string]string{"allow": "", "refuse": "not_checked"}[onFailure]; reasonOf(err) != want {
				t.Fatalf("%s: message %d: %v", onFailure, n, err)
			}
		}
		d := draftOf(c, 2, 0, "forbidden")
		d.ClientMsgID = "forbidden"
		if err := s.Send(t.Context(), d); reasonOf(err) != "refused_by_rules" {
			t.Errorf("%s: a message against the rules, of somebody else: %v", onFailure, err)
		}
	}
}

// A webhook that hangs is not called any more after some timeouts. Then messages are stored or refused at once, as the setting says, and a message that was
// refused is not lost: the same one is stored when the webhook answers again.
func TestBeforeSendHangs(t *testing.T) {
	for onFailure, want := range map[string]string{"allow": "", "refuse": "not_checked"} {
		var calls atomic.Int64
		var works atomic.Bool
		release := make(chan struct{})
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if calls.Add(1); !works.Load() {
				<-release
			}
			_, _ = w.Write([]byte(`{"allow": true}`)) // the node may not wait
		}))
		h := newHarness(t, chat.Config{BeforeSend: webhook.Config{URL: server.URL, Secret: "a secret of the operator", Timeout: 20 * time.Millisecond}, BeforeSendOnFailure: onFailure})
		h.calls = outgoingtest.New()
		s := h.node(t)
		c, err := s.CreateGroup(t.Context(), 1, &chatv1.CreateGroupRequest{Title: "a group", Members: []uint64{2, 3}})
		must(t, err)
		send := func(n int) string {
			d := draftOf(c, 1, 0, fmt.Sprint(n))
			d.ClientMsgID = fmt.Sprint(n)
			return reasonOf(s.Send(t.Context(), d))
		}
		sent := 0
		for ; outgoingtest.Refused(t, h.calls, outgoing.BeforeSend) == 0; sent++ {
			if got := send(sent); got != want {
				t.Fatalf("%s: a message gets %q", onFailure, got)
			}
		}
		refused := outgoingtest.Refused(t, h.calls, outgoing.BeforeSend)
		for range 20 {
			if got := send(sent); got != want {
				t.Errorf("%s: with an open circuit a message gets %q", onFailure, got)
			}
			sent++
		}
		// A request that has timed out may reach the server later, so that its count still rises.
		if n := outgoingtest.Refused(t, h.calls, outgoing.BeforeSend) - refused; n != 20 || calls.Load() >= int64(sent) {
			t.Errorf("%s: of 20 calls while the circuit was open %d were refused, and the webhook was called for %d of %d messages", onFailure, n, calls.Load(), sent)
		}
		close(release)
		works.Store(true)
		outgoingtest.Forget(t, h.calls, outgoing.BeforeSend)
		for n := range sent {
			for got := send(n); got != ""; got = send(n) { // on a slow machine, 20 ms may not suffice
				if got != "not_checked" {
					t.Fatalf("%s: afterwards a message gets %q", onFailure, got)
				}
				outgoingtest.Forget(t, h.calls, outgoing.BeforeSend)
			}
		}
		if got := h.textsIn(t, c); len(got) != sent {
			t.Errorf("%s: %d of %d messages are stored: %q", onFailure, len(got), sent, got)
		}
		server.Close()
	}
}

// A user who floods a webhook that hangs has a part of the drafts that may wait for it. The others' wait, and are stored once it answers.
func TestBeforeSendHasAShareForEachUser(t *testing.T) {
	release := make(chan struct{})
	_, s, c := moderated(t, "", func(string) string {
		<-release
		return `{"allow":true}`
	})
	const flood = 200
	floods, other := make(chan error, flood), make(chan error, 1)
	submit := func(u id.User, n uint64, done chan<- error) {
		d := draftOf(c, u, n, fmt.Sprint(n))
		d.Done = func(d *message.Draft) { done <- d.Err }
		s.Submit(d)
	}
	for n := range uint64(flood) {
		submit(1, n+1, floods)
	}
	refused := 0
	for ; len(floods) > 0; refused++ {
		if err := <-floods; reasonOf(err) != "busy" || errs.Of(err).Retry == 0 {
			t.Errorf("a message beyond the share: got %v", err)
		}
	}
	if want := flood - 128; refused < want || refused == flood {
		t.Errorf("%d of %d messages of a user were refused, want %d or some more", refused, flood, want)
	}
	if submit(2, 1, other); len(other) > 0 {
		t.Errorf("a message of another user: got %v", <-other)
	}
	close(release)
	must(t, <-other)
	for range flood - refused {
		must(t, <-floods)
	}
}

// Nobody is asked about a recall, which goes on while the webhook hangs; it follows the messages of its device.
func TestBeforeSendIsNotAskedAboutRecalls(t *testing.T) {
	release := make(chan struct{})
	var calls atomic.Int64
	h, s, c := moderated(t, "", func(text string) string {
		calls.Add(1)
		if text == "slow" {
			<-release
		}
		return `{"allow":true}`
	})
	must(t, s.Send(t.Context(), draftOf(c, 1, 1, "a slip")))
	seq := h.tail(t, c).Seq
	slow := make(chan error, 1)
	go func() { slow <- s.Send(t.Context(), draftOf(c, 2, 1, "slow")) }()
	eventually.True(t, "the webhook is asked", func() bool { return calls.Load() == 2 })
	recall, err := proto.Marshal(&chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: &chatv1.Ref{Seq: seq}}}})
	must(t, err)
	must(t, s.Send(t.Context(), &message.Draft{Conversation: c, Sender: 1, Device: 101, ClientSeq: 2, Content: recall}))
	close(release)
	must(t, <-slow)
	if calls.Load() != 2 {
		t.Errorf("the webhook was asked %d times, want 2", calls.Load())
	}
}
