package apptest_test

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	rialto "github.com/rialto-im/rialto/sdk/go"

	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// stompClient is a client of STOMP over TCP.
type stompClient struct {
	net.Conn
	in *bufio.Reader
}

// dialStomp connects a device.
func dialStomp(t *testing.T, who *apptest.Person) (*stompClient, error) {
	t.Helper()
	nc := dialRaw(t, who.Server, who.Server.StompAddress())
	c := &stompClient{nc, bufio.NewReader(nc)}
	_, err := c.ask("CONNECTED", "CONNECT\naccept-version:1.2\npasscode:"+who.AccessToken+"\n\n\x00")
	return c, err
}

// ask sends a frame, and returns the headers of the answer. What comes before that is dropped.
func (c *stompClient) ask(answer, frame string) (map[string]string, error) {
	if _, err := io.WriteString(c, frame); err != nil {
		return nil, err
	}
	for {
		command, headers, _, err := c.next()
		if err != nil || command == answer {
			return headers, err
		}
	}
}

// next returns the next frame. All frames of a test end with their first NUL byte.
func (c *stompClient) next() (command string, headers map[string]string, body string, err error) {
	text, err := c.in.ReadString(0)
	if err != nil {
		return "", nil, "", err
	}
	head, body, _ := strings.Cut(strings.TrimLeft(strings.TrimSuffix(text, "\x00"), "\n"), "\n\n")
	command, rest, _ := strings.Cut(head, "\n")
	headers = map[string]string{}
	for line := range strings.Lines(rest) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		headers[name] = value
	}
	if command == "ERROR" {
		err = fmt.Errorf("the session ended: %s", text)
	}
	return command, headers, body, err
}

// byStomp receives the messages of the stream.
func (r *receiver) byStomp(until string, connected func()) error {
	c, err := dialStomp(r.t, r.who)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.ask("RECEIPT", fmt.Sprintf("SUBSCRIBE\nid:1\ndestination:/stream\nafter:%d\nreceipt:s\n\n\x00", r.at)); err != nil {
		return err
	}
	connected()
	for !r.isComplete(until) {
		command, headers, body, err := c.next()
		if err != nil {
			return err
		}
		if command != "MESSAGE" {
			continue
		}
		number := func(name string) uint64 {
			n, _ := strconv.ParseUint(headers[name], 10, 64) // else it is 0, which no message has
			return n
		}
		conversation, err := strconv.ParseUint(strings.TrimPrefix(headers["destination"], "/conversation/"), 10, 64)
		m := &chatv1.Message{Conversation: conversation, Seq: number("seq"), Id: headers["message-id"], Sender: number("sender"), Content: apptest.Text(body)}
		if headers["content-type"] != "text/plain" {
			m.Content = &chatv1.Content{}
			err = cmp.Or(err, protojson.Unmarshal([]byte(body), m.Content))
		}
		if err != nil {
			return err
		}
		r.take(&chatv1.Event{Seq: number("position"), Body: &chatv1.Event_Message{Message: m}})
	}
	return nil
}

// send sends a message by one of a user's protocols, and returns its seq.
type send func(to uint64, name string, content *chatv1.Content) (uint64, error)

func sendByCall(t *testing.T, who *apptest.Person) send {
	return func(to uint64, name string, content *chatv1.Content) (uint64, error) {
		r, err := who.Server.Chat().Send(t.Context(), apptest.As(who, &chatv1.SendRequest{Conversation: to, ClientMsgId: name, Content: content}))
		if err != nil {
			return 0, err
		}
		return r.Msg.Seq, nil
	}
}

func sendByFrames(s frames) send {
	return func(to uint64, name string, content *chatv1.Content) (uint64, error) {
		s.Write(&gatewayv1.ClientFrame{Sends: []*gatewayv1.Send{{Conversation: to, ClientMsgId: name, Content: content}}})
		for {
			f, err := s.Try()
			if err != nil {
				return 0, err
			}
			for _, r := range f.Receipts {
				if r.Error != nil {
					return 0, fmt.Errorf("refused: %v", r.Error)
				}
				return r.Seq, nil
			}
		}
	}
}

