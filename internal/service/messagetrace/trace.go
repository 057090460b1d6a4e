package messagetrace

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/flightrecorder"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const maxMemberSteps = 100

var (
	errAudit = errs.New(errs.Denied, "no_audit", "this needs an API key with the permission audit: rialto admin key create --audit")
	errName  = errs.New(errs.Invalid, "bad_id", "name the message by its id, or by its conversation and seq")
	errPage  = errs.New(errs.Invalid, "bad_page", "give the next of the previous page, or nothing for the first page")
)

// Trace shows the life of a message.
func (s *Service) Trace(ctx context.Context, by id.Caller, r *chatv1.TraceMessageRequest) (*chatv1.MessageTrace, error) {
	if !by.Audit {
		return nil, errAudit
	}
	c, seq, err := s.locate(ctx, r)
	if err != nil {
		return nil, err
	}
	key := timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}
	stored, err := s.read(ctx, key, seq)
	if err != nil {
		return nil, err
	}
	out := &chatv1.MessageTrace{Id: stored.ID.String(), Conversation: uint64(c), Seq: seq, Sender: uint64(stored.Sender), Device: uint64(stored.Device),
		Control: stored.Control, Updates: stored.Updates, Partition: uint32(key.Partition()), Owner: s.deps.Owner(key.Partition())}
	if err := s.deps.Chat.AddTrace(ctx, c, seq, out); err != nil {
		return nil, err
	}
	if out.Cold, err = s.deps.Log.IsCold(ctx, key, seq); err != nil {
		return nil, err
	}
	if out.FanOut, err = s.fanOut(ctx, key, seq); err != nil {
		return nil, err
	}
	if err := s.addMembers(ctx, r, stored, out); err != nil {
		return nil, err
	}
	s.addRecords(ctx, stored, out)
	return out, nil
}

// locate returns the conversation and the seq that a request names.
func (s *Service) locate(ctx context.Context, r *chatv1.TraceMessageRequest) (id.Conversation, uint64, error) {
	if r.Id == "" {
		if r.Conversation == 0 || r.Seq == 0 {
			return 0, 0, errName
		}
		return id.Conversation(r.Conversation), r.Seq, s.deps.Chat.AddTrace(ctx, id.Conversation(r.Conversation), 0, nil)
	}
	m, err := id.ParseMessage(strings.ToUpper(r.Id)) // as people type it
	if err != nil {
		return 0, 0, errs.New(errs.Invalid, "bad_id", err.Error())
	}
	c, seq, err := s.find(ctx, m, id.Conversation(r.Conversation))
	if err == nil && r.Seq != 0 && r.Seq != seq {
		return 0, 0, errs.New(errs.NotFound, "no_message", fmt.Sprintf("the message with this id has the seq %d, not %d", seq, r.Seq))
	}
	return c, seq, err
}

// read returns an entry, or says why it is not there.
func (s *Service) read(ctx context.Context, key timeline.Key, seq uint64) (stored message.Entry, err error) {
	tail, err := s.deps.Log.Tail(ctx, key)
	if err != nil {
		return stored, err
	}
	if seq > tail.Seq {
		return stored, errs.New(errs.NotFound, "no_message", fmt.Sprintf("the conversation has no such message: its last entry is %d", tail.Seq))
	}
	e, first, err := timeline.GetEntry(ctx, s.deps.Log, key, seq)
	switch {
	case err != nil:
		return stored, err
	case first != 0:
		return stored, errs.New(errs.NotFound, "no_message", fmt.Sprintf("the message has expired: the conversation has entries from %d on", first))
	case e.Seq == 0:
		return stored, errs.Wrap(errs.Internal, "corrupt", "the server's store is corrupt; its operator must run rialto verify", timeline.ErrCorrupt)
	}
	return stored, stored.Decode(e.Payload)
}

// fanOut returns how far the fan-out of an entry is.
func (s *Service) fanOut(ctx context.Context, key timeline.Key, seq uint64) (chatv1.TraceFanOut, error) {
	refs, _, err := s.deps.Quarantine.List(ctx, key.Partition(), timeline.Ref{Key: key, From: seq - 1}, 1)
	if err != nil {
		return 0, err
	}
	if len(refs) > 0 && refs[0].Key == key && refs[0].From == seq {
		return chatv1.TraceFanOut_TRACE_FAN_OUT_QUARANTINED, nil
	}
	// The checkpoint of a partition follows its records within a second.
	pending, err := timeline.FirstPendingFanout(ctx, s.deps.Log, key, seq+1)
	if err != nil || pending <= seq {
		return chatv1.TraceFanOut_TRACE_FAN_OUT_PENDING, err
	}
	return chatv1.TraceFanOut_TRACE_FAN_OUT_DONE, nil
}

