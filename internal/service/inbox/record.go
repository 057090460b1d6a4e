package inbox

import (
	"github.com/rialto-im/rialto/internal/base/flightrecorder"
	"github.com/rialto-im/rialto/internal/platform/interest"
)

// recordAcks gives the recorder the positions of devices that were stored.
func (s *Service) recordAcks(list []ackProgress) {
	to := s.deps.Recorder
	if to == nil {
		return
	}
	at := to.NowUs()
	var records []flightrecorder.Record
	for _, p := range list {
		for _, a := range p.devices {
			records = append(records, flightrecorder.Record{AtUs: at, Kind: flightrecorder.Acknowledged, Seq: uint64(a.at), User: uint64(p.user), Device: uint64(a.device)})
		}
	}
	to.Add(records...)
}

// recordReads gives the recorder the read cursors that were moved.
func (s *Service) recordReads(list []interest.Change) {
	to := s.deps.Recorder
	if to == nil {
		return
	}
	at := to.NowUs()
	records := make([]flightrecorder.Record, len(list))
	for i, c := range list {
		records[i] = flightrecorder.Record{AtUs: at, Kind: flightrecorder.Read, Conversation: uint64(c.Key), Seq: c.To, User: uint64(c.User)}
	}
	to.Add(records...)
}