func sendByStomp(c *stompClient) send {
	return func(to uint64, name string, content *chatv1.Content) (uint64, error) {
		body, err := protojson.Marshal(content)
		if err != nil {
			return 0, err
		}
		r, err := c.ask("RECEIPT", fmt.Sprintf("SEND\ndestination:/conversation/%d\nclient-msg-id:%s\nreceipt:%s\ncontent-type:application/vnd.rialto.content+json\n\n%s\x00", to, name, name, body))
		if err != nil {
			return 0, err
		}
		return strconv.ParseUint(r["seq"], 10, 64)
	}
}

// actor is one protocol of the user, which sends what is random. It changes only its own messages, so that nothing is refused: STOMP would end the connection.
type actor struct {
	name   string
	send   send
	random *rand.Rand
	own    map[uint64][]uint64 // by conversation: messages that were not recalled
	sent   int
}

// act sends a text, or changes one that this actor has sent.
func (a *actor) act(to uint64) error {
	a.sent++
	name, own := fmt.Sprint(a.name, "-", a.sent), a.own[to]
	kind := a.random.IntN(8)
	if len(own) == 0 || kind < 3 {
		seq, err := a.send(to, name, apptest.Text("text "+name))
		a.own[to] = append(own, seq)
		return err
	}
	i := a.random.IntN(len(own))
	target, content := &chatv1.Ref{Seq: own[i]}, &chatv1.Content{}
	switch kind {
	case 3, 4:
		content.Kind = &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: target, Content: apptest.Text("edited " + name)}}
	case 5:
		content.Kind = &chatv1.Content_Reaction{Reaction: &chatv1.Reaction{Target: target, Emoji: []string{"👍", "🎉"}[a.random.IntN(2)], Remove: a.random.IntN(3) == 0}}
	case 6:
		content.Kind = &chatv1.Content_Pin{Pin: &chatv1.Pin{Target: target, Remove: a.random.IntN(2) == 0}}
	default:
		content.Kind = &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: target}}
		a.own[to] = slices.Delete(own, i, i+1)
	}
	_, err := a.send(to, name, content)
	return err
}

// state of a message as its reader may see it.
func state(m *chatv1.Message) string {
	return fmt.Sprintf("%d:%d %s of %d: %q, edit %d, recall %d, pinned %v by %d, %v", m.Conversation, m.Seq, m.Id, m.Sender, m.GetContent().GetText(), m.EditSeq, m.RecallSeq, m.Pinned, m.PinSeq, m.Reactions.GetCounts())
}

// states returns the states of all texts after the events, as a client of the SDK has them.
func states(c *rialto.Client, events []*chatv1.Event) (list []string) {
	messages := map[[2]uint64]*chatv1.Message{}
	for _, e := range events {
		m := e.GetMessage()
		if m == nil || m.GetContent().GetControl() != nil {
			continue
		}
		target := [2]uint64{m.Conversation, rialto.UpdateTarget(m)}
		if target[1] == 0 {
			messages[[2]uint64{m.Conversation, m.Seq}] = m
		} else if before := messages[target]; before != nil {
			messages[target] = c.ApplyUpdate(before, m)
		}
	}
	for _, m := range messages {
		list = append(list, state(m))
	}
	slices.Sort(list)
	return list
}

