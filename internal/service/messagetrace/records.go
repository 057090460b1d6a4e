package messagetrace

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/rialto-im/rialto/internal/base/flightrecorder"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/nodecall"
)

// maxRecords bounds what a node answers: of a message, and of each member's devices.
const maxRecords = 4096

// respond answers another node.
func (s *Service) respond(data []byte) []byte {
	if s.deps.Recorder == nil {
		return []byte{answerOff}
	}
	if len(data) == 1+len(id.Message{}) && data[0] == askFind {
		conversation, seq := s.findHere(id.Message(data[1:]))
		return appendFound(nil, conversation, seq)
	}
	if len(data) > 0 && data[0] == askRecords {
		if q, err := readQuery(data[1:]); err == nil {
			return s.recordsHere(q).append(nil)
		}
	}
	return nil // of a later version: its sender reports a malformed answer
}

// idKey is what records of commits have of a message's id; the rest is in the id of the conversation.
func idKey(m id.Message) uint64 { return binary.BigEndian.Uint64(m[:8]) }

// isOf reports whether a message's id can be of a conversation.
func isOf(m id.Message, conversation uint64) bool {
	return m.Low22() == uint32(conversation)&(1<<22-1)
}

// findHere returns where a message is, if this node has committed it.
func (s *Service) findHere(m id.Message) (conversation, seq uint64) {
	s.scan.Lock()
	defer s.scan.Unlock()
	key := idKey(m)
	s.deps.Recorder.Scan(func(c *flightrecorder.Record) {
		if c.Kind == flightrecorder.Committed && c.User == key && isOf(m, c.Conversation) {
			conversation, seq = c.Conversation, c.Seq
		}
	})
	return conversation, seq
}

// recordsHere returns what this node's recorder has of a message. Of acknowledgements and reads it has the first that covers the message, for each
// device and member.
func (s *Service) recordsHere(q query) nodeRecords {
	if s.deps.Recorder == nil {
		return nodeRecords{off: true}
	}
	s.scan.Lock()
	defer s.scan.Unlock()
	n := nodeRecords{spans: s.deps.Recorder.Spans()}
	positions := make(map[uint64]uint64, len(q.members))
	for _, m := range q.members {
		positions[uint64(m.user)] = m.position
	}
	seen := map[[2]uint64]bool{} // acknowledgements by user and device, and reads, whose device is 0
	s.deps.Recorder.Scan(func(c *flightrecorder.Record) {
		position, listed := positions[c.User]
		if len(n.records) >= maxRecords {
			return
		}
		switch of := c.Conversation == q.conversation; c.Kind {
		case flightrecorder.Committed, flightrecorder.Posted, flightrecorder.Broadcast, flightrecorder.PushedToFollowers:
			if of && c.Seq == q.seq {
				n.records = append(n.records, *c)
			}
		case flightrecorder.Pushed:
			if of && c.Seq == q.seq {
				n.pushed.add(uint64(c.AtUs))
				if listed {
					n.records = append(n.records, *c)
				}
			}
		case flightrecorder.Notified:
			if of && c.Seq >= q.seq && listed {
				n.records = append(n.records, *c)
			}
		case flightrecorder.Acknowledged, flightrecorder.Read:
			isRead := c.Kind == flightrecorder.Read
			covers := isRead && of && c.Seq >= q.seq || !isRead && position != 0 && c.Seq >= position
			if key := [2]uint64{c.User, c.Device}; listed && covers && !seen[key] {
				seen[key] = true
				n.records = append(n.records, *c)
			}
		}
	})
	return n
}

func (p *pushes) add(us uint64) {
	if p.count++; p.count == 1 {
		p.firstUs = us
	}
	p.lastUs = us
}

// askPolicy: the trace names the nodes that do not answer.
var askPolicy = nodecall.FailSafe{Timeout: askTimeout}

// askAll asks all nodes, this one without the bus, and calls each with the answers, one at a time. An answer is nil if the node gave none.
func (s *Service) askAll(ctx context.Context, request []byte, each func(node string, answer []byte)) {
	nodes := s.deps.Nodes()
	if slices.Contains(nodes, s.deps.Node) {
		each(s.deps.Node, s.respond(request))
	}
	askPolicy.Tell(ctx, s.deps.Bus, nodecall.Nodes{Own: s.deps.Node, Live: func() []string { return nodes }}, subject, request, func(node string, answer []byte, err error) {
		if err != nil {
			s.deps.Logger.Warn("a node did not answer a query about a message", "node", node, "error", err)
			answer = nil
		}
		each(node, answer)
	})
}
