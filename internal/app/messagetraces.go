package app

import (
	"encoding/binary"

	"github.com/rialto-im/rialto/internal/base/flightrecorder"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/messagetrace"
)

// openMessageTraces makes the service that shows the lives of messages.
func (n *Node) openMessageTraces(quarantine *job.Quarantine) {
	n.traces = messagetrace.New(messagetrace.Deps{Log: n.cold.Log(), Chat: n.chat, Inbox: n.inbox, Pushes: n.pushes, Quarantine: quarantine, Recorder: n.recorder,
		Bus: n.bus, Node: n.name, Nodes: n.liveNodeNames, Owner: n.partitionOwner, Clock: n.clock, Logger: n.logger})
}

// recordCommits gives the recorder the entries of a batch.
func (n *Node) recordCommits(commits []timeline.Commit) {
	if n.recorder == nil {
		return
	}
	at := n.recorder.NowUs()
	var part [64]flightrecorder.Record
	records := part[:0]
	for i := range commits {
		for _, e := range commits[i].Entries {
			r := flightrecorder.Record{AtUs: at, Kind: flightrecorder.Committed, Conversation: e.Key.ID, Seq: e.Seq}
			if len(e.Payload) > 8 {
				r.User = binary.BigEndian.Uint64(e.Payload[1:]) // after the form, the id of the message
			}
			if records = append(records, r); len(records) == len(part) {
				n.recorder.Add(records...)
				records = part[:0]
			}
		}
	}
	n.recorder.Add(records...)
}