// A user sends and receives by WebSocket, TCP, event streams, polls and STOMP at once, while devices come and go. In the end all devices have the same state of
// each message: that of the histories, and of a device that begins anew. The environment variable PROTOCOL_ROUNDS is how often devices come and go.
func TestAllProtocolsConverge(t *testing.T) {
	t.Parallel()
	rounds, err := strconv.Atoi(cmp.Or(os.Getenv("PROTOCOL_ROUNDS"), "3"))
	if err != nil {
		t.Fatal(err)
	}
	h := apptest.Open(t, func(c *config.Config) { c.Limits.CallUser = "1000000/s" })
	alice, first := h.Register(t, "alice"), h.Register(t, "bob")
	second := h.Login(t, "bob")
	conversations := []uint64{h.Direct(t, first, alice), h.Group(t, first, alice)}
	kinds := maps.Clone(receivers)
	kinds["stomp"] = (*receiver).byStomp
	clients := map[string]*receiver{}
	for i, name := range slices.Sorted(maps.Keys(kinds)) {
		clients[name] = &receiver{t: t, who: []*apptest.Person{first, second}[i%2]}
	}
	ws, _ := first.Socket(t, "rialto.v1.proto")
	over, err := dialStomp(t, second)
	if err != nil {
		t.Fatal(err)
	}
	senders := map[string]send{"ws": sendByFrames(ws), "tcp": sendByFrames(tcpFrames{dialTCP(t, h, second.AccessToken)}), "call": sendByCall(t, first), "stomp": sendByStomp(over)}
	random := rand.New(rand.NewPCG(1, 2))
	var actors []*actor
	for _, name := range slices.Sorted(maps.Keys(senders)) {
		actors = append(actors, &actor{name: name, send: senders[name], random: rand.New(rand.NewPCG(3, random.Uint64())), own: map[uint64][]uint64{}})
	}
	for round := range rounds {
		var present []string
		for _, name := range slices.Sorted(maps.Keys(kinds)) {
			if round == rounds-1 || random.IntN(2) == 0 {
				present = append(present, name)
			}
		}
		end := fmt.Sprint("end ", round)
		wait := receiveAll(t, kinds, clients, present, end)
		var acting sync.WaitGroup
		for _, a := range actors {
			acting.Go(func() {
				for range 8 {
					if err := a.act(conversations[a.random.IntN(len(conversations))]); err != nil {
						t.Errorf("%s: %v", a.name, err)
						return
					}
				}
			})
		}
		acting.Wait()
		for _, conversation := range conversations {
			h.Send(t, alice, conversation, end, end)
		}
		if wait(); t.Failed() {
			return
		}
	}
	compareStates(t, h, first, conversations, clients, fmt.Sprint("end ", rounds-1))
}

// receiveAll has some clients receive until a text. It returns when they have connected, or have what came before, and wait returns when they are complete.
func receiveAll(t *testing.T, kinds map[string]func(*receiver, string, func()) error, clients map[string]*receiver, names []string, until string) (wait func()) {
	t.Helper()
	var receiving, connecting sync.WaitGroup
	for _, name := range names {
		connecting.Add(1)
		connected := sync.OnceFunc(connecting.Done)
		receiving.Go(func() {
			defer connected()
			if err := kinds[name](clients[name], until, connected); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	connecting.Wait()
	return receiving.Wait
}

// compareStates compares what the clients have with the histories, and with the stream from its start.
func compareStates(t *testing.T, h *apptest.Server, who *apptest.Person, conversations []uint64, clients map[string]*receiver, end string) {
	t.Helper()
	sdk, err := rialto.New(rialto.Config{URL: h.URL, Handler: func(rialto.Event) {}})
	if err == nil {
		err = sdk.Adopt(who.Session)
	}
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, conversation := range conversations {
		for after, more := uint64(1), true; more; {
			page, err := h.Chat().History(t.Context(), apptest.As(who, &chatv1.HistoryRequest{Conversation: conversation, After: after, Limit: 200}))
			if err != nil {
				t.Fatal(err)
			}
			more = page.Msg.More
			for _, m := range page.Msg.Messages {
				if after = m.Seq; rialto.UpdateTarget(m) == 0 && m.GetContent().GetControl() == nil {
					want = append(want, state(m))
				}
			}
		}
	}
	slices.Sort(want)
	clients["from zero"] = &receiver{t: t, who: who}
	if err := clients["from zero"].byShortPolling(end, func() {}); err != nil {
		t.Fatal(err)
	}
	for name, r := range clients {
		if got := states(sdk, r.got); !slices.Equal(got, want) {
			t.Errorf("%s has %d texts, want %d:\n%s\nwant\n%s", name, len(got), len(want), strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