// addMembers adds a page of the members who receive the message, and what the stores know of each.
func (s *Service) addMembers(ctx context.Context, r *chatv1.TraceMessageRequest, stored message.Entry, out *chatv1.MessageTrace) error {
	c := id.Conversation(out.Conversation)
	limit, after := int(r.Limit), uint64(0)
	switch {
	case limit == 0:
		limit = defaultPage
	case limit > maxPage:
		limit = maxPage
	}
	if r.Page != "" {
		var err error
		if after, err = strconv.ParseUint(r.Page, 10, 64); err != nil {
			return errPage
		}
	}
	if r.User != 0 {
		limit, after = 1, r.User-1
	}
	users, next, err := s.deps.Chat.AudiencePage(ctx, c, out.Seq, id.User(after), limit)
	if err != nil {
		return err
	}
	if r.User != 0 {
		if !slices.Contains(users, id.User(r.User)) {
			return errs.New(errs.NotFound, "no_user", fmt.Sprintf("user %d does not receive this message: the user was no member then", r.User))
		}
		next = 0
	}
	if next != 0 {
		out.Next = next.String()
	}
	if out.Members, err = s.deps.Inbox.Trace(ctx, c, out.Seq, stored.ID.Ms(), out.Large, users); err != nil {
		return err
	}
	attempts, err := s.deps.Pushes.TraceAttempts(ctx, users, c, out.Seq)
	for i, m := range out.Members {
		m.Steps = attempts[users[i]]
	}
	return err
}

// addRecords adds what the nodes remember.
func (s *Service) addRecords(ctx context.Context, stored message.Entry, out *chatv1.MessageTrace) {
	q := query{conversation: out.Conversation, seq: out.Seq}
	for _, m := range out.Members {
		q.members = append(q.members, member{id.User(m.User), m.Position.GetSeq()})
	}
	t := assembly{out: out, members: map[uint64]*chatv1.TracedMember{}, posts: map[uint64]post{}}
	for _, m := range out.Members {
		t.members[m.User] = m
	}
	accepted := &chatv1.TraceStep{Kind: chatv1.TraceStepKind_TRACE_STEP_KIND_ACCEPTED, TimeUs: stored.ID.Ms() * 1000, User: uint64(stored.Sender), Device: uint64(stored.Device)}
	t.accepted, t.committed = accepted, &chatv1.TraceStep{Kind: chatv1.TraceStepKind_TRACE_STEP_KIND_COMMITTED}
	out.Steps = append(out.Steps, accepted, t.committed)
	s.askAll(ctx, appendQuery(nil, q), func(node string, answer []byte) {
		n, err := nodeRecords{}, error(nil)
		if answer != nil {
			if n, err = readRecords(answer, q.conversation); err != nil {
				s.deps.Logger.Warn("a node's answer about a message cannot be read", "node", node, "error", err)
			}
		}
		t.addNode(node, n, answer != nil && err == nil)
	})
	for node, ms := range s.goneNodes() {
		out.Nodes = append(out.Nodes, &chatv1.TracedNode{Name: node, State: chatv1.TracedNodeState_TRACED_NODE_STATE_GONE, GoneMs: ms})
	}
	t.finish()
}

// assembly puts together what the nodes remember.
type assembly struct {
	out                 *chatv1.MessageTrace
	accepted, committed *chatv1.TraceStep
	members             map[uint64]*chatv1.TracedMember
	posts               map[uint64]post // by partition: who posted to its inboxes last
}

// post is a post to the inboxes of a partition.
type post struct {
	node string
	us   int64
}

func (t *assembly) addNode(node string, n nodeRecords, answered bool) {
	v := &chatv1.TracedNode{Name: node}
	t.out.Nodes = append(t.out.Nodes, v)
	switch {
	case !answered:
		v.State = chatv1.TracedNodeState_TRACED_NODE_STATE_NO_ANSWER
		return
	case n.off:
		v.State = chatv1.TracedNodeState_TRACED_NODE_STATE_OFF
		return
	}
	v.State, v.MessagesSinceMs, v.DevicesSinceMs = chatv1.TracedNodeState_TRACED_NODE_STATE_READ, n.spans.Messages/1000, n.spans.Devices/1000
	for i := range n.records {
		t.addRecord(node, &n.records[i])
	}
	if n.pushed.count > 0 {
		t.out.Steps = append(t.out.Steps, &chatv1.TraceStep{Kind: chatv1.TraceStepKind_TRACE_STEP_KIND_PUSHED, Node: node, TimeUs: int64(n.pushed.firstUs), Count: uint32(n.pushed.count)})
	}
}

