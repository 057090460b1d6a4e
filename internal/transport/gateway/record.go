package gateway

import "github.com/rialto-im/rialto/internal/base/flightrecorder"

// maxRecords bounds the records of pushes that a deliverer hands over together.
const maxRecords = 256

// record notes a push of the present delivery, if that is of an entry.
func (d *deliverer) record(kind flightrecorder.Kind, user, device uint64) {
	if d.server.deps.Recorder == nil || d.next.Conversation == 0 {
		return
	}
	if len(d.records) > 0 && d.records[0].Kind != kind || len(d.records) == maxRecords {
		d.flushRecords()
	}
	d.records = append(d.records, flightrecorder.Record{AtUs: d.nowUs, Kind: kind, Conversation: uint64(d.next.Conversation), Seq: d.next.Seq, User: user, Device: device})
}

func (d *deliverer) flushRecords() {
	d.server.deps.Recorder.Add(d.records...)
	d.records = d.records[:0]
}
