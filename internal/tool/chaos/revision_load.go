package chaos

import (
	"context"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
)

const (
	// revisers is the number of users who change their messages.
	revisers = 3
	// mostOwn messages of a reviser are changed; older ones stay as they are.
	mostOwn = 20
	// mostPositions of a stream are kept: reading from the oldest gives entries again whose messages have changed since.
	mostPositions = 5
)

// canaries are the texts of the messages: a word each, which is found wherever it shows up in an answer.
var canaries = regexp.MustCompile(`canary[0-9]+`)

// revisions are what the revisers know of each other.
type revisions struct {
	mu       sync.Mutex      // guards the fields below
	changing map[string]bool // canaries whose edit or recall has begun
	gone     []string        // those whose edit or recall was acknowledged
}

func (r *revisions) begin(canary string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changing[canary] = true
}

func (r *revisions) end(canary string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = append(r.gone, canary)
}

// reviser is a user who changes its messages.
type reviser struct {
	*user
	own       []revisable
	positions []*chatv1.Position
}

// revisable is a stored message that was not changed, or all of whose changes were answered.
type revisable struct {
	seq    uint64
	canary string
}

// revise makes a user send, edit, recall, and look for what is gone.
func (t *workload) revise(ctx context.Context, r *reviser) {
	rng := t.rng(r.name)
	for t.wait(ctx, rng, 300*time.Millisecond) {
		switch k := rng.IntN(10); {
		case k < 3 || len(r.own) == 0:
			t.sendCanary(ctx, rng, r)
		case k < 5:
			t.changeOwn(ctx, rng, r, FEdit)
		case k < 6:
			t.changeOwn(ctx, rng, r, FRecall)
		default:
			t.look(ctx, rng, r)
		}
	}
}

func (t *workload) canary() string { return strings.ReplaceAll(t.labels.next("canary"), " ", "") }

// sendCanary sends a message, sometimes as a reply, which quotes another one.
func (t *workload) sendCanary(ctx context.Context, rng *rand.Rand, r *reviser) {
	m := revisable{canary: t.canary()}
	content := text(m.canary)
	if len(r.own) > 0 && rng.IntN(2) == 0 {
		content.ReplyTo = &chatv1.Ref{Seq: r.own[rng.IntN(len(r.own))].seq}
	}
	got, err := t.callOnce(ctx, r, Event{F: FWord, Text: m.canary}, content)
	if err != nil {
		return
	}
	m.seq = got.Seq
	if r.own = append(r.own, m); len(r.own) > mostOwn {
		r.own = r.own[1:]
	}
}

// changeOwn edits or recalls one of the user's own messages. If the outcome is unknown, the message is left alone from then on.
func (t *workload) changeOwn(ctx context.Context, rng *rand.Rand, r *reviser, f string) {
	i := rng.IntN(len(r.own))
	m := r.own[i]
	r.own = append(r.own[:i:i], r.own[i+1:]...)
	target := &chatv1.Ref{Seq: m.seq}
	e, content := Event{F: f, Text: m.canary}, &chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: target}}}
	if f == FEdit {
		e.Becomes = t.canary()
		content = &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: target, Content: text(e.Becomes)}}}
	}
	t.revisions.begin(m.canary)
	if _, err := t.callOnce(ctx, r, e, content); err != nil {
		return
	}
	t.revisions.end(m.canary)
	if f == FEdit {
		r.own = append(r.own, revisable{m.seq, e.Becomes})
	}
}

// callOnce sends to the conversation of the revisers, through a random node.
func (t *workload) callOnce(ctx context.Context, r *reviser, e Event, content *chatv1.Content) (Event, error) {
	e.Proc, e.User, e.Conv = r.name, r.id, t.revised.id
	return t.recordCall(ctx, t.router.RandomNode(), e, func(ctx context.Context, got *Event) error {
		a, err := r.caller.Chat().Send(ctx, connect.NewRequest(&chatv1.SendRequest{Conversation: t.revised.id, ClientMsgId: e.F + e.Text, Content: content}))
		if err == nil {
			got.Seq = a.Msg.Seq
		}
		return err
	})
}

// look reads one of the places where a message shows up, from a random node, and records what was there of the messages that are changed.
func (t *workload) look(ctx context.Context, rng *rand.Rand, r *reviser) {
	places := []string{"history", "stream", "list", "search"}
	place, n, begun := places[rng.IntN(len(places))], t.router.RandomNode(), t.record.Since()
	ctx, cancel := context.WithTimeout(WithNode(ctx, n), callTime)
	defer cancel()
	answer, err := t.readPlace(ctx, rng, r, place)
	if err != nil || answer == nil {
		return // a read without an answer shows nothing, and INV17 counts the calls that fail
	}
	b, err := protojson.Marshal(answer)
	if err != nil {
		panic(err) // the server's messages are of the same schema
	}
	t.revisions.mu.Lock()
	defer t.revisions.mu.Unlock()
	for _, canary := range canaries.FindAllString(string(b), -1) {
		if t.revisions.changing[canary] {
			t.record.Note(Event{F: FShown, Proc: r.name + " " + place, User: r.id, Conv: t.revised.id, Text: canary, N: uint64(begun), Node: n.Name})
		}
	}
}

// readPlace returns a part of what a place has; nil: there is nothing to ask for.
func (t *workload) readPlace(ctx context.Context, rng *rand.Rand, r *reviser, place string) (proto.Message, error) {
	switch place {
	case "history":
		a, err := r.caller.Chat().History(ctx, connect.NewRequest(&chatv1.HistoryRequest{Conversation: t.revised.id, Limit: 50}))
		if err != nil {
			return nil, err
		}
		return a.Msg, nil
	case "stream":
		after := &chatv1.Position{}
		if len(r.positions) > 0 {
			after = r.positions[0]
		}
		a, err := r.caller.Chat().Sync(ctx, connect.NewRequest(&chatv1.SyncRequest{After: after, Limit: 200}))
		if err != nil {
			return nil, err
		}
		if r.positions = append(r.positions, a.Msg.Next); len(r.positions) > mostPositions {
			r.positions = r.positions[1:]
		}
		return a.Msg, nil
	case "list":
		a, err := r.caller.Chat().ListConversations(ctx, connect.NewRequest(&chatv1.ListConversationsRequest{Limit: 10}))
		if err != nil {
			return nil, err
		}
		return a.Msg, nil
	}
	t.revisions.mu.Lock()
	query := ""
	if gone := t.revisions.gone; len(gone) > 0 {
		query = gone[rng.IntN(len(gone))]
	}
	t.revisions.mu.Unlock()
	if query == "" {
		return nil, nil
	}
	a, err := r.caller.Search().Search(ctx, connect.NewRequest(&searchv1.SearchRequest{Query: query, Kinds: []searchv1.HitKind{searchv1.HitKind_HIT_KIND_MESSAGE}, Limit: 10}))
	if err != nil {
		return nil, err
	}
	return a.Msg, nil
}

// readRevised reads the whole conversation of the revisers from a node, after the faults.
func (t *workload) readRevised(ctx context.Context, n *Node) error {
	r := t.revisers[0]
	return eachEntry(ctx, n, r.user, t.revised, func(m *chatv1.Message) {
		if word := m.GetContent().GetText(); word != "" {
			t.record.Note(Event{F: FStays, Proc: r.name, User: r.id, Conv: t.revised.id, Text: word, Node: n.Name})
		}
	})
}