func (t *assembly) addRecord(node string, c *flightrecorder.Record) {
	step := &chatv1.TraceStep{TimeUs: c.AtUs, Node: node}
	switch c.Kind {
	case flightrecorder.Committed:
		t.accepted.Node, t.committed.Node, t.committed.TimeUs = node, node, c.AtUs
	case flightrecorder.Posted:
		for p := range uint64(timeline.Partitions) {
			if c.Device>>p&1 == 1 && t.posts[p].us < c.AtUs {
				t.posts[p] = post{node, c.AtUs}
			}
		}
		fallthrough
	case flightrecorder.Broadcast:
		step.Kind, step.Count = chatv1.TraceStepKind_TRACE_STEP_KIND_FANNED_OUT, uint32(c.User)
		t.out.Steps = append(t.out.Steps, step)
	case flightrecorder.PushedToFollowers:
		step.Kind, step.Count = chatv1.TraceStepKind_TRACE_STEP_KIND_PUSHED, uint32(c.User)
		t.out.Steps = append(t.out.Steps, step)
	case flightrecorder.Notified:
		t.addNotifier(node, c)
	case flightrecorder.Pushed:
		t.addToMember(c, step, chatv1.TraceStepKind_TRACE_STEP_KIND_PUSHED)
	case flightrecorder.Acknowledged:
		t.addToMember(c, step, chatv1.TraceStepKind_TRACE_STEP_KIND_CONFIRMED)
	case flightrecorder.Read:
		t.addToMember(c, step, chatv1.TraceStepKind_TRACE_STEP_KIND_READ)
	}
}

func (t *assembly) addToMember(c *flightrecorder.Record, step *chatv1.TraceStep, kind chatv1.TraceStepKind) {
	m := t.members[c.User]
	if m == nil || len(m.Steps) == maxMemberSteps {
		return
	}
	step.Kind, step.Device = kind, c.Device
	m.Steps = append(m.Steps, step)
}

// addNotifier names the node that made an attempt. The attempt itself is known from the database, whose time is a little earlier.
func (t *assembly) addNotifier(node string, c *flightrecorder.Record) {
	m := t.members[c.User]
	if m == nil {
		return
	}
	var nearest *chatv1.TraceStep
	for _, step := range m.Steps {
		if step.Kind == chatv1.TraceStepKind_TRACE_STEP_KIND_NOTIFIED && step.Device == c.Device && step.TimeUs/1000 <= c.AtUs/1000 && (nearest == nil || step.TimeUs > nearest.TimeUs) {
			nearest = step
		}
	}
	if nearest != nil && nearest.Node == "" {
		nearest.Node = node
	}
}

// finish adds what follows from the stores and nobody remembers, and sorts all by time.
func (t *assembly) finish() {
	for _, m := range t.out.Members {
		if at, ok := t.posts[uint64(timeline.Key{Kind: timeline.Inbox, ID: m.User}.Partition())]; ok && m.InStream == chatv1.TraceInStream_TRACE_IN_STREAM_YES {
			m.Steps = append(m.Steps, &chatv1.TraceStep{Kind: chatv1.TraceStepKind_TRACE_STEP_KIND_FANNED_OUT, TimeUs: at.us, Node: at.node})
		}
		sortSteps(m.Steps)
		confirmed, read := map[uint64]bool{}, false
		m.Steps = slices.DeleteFunc(m.Steps, func(step *chatv1.TraceStep) bool {
			switch step.Kind {
			case chatv1.TraceStepKind_TRACE_STEP_KIND_CONFIRMED:
				again := confirmed[step.Device] // on another node, to which the device went later
				confirmed[step.Device] = true
				return again
			case chatv1.TraceStepKind_TRACE_STEP_KIND_READ:
				again := read
				read = true
				return again
			}
			return false
		})
		for _, d := range m.Devices {
			if d.Confirmed && !confirmed[d.Device] {
				m.Steps = append(m.Steps, &chatv1.TraceStep{Kind: chatv1.TraceStepKind_TRACE_STEP_KIND_CONFIRMED, Device: d.Device})
			}
		}
		if m.Read && !read && m.User != t.out.Sender {
			m.Steps = append(m.Steps, &chatv1.TraceStep{Kind: chatv1.TraceStepKind_TRACE_STEP_KIND_READ})
		}
		sortSteps(m.Steps)
	}
	sortSteps(t.out.Steps)
	slices.SortFunc(t.out.Nodes, func(a, b *chatv1.TracedNode) int { return cmp.Compare(a.Name, b.Name) })
}

// sortSteps sorts by time, those without one last.
func sortSteps(list []*chatv1.TraceStep) {
	slices.SortStableFunc(list, func(a, b *chatv1.TraceStep) int {
		return cmp.Or(cmp.Compare(uint64(a.TimeUs-1), uint64(b.TimeUs-1)), cmp.Compare(a.Kind, b.Kind))
	})
}
