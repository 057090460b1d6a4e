package gateway

import (
	"github.com/rialto-im/rialto/internal/base/flightrecorder"
	"github.com/rialto-im/rialto/internal/base/id"
)

// maxRecords bounds the records of pushes that a deliverer hands over together.
const maxRecords = 256

// record notes a push of the present delivery, if that is of an entry.
func (d *deliverer) record(kind flightrecorder.Kind, user, device uint64) {
	d.recordEntry(d.next.Conversation, d.next.Seq, kind, user, device)
}

// recordEntry notes a push of an entry.
func (d *deliverer) recordEntry(conversation id.Conversation, seq uint64, kind flightrecorder.Kind, user, device uint64) {
	if d.server.deps.Recorder == nil || conversation == 0 {
		return
	}
	if len(d.records) > 0 && d.records[0].Kind != kind || len(d.records) == maxRecords {
		d.flushRecords()
	}
	d.records = append(d.records, flightrecorder.Record{AtUs: d.nowUs, Kind: kind, Conversation: uint64(conversation), Seq: seq, User: user, Device: device})
}

func (d *deliverer) flushRecords() {
	d.server.deps.Recorder.Add(d.records...)
	d.records = d.records[:0]
}
